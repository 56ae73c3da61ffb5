"""10,000 Markdown documents: planning an update, an update of 50 of them, and the memory that takes; the field guide's index from nothing.

python -m benchmarks.updates [updates | memory | guide]     all of them without a name
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import resources
from pathlib import Path

from benchmarks._texts import notes_folder
from benchmarks.scale import CHUNKS
from sitt_core import build, ingest
from sitt_core.configuration import configure
from sitt_core.embedding.minilm import PACKAGE
from sitt_core.plan import plan_update, plan_updates
from sitt_core.settings import load_settings
from sitt_core.store.reading import Corpus, open_corpus

DOCUMENTS, CHANGED = 10_000, 50
MOST_MEMORY = 1.5 * 2**30
HASH = configure({"embedder": "hash"})


class Spent:
    """Seconds by stage, told by the engine's own reports."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._last = time.perf_counter()

    def __call__(self, stage: str, _done: int, _total: int) -> None:
        """A report function: what passed since the last report belongs to this stage."""
        now = time.perf_counter()
        self.stages[stage] = self.stages.get(stage, 0.0) + now - self._last
        self._last = now

    def __str__(self) -> str:
        return ", ".join(f"{stage} {seconds:.1f}" for stage, seconds in self.stages.items())


@contextmanager
def timed(what: str, target: str = "") -> Iterator[None]:
    """Prints how long the block took."""
    started = time.perf_counter()
    yield
    print(f"{what}: {time.perf_counter() - started:.2f} s{f' (target: {target})' if target else ''}", flush=True)


def update(made: build.Workshop, name: str, folder: Path, *, what: str) -> Corpus:
    """Reads, plans and publishes as the command line does, and prints what each part took."""
    existing = build.corpus_or_none(made, name)
    started = time.perf_counter()
    listing, place = build.read_source(f"markdown:{folder}", existing)
    planned_updates = plan_updates(existing, [(listing, place)])
    plan = planned_updates[0].plan
    planned, spent = time.perf_counter(), Spent()
    recipe = made.recipe(HASH, language=build.DEFAULT_LANGUAGE)
    built = ingest.apply_update(made.settings.store_dir / name, existing, planned_updates, recipe=recipe, report=spent)
    print(
        f"{what}: planned in {planned - started:.2f} s ({len(plan.added)} added, {len(plan.changed)} changed, {len(plan.unchanged)} unchanged), "
        f"published in {time.perf_counter() - planned:.2f} s: {built.chunks:,} chunks, {built.embedded} texts embedded ({spent})",
        flush=True,
    )
    return open_corpus(made.settings.store_dir, name)


def change(files: Sequence[Path]) -> None:
    """Adds a sentence to each file."""
    for file in files:
        file.write_text(file.read_text(encoding="utf-8") + "\nThis was added later.\n", encoding="utf-8")


def write_notes(folder: Path) -> list[Path]:
    """The documents, of three passages each, as files in a folder."""
    folder.mkdir()
    for file in sorted(notes_folder(CHUNKS).rglob("*.md"))[:DOCUMENTS]:
        title, *sections = file.read_text(encoding="utf-8").split("\n\n")
        (folder / file.name).write_text("\n\n".join([title, *sections[:6]]) + "\n", encoding="utf-8")  # three passages of the ten
    files = sorted(folder.rglob("*.md"))
    size = sum(file.stat().st_size for file in files)
    print(f"{len(files):,} documents, {size / 2**20:.0f} MB")
    return files


def memory(data_dir: Path) -> None:
    """The most memory that the whole command takes, pre-flight included: from nothing, then with 50 changed, with minilm's model loaded."""
    files = write_notes(data_dir / "notes")
    command = [
        sys.executable,
        "-m",
        "sitt_core",
        "update",
        "--source",
        f"markdown:{data_dir / 'notes'}",
        "--corpus",
        "notes",
        "--yes",
        "--json",
    ]
    told = {**os.environ, "SITT_DATA_DIR": str(data_dir / "data")}
    for what in ("from nothing", f"{CHANGED} changed"):
        started = time.perf_counter()
        process = subprocess.Popen(command, env=told, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        assert os.waitstatus_to_exitcode(status) == 0
        peak = used.ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        verdict = "within" if peak <= MOST_MEMORY else "OVER"
        print(
            f"update, {what}: at most {peak / 2**20:,.0f} MB in {time.perf_counter() - started:.0f} s ({verdict} {MOST_MEMORY / 2**20:,.0f} MB)",
            flush=True,
        )
        change(files[:: DOCUMENTS // CHANGED][:CHANGED])


def updates(data_dir: Path) -> None:
    """An update of everything, a plan for nothing, an update of a few, and those few as a corpus of their own; embedder hash."""
    folder, few = data_dir / "notes", data_dir / "few"
    files = write_notes(folder)
    made = build.Workshop(replace(load_settings({}), data_dir=data_dir))
    update(made, "notes", folder, what="from nothing")
    corpus = made.corpus("notes")
    with timed("planning, nothing changed", "at most 5"):
        listing, _ = build.read_source(f"markdown:{folder}", corpus)
        assert plan_update(corpus, listing).is_empty
    chosen = files[:: DOCUMENTS // CHANGED][:CHANGED]
    change(chosen)
    update(made, "notes", folder, what=f"{CHANGED} changed")
    few.mkdir()
    for file in chosen:
        shutil.copy(file, few / file.name)
    update(made, "few", few, what=f"those {CHANGED} alone")


def field_guide(data_dir: Path) -> None:
    """The default index from nothing, the model ready, against the reference encode of the same windows."""
    from sentence_transformers import SentenceTransformer

    from sitt_core.embedding.minilm import LIMIT

    made = build.Workshop(replace(load_settings({}), data_dir=data_dir))
    recipe = made.recipe(made.settings.defaults, language=build.DEFAULT_LANGUAGE)
    recipe.embedder.embed_passages(["ready"])
    started = time.perf_counter()
    listing, place = build.read_source("field-guide")
    store = made.settings.store_dir / "field-guide"
    spent = Spent()
    ingest.apply_update(store, None, plan_updates(None, [(listing, place)]), recipe=recipe, report=spent)
    ours = time.perf_counter() - started
    model = SentenceTransformer(str(resources.files(PACKAGE) / "model"))
    windows = [
        window for document in listing.documents for chunk in recipe.chunk(document) for window in _windows(model, chunk.embedded, LIMIT)
    ]
    model.encode(windows[:8], show_progress_bar=False)
    started = time.perf_counter()
    model.encode(windows, show_progress_bar=False)
    reference = time.perf_counter() - started
    print(f"field guide, default index from nothing: {ours:.2f} s ({spent})")
    print(
        f"SentenceTransformer.encode of the same {len(windows)} windows: {reference:.2f} s; ratio {ours / reference:.2f} (target: at most 0.5)"
    )


def _windows(model: object, text: str, limit: int) -> Iterator[str]:
    """The text in pieces of at most `limit` wordpieces, cut between words."""
    held: list[str] = []
    length = 0
    for word in text.split():
        pieces = len(model.tokenizer.tokenize(word))  # type: ignore[attr-defined]
        if held and length + pieces > limit:
            yield " ".join(held)
            held, length = [], 0
        held.append(word)
        length += pieces
    yield " ".join(held)


def main() -> None:
    """Those that are named, each in a temporary folder."""
    parts = {"updates": updates, "memory": memory, "guide": field_guide}
    for name in sys.argv[1:] or parts:
        with tempfile.TemporaryDirectory() as folder:
            parts[name](Path(folder))


if __name__ == "__main__":
    main()
