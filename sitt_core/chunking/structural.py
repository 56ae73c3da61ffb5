"""Where a document's structure allows cuts: headings, blocks, rows and lines, sentences, words."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import pairwise

from sitt_core.chunking.header import table_rows
from sitt_core.chunking.pack import Cut, Rank, pack, tokens_of
from sitt_core.text import sentence_spans, word_starts
from sitt_core.types import Block, Document, Section, Span

_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})")
_LINE = re.compile(r"\n")
_PART = re.compile(r"\n(?=[ \t>]*\n)|\n(?=[ \t>]*(?:[-*+]|\d{1,9}[.)])[ \t])")
"""Inside a list item or quotation: a blank line, or where a nested item begins."""


def spans_structural(document: Document, *, size: int, overlap: int) -> list[Span]:
    """Spans of at most `size` tokens; one that continues a section repeats up to `overlap` whole blocks before it."""
    starts = [block.start for block in document.blocks]

    def last_blocks(previous: Span) -> list[int]:
        first, beyond = bisect_right(starts, previous.start), bisect_left(starts, previous.end)
        cut_inside = beyond > 0 and document.blocks[beyond - 1].end > previous.end
        return [] if cut_inside else starts[max(first, beyond - overlap) : beyond]

    cuts = boundaries_structural(document)
    return pack(document.text, cuts, size=size, measure=tokens_of(document.text), repeats=last_blocks)


def boundaries_structural(document: Document) -> list[Cut]:
    """Sections apart always, then between blocks, lines, sentences, words; a heading leaves its text only at a word."""
    cuts = [Cut(offset, Rank.WORD) for offset in word_starts(document.text)]
    cuts += [Cut(section.start, Rank.SECTION) for section in _sections_apart(document)]
    cuts += [Cut(block.start, Rank.BLOCK) for before, block in pairwise(document.blocks) if before.kind != "heading"]
    for block in document.blocks:
        cuts += _inside(document.text, block)
    return cuts


def _sections_apart(document: Document) -> Iterator[Section]:
    """The sections that begin a chunk: not one after a bare heading, nor bare headings at the document's end."""
    filled = [block.start for block in document.blocks if block.kind != "heading"]
    before_is_bare = False
    for section in document.sections:
        at = bisect_left(filled, section.start)
        if at < len(filled) and not before_is_bare:
            yield section
        before_is_bare = at == len(filled) or filled[at] >= section.end


def _inside(text: str, block: Block) -> Iterator[Cut]:
    match block.kind:
        case "table":
            yield from _between_rows(text, block)
            yield from _between_sentences(text, block)
        case "code" | "html":
            yield from _between_lines(text, block)
        case "paragraph":
            yield from _between_sentences(text, block)
        case "item" | "quote":
            yield from (Cut(found.end(), Rank.LINE) for found in _PART.finditer(text, block.start, block.end))
            yield from _between_sentences(text, block)


def _between_rows(text: str, table: Block) -> Iterator[Cut]:
    """Column names stay with the first row unless that does not fit."""
    first = table_rows(text, table) or table.start
    if first < table.end:
        yield Cut(first, Rank.SENTENCE)
    yield from (Cut(found.end(), Rank.LINE) for found in _LINE.finditer(text, first, table.end))


def _between_lines(text: str, block: Block) -> Iterator[Cut]:
    """A fence stays with the code beside it."""
    starts = [found.end() for found in _LINE.finditer(text, block.start, block.end)]
    if _FENCE.match(text, block.start):
        starts = starts[1:-1] if starts and _FENCE.match(text, starts[-1]) else starts[1:]
    yield from (Cut(start, Rank.LINE) for start in starts)


def _between_sentences(text: str, block: Block) -> Iterator[Cut]:
    sentences = sentence_spans(text[block.start : block.end])
    yield from (Cut(block.start + start, Rank.SENTENCE) for start, _ in sentences[1:])
