import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitt_core.errors import FingerprintError, IndexMissing, InvalidInput, ModelError, NotFound, StoreError
from sitt_core.ingest import build_index
from sitt_core.retrieval.dense import rank_dense
from sitt_core.retrieval.keyword import build_postings
from sitt_core.store.layout import CORPUS_FILE, index_file, new_generation
from sitt_core.store.reading import Corpus, Index, open_corpus
from sitt_core.store.writing import write_corpus, write_index
from sitt_core.types import Block, Chunk, Document, Filters, Hit, Section, Source
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder

ROOT = Path(__file__).parents[3]
HOSTILE = (
    "'; DROP TABLE documents; --",
    '"quoted" \\ %s ? $1 {}',
    "🦕👩‍👩‍👧 é e\u0301 ﬁ",
    "\ufffd\u200b\u2028x",
    "<script>alert(1)</script>",
    "a\tb\n\n c",
)

texts = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40))
documents = st.builds(
    Document,
    id=texts.filter(bool),
    title=texts,
    source=st.builds(Source, texts, texts, texts),
    text=texts,
    sections=st.lists(
        st.builds(Section, st.lists(texts, max_size=3).map(tuple), st.integers(0, 6), st.integers(0, 99), st.integers(0, 99)),
        max_size=3,
    ).map(tuple),
    blocks=st.lists(
        st.builds(Block, st.sampled_from(["heading", "table", "html"]), st.integers(0, 99), st.integers(0, 99)), max_size=3
    ).map(tuple),
    sha256=texts,
    revision=texts,
    fetched_at=texts,
    category=texts,
    region=texts,
    countries=st.lists(texts, max_size=3).map(tuple),
    aliases=st.lists(texts, max_size=3).map(tuple),
    see_also=texts,
    origin=texts,
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the tales, which no test of this module writes to."""
    folder = tmp_path_factory.mktemp("store")
    corpora.publish(folder)
    return folder


@pytest.fixture
def corpus(store: Path) -> Corpus:
    return open_corpus(store, corpora.NAME)


def index_of(corpus: Corpus, embedder: HashEmbedder | None = None) -> Index:
    recipe = corpora.recipe(embedder)
    return corpus.index(recipe.configuration.index_key, fingerprint=recipe.fingerprint)


def written(folder: Path, found: Sequence[Document], *, retired: Sequence[tuple[Document, str]] = ()) -> Corpus:
    """A corpus file with those documents as the only generation."""
    with new_generation(folder) as generation:
        write_corpus(generation / CORPUS_FILE, found, retired=retired, meta={"language": "english"})
    return Corpus(folder, "000001")


@given(found=st.lists(documents, max_size=4, unique_by=lambda document: document.id), gone=st.lists(documents, max_size=2))
@settings(max_examples=15)
def test_documents_come_back_as_they_were(tmp_path_factory: pytest.TempPathFactory, found: list[Document], gone: list[Document]) -> None:
    """Every field of every document survives the store, whatever text is in it; retired ones stand apart with their time."""
    taken = {document.id for document in found}
    retired = [(document, "2026-01-02") for document in {each.id: each for each in gone if each.id not in taken}.values()]
    corpus = written(tmp_path_factory.mktemp("store") / "any", found, retired=retired)
    # DuckDB orders by UTF-8, which is the order of code points.
    expected = tuple(sorted(found, key=lambda document: document.id))
    assert corpus.all_documents() == expected
    assert corpus.retired_documents() == tuple(sorted(retired, key=lambda pair: pair[0].id))
    assert [corpus.document(document.id) for document in expected] == list(expected)
    assert [(info.id, info.title, info.source, info.characters) for info in corpus.documents] == [
        (document.id, document.title, document.source, len(document.text)) for document in expected
    ]
    corpus.close()


def test_a_document_that_is_not_there_is_a_named_error(tmp_path: Path) -> None:
    """An unknown id, a hostile one and a retired one are all NotFound."""
    gone = corpora.document("gone.md", "# Gone\n\nIt left.")
    corpus = written(tmp_path / "any", corpora.tales(), retired=[(gone, "2026-01-02")])
    for document_id in ("nothing.md", HOSTILE[0], "", "gone.md"):
        with pytest.raises(NotFound, match="a document of any"):
            corpus.document(document_id)
    assert len(corpus.all_documents()) == len(corpora.TALES)


def test_every_chunk_is_a_slice_of_its_document(corpus: Corpus) -> None:
    """`document.text[start:end]` is the chunk's text, and the chunks come in the order asked."""
    index = index_of(corpus)
    positions = list(reversed(range(len(index.chunk_ids))))
    chunks = index.chunks(positions)
    assert [chunk.id for chunk in chunks] == list(reversed(index.chunk_ids))
    assert len(chunks) >= len(corpora.TALES)
    for chunk in chunks:
        assert corpus.document(chunk.document_id).text[chunk.start : chunk.end] == chunk.text
    assert index.chunks([]) == []


@pytest.mark.parametrize("slice_", [1, 3, 10_240])
def test_chunks_are_read_in_slices(corpus: Corpus, monkeypatch: pytest.MonkeyPatch, slice_: int) -> None:
    """However many are read at a time, every chunk has its own words, hostile ones too."""
    expected = index_of(corpus).all_chunks()
    monkeypatch.setattr("sitt_core.store.rows.READ_CHUNKS", slice_)
    again = Corpus(corpus.folder.parent, corpus.generation)
    assert index_of(again).all_chunks() == expected
    assert index_of(again).mean_tokens == round(sum(chunk.tokens for chunk in expected) / len(expected))
    again.close()


def test_an_index_without_a_graph_is_let_go_of(corpus: Corpus) -> None:
    """Once read, it is attached nowhere: DuckDB keeps none of it in memory."""
    index_of(corpus)
    with corpus._reading() as cursor:
        attached = {name for (name,) in cursor.execute("SELECT database_name FROM duckdb_databases() WHERE NOT internal").fetchall()}
    assert attached == {"memory", "corpus"}


def test_an_index_comes_back_as_it_was(corpus: Corpus) -> None:
    """Chunks, vectors and postings are those that the recipe makes, in one order."""
    recipe = corpora.recipe()
    chunks = [chunk for document in corpus.all_documents() for chunk in recipe.chunk(document)]
    index = index_of(corpus)
    embedded = [chunk.embedded for chunk in chunks]
    assert index.chunks(range(len(chunks))) == chunks
    assert np.array_equal(index.vectors, recipe.embedder.embed_passages(embedded))
    expected = build_postings(embedded, "english")
    assert dict(index.postings.terms) == dict(expected.terms)
    for name in ("starts", "chunks", "counts", "weights", "lengths"):
        assert np.array_equal(getattr(index.postings, name), getattr(expected, name))
    assert [corpus.documents[at].id for at in index.document_at] == [chunk.document_id for chunk in chunks]


def test_an_empty_corpus_and_its_index_are_sound(tmp_path: Path) -> None:
    """No documents is a corpus too: nothing is found, nothing fails."""
    corpus = corpora.publish(tmp_path, [])
    index = index_of(corpus)
    assert (corpus.documents, index.chunk_ids, index.vectors.shape, dict(index.postings.terms)) == ((), (), (0, 8), {})


def test_a_corpus_describes_itself(corpus: Corpus) -> None:
    """Values with their counts, its language, its sources and the indexes with their sizes."""
    key = corpora.recipe().configuration.index_key
    assert corpus.values("category") == {"aquatic": 3, "canine": 2, "hominid": 3, "reptile": 2, "winged": 2}
    assert corpus.values("origin") == {corpora.ORIGIN: 12}
    assert corpus.meta["language"] == "english"
    assert corpus.meta[f"source:{corpora.ORIGIN}"] == corpora.ORIGIN
    path = index_file(corpus.folder, key)
    assert path is not None
    assert corpus.index_sizes() == {key: path.stat().st_size}
    assert corpus.has_index(key)
    assert not corpus.has_index("0" * 12)


def test_an_index_in_the_making_is_not_counted(tmp_path: Path) -> None:
    """What another process is building beside the indexes neither counts nor gets in the way."""
    corpus = corpora.publish(tmp_path)
    key = corpora.recipe().configuration.index_key
    (corpus.folder / f".building-{key}.2.duckdb").write_bytes(b"half")
    assert list(corpus.index_sizes()) == [key]
    assert len(index_of(corpus).chunk_ids) > 0


def test_an_index_not_built_names_the_command(corpus: Corpus) -> None:
    """IndexMissing says which corpus and how to build it."""
    with pytest.raises(IndexMissing, match=r"python -m sitt_core index --corpus tales .*--set"):
        corpus.index("0" * 12, fingerprint={})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(HashEmbedder(seed=1, dimension=8), id="another embedder of the same dimension"),
        pytest.param(HashEmbedder(seed=2, dimension=16), id="another dimension"),
    ],
)
def test_another_embedder_is_refused(corpus: Corpus, other: HashEmbedder) -> None:
    """The error names both fingerprints and the command that rebuilds; the index itself stays as it is."""
    with pytest.raises(FingerprintError) as caught:
        index_of(corpus, other)
    assert other.fingerprint in caught.value.expected
    assert HashEmbedder().fingerprint in caught.value.got
    assert "python -m sitt_core index --corpus tales --rebuild" in caught.value.remedy
    assert len(index_of(corpus).chunk_ids) > 0


