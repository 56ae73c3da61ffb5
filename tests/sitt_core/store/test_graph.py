"""HNSW graphs: in the index's own file, used when asked for and only then, safe under threads, right after every rebuild."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb
import numpy as np
import pytest

from sitt_core.errors import IndexMissing, StoreError
from sitt_core.ingest import build_index
from sitt_core.pipeline import search
from sitt_core.plan import plan_updates
from sitt_core.store import extensions, graph
from sitt_core.store.layout import index_file, index_files
from sitt_core.store.reading import Corpus, Index, open_corpus
from sitt_core.types import Document, Filters
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder

ROOT = Path(__file__).parents[3]
HNSW = {"dense": "hnsw"}
WORDS = ("lake", "forest", "serpent", "giant", "moor", "hound", "sky", "bird", "mine", "moth", "sand", "worm", "ice", "river", "tin", "eye")


def sightings(count: int, *, begin: int = 0, rare: int = 0) -> list[Document]:
    """Distinct short documents; every `rare`-th, when that is not 0, is of the category rare."""
    rng = np.random.default_rng(begin + 1)
    return [
        corpora.document(
            f"{number:05d}.md",
            f"# Sighting {number}\n\nA {' '.join(rng.choice(WORDS, 5))} was seen on day {number}.",
            category="rare" if rare and number % rare == 0 else "common",
        )
        for number in range(begin, begin + count)
    ]


def index_of(corpus: Corpus) -> Index:
    recipe = corpora.recipe(**HNSW)
    return corpus.index(recipe.configuration.index_key, fingerprint=recipe.fingerprint, graph=True)


def exact_positions(index: Index, query: np.ndarray, n: int) -> list[int]:
    return np.argsort(-(index.vectors @ query), kind="stable")[:n].tolist()


def queries(count: int, dimension: int = 8, *, seed: int = 7) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal((count, dimension)).astype(np.float32)
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def recall(corpus: Corpus, index: Index, *, n: int = 10) -> float:
    """The share of hits no farther than the exact n-th, over fifty questions."""
    found = 0
    asked = queries(50)
    for query in asked:
        similarity = index.vectors @ query
        worst = np.sort(similarity)[-n]
        found += int(np.sum(similarity[corpus.nearest(index, query, n, ef_search=128)] >= worst - 1e-6))
    return found / (n * len(asked))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store whose 600 sightings have a graph, which no test writes to."""
    folder = tmp_path_factory.mktemp("store")
    corpora.publish(folder, sightings(600, rare=100), made_from=corpora.recipe(**HNSW))
    return folder


@pytest.fixture
def corpus(store: Path) -> Corpus:
    return open_corpus(store, corpora.NAME)


