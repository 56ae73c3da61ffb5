import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from sitt_core import build
from sitt_core.build import Workshop, check_language, corpus_or_none, read_source
from sitt_core.configuration import BY_NAME, Configuration, configure
from sitt_core.errors import IndexMissing, InvalidInput, ModelError, NotFound, SourceError, StoreError
from sitt_core.pipeline import search
from sitt_core.retrieval.words import LANGUAGES
from sitt_core.settings import Settings
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which embedders were loaded, each of them the fake one."""
    calls: list[str] = []

    def load(*, overlong: str, models_dir: Path) -> HashEmbedder:
        calls.append(overlong)
        return HashEmbedder()

    monkeypatch.setitem(build.EMBEDDERS, "minilm", load)
    return calls


@pytest.fixture
def workshop(tmp_path: Path, loaded: list[str]) -> Workshop:
    settings = Settings(tmp_path / "data")
    corpora.publish(settings.store_dir).close()
    return Workshop(settings)


def test_a_corpus_stays_open_until_there_is_a_newer_generation(workshop: Workshop) -> None:
    """The same object as long as CURRENT stands, another one afterwards, and the old one still answers."""
    first = workshop.corpus(corpora.NAME)
    assert workshop.corpus(corpora.NAME) is first
    corpora.publish(workshop.settings.store_dir)
    second = workshop.corpus(corpora.NAME)
    assert (first.generation, second.generation) == ("000001", "000002")
    assert len(first.all_documents()) == len(corpora.TALES)
    (first.folder.parent / "CURRENT").write_text("000001\n")
    assert workshop.corpus(corpora.NAME).generation == "000001"


@pytest.mark.parametrize("name", ["..", "a/b", "", "Tales", "tales\x00"])
def test_a_corpus_name_that_is_none_is_refused(workshop: Workshop, name: str) -> None:
    """It never becomes a path."""
    with pytest.raises(InvalidInput, match="a corpus name"):
        workshop.corpus(name)


def test_a_corpus_that_is_not_there(workshop: Workshop) -> None:
    """NotFound names those there are; asked leniently it is None, but a broken one is an error either way."""
    with pytest.raises(NotFound, match="there are: tales"):
        workshop.corpus("atlas")
    assert corpus_or_none(workshop, "atlas") is None
    assert corpus_or_none(workshop, corpora.NAME) is workshop.corpus(corpora.NAME)
    (workshop.settings.store_dir / corpora.NAME / "CURRENT").write_text("nonsense")
    with pytest.raises(StoreError):
        corpus_or_none(workshop, corpora.NAME)


def test_an_engine_searches(workshop: Workshop) -> None:
    """What build puts together answers as what the tests put together."""
    corpus = workshop.corpus(corpora.NAME)
    for changes in ({}, {"keyword": "rank-bm25"}, {"keyword": "off"}, {"dense": "off"}):
        made = workshop.engine(corpus, configure(changes))
        assert search("a giant", made).passages == search("a giant", corpora.engine(corpus, corpora.recipe(**changes))).passages


def test_keyword_search_loads_no_model(workshop: Workshop, loaded: list[str]) -> None:
    """With dense off no weights are read."""
    engine = workshop.engine(workshop.corpus(corpora.NAME), configure({"dense": "off"}))
    assert engine.embed is None
    assert loaded == []


def test_a_missing_index_loads_no_model(workshop: Workshop, loaded: list[str]) -> None:
    """Nothing to search is found out before anything is loaded."""
    with pytest.raises(IndexMissing):
        workshop.engine(workshop.corpus(corpora.NAME), configure({"chunking.size": 77}))
    assert loaded == []


def test_neither_retriever_is_refused(workshop: Workshop, loaded: list[str]) -> None:
    """A configuration with nothing to rank by makes no engine."""
    with pytest.raises(InvalidInput, match="dense or keyword to be on"):
        workshop.engine(workshop.corpus(corpora.NAME), configure({"dense": "off", "keyword": "off"}))
    assert loaded == []


def test_an_embedder_is_loaded_once(workshop: Workshop, loaded: list[str]) -> None:
    """However many threads ask at once; another treatment of long texts is another embedder."""
    with ThreadPoolExecutor(8) as threads:
        embedders = set(threads.map(lambda _: workshop.embedder(Configuration()), range(32)))
    assert len(embedders) == 1
    workshop.embedder(configure({"overlong": "truncate"}))
    assert loaded == ["windows", "truncate"]


def test_every_embedder_that_can_be_chosen_can_be_loaded() -> None:
    """The configuration's choices, hidden ones too, are those that build knows."""
    field = BY_NAME["embedder"]
    assert set(build.EMBEDDERS) == {*field.choices, *field.hidden}
    assert field.prefixes == (build.PREFIX,)
    assert set(BY_NAME["chunking.embedder"].choices) <= set(build.EMBEDDERS)


def test_converted_models_belong_to_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever loads an embedder is told where models are kept."""
    told: list[Path] = []

    def load(*, overlong: str, models_dir: Path) -> HashEmbedder:
        told.append(models_dir)
        return HashEmbedder()

    monkeypatch.setitem(build.EMBEDDERS, "minilm-int8", load)
    Workshop(Settings(tmp_path)).embedder(configure({"embedder": "minilm-int8"}))
    assert told == [tmp_path / "models"]


def test_a_model_by_name_goes_to_the_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`st:` is handed on with the whole name, and a model that is not there is a ModelError that is not remembered."""
    asked: list[tuple[str, str]] = []

    def load(name: str, *, overlong: str) -> HashEmbedder:
        asked.append((name, overlong))
        return HashEmbedder()

    workshop = Workshop(Settings(tmp_path))
    chosen = configure({"embedder": f"st:{tmp_path}/none"})
    with pytest.raises(ModelError, match="no folder there"):
        workshop.embedder(chosen)
    monkeypatch.setattr(build, "load_st", load)
    workshop.embedder(chosen)
    assert asked == [(f"st:{tmp_path}/none", "windows")]


