"""Corpora as a whole: rolled back, renamed, deleted, purged; never under somebody's hands."""

import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest

from sitt_core import ingest
from sitt_core.build import Workshop
from sitt_core.configuration import configure
from sitt_core.errors import Busy, InvalidInput, NotFound, SittError, StoreError
from sitt_core.settings import Settings
from sitt_core.store import admin, layout
from sitt_core.store.admin import delete_corpus, describe_generations, plan_purge, purge, rename_corpus, roll_back
from sitt_core.store.layout import corpus_names, current_generation, generations, replace_text, write_lock
from sitt_core.store.reading import Corpus, open_corpus
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder


@pytest.fixture(scope="module")
def three_generations(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose corpus was published three times, which no test writes to."""
    store = tmp_path_factory.mktemp("store")
    for start in range(3):
        corpora.update(store, corpora.listing(corpora.tales()[start:]), corpora.recipe())
    return store


@pytest.fixture
def folder(tmp_path: Path, three_generations: Path) -> Path:
    """A corpus at generation 3: the tales, then without the lake, then without the forest too."""
    shutil.copytree(three_generations, tmp_path, dirs_exist_ok=True)
    return tmp_path / corpora.NAME


def names(corpus: Corpus) -> set[str]:
    return {document.id.removesuffix(".md") for document in corpus.documents}


def found(corpus: Corpus, question: str = "giant") -> list[str]:
    from sitt_core import pipeline

    return [passage.chunk.document_id for passage in pipeline.search(question, corpora.engine(corpus)).passages]


class TestRollBack:
    def test_back_and_forward(self, folder: Path) -> None:
        """Without a name it goes one back each time, with a name anywhere; what is served is that generation's own."""
        assert roll_back(folder) == "000002"
        assert names(open_corpus(folder.parent, folder.name)) >= {"forest"}
        assert roll_back(folder) == "000001"
        assert found(open_corpus(folder.parent, folder.name), "a long neck rose from the lake")[0] == "lake.md"
        assert roll_back(folder, "000003") == "000003"
        assert not names(open_corpus(folder.parent, folder.name)) & {"lake", "forest"}
        assert generations(folder) == ("000001", "000002", "000003")

    @pytest.mark.parametrize("generation", ["000009", "1", "../x", "000002\n", "CURRENT"])
    def test_to_what_is_not_there(self, folder: Path, generation: str) -> None:
        """The error lists the kept ones."""
        with pytest.raises(NotFound, match="000001, 000002, 000003"):
            roll_back(folder, generation)
        assert current_generation(folder) == "000003"

    def test_before_the_first(self, folder: Path) -> None:
        """From the oldest kept generation there is no way back."""
        roll_back(folder, "000001")
        with pytest.raises(NotFound, match="none before the current one"):
            roll_back(folder)

    def test_to_a_spoilt_one(self, folder: Path) -> None:
        """What cannot be read is not served; a good one can be although the current one is spoilt."""
        for spoilt in ("000002", "000003"):
            (folder / spoilt / "corpus.duckdb").write_bytes(b"garbage")
        with pytest.raises(StoreError):
            roll_back(folder)
        assert current_generation(folder) == "000003"
        assert roll_back(folder, "000001") == "000001"
        problems = [bool(info.problem) for info in describe_generations(folder)]
        assert problems == [False, True, True]

    def test_an_update_after_it(self, folder: Path) -> None:
        """It begins from what is served, gets a new number, and keeps what was served before it although that is the oldest."""
        roll_back(folder, "000001")
        corpora.update(folder.parent, corpora.listing([*corpora.tales(), corpora.document("new.md", "# New\n\nNew.")]), corpora.recipe())
        assert current_generation(folder) == "000004"
        assert generations(folder) == ("000001", "000003", "000004")
        assert names(open_corpus(folder.parent, folder.name)) >= {"lake", "forest", "new"}
        assert roll_back(folder, "000001") == "000001"

    def test_described(self, folder: Path) -> None:
        """Each kept generation with its documents, retired ones, size, and which is served."""
        infos = describe_generations(folder)
        assert [(info.name, info.current, info.documents, info.retired) for info in infos] == [
            ("000001", False, 12, 0),
            ("000002", False, 11, 1),
            ("000003", True, 10, 2),
        ]
        assert all(info.size > 0 and info.published_at for info in infos)


class TestRename:
    def test_everything_goes_along(self, folder: Path) -> None:
        """Generations, indexes and vectors are there under the new name, and it can be updated without embedding anything again."""
        rename_corpus(folder.parent, "tales", "stories")
        assert corpus_names(folder.parent) == ("stories",)
        assert found(open_corpus(folder.parent, "stories"))
        embedder = HashEmbedder()
        corpora.update(folder.parent, corpora.listing(corpora.tales()), corpora.recipe(embedder), name="stories")
        assert embedder.embedded == []

    def test_whoever_has_it_open(self, folder: Path) -> None:
        """A reader finishes on what it opened; what it has not opened yet is a named error."""
        reader = open_corpus(folder.parent, "tales")
        assert found(reader)
        rename_corpus(folder.parent, "tales", "stories")
        assert found(reader)
        assert reader.document("sky.md").title
        with pytest.raises(NotFound, match="Ask again"):
            reader.index("0123456789ab", fingerprint={})

    @pytest.mark.parametrize("new", ["other", "tales"])
    def test_a_name_that_is_taken(self, folder: Path, new: str) -> None:
        """Neither corpus is touched."""
        corpora.publish(folder.parent, name="other")
        with pytest.raises(InvalidInput, match="a name that no corpus has"):
            rename_corpus(folder.parent, "tales", new)
        assert corpus_names(folder.parent) == ("other", "tales")

    @pytest.mark.parametrize(
        ("old", "new", "error"), [("nope", "x", NotFound), ("../x", "x", InvalidInput), ("tales", "A b", InvalidInput)]
    )
    def test_what_cannot_be(self, folder: Path, old: str, new: str, error: type[SittError]) -> None:
        """Unknown and impossible names are named errors and make no folder."""
        with pytest.raises(error):
            rename_corpus(folder.parent, old, new)
        assert sorted(path.name for path in folder.parent.iterdir()) == ["tales"]


class TestDelete:
    def test_it_is_gone(self, folder: Path) -> None:
        """Folder and all; how much that freed is told."""
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        assert delete_corpus(folder.parent, "tales") >= size
        assert list(folder.parent.iterdir()) == []

    def test_a_reader_that_has_it_open_finishes(self, folder: Path) -> None:
        """On Linux and macOS the files live as long as somebody holds them."""
        reader = open_corpus(folder.parent, "tales")
        found(reader)
        delete_corpus(folder.parent, "tales")
        assert found(reader)

    def test_another_corpus_of_the_same_name(self, tmp_path: Path) -> None:
        """A process that had the old one open serves the new one, though name and generation are the same again."""
        workshop = Workshop(Settings(tmp_path))
        corpora.publish(tmp_path / "store")
        old = workshop.corpus("tales")
        assert found(old, "a hound on the moor")[0] == "moor.md"
        delete_corpus(tmp_path / "store", "tales")
        with pytest.raises(NotFound):
            workshop.corpus("tales")
        corpora.publish(tmp_path / "store", [corpora.document("only.md", "# Only\n\nAn only giant.")])
        new = workshop.corpus("tales")
        assert (old.generation, names(new)) == (new.generation, {"only"})
        assert old.identity != new.identity
        assert found(new) == ["only.md"]
        assert workshop.corpus("tales") is new

    def test_what_an_unfinished_first_update_left(self, tmp_path: Path) -> None:
        """A folder without a published generation can be removed as well."""
        (tmp_path / "half" / "vectors").mkdir(parents=True)
        delete_corpus(tmp_path, "half")
        assert list(tmp_path.iterdir()) == []

    def test_a_killed_deletion(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Cut short it leaves no corpus, and the next one clears it away."""
        with monkeypatch.context() as patched:
            patched.setattr(shutil, "rmtree", lambda *_args, **_kwargs: None)
            delete_corpus(folder.parent, "tales")
        assert corpus_names(folder.parent) == ()
        corpora.publish(folder.parent)
        delete_corpus(folder.parent, "tales")
        assert list(folder.parent.iterdir()) == []


class TestPurge:
    def test_only_what_is_served_stays(self, folder: Path) -> None:
        """Retired documents and earlier generations go, every index stays and is not built again, and what it said is about what it freed."""
        build = corpora.recipe(chunking__strategy="fixed")
        ingest.build_index(open_corpus(folder.parent, "tales"), recipe=build, report=corpora.silent)
        corpus = open_corpus(folder.parent, "tales")
        expected = found(corpus)
        before = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        planned = plan_purge(corpus)
        assert (planned.retired, planned.generations) == (("forest.md", "lake.md"), ("000001", "000002"))
        assert purge(corpus, planned) == "000004"
        freed = before - sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        assert planned.size * 0.7 < freed < planned.size * 1.3
        after = open_corpus(folder.parent, "tales")
        assert (generations(folder), after.retired_documents()) == (("000004",), ())
        assert {info.key for info in after.indexes()} == {configure({}).index_key, build.configuration.index_key}
        assert found(after) == expected
        assert plan_purge(after).is_empty

    def test_planning_writes_nothing(self, folder: Path) -> None:
        """Not a file is touched."""
        before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
        plan_purge(open_corpus(folder.parent, "tales"))
        assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before

    def test_vectors_of_no_index_go(self, folder: Path) -> None:
        """The cache of an embedder that no index of the served generation was made with is removed, the other one stays."""
        other = corpora.recipe(HashEmbedder(seed=7))
        ingest.build_index(open_corpus(folder.parent, "tales"), recipe=other, report=corpora.silent)  # replaces the index of seed 0
        corpus = open_corpus(folder.parent, "tales")
        planned = plan_purge(corpus)
        assert len(planned.caches) == 1
        purge(corpus, planned)
        embedder = HashEmbedder(seed=7)
        corpora.update(folder.parent, corpora.listing(corpora.tales()[2:]), corpora.recipe(embedder))
        assert embedder.embedded == []

    def test_an_index_that_cannot_be_read_keeps_every_vector(self, folder: Path) -> None:
        """Nobody knows whose it was."""
        (path,) = (folder / "000003").glob(f"{configure({}).index_key}.*")
        path.write_bytes(b"garbage")
        (folder / "vectors" / "0000000000000000.vectors").write_bytes(b"")
        assert plan_purge(open_corpus(folder.parent, "tales")).caches == ()

    def test_leftovers_of_killed_builds_go(self, folder: Path) -> None:
        """Half-built and half-removed folders are counted and removed."""
        for name in (".building-000009", "000008"):
            (folder / name).mkdir()
            (folder / name / "x.1.duckdb").write_bytes(b"half")
        corpus = open_corpus(folder.parent, "tales")
        planned = plan_purge(corpus)
        assert planned.leftovers == (".building-000009", "000008")
        purge(corpus, planned)
        assert {path.name for path in folder.iterdir() if path.is_dir()} == {"vectors", current_generation(folder)}

    def test_only_what_is_old_enough(self, folder: Path) -> None:
        """Before their retirement nothing goes; after it all does; a leftover and a generation count by when they were last written."""
        corpus = open_corpus(folder.parent, "tales")
        when = max(datetime.fromisoformat(when) for _, when in corpus.retired_documents())
        assert plan_purge(corpus, before=when - timedelta(hours=1)).is_empty
        (folder / ".building-000009").mkdir()
        aged = when.timestamp() - 7200
        for path in (folder / ".building-000009", folder / "000001", *(folder / "000001").iterdir()):
            os.utime(path, (aged, aged))
        planned = plan_purge(corpus, before=when - timedelta(hours=1))
        assert (planned.retired, planned.generations, planned.leftovers) == ((), ("000001",), (".building-000009",))
        assert purge(corpus, planned) == "000003"
        assert generations(folder) == ("000002", "000003")
        later = plan_purge(corpus, before=when + timedelta(seconds=1))
        assert (later.retired, later.generations) == (("forest.md", "lake.md"), ("000002",))  # young as it is: it holds them

    def test_younger_retired_documents_stay(self, tmp_path: Path) -> None:
        """Of two, the one that was retired longer ago goes, from every generation."""
        corpora.publish(tmp_path)
        corpora.update(tmp_path, corpora.listing(corpora.tales()[1:]), corpora.recipe())
        corpora.update(tmp_path, corpora.listing(corpora.tales()[2:]), corpora.recipe())
        corpus = open_corpus(tmp_path, corpora.NAME)
        old, _ = corpus.retired_documents()
        with patch.object(Corpus, "retired_documents", lambda _: ((old[0], old[1]), (corpora.tales()[0], "2000-01-01T00:00:00+00:00"))):
            planned = plan_purge(corpus, before=datetime(2010, 1, 1, tzinfo=UTC))
            assert planned.retired == ("lake.md",)
            purge(corpus, planned)
        assert generations(corpus.folder.parent) == ("000004",)
        assert [document.id for document, _ in open_corpus(tmp_path, corpora.NAME).retired_documents()] == ["forest.md"]

    def test_a_plan_that_is_out_of_date(self, folder: Path) -> None:
        """When something was published meanwhile nothing is removed."""
        corpus = open_corpus(folder.parent, "tales")
        planned = plan_purge(corpus)
        roll_back(folder)
        with pytest.raises(InvalidInput, match="Run purge again"):
            purge(corpus, planned)
        with pytest.raises(InvalidInput):
            purge(corpus, replace(planned, retired=()))
        assert len(generations(folder)) == 3

    def test_without_links_the_indexes_are_copied(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A disk that knows no hard links gives the same corpus."""

        def no_links(*_: object) -> None:
            raise OSError("not supported")

        monkeypatch.setattr(admin.os, "link", no_links)
        corpus = open_corpus(folder.parent, "tales")
        expected = found(corpus)
        purge(corpus, plan_purge(corpus))
        assert found(open_corpus(folder.parent, "tales")) == expected


WRITES: dict[str, Callable[[Path], object]] = {
    "roll back": lambda folder: roll_back(folder),
    "rename": lambda folder: rename_corpus(folder.parent, folder.name, "other"),
    "delete": lambda folder: delete_corpus(folder.parent, folder.name),
    "purge": lambda folder: purge(open_corpus(folder.parent, folder.name), plan_purge(open_corpus(folder.parent, folder.name))),
}


@pytest.mark.parametrize("write", [pytest.param(write, id=name) for name, write in WRITES.items()])
@pytest.mark.parametrize("what", ["update", "index"])
def test_nothing_happens_under_somebodys_hands(folder: Path, write: Callable[[Path], object], what: str) -> None:
    """While an update or the build of an index is under way every one of them is Busy and changes nothing."""
    place, name = (folder, "update") if what == "update" else (folder / "000003", "0123456789ab")
    with write_lock(place, name), pytest.raises(Busy, match=f"writing {name}"):
        write(folder)
    assert (corpus_names(folder.parent), current_generation(folder)) == (("tales",), "000003")
    write(folder)


def test_an_index_for_a_generation_that_is_gone(folder: Path) -> None:
    """It is Busy, told to run again, and makes no folder in its place."""
    corpus = open_corpus(folder.parent, "tales")
    delete_corpus(folder.parent, "tales")
    with pytest.raises(Busy, match="Run this again"):
        ingest.build_index(corpus, recipe=corpora.recipe(), report=corpora.silent)
    assert list(folder.parent.iterdir()) == []


def test_opening_while_the_generation_changes(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A generation that is replaced and removed between the look at CURRENT and the opening is opened in its new place."""
    really = current_generation
    said: list[str] = []

    def late(corpus_dir: Path) -> str:
        said.append(really(corpus_dir))
        if len(said) == 1:
            replace_text(folder / "CURRENT", "000002\n")
            shutil.rmtree(folder / "000003")
        return said[-1]

    monkeypatch.setattr("sitt_core.store.reading.current_generation", late)
    assert open_corpus(folder.parent, "tales").generation == "000002"


def test_a_busy_error_names_the_process(folder: Path) -> None:
    """Also where the writer is no job; a holder's note of another shape changes nothing."""
    with write_lock(folder, "update"):
        with pytest.raises(Busy, match=r"process \d+ that is writing it now"), write_lock(folder, "update"):
            pytest.fail("taken twice")
        for content in ("", "[]", '{"pid": 1}', '{"job": 5, "pid": 1}', '{"job": "/no/such", "pid": 1}'):
            (folder / ".update.holder").write_text(content)
            with pytest.raises(Busy, match="another process"), write_lock(folder, "update"):
                pytest.fail("taken twice")
    assert not (folder / ".update.holder").exists()
    assert layout.generations(folder)