class TestBuilding:
    def test_the_file_is_finished(self, corpus: Corpus) -> None:
        """The graph is in the index's one file: no write-ahead log is left, and the meta names parameters and recall."""
        path = index_file(corpus.folder, corpora.recipe(**HNSW).configuration.index_key)
        assert path is not None
        assert {other.name for other in path.parent.iterdir() if path.stem in other.name} == {path.name}
        meta = index_of(corpus).meta
        assert (meta["hnsw"], meta["hnsw_recall_ef"]) == ("m=24 ef_construction=200", "320")
        assert 0.95 <= float(meta["hnsw_recall"]) <= 1
        with duckdb.connect(str(path), read_only=True) as connection:
            assert connection.execute("SELECT index_name FROM duckdb_indexes()").fetchall() == [("graph",)]

    def test_the_parameters_are_those_asked_for(self, tmp_path: Path) -> None:
        """M and ef_construction reach the graph, and the index of other ones has a key of its own."""
        corpus = corpora.publish(tmp_path, sightings(40), made_from=corpora.recipe(**HNSW))
        asked = corpora.recipe(**HNSW, hnsw__m=4, hnsw__ef_construction=32)
        build_index(corpus, recipe=asked, report=corpora.silent)
        other = corpus.index(asked.configuration.index_key, fingerprint=asked.fingerprint, graph=True)
        assert other.meta["hnsw"] == "m=4 ef_construction=32"
        assert index_of(corpus).meta["hnsw"] == "m=24 ef_construction=200"

    @pytest.mark.parametrize("count", [0, 1, 9], ids=["nothing", "one", "fewer than ten"])
    def test_a_tiny_index_has_a_sound_graph(self, tmp_path: Path, count: int) -> None:
        """No chunk, or fewer than are asked for, is no special case: all of them come back."""
        corpus = corpora.publish(tmp_path, sightings(count), made_from=corpora.recipe(**HNSW))
        index = index_of(corpus)
        assert sorted(corpus.nearest(index, queries(1)[0], 50, ef_search=128).tolist()) == list(range(count))
        assert float(index.meta["hnsw_recall"]) == 1.0

    def test_small_indexes_get_one_only_when_asked(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """An index has a graph from so many chunks on; below that with dense=hnsw, and then it keeps it."""
        exact = corpora.recipe()
        corpus = corpora.publish(tmp_path, sightings(30), made_from=exact)
        key = exact.configuration.index_key
        assert (corpus.has_index_for(exact.configuration), corpus.has_graph(key)) == (True, False)
        monkeypatch.setattr("sitt_core.ingest.GRAPH_CHUNKS", 30)
        build_index(corpus, recipe=exact, report=corpora.silent)
        assert corpus.has_graph(key)
        monkeypatch.undo()
        build_index(corpus, recipe=exact, report=corpora.silent)
        assert corpus.has_graph(key)
        corpora.update(tmp_path, corpora.listing(sightings(31)), exact)
        assert open_corpus(tmp_path, corpora.NAME).has_graph(key)

    def test_an_index_without_a_graph_needs_building(self, tmp_path: Path) -> None:
        """With dense=hnsw it counts as missing, the error names the command, and the build makes the next file from cached vectors."""
        embedder = HashEmbedder()
        exact, asked = corpora.recipe(embedder), corpora.recipe(embedder, **HNSW)
        corpus = corpora.publish(tmp_path, sightings(30), made_from=exact)
        key = exact.configuration.index_key
        assert asked.configuration.index_key == key
        assert (corpus.has_index(key), corpus.has_index_for(exact.configuration), corpus.has_index_for(asked.configuration)) == (
            True,
            True,
            False,
        )
        corpus.index(key, fingerprint=exact.fingerprint)
        with pytest.raises(IndexMissing, match=r"an HNSW graph.*index --corpus tales --set dense=hnsw"):
            corpus.index(key, fingerprint=exact.fingerprint, graph=True)
        assert build_index(corpus, recipe=asked, report=corpora.silent).embedded == 0
        assert index_files(corpus.folder)[key].name == f"{key}.2.duckdb"
        assert corpus.has_index_for(asked.configuration)
        assert index_of(corpus).has_graph

    def test_a_killed_build_is_no_hindrance(self, tmp_path: Path) -> None:
        """A half-written file with its write-ahead log, left by a build that was killed while it made the graph, is passed over."""
        recipe = corpora.recipe(**HNSW)
        corpus = corpora.publish(tmp_path, sightings(30))
        building = corpus.folder / f".building-{recipe.configuration.index_key}.2.duckdb"
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(building)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 9, done.stderr
        assert building.with_name(f"{building.name}.wal").exists()
        assert build_index(corpus, recipe=recipe, report=corpora.silent).chunks == 30
        assert recall(corpus, index_of(corpus)) == 1.0
        assert [path.name for path in corpus.folder.glob("*.wal")] == []

    def test_the_graph_is_a_stage(self, tmp_path: Path) -> None:
        """A build reports the graph after everything else that it makes."""
        stages: list[str] = []
        corpora.update(
            tmp_path, corpora.listing(sightings(5)), corpora.recipe(**HNSW), report=lambda stage, _done, _total: stages.append(stage)
        )
        assert list(dict.fromkeys(stages))[-3:] == ["write", "graph", "publish"]

    def test_rounds_of_rebuilding_agree_with_exact(self, tmp_path: Path) -> None:
        """After each of six rounds of adding, changing and removing documents the graph finds what exact search finds."""
        recipe = corpora.recipe(**HNSW)
        found = sightings(120)
        for round_ in range(6):
            corpora.update(tmp_path, corpora.listing(found), recipe)
            corpus = open_corpus(tmp_path, corpora.NAME)
            index = index_of(corpus)
            assert len(index.chunk_ids) == len(found)
            assert recall(corpus, index) >= 0.99
            for query in queries(5, seed=round_):
                assert sorted(corpus.nearest(index, query, len(found), ef_search=200).tolist()) == list(range(len(found)))
            corpus.close()
            found = found[8:] + sightings(20, begin=1000 * (round_ + 1))


class TestSearching:
    def test_the_graph_answers(self, corpus: Corpus) -> None:
        """DuckDB's plan for an HNSW query names the index scan."""
        assert "HNSW_INDEX_SCAN" in corpus.explain_nearest(index_of(corpus), queries(1)[0], 10)

    def test_exact_never_uses_it(self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
        """With dense=exact no graph query runs, vss is not even loaded, and the vectors are read by a plain scan."""

        def refuse(*_args: object, **_options: object) -> None:
            raise AssertionError("the graph was asked")

        monkeypatch.setattr(graph, "nearest", refuse)
        monkeypatch.setattr(graph, "load_vss", refuse)
        result = search("Which serpent?", corpora.engine(corpus, corpora.recipe()))
        stage = result.trace.stage("dense")
        assert stage is not None
        assert stage.note == "exact: one product with every vector"
        with duckdb.connect() as connection:
            connection.execute(f"LOAD '{extensions.vss_path()}'")
            path = index_file(corpus.folder, corpora.recipe().configuration.index_key)
            connection.execute(f"ATTACH '{path}' AS here (READ_ONLY)")
            plan = connection.execute(
                "EXPLAIN SELECT unnest(vector) FROM (SELECT vector FROM here.vectors WHERE rowid >= 0 AND rowid < 9)"
            ).fetchone()
        assert plan is not None
        assert "HNSW_INDEX_SCAN" not in plan[1]

    def test_the_same_hits_as_exact(self, corpus: Corpus) -> None:
        """On a small index the two paths give the very same hits: order, scores, ranks."""
        for question in ("Which serpent was in the lake?", "moth", "a hound on the moor"):
            exact = search(question, corpora.engine(corpus, corpora.recipe(keyword="off")))
            fast = search(question, corpora.engine(corpus, corpora.recipe(keyword="off", hnsw__ef_search=600, **HNSW)))
            assert [passage.hit for passage in fast.passages] == [passage.hit for passage in exact.passages]

    def test_the_trace_names_the_path(self, corpus: Corpus) -> None:
        """The note says hnsw with ef_search and recall, or exact and why."""
        index = index_of(corpus)
        measured = f"recall {float(index.meta['hnsw_recall']):.2f} against exact when built"
        cases: Sequence[tuple[dict[str, object], Filters, str]] = (
            ({}, Filters(), f"hnsw: ef_search 320, {measured}"),
            ({"hnsw__ef_search": 64}, Filters(), f"hnsw: ef_search 64, {measured} with ef_search 320"),
            ({}, Filters(category=("rare",)), "exact: one product with every vector (filters mean exact search)"),
        )
        for changes, filters, note in cases:
            result = search("serpent", corpora.engine(corpus, corpora.recipe(**HNSW, **changes)), filters=filters)
            stage = result.trace.stage("dense")
            assert stage is not None
            assert stage.note == note

    def test_filters_lose_nothing(self, corpus: Corpus) -> None:
        """A category of one document in a hundred still fills the list with all that it has."""
        engine = corpora.engine(corpus, corpora.recipe(keyword="off", **HNSW))
        result = search("a giant in the forest", engine, filters=Filters(category=("rare",)))
        assert len(result.passages) == 5
        dense = result.trace.stage("dense")
        assert dense is not None
        assert len(dense.hits) == 6
        assert {passage.chunk.document_id for passage in result.passages} <= {f"{number:05d}.md" for number in range(0, 600, 100)}

    def test_retired_documents_lose_nothing(self, tmp_path: Path) -> None:
        """After an update that retires most documents the candidates are still as many as exact search has, none of them retired."""
        recipe = corpora.recipe(keyword="off", **HNSW)
        corpora.publish(tmp_path, sightings(300), made_from=recipe)
        left = sightings(300)[::5]
        store = tmp_path / corpora.NAME
        first = open_corpus(tmp_path, corpora.NAME)
        found = corpora.listing(left)
        updates = plan_updates(first, [(found, found.origin)], allow_removals=240)
        corpora.ingest.apply_update(store, first, updates, recipe=recipe, report=corpora.silent, allow_removals=240)
        result = search("a giant in the forest", corpora.engine(open_corpus(tmp_path, corpora.NAME), recipe))
        dense = result.trace.stage("dense")
        assert dense is not None
        assert len(dense.hits) == 50
        index = index_of(open_corpus(tmp_path, corpora.NAME))
        assert {hit.chunk_id for hit in dense.hits} <= set(index.chunk_ids)

    def test_a_graph_that_gives_too_little_is_not_relied_on(self, corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
        """When the graph hands over fewer chunks than there are, exact search answers and the note says so."""
        monkeypatch.setattr(graph, "nearest", lambda *_args, **_options: np.array([3, 1], dtype=np.int64))
        result = search("serpent", corpora.engine(corpus, corpora.recipe(**HNSW)))
        stage = result.trace.stage("dense")
        assert stage is not None
        assert (len(stage.hits), stage.note) == (50, "exact: one product with every vector (the graph gave only 2)")


class TestWithoutTheExtension:
    @pytest.fixture
    def missing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def nowhere() -> Path:
            raise StoreError(expected="duckdb-extension-vss", got="no such file", remedy="Install the requirements again: make install")

        monkeypatch.setattr(graph, "vss_path", nowhere)

    @pytest.mark.usefixtures("missing")
    def test_hnsw_is_a_named_error_and_exact_works(self, corpus: Corpus) -> None:
        """Without vss the graph is a StoreError with its remedy; the same file answers exactly."""
        with pytest.raises(StoreError, match="make install"):
            search("serpent", corpora.engine(corpus, corpora.recipe(**HNSW)))
        assert len(search("serpent", corpora.engine(corpus, corpora.recipe())).passages) == 5

    @pytest.mark.usefixtures("missing")
    def test_a_build_leaves_nothing_behind(self, tmp_path: Path) -> None:
        """A build that cannot make its graph publishes nothing, and one without a graph succeeds."""
        with pytest.raises(StoreError, match="make install"):
            corpora.update(tmp_path, corpora.listing(sightings(5)), corpora.recipe(**HNSW))
        assert not (tmp_path / corpora.NAME / "CURRENT").exists()
        assert corpora.update(tmp_path, corpora.listing(sightings(5)), corpora.recipe()).chunks == 5

    def test_one_that_does_not_load_is_a_named_error(self, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A damaged extension file is a StoreError that says exact search needs none."""
        broken = tmp_path / "vss.duckdb_extension"
        broken.write_bytes(b"not an extension")
        monkeypatch.setattr(graph, "vss_path", lambda: broken)
        with pytest.raises(StoreError, match="dense=exact needs no extension"):
            search("serpent", corpora.engine(corpus, corpora.recipe(**HNSW)))


KILLED = """
import os, sys
import duckdb
from sitt_core.store.graph import create_graph, load_vss

connection = duckdb.connect(sys.argv[1])
load_vss(connection)
connection.execute("CREATE TABLE vectors (position INTEGER PRIMARY KEY, vector FLOAT[8] NOT NULL)")
connection.execute("CHECKPOINT")
create_graph(connection, m=16, ef_construction=128)
connection.execute("INSERT INTO vectors VALUES (1, [1, 0, 0, 0, 0, 0, 0, 0])")
os._exit(9)
"""

FIRST = """
import sys
from pathlib import Path

from sitt_core.pipeline import search
from sitt_core.store.reading import open_corpus
from tests.fakes import corpora

corpus = open_corpus(Path(sys.argv[1]), corpora.NAME)
stage = search("Which serpent?", corpora.engine(corpus, corpora.recipe(dense="hnsw"))).trace.stage("dense")
print(stage.note.split(":")[0], *sorted({"pandas", "pyarrow"} & sys.modules.keys()))
"""


def test_a_first_question_imports_nothing_slow(store: Path) -> None:
    """DuckDB imports pandas and pyarrow for query parameters and for some ways to fetch: not on the way to an HNSW answer."""
    done = subprocess.run([sys.executable, "-c", FIRST, str(store)], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr) == ("hnsw\n", "")


THREADS = """
import sys, threading, time
from pathlib import Path

import numpy as np

from sitt_core.store.reading import open_corpus
from tests.fakes import corpora

store, seconds = Path(sys.argv[1]), float(sys.argv[2])
recipe = corpora.recipe(dense="hnsw")
opened = [open_corpus(store, corpora.NAME) for _ in range(2)]
held = [(corpus, corpus.index(recipe.configuration.index_key, fingerprint=recipe.fingerprint, graph=True)) for corpus in opened]
rng = np.random.default_rng(0)
asked = rng.standard_normal((64, 8)).astype(np.float32)
asked /= np.linalg.norm(asked, axis=1, keepdims=True)
expected = [sorted(held[0][0].nearest(held[0][1], query, 10, ef_search=128).tolist()) for query in asked]
wrong, done, until = [], [0] * 8, time.monotonic() + seconds


def work(number):
    corpus, index = held[number % 2]
    while time.monotonic() < until or done[number] < 50:
        at = (done[number] * 7 + number) % len(asked)
        found = sorted(corpus.nearest(index, asked[at], 10, ef_search=128).tolist())
        if found != expected[at]:
            wrong.append((number, at, found, expected[at]))
        done[number] += 1


threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(wrong), "wrong of", sum(done))
"""


@pytest.mark.parametrize("seconds", [pytest.param(0.0, id="50 each"), pytest.param(30.0, id="30 s", marks=pytest.mark.soak)])
def test_eight_threads_at_once(store: Path, seconds: float) -> None:
    """Eight threads over two openings of one graph: the process lives and every answer is the right one."""
    done = subprocess.run(
        [sys.executable, "-c", THREADS, str(store), str(seconds)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=seconds + 300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("0 wrong of ")
