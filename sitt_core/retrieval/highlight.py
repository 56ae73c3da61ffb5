"""Where a passage answers in words: the spans that match a question's words, and the stretch that holds most of them."""

from collections.abc import Collection, Sequence
from itertools import pairwise

import regex

from sitt_core.retrieval.words import tokenize
from sitt_core.types import Span

# Soft hyphens and joiners stand inside words, as tokenize reads them.
_PART = r"[\p{L}\p{M}\p{N}_\u00ad\u200c\u200d\u2060]+"
_RUN = regex.compile(rf"{_PART}(?:[-‐‑'’ʼ]{_PART})*")
_HYPHEN = regex.compile(r"[-‐‑]")
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー々]"
_PIECE = regex.compile(rf"(?P<unspaced>{_UNSPACED}+)|(?:(?!{_UNSPACED}).)+", regex.DOTALL)


def matches(text: str, words: Collection[str], language: str) -> list[Span]:
    """The spans of `text` whose words are among `words` (as `tokenize` gives them), in order, never overlapping.

    In a script without spaces every matching pair of characters is marked, neighbours joined.
    """
    wanted = set(words)
    spans: list[Span] = []
    for run in _RUN.finditer(text):
        pieces = _pieces(text, run.start(), run.end())
        marked = [piece for piece in pieces if wanted & set(tokenize(text[piece.start : piece.end], language))]
        if not marked and len(pieces) > 1 and wanted & set(tokenize(run.group(), language)):
            marked = [Span(run.start(), run.end())]  # it is the joined form of a hyphenated word that matches
        for piece in marked:
            _add(spans, piece.start, piece.end)
    return spans


def _pieces(text: str, start: int, end: int) -> list[Span]:
    """What is marked on its own: a part of a hyphenated word, a pair of characters of a script without spaces."""
    pieces = []
    edges = [start - 1, *(hyphen.start() for hyphen in _HYPHEN.finditer(text, start, end)), end]
    for before, after in pairwise(edges):
        for piece in _PIECE.finditer(text, before + 1, after):
            if piece["unspaced"] and len(piece["unspaced"]) > 1:
                pieces += [Span(at, at + 2) for at in range(piece.start(), piece.end() - 1)]
            else:
                pieces.append(Span(piece.start(), piece.end()))
    return pieces


def _add(spans: list[Span], start: int, end: int) -> None:
    if spans and spans[-1].end > start:
        spans[-1] = Span(spans[-1].start, end)
    else:
        spans.append(Span(start, end))


def excerpt(text: str, marked: Sequence[Span], *, width: int) -> Span:
    """The stretch of at most `width` characters that holds the most of `marked`; its start when nothing is marked.

    It begins and ends at white space where there is some.
    """
    if len(text) <= width:
        return Span(0, len(text))
    lead = width // 6  # some words before the first mark, to read into it
    starts = [0, *(max(0, span.start - lead) for span in marked)]
    start = max(starts, key=lambda start: (*_held(marked, start, start + width), -start))
    end = min(len(text), start + width)
    if start > 0:
        start = next((at + 1 for at in range(start, start + lead) if text[at].isspace()), start)
    if end < len(text):
        end = next((at for at in range(end, end - lead, -1) if text[at - 1].isspace()), end)
    return Span(start, end)


def _held(marked: Sequence[Span], start: int, end: int) -> tuple[int, int]:
    """How many spans a stretch holds whole, and how many begin in it: one longer than the stretch can only begin."""
    begun = [span for span in marked if start <= span.start < end]
    return sum(span.end <= end for span in begun), len(begun)
