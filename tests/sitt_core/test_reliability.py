"""Kills, readers during publishes, full disks, foreign hands: what is served stays whole, and nothing is embedded twice."""

import hashlib
import json
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from sitt_core import build, ingest, jobs, pipeline
from sitt_core.errors import SittError, StoreError
from sitt_core.settings import Settings
from sitt_core.store.layout import generations, index_files
from sitt_core.store.reading import Corpus, open_corpus
from sitt_core.store.vectors import VectorCache, text_key
from sitt_core.types import Document, Listing
from tests.fakes import corpora
from tests.fakes.embedder import HashEmbedder

ROOT = Path(__file__).parents[2]
TIMEOUT = 300.0

BEGINNING = """
import json, os, signal, sys
from pathlib import Path
from sitt_core import ingest
from sitt_core.store import layout
from sitt_core.store.reading import open_corpus
from tests.fakes import corpora
from tests.sitt_core.test_reliability import edited, library

def die():
    os.kill(os.getpid(), signal.SIGKILL)
"""

DIES = (
    BEGINNING
    + """
what, moment, store = sys.argv[1], sys.argv[2], Path(sys.argv[3])
ingest.EMBED_BATCH = 2

def report(stage, done, total):
    if stage == moment and (done >= total // 2 if stage in ("chunk", "embed") else True):
        die()

publish = layout.replace_text
if moment == "before CURRENT":
    layout.replace_text = lambda path, text: die()
if moment == "after CURRENT":
    layout.replace_text = lambda path, text: (publish(path, text), die())
if moment == "renaming":
    layout.sync = lambda path: die()
if moment == "read":
    die()
if what == "update":
    corpora.update(store, edited(8), corpora.recipe(), report=report)
else:
    ingest.build_index(open_corpus(store, corpora.NAME), recipe=corpora.recipe(chunking__size=12, chunking__overlap=0), report=report)
"""
)

TELLS = (
    BEGINNING
    + """
count = int(sys.argv[2])
corpora.update(Path(sys.argv[1]), edited(count), corpora.recipe(), report=lambda *at: print(json.dumps(at), file=sys.stderr, flush=True))
"""
)

READS = """
import sys
from pathlib import Path
from sitt_core import build, pipeline
from sitt_core.configuration import configure
from sitt_core.settings import Settings
from tests.fakes.embedder import HashEmbedder
from tests.sitt_core.test_reliability import told

build.EMBEDDERS["minilm"] = lambda **_: HashEmbedder()
workshop = build.Workshop(Settings(Path(sys.argv[1])))
print("ready", flush=True)
for _ in sys.stdin:
    corpus = workshop.corpus("tales")
    print(corpus.generation, told(corpus, pipeline.search("tale of the edition", workshop.engine(corpus, configure({})))), flush=True)
"""


def library(count: int) -> list[Document]:
    """Notes as they are before the update."""
    return [corpora.document(f"{number:05}.md", f"# Note {number}\n\nA tale of creature {number}, as it was.") for number in range(count)]


def edited(count: int) -> Listing:
    """The same source later: every third note changed, one new."""
    notes = [
        corpora.document(each.id, each.text.replace("as it was", "told anew")) if number % 3 == 0 else each
        for number, each in enumerate(library(count))
    ]
    return corpora.listing([*notes, corpora.document("new.md", "# New\n\nA new tale.")])


def told(corpus: Corpus, retrieval: pipeline.Retrieval) -> str:
    """Which edition the passages are of: one name, unless an answer mixes several."""
    editions = {passage.chunk.text.rsplit(maxsplit=1)[-1] for passage in retrieval.passages}
    sources = {corpus.document(passage.chunk.document_id).text[passage.chunk.start : passage.chunk.end] for passage in retrieval.passages}
    assert sources == {passage.chunk.text for passage in retrieval.passages}
    return "+".join(sorted(editions))


def edition(name: str) -> Listing:
    """A dozen tales that all say which edition they are of."""
    return corpora.listing([corpora.document(f"{number}.md", f"# Tale {number}\n\nA tale of the edition {name}") for number in range(12)])