@pytest.mark.parametrize("name", ["chunker", "tokenizer", "words", "language", "a new one"])
def test_any_other_part_of_the_fingerprint_is_refused_too(corpus: Corpus, name: str) -> None:
    """Chunker, tokenizer, words, language, and what a later version may add."""
    recipe = corpora.recipe()
    with pytest.raises(FingerprintError, match=f"{name} other"):
        corpus.index(recipe.configuration.index_key, fingerprint={**recipe.fingerprint, name: "other"})


def chunk(number: int, text: str, document_id: str) -> Chunk:
    return Chunk(f"chunk-{number:05d}", document_id, 0, len(text), text, (), 1)


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda vectors: vectors * [[1], [np.nan], [1]], id="NaN"),
        pytest.param(lambda vectors: vectors * [[1], [0], [1]], id="zero"),
        pytest.param(lambda vectors: vectors * [[1], [np.inf], [1]], id="infinite"),
        pytest.param(lambda vectors: vectors * 2, id="not of length 1"),
        pytest.param(lambda vectors: vectors[:2], id="one short"),
        pytest.param(lambda vectors: vectors[0], id="a single vector"),
        pytest.param(lambda vectors: vectors[:1], id="one for all"),
    ],
)
@pytest.mark.filterwarnings("ignore:invalid value")
def test_vectors_that_are_none_are_refused_before_anything_is_written(tmp_path: Path, spoil: Callable[[np.ndarray], np.ndarray]) -> None:
    """One bad vector refuses the whole index, and no file comes to be."""
    chunks = [chunk(number, f"text {number}", "a.md") for number in range(3)]
    vectors = spoil(HashEmbedder().embed_passages([each.text for each in chunks]))
    path = tmp_path / "ab12.1.duckdb"
    with pytest.raises(ModelError, match="finite vectors of length 1"):
        write_index(path, chunks, vectors, build_postings([each.text for each in chunks], "english"), meta={"dimension": "8"})
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_stops_a_build_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Below the spare space nothing is written, and the error says so."""
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1024))
    with pytest.raises(StoreError, match=r"64 MB free.*got 0 MB"):
        write_corpus(tmp_path / CORPUS_FILE, corpora.tales(), retired=[], meta={})
    assert list(tmp_path.iterdir()) == []


def truncate(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    """The database's own header block, whose checksum then fails."""
    return data[:5000] + bytes([data[5000] ^ 0xFF]) + data[5001:]


