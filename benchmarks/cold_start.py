"""`python -m sitt_core search` as a whole process against `import sentence_transformers`, in turn.

python -m benchmarks.cold_start
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
TARGET = 1 / 3
ROOT = Path(__file__).resolve().parents[1]


def seconds(arguments: list[str], environment: dict[str, str]) -> float:
    """How long a Python process with these arguments took."""
    started = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    """Builds the default index in a temporary folder, then starts both processes in turn."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SITT_DATA_DIR": folder}
        seconds(["-m", "sitt_core", "update", "--source", "field-guide", "--yes"], environment)
        ours, reference = [], []
        for _ in range(ROUNDS + 1):
            reference.append(seconds(["-c", "import sentence_transformers"], environment))
            ours.append(seconds(["-m", "sitt_core", "search", "Who was Nessie?"], environment))
        # The first of each warms the file cache.
        p50, p50_reference = statistics.median(ours[1:]), statistics.median(reference[1:])
        print(f"python -m sitt_core search, from cold:   {p50:.2f} s (median of {ROUNDS})")
        print(f"python -c 'import sentence_transformers': {p50_reference:.2f} s")
        print(f"ratio {p50 / p50_reference:.2f} (target: at most {TARGET:.2f})")


if __name__ == "__main__":
    main()
