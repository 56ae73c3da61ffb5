"""100,000 chunks of real passages: opening, memory, hybrid search by exact and HNSW against one encode, HNSW's recall.

python -m benchmarks.scale             prepares once (an hour of embedding; resumes when stopped), then measures
python -m benchmarks.scale --prepare   only prepares
"""

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import resources
from pathlib import Path

from benchmarks._texts import PER_DOCUMENT, ROOT, bench_dir, notes_folder

CHUNKS = 100_000
CORPUS = "scale"
ROUNDS, WARM_UP = 60, 6
RECALL_QUESTIONS = 200
PATHS = ("exact", "hnsw")


def workshop() -> "build.Workshop":  # type: ignore[name-defined] # noqa: F821 imported late: the child measures its imports
    """The engine over the prepared store."""
    from sitt_core import build
    from sitt_core.settings import load_settings

    return build.Workshop(replace(load_settings({}), data_dir=bench_dir()))


def prepare(chunks: int) -> None:
    """Makes the corpus with the default configuration, whose index has a graph at this size; what is embedded stays embedded."""
    from sitt_core import build, ingest
    from sitt_core.plan import plan_updates

    made = workshop()
    existing = build.corpus_or_none(made, CORPUS)
    recipe = made.recipe(made.settings.defaults, language=build.DEFAULT_LANGUAGE)
    whole = existing is not None and len(existing.documents) * PER_DOCUMENT >= chunks
    asked = f"m={recipe.configuration.hnsw_m} ef_construction={recipe.configuration.hnsw_ef_construction}"
    if whole and existing and any(info.meta.get("hnsw") == asked for info in existing.indexes()):
        return
    spent: dict[str, list[float]] = {}

    def report(stage: str, done: int, total: int) -> None:
        times = spent.setdefault(stage, [time.monotonic()])
        if done == total or time.monotonic() - times[-1] > 10:
            times.append(time.monotonic())
            print(f"\r{stage} {done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    if whole and existing:
        ingest.build_index(existing, recipe=recipe, report=report)
    else:
        listing, place = build.read_source(f"markdown:{notes_folder(chunks)}")
        updates = plan_updates(existing, [(listing, place)])
        ingest.apply_update(made.settings.store_dir / CORPUS, existing, updates, recipe=recipe, report=report)
    seconds = {stage: times[-1] - times[0] for stage, times in spent.items()}
    (bench_dir() / "scale.json").write_text(json.dumps(seconds), encoding="utf-8")


def questions(count: int) -> Iterator[str]:
    """Ten words out of the middle of passages spread over the corpus."""
    files = sorted(notes_folder(CHUNKS).rglob("*.md"))
    for number in range(count):
        text = files[number * len(files) // count].read_text(encoding="utf-8")
        words = text.split("\n\n")[2 + 2 * (number % PER_DOCUMENT)].split()
        yield " ".join(words[8:18])


def open_and_ask(dense: str) -> None:
    """For a fresh process: prints seconds from the first import to the first answer, and peak memory in MB, as JSON."""
    started = time.perf_counter()
    from sitt_core.configuration import configure
    from sitt_core.pipeline import search

    made = workshop()
    imported = time.perf_counter()
    engine = made.engine(made.corpus(CORPUS), configure({"dense": dense}))
    opened = time.perf_counter()
    result = search("How are missing values handled when a table is read?", engine)
    answered = time.perf_counter()
    stage = result.trace.stage("dense")
    print(
        json.dumps(
            {
                "imports": imported - started,
                "opening": opened - imported,
                "answer": answered - opened,
                "memory": peak_memory(),
                "note": stage.note if stage else "",
            }
        )
    )


def peak_memory() -> float:
    """The most memory this process ever held, in MB."""
    status = Path("/proc/self/status")
    if status.is_file():  # what getrusage says begins with what the parent held
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text())[1]) / 1024  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def opening() -> None:
    """Prints what a fresh process takes to its first answer, by path; the best of three, the first warms the file cache."""
    for dense in PATHS:
        runs = []
        for _ in range(4):
            command = [sys.executable, "-m", "benchmarks.scale", "--child", dense]
            runs.append(json.loads(subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout))
        run = min(runs[1:], key=lambda each: each["opening"] + each["answer"])
        print(
            f"{dense:>6}: opening to first answer {run['opening'] + run['answer']:.2f} s (target: at most 2) after {run['imports']:.2f} s of imports; "
            f"peak memory {max(each['memory'] for each in runs):,.0f} MB (target: at most 1,229); {run['note']}"
        )


