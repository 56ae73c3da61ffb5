"""Where the judging of a run's answers is kept, beside its rows: who judged, a line for every answer, what was spent."""

import contextlib
import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sitt_core.errors import Busy, StoreError
from sitt_core.jobs import is_locked
from sitt_core.types import Usage

ABOUT, ROWS, SPENT, THUMBS, LOCK = "judged.json", "judged.jsonl", "judged-spent.jsonl", "thumbs.jsonl", "judging.lock"
LOCK_SECONDS = 2.0

Unit = tuple[int, int, int, int]
"""What is judged: configuration and question by their places, which writing of the answer (0 is the run's own), which judging of it."""


@dataclass(frozen=True, slots=True)
class About:
    """Who judged a run and how: everything that decides the verdicts beside the answers. `provider` is "" when nobody was asked.

    `own`: the judge wrote some of the answers itself. `address` is where it was asked, "" for the provider's own.
    """

    provider: str
    model: str
    address: str
    own: bool
    prompts: str
    metrics: tuple[str, ...]
    repeats: int
    ragas: str
    embedder: str
    started: float

    @property
    def judge(self) -> str:
        """The judge in words."""
        if not self.provider:
            return "nobody: by code and the local embedder"
        at = f" at {self.address}" if self.address else ""
        return f"{self.provider} {self.model}{at}{', which wrote some of the answers itself' if self.own else ''}"

    def same_judge(self, other: "About") -> bool:
        """Whether verdicts of both may stand in one table."""
        return self.same_makers(other) and all(getattr(self, name) == getattr(other, name) for name in ("provider", "model", "address"))

    def same_makers(self, other: "About") -> bool:
        """Whether both used the same prompts, versions and embedder."""
        return all(getattr(self, name) == getattr(other, name) for name in ("prompts", "ragas", "embedder"))

    def compatible(self, other: "About") -> bool:
        """Whether scores of both may stand in one run: of the same judge, or one of them asked nobody."""
        return self.same_judge(other) or (self.same_makers(other) and not (self.provider and other.provider))


def about(folder: Path) -> About | None:
    """Who judged the run in that folder; None when nobody has yet. Raises StoreError."""
    try:
        held = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        return About(**held | {"metrics": tuple(held["metrics"])})
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise _unreadable(folder, error) from error


def write_about(folder: Path, value: About) -> None:
    """Says who judges from now on; raises StoreError."""
    try:
        part = (folder / ABOUT).with_suffix(".part")
        part.write_text(json.dumps(asdict(value)), encoding="utf-8")
        part.replace(folder / ABOUT)
    except OSError as error:
        raise _unwritable(folder, error) from error


def rows(folder: Path) -> list[dict[str, Any]]:
    """A row for every judged unit, the last of each: `c`, `q`, `a`, `j`; `scores`, `why` and `errors` by metric; `details`, `tally`.

    A line that a crash left half written is no row. They are shared between callers, who must not change them. Raises StoreError.
    """
    try:
        state = (folder / ROWS).stat()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error
    return list(_rows(folder, state.st_mtime_ns, state.st_size))


@functools.lru_cache(maxsize=4)
def _rows(folder: Path, _changed: int, _size: int) -> tuple[dict[str, Any], ...]:
    """The rows of a file in that state: a page reads them for every chart."""
    found = {unit_of(row): row for row in _lines(folder / ROWS) if {"c", "q", "a", "j", "scores"} <= row.keys()}
    return tuple(found[unit] for unit in sorted(found))


def own(folder: Path) -> dict[tuple[int, int], dict[str, Any]]:
    """The rows of the run's own answers, as first judged, by the places of configuration and question."""
    return {(row["c"], row["q"]): row for row in rows(folder) if row["a"] == row["j"] == 0}


def has_verdicts(folder: Path) -> bool:
    """Whether any judge has given a verdict that could be used; raises StoreError."""
    return any(row.get("by_judge") for row in rows(folder))


def unit_of(row: Mapping[str, Any]) -> Unit:
    """What a row is about."""
    return row["c"], row["q"], row["a"], row["j"]


def spent(folder: Path) -> Usage:
    """What judging the run has taken so far, answers written anew among it; dollars are None once a price was not known."""
    tokens_in = tokens_out = 0
    dollars: float | None = 0.0
    for line in _lines(folder / SPENT):
        tokens_in += line.get("in", 0)
        tokens_out += line.get("out", 0)
        dollars = None if dollars is None or line.get("dollars") is None else dollars + line["dollars"]
    return Usage(tokens_in, tokens_out, 0, dollars)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in file:
                with contextlib.suppress(ValueError):
                    held = json.loads(line)
                    if isinstance(held, dict):
                        yield held
    except FileNotFoundError:
        return
    except OSError as error:
        raise _unreadable(path.parent, error) from error


def append(folder: Path, name: str, value: Mapping[str, Any]) -> None:
    """One line, whole or not at all as far as a reader sees; raises StoreError."""
    try:
        with (folder / name).open("a+b") as file:
            if file.seek(0, 2) and not _ends_a_line(file):
                file.write(b"\n")  # what a crash left half written stays a line of its own
            file.write(json.dumps(value, allow_nan=False).encode() + b"\n")
    except OSError as error:
        raise _unwritable(folder, error) from error


def _ends_a_line(file: Any) -> bool:
    file.seek(-1, 2)
    return bool(file.read(1) == b"\n")


def forget(folder: Path) -> None:
    """Takes the verdicts away; what was spent stays known, and answers of judges stay in their cache. Raises StoreError."""
    try:
        for name in (ABOUT, ROWS):
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise _unwritable(folder, error) from error


def set_thumb(folder: Path, configuration: int, question: int, thumb: str) -> None:
    """What a person thinks of an answer: `up`, `down`, or "" for nothing any more; raises StoreError."""
    append(folder, THUMBS, {"c": configuration, "q": question, "thumb": thumb})


def thumbs(folder: Path) -> dict[tuple[int, int], str]:
    """The thumbs by the places of configuration and question, the last of each; raises StoreError."""
    found = {(line["c"], line["q"]): line["thumb"] for line in _lines(folder / THUMBS) if {"c", "q", "thumb"} <= line.keys()}
    return {place: thumb for place, thumb in found.items() if thumb in ("up", "down")}


@contextlib.contextmanager
def judging(folder: Path) -> Iterator[None]:
    """Holds a run for one judging; raises Busy when another process is at it."""
    lock = FileLock(folder / LOCK, timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise Busy(expected=f"run {folder.name} for itself", got="another judging of it", remedy="Wait for it, or stop it.") from None
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        yield
    finally:
        lock.release()


def is_being_judged(folder: Path) -> bool:
    """Whether a process judges the run now."""
    return is_locked(folder / LOCK)


def _unreadable(folder: Path, error: Exception) -> StoreError:
    return StoreError(
        expected=f"the judging of run {folder.name} to be readable", got=" ".join(str(error).split()), remedy="Judge it anew with --again."
    )


def _unwritable(folder: Path, error: OSError) -> StoreError:
    return StoreError(
        expected=f"to write the judging of run {folder.name}",
        got=str(error),
        remedy="Check the free space and the permissions of the runs folder.",
    )
