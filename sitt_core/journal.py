"""What became of every update, a line each: when it ran, what it found, how it ended. Safe from several processes."""

import contextlib
import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from filelock import FileLock, Timeout

FILE = "updates.jsonl"
KEPT = 2_000
"""So many lines stay when the file has grown to twice as many."""
KEPT_FAILURES = 50
LOCK_SECONDS = 5.0

Outcome = Literal["published", "unchanged", "refused", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One source's part: how many documents fell where; `failures` are pairs of id and reason, the first `KEPT_FAILURES`.

    `problem` says why it could not be read at all, `withheld` why what is missing from it was not retired.
    """

    place: str
    counts: Mapping[str, int] = field(default_factory=dict)
    failures: Sequence[Sequence[str]] = ()
    problem: str = ""
    withheld: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One update: `at` is when it ended (seconds since 1970); sources by origin, by place where one could not be read."""

    corpus: str
    outcome: Outcome
    sources: Mapping[str, SourceEntry] = field(default_factory=dict)
    at: float = 0.0
    seconds: float = 0.0
    exit_code: int = 0
    generation: str = ""
    message: str = ""
    recall: Sequence[float] = ()


def record(data_dir: Path, entry: Entry) -> None:
    """Appends a line. What cannot be written is let go: the update itself has ended by then."""
    path = data_dir / FILE
    line = json.dumps({**asdict(entry), "at": entry.at or time.time()}) + "\n"
    with contextlib.suppress(OSError, Timeout):
        data_dir.mkdir(parents=True, exist_ok=True)
        with FileLock(data_dir / f".{FILE}.lock", timeout=LOCK_SECONDS):
            with path.open("ab") as file:
                file.write(b"" if _ends_whole(path) else b"\n")  # half a line, as a full disk leaves it, costs no other
                file.write(line.encode())
            _shorten(path)


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        return file.seek(0, 2) == 0 or (file.seek(-1, 2) >= 0 and file.read(1) == b"\n")


_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What reading a line may raise that a crash or a hand has spoilt."""


def _shorten(path: Path) -> None:
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)
    if len(lines) >= 2 * KEPT:
        part = path.with_suffix(".part")
        part.write_text("".join(lines[-KEPT:]), encoding="utf-8")
        part.replace(path)


def entries(data_dir: Path, corpus: str = "", most: int = 100) -> list[Entry]:
    """The latest updates, of one corpus or all, newest first; a line that cannot be read is passed over."""
    try:
        lines = (data_dir / FILE).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    found: list[Entry] = []
    for line in reversed(lines):
        with contextlib.suppress(*_DAMAGE):
            entry = _entry(json.loads(line))
            if corpus in ("", entry.corpus):
                found.append(entry)
        if len(found) == most:
            break
    return found


def _entry(kept: dict[str, Any]) -> Entry:
    if kept["outcome"] not in get_args(Outcome):
        raise ValueError(kept["outcome"])
    texts = {name: str(kept[name]) for name in ("corpus", "generation", "message")}
    times = {name: _finite(kept[name]) for name in ("at", "seconds")}
    sources = {origin: _source(value) for origin, value in kept["sources"].items()}
    recall = tuple(map(_finite, kept["recall"]))
    return Entry(**{**kept, **texts, **times, "exit_code": int(kept["exit_code"]), "sources": sources, "recall": recall})


def _source(kept: dict[str, Any]) -> SourceEntry:
    texts = {name: str(kept[name]) for name in ("place", "problem", "withheld")}
    counts = {name: int(count) for name, count in kept["counts"].items()}
    failures = tuple((str(id_), str(reason)) for id_, reason in kept["failures"])
    return SourceEntry(**{**kept, **texts, "counts": counts, "failures": failures})


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(value)
    return number


def rename(data_dir: Path, old: str, new: str) -> None:
    """What is known of a corpus goes along to its new name."""
    path = data_dir / FILE
    with contextlib.suppress(OSError, Timeout), FileLock(data_dir / f".{FILE}.lock", timeout=LOCK_SECONDS):
        lines = []
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True):
            with contextlib.suppress(*_DAMAGE):
                kept = json.loads(line)
                line = json.dumps({**kept, "corpus": new}) + "\n" if kept.get("corpus") == old else line
            lines.append(line)
        part = path.with_suffix(".part")
        part.write_text("".join(lines), encoding="utf-8")
        part.replace(path)


@dataclass(frozen=True, slots=True)
class Freshness:
    """How a source stands: when an update last read it as a whole and without a failure, and what the latest one met.

    Times are seconds since 1970, 0.0 where there is none.
    """

    read_at: float = 0.0
    tried_at: float = 0.0
    failures: Sequence[Sequence[str]] = ()
    problem: str = ""


def freshness(data_dir: Path, corpus: str, places: Mapping[str, str]) -> dict[str, Freshness]:
    """How each source of a corpus stands, by origin; `places` says where each is."""
    history = entries(data_dir, corpus, KEPT)
    return {origin: _freshness([_part(entry, origin, place) for entry in history], history) for origin, place in places.items()}


def _part(entry: Entry, origin: str, place: str) -> SourceEntry | None:
    return entry.sources.get(origin) or entry.sources.get(place)


def _freshness(parts: Sequence[SourceEntry | None], history: Sequence[Entry]) -> Freshness:
    tried = [(entry.at, part) for entry, part in zip(history, parts, strict=True) if part is not None]
    if not tried:
        return Freshness()
    applied = ("published", "unchanged")
    whole = [
        entry.at
        for entry, part in zip(history, parts, strict=True)
        if part is not None and entry.outcome in applied and not (part.failures or part.problem or part.withheld)
    ]
    at, latest = tried[0]
    return Freshness(whole[0] if whole else 0.0, at, latest.failures, latest.problem or latest.withheld)
