"""What a person reads while long work runs: durations in words, a line per stage, and no flood in a log."""

import io
from types import SimpleNamespace

import pytest

from sitt_core.surfaces import progress
from sitt_core.surfaces.progress import human_seconds, progress_line, terminal_report


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Time that moves only when it is told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=made.monotonic))
    return made


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "1 s"),
        (0.4, "1 s"),
        (8.4, "8 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (125, "2 min 5 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h 0 min"),
        (3600 + 10 * 60 + 59, "1 h 10 min"),
        (100 * 3600, "100 h 0 min"),
    ],
)
def test_human_seconds(seconds: float, text: str) -> None:
    """A duration in the two units that matter, never 0 and never 60 of anything."""
    assert human_seconds(seconds) == text


@pytest.mark.parametrize(
    ("done", "total", "left", "line"),
    [
        pytest.param(128, 1204, 9.2, "embed 128 of 1,204 (about 9 s left)", id="under way"),
        pytest.param(128, 1204, None, "embed 128 of 1,204", id="not known yet"),
        pytest.param(1204, 1204, 3.0, "embed 1,204 of 1,204", id="finished"),
        pytest.param(0, 0, None, "embed 0 of 0", id="nothing to do"),
        pytest.param(128, 1204, 0.0, "embed 128 of 1,204", id="no time left"),
    ],
)
def test_progress_line(done: int, total: int, left: float | None, line: str) -> None:
    """Counts with thousands apart, and the time left while there is some."""
    assert progress_line("embed", done, total, left) == line


def test_a_terminal_is_redrawn(clock: Clock) -> None:
    """At a terminal one line is drawn over again, at most every 0.2 s, and ends with the stage."""
    out = Terminal()
    report = terminal_report(out)
    for now, done in [(0.0, 0), (0.1, 10), (0.3, 20), (0.4, 40)]:
        clock.now = now
        report("embed", done, 40)
    left = (0.3 - 0.0) / (20 - 0) * (40 - 20)
    assert left == pytest.approx(0.3)
    assert out.getvalue().split("\r\x1b[K") == ["", "  embed 0 of 40", "  embed 20 of 40 (about 1 s left)", "  embed 40 of 40\n"]


def test_a_log_gets_a_line_now_and_then(clock: Clock) -> None:
    """In a log there are no control characters, and a line at most every 5 s; the last one always."""
    out = io.StringIO()
    report = terminal_report(out)
    for now in range(13):
        clock.now = float(now)
        report("embed", now, 12)
    assert out.getvalue().splitlines() == [
        "  embed 0 of 12",
        "  embed 5 of 12 (about 7 s left)",
        "  embed 10 of 12 (about 2 s left)",
        "  embed 12 of 12",
    ]


def test_a_stage_is_timed_by_itself(clock: Clock) -> None:
    """The time left of a stage counts from its own first report, not from an earlier stage's."""
    out = io.StringIO()
    report = terminal_report(out)
    for now, stage, done in [(0.0, "chunk", 0), (100.0, "chunk", 4), (100.0, "embed", 0), (110.0, "embed", 1)]:
        clock.now = now
        report(stage, done, 4)
    assert out.getvalue().splitlines()[-1] == "  embed 1 of 4 (about 30 s left)"
    assert (110 - 100) / (1 - 0) * (4 - 1) == 30


def test_standard_error_is_the_default(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    """Progress goes to standard error, so that standard output holds results alone."""
    terminal_report()("embed", 1, 1)
    assert capsys.readouterr() == ("", "  embed 1 of 1\n")
