"""How long the server works on a flipped switch of the Explore page, from the flip to the last element.

python -m benchmarks.flip
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 10
TARGET = 0.3
ROOT = Path(__file__).resolve().parents[1]
FLIPS = ("dense", "keyword", "top_k", "chunking")


def main() -> None:
    """Builds two indexes in a temporary folder, runs the page's script without a browser, and flips."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["SITT_DATA_DIR"] = folder
        for arguments in (["update", "--source", "field-guide", "--yes"], ["index", "--set", "chunking.strategy=sentence"]):
            subprocess.run([sys.executable, "-m", "sitt_core", *arguments], cwd=ROOT, check=True, capture_output=True)
        from streamlit.testing.v1 import AppTest

        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
        app.query_params["q"] = "Which lake monster is said to live in Manitoba?"
        app.run()
        assert len(app.sidebar.toggle) == 1
        times: dict[str, list[float]] = {name: [] for name in FLIPS}
        for round_ in range(ROUNDS + 1):
            for name in FLIPS:
                times[name].append(flip(app, name, even=round_ % 2 == 0))
        for name, seconds in times.items():
            print(f"{name:>9}: {statistics.median(seconds[1:]):.3f} s (most {max(seconds[1:]):.3f})")
        worst = max(statistics.median(seconds[1:]) for seconds in times.values())
        print(f"slowest median {worst:.3f} s (target: at most {TARGET})")


def flip(app: object, name: str, *, even: bool) -> float:
    """Flips one switch and returns the seconds of the run that follows."""
    if name == "dense":
        app.segmented_control(key="widget:dense").set_value("off" if even else "exact")  # type: ignore[attr-defined]
    elif name == "keyword":
        app.segmented_control(key="widget:keyword").set_value("rank-bm25" if even else "bm25s")  # type: ignore[attr-defined]
    elif name == "top_k":
        app.slider(key="widget:top_k").set_value(8 if even else 5)  # type: ignore[attr-defined]
    else:
        app.radio(key="widget:chunking.strategy").set_value("sentence" if even else "structural")  # type: ignore[attr-defined]
    # Private, Streamlit 1.67.0: AppTest would run the page's script alone from the second run on, as there is a pages/ folder.
    app._finished_page_script_hash = ""  # type: ignore[attr-defined]
    started = time.perf_counter()
    app.run()  # type: ignore[attr-defined]
    elapsed = time.perf_counter() - started
    assert not app.exception  # type: ignore[attr-defined]
    return elapsed


if __name__ == "__main__":
    main()