SPOILT = [
    pytest.param(lambda _: b"", id="empty"),
    pytest.param(lambda _: b"no database\n" * 1000, id="garbage"),
    pytest.param(truncate, id="cut short"),
    pytest.param(flip, id="a bit flipped"),
]


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_spoilt_corpus_file_is_a_named_error(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    """It names the file and how to go back, and the generation before is served again that way."""
    corpora.publish(tmp_path).close()
    corpora.publish(tmp_path).close()
    path = tmp_path / corpora.NAME / "000002" / CORPUS_FILE
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(StoreError, match=r"corpus\.duckdb.*into CURRENT"):
        open_corpus(tmp_path, corpora.NAME)
    (tmp_path / corpora.NAME / "CURRENT").write_text("000001\n")
    assert len(open_corpus(tmp_path, corpora.NAME).documents) == len(corpora.TALES)


@pytest.mark.parametrize("spoil", SPOILT)
def test_a_spoilt_index_file_is_a_named_error(tmp_path: Path, spoil: Callable[[bytes], bytes]) -> None:
    """It names the file and the command that rebuilds; the documents can still be read, and a rebuild mends it."""
    corpus = corpora.publish(tmp_path)
    recipe = corpora.recipe()
    path = index_file(corpus.folder, recipe.configuration.index_key)
    assert path is not None
    path.write_bytes(spoil(path.read_bytes()))
    for _ in range(2):
        with pytest.raises(StoreError, match=rf"{re.escape(path.name)}.*index --corpus tales --rebuild"):
            index_of(corpus)
    assert len(corpus.all_documents()) == len(corpora.TALES)
    build_index(corpus, recipe=recipe, report=corpora.silent)
    assert len(index_of(corpus).chunk_ids) > 0


@pytest.mark.parametrize(
    "statement", ["UPDATE meta SET value = '0' WHERE key = 'schema'", "DELETE FROM meta WHERE key = 'schema'", "DROP TABLE meta"]
)
@pytest.mark.parametrize("which", ["corpus", "index"])
def test_a_file_of_another_schema_is_a_named_error(tmp_path: Path, which: str, statement: str) -> None:
    """Another version's file, or another program's, is refused by name and not read."""
    corpus = corpora.publish(tmp_path)
    key = corpora.recipe().configuration.index_key
    path = index_file(corpus.folder, key) if which == "index" else corpus.folder / CORPUS_FILE
    assert path is not None
    corpus.close()
    with duckdb.connect(str(path)) as connection:
        connection.execute(statement)
    with pytest.raises(StoreError, match=re.escape(path.name)):
        index_of(open_corpus(tmp_path, corpora.NAME))


def test_an_index_of_other_documents_is_a_named_error(tmp_path: Path) -> None:
    """An index file copied from another corpus does not pass."""
    corpus = corpora.publish(tmp_path)
    other = corpora.publish(tmp_path, [corpora.document("elsewhere.md", "# Elsewhere\n\nNothing.")], name="other")
    key = corpora.recipe().configuration.index_key
    shutil.copy(other.folder / f"{key}.1.duckdb", corpus.folder / f"{key}.1.duckdb")
    for _ in range(2):
        with pytest.raises(StoreError, match="agree with its corpus"):
            index_of(corpus)


def test_a_closed_corpus_says_so_by_name(tmp_path: Path) -> None:
    """Reading after close is a StoreError, not a library's exception."""
    corpus = corpora.publish(tmp_path)
    corpus.close()
    with pytest.raises(StoreError, match="tales"):
        corpus.all_documents()


def test_four_threads_read_only_their_own_rows(corpus: Corpus) -> None:
    """4 threads × 150 reads of one object: every answer belongs to its question."""
    index = index_of(corpus)
    expected = index.chunks(range(len(index.chunk_ids)))

    def read(thread: int) -> int:
        wrong = 0
        for turn in range(150):
            position = (7 * thread + turn) % len(expected)
            wrong += index.chunks([position]) != [expected[position]]
        return wrong

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(read, range(4))) == 0


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> tuple[Corpus, Index]:
    """3,000 documents of one chunk, 1 % of them of the category rare."""
    base = corpora.document("x.md", "text")
    found = [replace(base, id=f"{number:05d}.md", category="rare" if number % 100 == 7 else "common") for number in range(3000)]
    chunks = [chunk(number, f"creature {number}", document.id) for number, document in enumerate(found)]
    embedded = [each.text for each in chunks]
    folder = tmp_path_factory.mktemp("store") / "crowd"
    with new_generation(folder) as generation:
        write_corpus(generation / CORPUS_FILE, found, retired=[], meta={"language": "english"})
        vectors = HashEmbedder().embed_passages(embedded)
        write_index(generation / "ab12.1.duckdb", chunks, vectors, build_postings(embedded, "english"), meta={"dimension": "8"})
    corpus = Corpus(folder, "000001")
    return corpus, corpus.index("ab12", fingerprint={})