def test_the_hash_embedder_needs_nothing(tmp_path: Path) -> None:
    """It is there at once, for tests and soak runs."""
    embedder = Workshop(Settings(tmp_path)).embedder(configure({"embedder": "hash"}))
    assert (embedder.name, embedder.embed_queries(["lake"]).shape) == ("hash", (1, 64))


def test_a_slow_embedder_keeps_nobody_waiting(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one model is being made, corpora and other embedders are there; who wants the same one gets that one."""
    go_on, loading = threading.Event(), threading.Event()

    def slow(*, overlong: str, models_dir: Path) -> HashEmbedder:
        loading.set()
        assert go_on.wait(60)
        return HashEmbedder(seed=1)

    monkeypatch.setitem(build.EMBEDDERS, "static-minilm", slow)
    with ThreadPoolExecutor(2) as threads:
        waiting = [threads.submit(workshop.embedder, configure({"embedder": "static-minilm"})) for _ in range(2)]
        assert loading.wait(60)
        assert workshop.embedder(Configuration()).name == "fake-0"
        assert workshop.corpus(corpora.NAME).generation == "000001"
        go_on.set()
        assert waiting[0].result() is waiting[1].result()


def test_a_scorer_is_made_once_for_an_index(workshop: Workshop) -> None:
    """Engines over the same index share it."""
    corpus = workshop.corpus(corpora.NAME)
    first, second, other = (workshop.engine(corpus, configure(changes)) for changes in ({}, {"top_k": 9}, {"keyword": "rank-bm25"}))
    assert first.scorer is second.scorer
    assert other.scorer is not first.scorer


def test_a_model_that_cannot_be_loaded_is_tried_again(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The failure is named and not remembered."""

    def missing(*, overlong: str, models_dir: Path) -> HashEmbedder:
        raise ModelError(expected="weights", got="none", remedy="Install them.")

    with monkeypatch.context() as patched:
        patched.setitem(build.EMBEDDERS, "minilm", missing)
        with pytest.raises(ModelError, match="weights"):
            workshop.embedder(Configuration())
    assert workshop.embedder(Configuration()).name == "fake-0"


@pytest.mark.parametrize("language", ["klingon", "English", "", "english "])
def test_an_unknown_language_is_named_with_the_known(workshop: Workshop, loaded: list[str], language: str) -> None:
    """Refused before the model is loaded."""
    with pytest.raises(InvalidInput, match=r"english, danish.*none"):
        workshop.recipe(Configuration(), language=language)
    with pytest.raises(InvalidInput):
        check_language(language)
    assert loaded == []
    assert [check_language(known) for known in LANGUAGES] == list(LANGUAGES)


def test_the_field_guide_is_a_source() -> None:
    """It is complete, without failures, and every document carries title, address and licence."""
    listing, place = read_source("field-guide")
    assert (listing.origin, place, listing.complete, listing.failures) == ("field-guide", "field-guide", True, ())
    assert all(document.source.title.startswith("SITT Lab field guide: ") for document in listing.documents)
    assert {document.source.license for document in listing.documents} == {"CC BY-SA 4.0"}


def test_a_folder_is_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is its origin, its whole path the place to read it from again, from wherever one then stands."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nText.")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for spec in (f"markdown:{folder}", "markdown:notes", "markdown:notes/../notes/", "markdown:~/notes"):
        listing, place = read_source(spec)
        assert (listing.origin, place) == ("markdown:notes", f"markdown:{folder.resolve()}")
        assert [document.id for document in listing.documents] == ["a.md"]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param("", id="empty"),
        pytest.param("wikipedia", id="unknown"),
        pytest.param("markdown", id="no folder"),
        pytest.param("markdown:", id="empty folder"),
        pytest.param("Field-Guide", id="other case"),
        pytest.param("/notes", id="only a path"),
        pytest.param("markdown:~nobody-of-this-name/notes", id="nobody's home"),
        pytest.param("markdown:a\x00b", id="NUL"),
        pytest.param("markdown:\udcff", id="no Unicode"),
        pytest.param("x" * 10_000, id="long"),
    ],
)
def test_a_source_that_is_none_is_named(spec: str) -> None:
    """The error says what a source looks like, and stays short."""
    with pytest.raises(InvalidInput) as caught:
        read_source(spec)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("place", ["nowhere", "file.md", "empty", "x" * 5000], ids=["missing", "a file", "empty", "too long a name"])
def test_a_folder_that_cannot_be_a_source_is_named(tmp_path: Path, place: str) -> None:
    """A folder that is not there, is none or holds no Markdown is a SourceError."""
    (tmp_path / "file.md").write_text("# A")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError):
        read_source(f"markdown:{tmp_path / place}")


def test_a_loop_of_links_is_named(tmp_path: Path) -> None:
    """A path that never ends is an error of its own kind, not a crash."""
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises((InvalidInput, SourceError)):
        read_source(f"markdown:{tmp_path / 'loop'}")