def state(corpus: Corpus) -> dict[str, str]:
    """The documents by what they say."""
    return {document.id: hashlib.sha256(document.text.encode()).hexdigest() for document in corpus.all_documents()}


def said(documents: Sequence[Document]) -> dict[str, str]:
    return {document.id: hashlib.sha256(document.text.encode()).hexdigest() for document in documents}


def indexed(corpus: Corpus) -> list[str]:
    """The documents of the default index's chunks: one chunk each in these libraries."""
    index = corpus.index(corpora.recipe().configuration.index_key, fingerprint=corpora.recipe().fingerprint)
    return sorted(corpus.documents[at].id for at in index.document_at)


def script(code: str, *arguments: object) -> list[str]:
    return [sys.executable, "-c", code, *map(str, arguments)]


@pytest.fixture(scope="module")
def eight_notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a library of eight, which no test writes to."""
    store = tmp_path_factory.mktemp("store")
    corpora.publish(store, library(8), made_from=corpora.recipe())
    return store


@pytest.fixture
def notes(eight_notes: Path, tmp_path: Path) -> Path:
    """A copy of that store."""
    shutil.copytree(eight_notes, tmp_path, dirs_exist_ok=True)
    return tmp_path


def cached(folder: Path, embedder: HashEmbedder) -> VectorCache:
    return VectorCache(folder / "vectors", fingerprint=embedder.fingerprint, dimension=embedder.dimension)


MOMENTS = ("read", "chunk", "embed", "index words", "write", "publish", "renaming", "before CURRENT", "after CURRENT")


@pytest.mark.parametrize(
    ("what", "moment"),
    [
        *(("update", moment) for moment in MOMENTS),
        *(("index", moment) for moment in ("chunk", "embed", "index words", "write", "renaming")),
    ],
)
def test_a_kill_at_any_moment(notes: Path, what: str, moment: str) -> None:
    """What is served stays as it was (or is the new one, whole), the next build succeeds, clears up, and embeds no text that is cached."""
    before, folder = state(open_corpus(notes, corpora.NAME)), notes / corpora.NAME
    done = subprocess.run(script(DIES, what, moment, notes), cwd=ROOT, capture_output=True, timeout=TIMEOUT, check=False)
    assert done.returncode == -9, done.stderr.decode()

    served = open_corpus(notes, corpora.NAME)
    published = moment == "after CURRENT"
    assert served.generation == ("000002" if published else "000001")
    assert state(served) == (said(edited(8).documents) if published else before)
    assert indexed(served) == sorted(state(served))
    assert len(index_files(served.folder)) == 1

    embedder = HashEmbedder()
    already = cached(folder, embedder)
    if what == "update":
        built = corpora.update(notes, edited(8), corpora.recipe(embedder))
    else:
        recipe = corpora.recipe(embedder, chunking__size=12, chunking__overlap=0)
        built = ingest.build_index(served, recipe=recipe, report=corpora.silent)
    assert [text for text in embedder.embedded if text_key(text) in already] == []
    assert built.embedded == len(embedder.embedded)
    after = open_corpus(notes, corpora.NAME)
    assert state(after) == (said(edited(8).documents) if what == "update" else before)
    assert indexed(after) == sorted(state(after))
    assert [str(path) for path in folder.rglob(".building-*")] == []
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"vectors", *generations(folder)}


def kill_at_random(tmp_path: Path, *, documents: int, kills: int) -> None:
    """Kills an update again and again, each time after another stage has got somewhere, then lets it end."""
    old, new = said(library(documents)), said(edited(documents).documents)
    corpora.publish(tmp_path, library(documents), made_from=corpora.recipe())
    chance = random.Random(7)
    for _ in range(kills):
        stage, wait = chance.choice(["chunk", "embed", "index words", "write", "publish"]), chance.randrange(documents)
        # On standard error: with `python -c` DuckDB takes standard output for a person's and draws progress bars on it.
        command = script(TELLS, tmp_path, documents)
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            for line in process.stderr:
                name, done, total = json.loads(line)
                if name == stage and done >= wait * total // documents:
                    break
            process.kill()
        served = open_corpus(tmp_path, corpora.NAME)
        assert state(served) in (old, new)
        assert indexed(served) == sorted(state(served))
        served.close()
    embedder = HashEmbedder()
    already = cached(tmp_path / corpora.NAME, embedder)
    corpora.update(tmp_path, edited(documents), corpora.recipe(embedder))
    assert [text for text in embedder.embedded if text_key(text) in already] == []
    served = open_corpus(tmp_path, corpora.NAME)
    assert state(served) == new
    assert indexed(served) == sorted(new)
    assert served.retired_documents() == ()


def test_random_kills_of_a_small_update(tmp_path: Path) -> None:
    """No document is lost, doubled or half updated."""
    kill_at_random(tmp_path, documents=120, kills=3)


@pytest.mark.soak
def test_twenty_random_kills_of_an_update_of_ten_thousand_documents(tmp_path: Path) -> None:
    """No document is lost, doubled or half updated."""
    kill_at_random(tmp_path, documents=10_000, kills=20)


class Reader:
    """A process with a Workshop of its own, as a dashboard or a server has one."""

    def __init__(self, data_dir: Path) -> None:
        self.process = subprocess.Popen(
            script(READS, data_dir), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, stderr=subprocess.PIPE
        )

    def hear(self) -> str:
        out, err = self.process.stdout, self.process.stderr
        assert out is not None and err is not None
        assert select.select([out], [], [], TIMEOUT)[0], "the reader said nothing"
        return out.readline().decode().strip() or err.read().decode()

    def ask(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(b"\n")


@contextmanager
def readers(data_dir: Path, count: int) -> Iterator[list[Reader]]:
    with ExitStack() as stack:
        made = []
        for _ in range(count):
            reader = Reader(data_dir)
            stack.enter_context(reader.process)
            stack.callback(reader.process.kill)
            made.append(reader)
        assert [reader.hear() for reader in made] == ["ready"] * count
        yield made


def read_while_publishing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, editions: int) -> None:
    """Two processes and four threads ask all the time; a third process's worth of updates, in this one, publishes."""
    monkeypatch.setitem(build.EMBEDDERS, "minilm", lambda **_: HashEmbedder())
    store = tmp_path / "store"
    corpora.update(store, edition("e0"), corpora.recipe())
    workshop = build.Workshop(Settings(tmp_path))
    ended, wrong, answers = threading.Event(), [], []

    def ask_all_the_time() -> None:
        while not ended.is_set():
            try:
                corpus = workshop.corpus("tales")
                engine = workshop.engine(corpus, corpora.recipe().configuration)
                answers.append((corpus.generation, told(corpus, pipeline.search("tale of the edition", engine))))
            except Exception as error:  # whatever it is, the test is to name it
                wrong.append(error)
                return

    threads = [threading.Thread(target=ask_all_the_time) for _ in range(4)]
    with readers(tmp_path, 2) as processes:
        for thread in threads:
            thread.start()
        try:
            for number in range(1, editions):
                for reader in processes:
                    reader.ask()  # answered before, during or after the update
                corpora.update(store, edition(f"e{number}"), corpora.recipe())
                for reader in processes:
                    assert reader.hear() in [f"{at + 1:06} e{at}" for at in (number - 1, number)]
                    reader.ask()
                    assert reader.hear() == f"{number + 1:06} e{number}"
        finally:
            ended.set()
            for thread in threads:
                thread.join()
    assert wrong == []
    assert answers
    assert set(answers) <= {(f"{number + 1:06}", f"e{number}") for number in range(editions)}