def milliseconds(action: Callable[[], object]) -> float:
    """How long one call took."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def latency() -> None:
    """Prints the medians of hybrid search by both paths and of one encode, taken in turn, and the recall of the graph."""
    from sentence_transformers import SentenceTransformer

    from sitt_core.configuration import configure
    from sitt_core.embedding.minilm import PACKAGE
    from sitt_core.pipeline import search

    made = workshop()
    corpus = made.corpus(CORPUS)
    engines = {dense: made.engine(corpus, configure({"dense": dense})) for dense in PATHS}
    model = SentenceTransformer(str(resources.files(PACKAGE) / "model"))
    times: dict[str, list[float]] = {name: [] for name in ("encode", *PATHS)}
    for question in questions(ROUNDS + WARM_UP):
        times["encode"].append(milliseconds(lambda: model.encode(question, show_progress_bar=False)))  # noqa: B023 called at once
        for dense in PATHS:
            times[dense].append(milliseconds(lambda: search(question, engines[dense])))  # noqa: B023
    p50 = {name: statistics.median(taken[WARM_UP:]) for name, taken in times.items()}
    print(f"SentenceTransformer.encode of the question alone: p50 {p50['encode']:.1f} ms")
    for dense in PATHS:
        print(f"hybrid search, {dense}: p50 {p50[dense]:.1f} ms, {p50[dense] / p50['encode']:.2f} × (target: at most 1.8)")
    recall(engines["hnsw"])


def recall(engine: "Engine") -> None:  # type: ignore[name-defined] # noqa: F821
    """Prints recall@10 of the graph over questions, a hit no farther than the exact tenth counting, with DuckDB's plan."""
    import numpy as np

    index, ef = engine.index, engine.configuration.hnsw_ef_search
    queries = engine.embed(list(questions(RECALL_QUESTIONS)))
    found = 0
    for query in queries:
        similarity = index.vectors @ query
        tenth = np.partition(similarity, -10)[-10]
        found += int(np.sum(similarity[engine.corpus.nearest(index, query, 10, ef_search=ef)] >= tenth - 1e-6))
    plan = engine.corpus.explain_nearest(index, queries[0], 10)
    scan = next((line.strip("│ ") for line in plan.splitlines() if "INDEX_SCAN" in line), "no index scan")
    print(
        f"HNSW recall@10 {found / (10 * len(queries)):.4f} over {len(queries)} questions at ef_search {ef} (target: at least 0.985); {scan}"
    )


def main() -> None:
    """Prepares, then measures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--prepare", action="store_true")
    options.add_argument("--child", choices=PATHS)
    chosen = options.parse_args()
    if chosen.child:
        open_and_ask(chosen.child)
        return
    prepare(CHUNKS)
    if chosen.prepare:
        return
    made = workshop()
    corpus = made.corpus(CORPUS)
    (info,) = [each for each in corpus.indexes() if each.key == made.settings.defaults.index_key]
    spent = json.loads((bench_dir() / "scale.json").read_text(encoding="utf-8"))
    print(
        f"{int(info.meta['chunks']):,} chunks; file {info.size / 2**20:.0f} MB; graph {info.meta['hnsw']} built in {spent['graph']:.0f} s"
    )
    opening()
    latency()


if __name__ == "__main__":
    main()
