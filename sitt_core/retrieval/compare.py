"""Two results against each other: which passages entered, left, moved or stayed, even where they were cut differently."""

from collections.abc import Sequence
from dataclasses import dataclass

from sitt_core.types import Passage

SHARED = 0.5
"""Passages that were cut differently are the same when they share at least this part of the shorter one."""


@dataclass(frozen=True, slots=True)
class Change:
    """A passage of the result now, and the rank it had before: None when it is new."""

    passage: Passage
    before: int | None

    @property
    def rise(self) -> int:
        """How many ranks it went up (negative: down); 0 when it stayed or is new."""
        return 0 if self.before is None else self.before - self.passage.rank


@dataclass(frozen=True, slots=True)
class Comparison:
    """Every passage of now with where it was, in order, and those of before that are gone, in theirs."""

    changes: tuple[Change, ...]
    left: tuple[Passage, ...]

    @property
    def entered(self) -> tuple[Passage, ...]:
        """What is new."""
        return tuple(change.passage for change in self.changes if change.before is None)

    @property
    def moved(self) -> tuple[Change, ...]:
        """What is still there at another rank."""
        return tuple(change for change in self.changes if change.rise)

    @property
    def stayed(self) -> tuple[Passage, ...]:
        """What is where it was."""
        return tuple(change.passage for change in self.changes if change.before == change.passage.rank)


def compare(before: Sequence[Passage], now: Sequence[Passage], *, same_cut: bool) -> Comparison:
    """The passages of `now` against those of `before`; texts elsewhere that a passage stands for count as the passage.

    With the same chunking (`same_cut`) passages are the same when they are the same chunk. Otherwise their chunk ids
    tell nothing, and they are the same when they are spans of the same document that share at least half (`SHARED`) of
    the shorter one's characters; the one that shares most counts, then the better ranked. One passage may then stand
    for several of the other side, which were cut smaller.
    """
    alike = [[_alike(one, other, same_cut=same_cut) for other in before] for one in now]
    changes = []
    for passage, row in zip(now, alike, strict=True):
        best = max(row, default=0.0)
        changes.append(Change(passage, before[row.index(best)].rank if best > 0 else None))
    left = tuple(passage for at, passage in enumerate(before) if not any(row[at] for row in alike))
    return Comparison(tuple(changes), left)


def _alike(one: Passage, other: Passage, *, same_cut: bool) -> float:
    """0 when they are not the same passage; otherwise up to 1, for the very same span."""
    pairs = [(a.chunk, b.chunk) for a in (one, *one.twins) for b in (other, *other.twins)]
    if any(a.id == b.id for a, b in pairs):
        return 1.0
    return 0.0 if same_cut else max(shared((a.document_id, a.start, a.end), (b.document_id, b.start, b.end)) for a, b in pairs)


def shared(one: tuple[str, int, int], other: tuple[str, int, int]) -> float:
    """What two places share as a part of what they cover together; 0 below `SHARED` of the shorter one."""
    (document, start, end), (elsewhere, first, last) = one, other
    if document != elsewhere:
        return 0.0
    common = min(end, last) - max(start, first)
    shorter = max(1, min(end - start, last - first))
    return common / (max(end, last) - min(start, first)) if common > 0 and common >= SHARED * shorter else 0.0
