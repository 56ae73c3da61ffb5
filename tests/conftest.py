"""Hypothesis tries the same examples on every machine; what is marked soak runs only when asked for; what takes long begins first."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

for library in ("OPENBLAS", "OMP"):  # before any loads: threads for every core, in every process, would wait for each other
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

settings.register_profile("sitt", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("sitt")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job hands that on to every process that a test stops with it
    signal.signal(signal.SIGINT, signal.default_int_handler)

FIRST = ("test_corpus.py", "test_sources.py", "test_lab.py")
"""Of the files in a browser those that take longest, and do not wait for the field guide's index, which the others share."""
LONG = (
    *("test_judging.py", "test_reliability.py", "test_int8.py", "test_cli_evals.py", "test_cli_drafting.py", "test_updates.py"),
    *("test_cli.py", "test_st.py", "test_report.py", "test_analysis.py", "test_writing_reading.py", "test_graph.py", "test_static.py"),
)
"""The files that take longest after those in a browser: begun last, one would leave the other process with nothing to do."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out the tests marked soak unless the -m expression names them; then those in a browser come first, FIRST before the others, then LONG."""
    if "soak" not in config.option.markexpr:
        left_out = [item for item in items if item.get_closest_marker("soak")]
        items[:] = [item for item in items if not item.get_closest_marker("soak")]
        config.hook.pytest_deselected(items=left_out)
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    name = item.path.name
    if item.get_closest_marker("browser"):
        return (FIRST.index(name) if name in FIRST else len(FIRST)) - len(FIRST) - 1
    return LONG.index(name) if name in LONG else len(LONG)