def test_a_rare_filter_still_fills_the_result(crowd: tuple[Corpus, Index]) -> None:
    """A category of 1 % of 3,000 gives five rows of that category: the filter comes first."""
    corpus, index = crowd
    allowed = corpus.allowed(index, Filters(category=("rare",)))
    assert allowed is not None
    assert int(allowed.sum()) == 30
    (ranking,) = rank_dense(index.vectors, index.chunk_ids, HashEmbedder().embed_queries(["creature 1234"]), 5, allowed=allowed)
    passages = corpus.passages(index, ranking, allowed=allowed)
    assert [passage.rank for passage in passages] == [1, 2, 3, 4, 5]
    assert {int(passage.chunk.document_id[:5]) % 100 for passage in passages} == {7}


def test_filters_combine(corpus: Corpus) -> None:
    """Values of one filter add up, filters narrow each other, none lets everything pass."""
    index = index_of(corpus)

    def passing(filters: Filters) -> set[str]:
        allowed = corpus.allowed(index, filters)
        assert allowed is not None
        return {corpus.documents[at].id for at in index.document_at[allowed]}

    assert corpus.allowed(index, Filters()) is None
    assert passing(Filters(category=("canine",))) == {"moor.md", "orchard.md"}
    assert passing(Filters(category=("canine", "winged"), region=("Americas",))) == {"sky.md", "bridge.md"}
    assert passing(Filters(category=("canine",), region=("Asia",))) == set()
    assert len(passing(Filters(origin=(corpora.ORIGIN,)))) == 12