def test_readers_during_publishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes and threads see whole generations only, never an error, and the newest one from their next question on."""
    read_while_publishing(tmp_path, monkeypatch, editions=4)


@pytest.mark.soak
def test_readers_during_a_hundred_publishes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes and threads see whole generations only, never an error, and the newest one from their next question on."""
    read_while_publishing(tmp_path, monkeypatch, editions=100)


FULL = (
    BEGINNING
    + """
import resource
from sitt_core.errors import SittError
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    corpora.update(Path(sys.argv[1]), edited(8), corpora.recipe())
except SittError as error:
    sys.exit(f"{error.kind}: {error}")
"""
)


@pytest.mark.parametrize("limit", [0, 100, 13_000, 300_000, 600_000])
def test_a_disk_that_is_full(notes: Path, limit: int) -> None:
    """Wherever in an update no more can be written, it is a StoreError that says that nothing is lost, nothing is, and later it works."""
    done = subprocess.run(script(FULL, notes, limit), cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("StoreError: expected to write")
    served = open_corpus(notes, corpora.NAME)
    assert (served.generation, state(served)) == ("000001", said(library(8)))
    assert [path.name for path in (notes / corpora.NAME).glob(".building-*")] == []
    corpora.update(notes, edited(8), corpora.recipe())
    assert state(open_corpus(notes, corpora.NAME)) == said(edited(8).documents)


READ_ONLY = (
    BEGINNING
    + """
from sitt_core.errors import SittError
corpora.publish(Path(sys.argv[2]), edited(8).documents, made_from=corpora.recipe())  # imports everything while it may
corpora.engine(open_corpus(Path(sys.argv[2]), "tales"))
os.chdir(sys.argv[1])
if os.geteuid() == 0:  # who may do anything: becomes somebody who may not
    os.setgroups([])
    os.setresgid(65534, 65534, 65534)
    os.setresuid(65534, 65534, 65534)
corpus = open_corpus(Path("."), "tales")
for work in (lambda: corpora.update(Path("."), edited(8), corpora.recipe()), lambda: ingest.build_index(corpus, recipe=corpora.recipe(chunking__size=12, chunking__overlap=0), report=corpora.silent)):
    try:
        work()
    except SittError as error:
        print(f"{error.kind}: {error}")
print(len(corpora.engine(corpus).index.chunk_ids))
"""
)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may pass through, which pytest's own are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def test_a_store_that_may_only_be_read(open_folder: Path, tmp_path: Path) -> None:
    """Asking works; an update and an index are refused with what to do about it, and nothing is touched."""
    store = open_folder / "store"
    corpora.publish(store, library(8), made_from=corpora.recipe())
    paths = [store, *store.rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = {path: path.stat().st_mtime_ns for path in paths}
    command = script(READ_ONLY, store, tmp_path / "other")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert {path: path.stat().st_mtime_ns for path in (store, *store.rglob("*"))} == before
    for path in paths:
        path.chmod(0o755 if path.is_dir() else 0o644)
    update, index, chunks = done.stdout.splitlines()
    assert all(line.startswith("StoreError: expected to write in") and "SITT_DATA_DIR" in line for line in (update, index))
    assert chunks == "8"


@pytest.mark.parametrize("damage", ["cut", "emptied", "overwritten", "a bit"])
@pytest.mark.parametrize("file", ["corpus", "index"])
def test_a_spoilt_file(notes: Path, file: str, damage: str) -> None:
    """Whoever reads it gets a StoreError or the truth, never something else; rolling back or building again mends it."""
    corpora.update(notes, edited(8), corpora.recipe())
    folder = notes / corpora.NAME / "000002"
    path = folder / "corpus.duckdb" if file == "corpus" else next(iter(index_files(folder).values()))
    content = bytearray(path.read_bytes())
    if damage == "a bit":
        content[len(content) // 2] ^= 1
    path.write_bytes({"cut": content[:5000], "emptied": b"", "overwritten": b"\xff" * len(content)}.get(damage, content))
    try:
        served = open_corpus(notes, corpora.NAME)
        assert (state(served), indexed(served)) == (said(edited(8).documents), sorted(said(edited(8).documents)))
    except StoreError:
        from sitt_core.store.admin import roll_back

        if file == "corpus":
            roll_back(notes / corpora.NAME, "000001")
            corpora.update(notes, edited(8), corpora.recipe())
        else:
            ingest.build_index(open_corpus(notes, corpora.NAME), recipe=corpora.recipe(), report=corpora.silent)
    served = open_corpus(notes, corpora.NAME)
    assert state(served) == said(edited(8).documents)
    assert indexed(served) == sorted(state(served))


@pytest.mark.parametrize("damage", ["cut", "emptied", "overwritten", "gone"])
def test_a_spoilt_vector_cache(notes: Path, damage: str) -> None:
    """What it still holds is used, the rest is embedded again, and what is served does not need it."""
    (path,) = (notes / corpora.NAME / "vectors").glob("*.vectors")
    size = path.stat().st_size
    if damage == "gone":
        path.unlink()
    else:
        path.write_bytes({"cut": path.read_bytes()[: size // 2], "emptied": b"", "overwritten": b"\xff" * size}[damage])
    assert len(indexed(open_corpus(notes, corpora.NAME))) == 8
    embedder = HashEmbedder()
    built = corpora.update(notes, edited(8), corpora.recipe(embedder))
    assert built.embedded == {"cut": 7}.get(damage, 9)  # of the four that are left two have changed
    assert indexed(open_corpus(notes, corpora.NAME)) == sorted(said(edited(8).documents))


def test_an_index_of_another_model(tmp_path: Path) -> None:
    """It is refused by name although every file is sound, and both models' vectors are kept."""
    corpora.publish(tmp_path, library(8), made_from=corpora.recipe(HashEmbedder(seed=1)))
    corpus = open_corpus(tmp_path, corpora.NAME)
    with pytest.raises(SittError, match=r"fake 0 \(8\).*fake 1 \(8\).*--rebuild") as caught:
        corpora.engine(corpus)
    assert caught.value.kind == "FingerprintError"
    assert ingest.build_index(corpus, recipe=corpora.recipe(), report=corpora.silent).embedded == 8
    assert corpora.engine(corpus)
    assert ingest.build_index(corpus, recipe=corpora.recipe(HashEmbedder(seed=1)), report=corpora.silent).embedded == 0


def until_it_reports(folder: Path) -> None:
    """Waits for the first line of a job's progress."""
    progress = folder / "progress.jsonl"
    waited = threading.Event()
    for _ in range(int(TIMEOUT / 0.02)):
        if progress.exists() and progress.stat().st_size:
            return
        waited.wait(0.02)
    pytest.fail("the job said nothing")


def test_a_job_that_was_killed_is_started_again(tmp_path: Path) -> None:
    """Killed outright it has died, a cancelled one is cancelled; started again under the same key the work is done, by one process."""
    (tmp_path / "notes").mkdir()
    for document in library(200):
        (tmp_path / "notes" / document.id).write_text(document.text, encoding="utf-8")
    settings = Settings(tmp_path / "data")
    arguments = ["update", "--source", f"markdown:{tmp_path / 'notes'}", "--corpus", "notes", "--yes", "--set", "embedder=hash"]
    environment = {"SITT_DATA_DIR": str(settings.data_dir)}

    def start() -> tuple[jobs.Job, int]:
        job = jobs.start(settings.jobs_dir, arguments, title="Update notes", key="update:notes", environment=environment)
        pid = json.loads((settings.jobs_dir / job.id / "job.json").read_text(encoding="utf-8"))["pid"]
        until_it_reports(settings.jobs_dir / job.id)
        return job, pid

    killed, pid = start()
    assert jobs.start(settings.jobs_dir, arguments, title="Update notes", key="update:notes").id == killed.id
    os.kill(pid, signal.SIGKILL)
    jobs._children[pid].wait(timeout=TIMEOUT)
    assert jobs.read(settings.jobs_dir / killed.id).state == "died"

    cancelled, pid = start()
    jobs.cancel(settings.jobs_dir, cancelled.id)
    jobs._children[pid].wait(timeout=TIMEOUT)
    assert jobs.read(settings.jobs_dir / cancelled.id).state == "cancelled"

    finished, pid = start()
    jobs._children[pid].wait(timeout=TIMEOUT)
    assert jobs.read(settings.jobs_dir / finished.id).state == "done", (settings.jobs_dir / finished.id / "output.log").read_text()
    corpus = open_corpus(settings.store_dir, "notes")
    assert {document.id for document in corpus.documents} == set(said(library(200)))
    (cache,) = (settings.store_dir / "notes" / "vectors").glob("*.vectors")
    assert cache.stat().st_size == 200 * (32 + 4 * 64)
