"""How long the lab takes: every open question of the field guide under 24 configurations whose indexes are there.

    python -m benchmarks.evaluation

The first run builds what is missing; then each of three runs is a new process, as a person starts it.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks._texts import ROOT, bench_dir

GRID = ("chunking.strategy=fixed,sentence,structural,semantic", "keyword=off,bm25s", "embedder=minilm,minilm-int8,static-minilm")
ROUNDS = 3
TARGET = 10.0


def evaluate(environment: dict[str, str]) -> tuple[float, dict[str, object]]:
    """Seconds of `python -m evals run` over the grid, from its start to its end, and what it printed."""
    command: Sequence[str] = [sys.executable, "-m", "evals", "run", "--grid", *GRID, "--json"]
    started = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started, json.loads(done.stdout)


def main() -> None:
    """Builds, then measures."""

    environment = {**os.environ, "SITT_DATA_DIR": str(bench_dir() / "lab")}
    evaluate(environment)
    runs = [evaluate(environment) for _ in range(ROUNDS)]
    seconds = [taken for taken, _ in runs]
    told = runs[-1][1]
    configurations = told["results"]
    assert isinstance(configurations, list)
    print(
        f"{told['questions']} questions × {len(configurations)} configurations: {statistics.median(seconds):.1f} s from start to end "
        f"({min(seconds):.1f}–{max(seconds):.1f}; target: at most {TARGET:.0f})"
    )


if __name__ == "__main__":
    main()
