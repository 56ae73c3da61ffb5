"""How cut points become spans: the best cut within the size, overlap that yields, nothing lost, nothing blank."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from sitt_core.text import count_tokens, grapheme_starts, token_starts
from sitt_core.types import Span

Offsets = NDArray[np.int64]
Repeats = Callable[[Span], Iterable[int]]
"""From a span, the offsets in it where its successor would like to start, the largest overlap first."""

SLACK = 2
"""How many units the first guess of a reach may be too far: a cut that fits by a token is not missed."""
_WHITE = np.array([code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32)


class Rank(IntEnum):
    """How good a place is for a cut; `SECTION` always cuts, the others only where the size demands it."""

    SECTION = 0
    BLOCK = 1
    LINE = 2
    SENTENCE = 3
    WORD = 4
    GRAPHEME = 5


@dataclass(frozen=True, slots=True)
class Cut:
    """A place where a text may be cut: before the character at `offset`."""

    offset: int
    rank: Rank


@dataclass(frozen=True, slots=True)
class Measure:
    """How long a span is: `exact(start, end)`, and a guess from where the whole text's units begin (`len(text)` last)."""

    starts: Offsets
    exact: Callable[[int, int], int]

    def after(self, start: int, amount: int) -> int:
        """The offset about `amount` units after `start`; beyond it for every amount above 0."""
        return int(self.starts[min(self._index(start) + amount, len(self.starts) - 1)])

    def before(self, end: int, amount: int) -> int:
        """The offset about `amount` units before `end`."""
        return int(self.starts[max(int(np.searchsorted(self.starts, end)) - amount, 0)])

    def shrunk(self, start: int, end: int, *, by: float) -> int:
        """The offset below `end` that leaves about the share `by` of the units in `[start, end)`."""
        units = int(np.searchsorted(self.starts, end)) - self._index(start)
        return min(self.after(start, int(units * by)), end - 1)

    def _index(self, offset: int) -> int:
        return int(np.searchsorted(self.starts, offset, side="right")) - 1


def tokens_of(text: str) -> Measure:
    """Spans of `text` in cl100k_base tokens."""
    return Measure(token_starts(text), lambda start, end: count_tokens(text[start:end]))


def characters_of(text: str) -> Measure:
    """Spans of `text` in code points."""
    return Measure(np.arange(len(text) + 1), lambda start, end: end - start)


@dataclass(frozen=True, slots=True)
class _Grid:
    """A text's graphemes that are not white space (where each starts and ends), and where cuts end what is before them.

    All ends are ends of such graphemes, so every span between two of them is trimmed, and none is blank.
    """

    starts: Offsets
    ends: Offsets
    cuts: tuple[Offsets, ...]
    size: int
    measure: Measure

    def start_after(self, offset: int) -> int:
        """Where the text goes on at or after `offset`; -1 when it does not."""
        at = int(np.searchsorted(self.starts, offset))
        return int(self.starts[at]) if at < len(self.starts) else -1

    def least(self, body: int) -> int:
        """Where the grapheme at `body` ends."""
        return int(self.ends[np.searchsorted(self.ends, body, side="right")])

    def best(self, after: int, reach: int) -> tuple[int, Rank]:
        """The furthest cut of the best rank in `(after, reach]`, which must hold at least one grapheme."""
        for rank in Rank:
            at = int(np.searchsorted(self.cuts[rank], reach, side="right")) - 1
            if at >= 0 and self.cuts[rank][at] > after:
                # The first section end ahead stops the span; of the other ranks the furthest is best.
                if rank is Rank.SECTION:
                    at = int(np.searchsorted(self.cuts[rank], after, side="right"))
                return int(self.cuts[rank][at]), rank
        raise AssertionError("a reach without a grapheme")

    def furthest(self, start: int, body: int) -> tuple[int, Rank] | None:
        """The best end after `body` for a span from `start`; None when not even one more grapheme fits."""
        least = self.least(body)
        reach = self.measure.after(start, self.size + SLACK)
        while True:
            end, rank = self.best(body, max(reach, least))
            length = self.measure.exact(start, end)
            if length <= self.size:
                return end, rank
            if end == least:
                return None
            reach = self.measure.shrunk(start, end, by=self.size / length)


def _grid(text: str, cuts: Iterable[Cut], *, size: int, measure: Measure) -> _Grid:
    edges = grapheme_starts(text)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    solid = ~np.logical_and.reduceat(np.isin(codes, _WHITE), edges[:-1])
    starts, ends = edges[:-1][solid], edges[1:][solid]
    offsets: dict[Rank, list[int]] = {rank: [] for rank in Rank}
    for cut in cuts:
        offsets[cut.rank].append(cut.offset)
    offsets[Rank.SECTION].append(len(text))
    return _Grid(starts, ends, (*(_ends_before(offsets[rank], ends) for rank in list(Rank)[:-1]), ends), size, measure)


def _ends_before(offsets: Sequence[int], ends: Offsets) -> Offsets:
    """For each offset the last of `ends` that is not beyond it; sorted, each once."""
    at = np.searchsorted(ends, np.array(offsets, dtype=np.int64), side="right") - 1
    return ends[np.unique(at[at >= 0])]


def pack(text: str, cuts: Iterable[Cut], *, size: int, measure: Measure, repeats: Repeats = lambda _: ()) -> list[Span]:
    """Spans that cover all of `text` but white space, none longer than `size` unless it is one grapheme.

    From each start the furthest cut of the best rank within reach is taken; graphemes are the last resort. Starts and
    ends strictly ascend. An overlap is taken only if it costs neither progress nor a worse cut, and never across a
    section's end.
    """
    if not text.strip():
        return []
    grid = _grid(text, cuts, size=size, measure=measure)
    spans: list[Span] = []
    body, rank = grid.start_after(0), Rank.SECTION
    while body >= 0:
        wanted = () if rank is Rank.SECTION else repeats(spans[-1])
        span, rank = _next_span(grid, body, [grid.start_after(offset) for offset in wanted if offset > spans[-1].start])
        spans.append(span)
        body = grid.start_after(span.end)
    return spans


def _next_span(grid: _Grid, body: int, overlaps: Sequence[int]) -> tuple[Span, Rank]:
    """The span whose new text begins at `body`, with the first of `overlaps` that yields to progress and to rank."""
    plain = grid.furthest(body, body)
    if plain is None:
        end, rank = grid.best(body, grid.least(body))
        return Span(body, end), rank
    for start in overlaps:
        found = grid.furthest(start, body) if start < body else None
        # A section's end is no better than a block's: else its last chunk would mostly go without overlap.
        if found and found[1] <= max(plain[1], Rank.BLOCK):
            return Span(start, found[0]), found[1]
    return Span(body, plain[0]), plain[1]
