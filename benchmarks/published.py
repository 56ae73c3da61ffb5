"""How the lab's figures on public collections compare with those that were published for the same retrievers.

    python -m benchmarks.published FOLDER ...
    python -m benchmarks.published FOLDER --published NAME=BM25,MINILM

Each folder is a BEIR collection. It is asked as the published figures were made, by the preset `reproduction`: BM25, MiniLM and
the hybrid of both. NAME is a folder's name; a figure that nobody published is a dash. The first run indexes the collection.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks._texts import ROOT, bench_dir

METRIC = "document-ndcg@10"
GRID = ("dense=exact,off", "keyword=bm25s,off")
PUBLISHED: Mapping[str, tuple[float | None, float | None]] = {
    "scifact": (0.687, 0.645),
    "xquad-en": (0.965, 0.944),
    "xquad-ru": (0.871, 0.216),
}
"""nDCG@10 of BM25 and of MiniLM, by the folder's name (docs/findings.md)."""
TOLERANCE = 0.005


def evaluate(folder: Path, environment: Mapping[str, str]) -> tuple[int, dict[str, float]]:
    """How many questions were asked of a collection, and nDCG@10 of `BM25`, `MiniLM` and `hybrid`."""
    command = [sys.executable, "-m", "evals", "run", "--dataset", f"beir:{folder}", "--preset", "reproduction"]
    command += [*("--grid", *GRID), *("--metrics", METRIC), "--json"]
    done = subprocess.run(command, cwd=ROOT, env=dict(environment), check=False, stdout=subprocess.PIPE)
    if done.returncode:
        raise SystemExit(done.returncode)
    told = json.loads(done.stdout)
    return told["questions"], {_name(each["configuration"]): each["metrics"][METRIC]["mean"] for each in told["results"]}


def _name(configuration: Mapping[str, Any]) -> str:
    if configuration["dense"] == "off":
        return "BM25"
    return "MiniLM" if configuration["keyword"] == "off" else "hybrid"


def line(name: str, questions: int, figures: Mapping[str, float], published: tuple[float | None, float | None]) -> str:
    """A collection's figures, each beside the published one and how far it is from it."""
    told = [_beside(each, figures[each], theirs) for each, theirs in zip(("BM25", "MiniLM"), published, strict=True)]
    return f"{name}, {questions:,} question{'s' * (questions != 1)}: {'; '.join(told)}; hybrid {figures['hybrid']:.3f}"


def _beside(name: str, ours: float, theirs: float | None) -> str:
    if theirs is None:
        return f"{name} {ours:.3f} (published –)"
    off = "" if abs(ours - theirs) <= TOLERANCE else f", more than {TOLERANCE:g} off"
    return f"{name} {ours:.3f} (published {theirs:.3f}, {ours - theirs:+.3f}{off})"


def _given(spec: str) -> tuple[str, tuple[float | None, float | None]]:
    """NAME=BM25,MINILM; a dash for a figure that there is none of."""
    name, _, figures = spec.partition("=")
    bm25, _, minilm = figures.partition(",")
    return name, (_figure(bm25), _figure(minilm))


def _figure(text: str) -> float | None:
    return None if text.strip() in ("", "-", "–") else float(text)


def main(arguments: Sequence[str] | None = None) -> None:
    """Asks every collection and prints a line for it."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.published", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--published", action="append", type=_given, default=[], metavar="NAME=BM25,MINILM")
    chosen = parser.parse_args(arguments)
    if not chosen.folders:
        print("Public collections are not part of this project: python -m benchmarks.published FOLDER ...")
    published = {**PUBLISHED, **dict(chosen.published)}
    environment = {**os.environ, "SITT_DATA_DIR": str(bench_dir() / "published")}
    for folder in chosen.folders:
        place = folder.expanduser().resolve()
        questions, figures = evaluate(place, environment)
        print(line(place.name, questions, figures, published.get(place.name, (None, None))), flush=True)


if __name__ == "__main__":
    main()