@pytest.mark.parametrize(
    ("filters", "named"),
    [
        pytest.param(Filters(category=("aquatic", "plant")), r"category to be one of aquatic, canine.*got 'plant'", id="category"),
        pytest.param(Filters(region=("Atlantis",)), r"region to be one of Africa.*got 'Atlantis'", id="region"),
        pytest.param(Filters(origin=("field-guide",)), r"origin to be one of markdown:tales.*got 'field-guide'", id="origin"),
        pytest.param(Filters(category=("",)), r"got ''", id="empty"),
        pytest.param(Filters(category=(HOSTILE[0],)), r"got .*DROP TABLE", id="SQL"),
        pytest.param(Filters(category=("\ud800",)), r"got '\\ud800'", id="lone surrogate"),
    ],
)
def test_an_unknown_filter_value_is_named_with_those_there_are(corpus: Corpus, filters: Filters, named: str) -> None:
    """The error shows the value and the allowed ones."""
    with pytest.raises(InvalidInput, match=named):
        corpus.allowed(index_of(corpus), filters)


def test_twins_are_shown_once_with_all_their_places(tmp_path: Path) -> None:
    """The same text in three documents and twice in one is one passage; each document counts once; a filter applies to twins."""
    twin = "# Twin\n\nThe very same tale."
    found = [
        corpora.document("a.md", twin, category="x"),
        corpora.document("b.md", twin, category="y"),
        corpora.document("c.md", "# C\n\nAnother tale.", category="x"),
        corpora.document("d.md", twin, category="x"),
    ]
    corpus = corpora.publish(tmp_path, found)
    index = index_of(corpus)
    hit = Hit(index.chunk_ids[1], 1.0)
    (passage,) = corpus.passages(index, [hit])
    assert passage.document_ids == ("b.md", "a.md", "d.md")
    (passage,) = corpus.passages(index, [hit], allowed=corpus.allowed(index, Filters(category=("x",))))
    assert passage.document_ids == ("b.md", "a.md", "d.md")
    doubled = replace(passage, twins=(*passage.twins, *passage.twins))
    assert doubled.document_ids == ("b.md", "a.md", "d.md")


