"""How long work shows itself in a terminal: a line per stage with counts and the time left."""

import sys
import time
from typing import TextIO

from sitt_core.jobs import seconds_left
from sitt_core.types import Report

EVERY_SECONDS = 0.2
EVERY_SECONDS_IN_A_LOG = 5.0


def human_seconds(seconds: float) -> str:
    """A duration as a person says it: `8 s`, `2 min 5 s`, `1 h 10 min`."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def when(at: float) -> str:
    """A moment (seconds since 1970) in this machine's time, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def human_bytes(size: int) -> str:
    """A size as a person says it: `12 kB`, `3.4 MB`."""
    for unit, bytes_ in (("GB", 2**30), ("MB", 2**20)):
        if size >= bytes_:
            return f"{size / bytes_:.1f} {unit}"
    return f"{-(-size // 1024):,} kB"


def sentences_note(sentences: int) -> str:
    """What an estimate adds while semantic chunking has yet to embed that many sentences; empty for none."""
    return (
        f" {sentences:,} sentences are embedded first; where the subject changes between them there will be more chunks."
        if sentences
        else ""
    )


def progress_line(stage: str, done: int, total: int, left: float | None) -> str:
    """One stage's progress in words, such as `embed 128 of 1,204 (about 9 s left)`."""
    time_left = f" (about {human_seconds(left)} left)" if left and done < total else ""
    return f"{stage} {done:,} of {total:,}{time_left}"


def terminal_report(stream: TextIO | None = None) -> Report:
    """A report function that draws on a terminal, or writes a line now and then into a log."""
    out = stream or sys.stderr
    live = out.isatty()
    every = EVERY_SECONDS if live else EVERY_SECONDS_IN_A_LOG
    points: list[tuple[float, int]] = []
    current, drawn = "", float("-inf")

    def report(stage: str, done: int, total: int) -> None:
        nonlocal current, drawn
        now = time.monotonic()
        if stage != current:
            points.clear()
            current = stage
        points.append((now, done))
        finished = done >= total
        if not finished and now - drawn < every:
            return
        drawn = now
        line = progress_line(stage, done, total, seconds_left(points, total))
        out.write(f"\r\x1b[K  {line}" if live else f"  {line}\n")
        if live and finished:
            out.write("\n")
        out.flush()

    return report