PUBLISH = """
import sys
from pathlib import Path
from tests.fakes import corpora
store = Path(sys.argv[1])
corpora.update(store, corpora.listing([corpora.document("new.md", "# New\\n\\nA new tale of a lake.")]), corpora.recipe())
"""
REBUILD = """
import sys
from pathlib import Path
from sitt_core.ingest import build_index
from sitt_core.store.reading import open_corpus
from tests.fakes import corpora
build_index(open_corpus(Path(sys.argv[1]), corpora.NAME), recipe=corpora.recipe(), report=corpora.silent)
"""


def in_another_process(code: str, store: Path) -> None:
    subprocess.run([sys.executable, "-c", code, str(store)], cwd=ROOT, check=True, timeout=120)


def test_a_reader_finishes_on_the_generation_it_began_with(tmp_path: Path) -> None:
    """While another process publishes, the open object keeps answering as before; the next one opened sees the new generation."""
    before = corpora.publish(tmp_path)
    expected = before.all_documents()
    with subprocess.Popen([sys.executable, "-c", PUBLISH, str(tmp_path)], cwd=ROOT) as process:
        while process.poll() is None:
            assert before.all_documents() == expected
    assert process.returncode == 0
    assert before.all_documents() == expected
    assert len(index_of(before).chunk_ids) >= len(corpora.TALES)
    after = open_corpus(tmp_path, corpora.NAME)
    assert (before.generation, after.generation) == ("000001", "000002")
    assert [document.id for document in after.documents] == ["new.md"]
    assert len(after.retired_documents()) == len(corpora.TALES)


def test_a_reader_outlives_its_generation(tmp_path: Path) -> None:
    """Even after its folder was removed, what a reader has open answers."""
    corpus = corpora.publish(tmp_path)
    index = index_of(corpus)
    expected = index.chunks([0, 1])
    for _ in range(3):
        corpora.publish(tmp_path).close()
    assert not corpus.folder.exists()
    assert index.chunks([0, 1]) == expected
    assert corpus.index_sizes() == {}


def test_a_rebuilt_index_is_picked_up_by_a_reader_that_had_the_old_one(tmp_path: Path) -> None:
    """The next call loads the new file, what was begun on the old one still answers."""
    corpus = corpora.publish(tmp_path)
    old = index_of(corpus)
    in_another_process(REBUILD, tmp_path)
    new = index_of(corpus)
    assert new is not old
    assert new.meta["built_at"] >= old.meta["built_at"]
    assert old.chunks([3]) == new.chunks([3])
    assert [path.name for path in corpus.folder.glob("*.2.duckdb")] == [f"{old.key}.2.duckdb"]
    assert index_of(corpus) is new


def test_an_index_replaced_between_finding_and_opening_is_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rebuild that removes the file just before it is opened costs a second look, not an error."""
    corpus = corpora.publish(tmp_path)
    really = corpus._load

    def replaced_meanwhile(path: Path, index_key: str) -> Index:
        if path.name.endswith(".1.duckdb"):
            path.rename(path.with_name(f"{index_key}.2.duckdb"))
        return really(path, index_key)

    monkeypatch.setattr(corpus, "_load", replaced_meanwhile)
    assert len(index_of(corpus).chunk_ids) > 0
