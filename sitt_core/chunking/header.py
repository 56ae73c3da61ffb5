"""What stands before a chunk: its title, its headings, and the columns of a table that it continues."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import islice

from sitt_core.text import count_tokens, grapheme_starts, token_starts, word_starts
from sitt_core.types import Block, Document, Span

MAX_HEADER = 48
"""The most tokens a header may have."""
TITLE_SHARE = 16
"""What a title keeps of them when the names of a table's columns want all the rest."""
_LONGEST = 1000
_STEP = " › "
_PIPE = re.compile(r"(?<!\\)\|")


def table_rows(text: str, table: Block) -> int | None:
    """Where the first row under a table's column names begins; None for a table without them."""
    lines = text[table.start : table.end].split("\n", 2)
    if len(lines) < 2 or "-" not in lines[1] or lines[1].strip("|:- \t"):
        return None
    return min(table.start + len(lines[0]) + len(lines[1]) + 2, table.end)


def column_names(text: str, table: Block) -> list[str]:
    """The names in a table's first row, unmarked; empty for a table without such a row."""
    if table_rows(text, table) is None:
        return []
    row = text[table.start : text.index("\n", table.start)].strip()
    cells = _PIPE.split(row.removeprefix("|").removesuffix("|"))
    names = [cell.replace("\\|", "|").strip(" \t*_`") for cell in cells]
    return names if any(names) else []


def blocks_of(document: Document, span: Span) -> Iterator[Block]:
    """The blocks that a span touches, in order."""
    first = max(bisect_right(document.blocks, span.start, key=lambda block: block.start) - 1, 0)
    for block in islice(document.blocks, first, None):
        if block.start >= span.end:
            return
        if block.end > span.start:
            yield block


def header(document: Document, span: Span, heading_path: Sequence[str]) -> str:
    """Title › headings, and on a second line the columns of the table that the span continues; at most `MAX_HEADER` tokens.

    A title that is merely the document's id says nothing and is left out. Too long, the header loses the middle headings
    first, then the end of the last one, then of the columns.
    """
    columns = " | ".join(_columns_continued(document, span))[:_LONGEST]
    headings = [heading[:_LONGEST] for heading in heading_path if heading]
    crumbs = [document.title[:_LONGEST], *(headings[1:] if headings[:1] == [document.title] else headings)]
    if document.title == document.id:
        crumbs = headings
    if not crumbs:
        return _shortened(columns, MAX_HEADER)
    reserved = count_tokens("\n" + columns) if columns else 0
    crumb = _breadcrumb(crumbs, max(MAX_HEADER - reserved, min(count_tokens(crumbs[0]), TITLE_SHARE)))
    return _shortened(f"{crumb}\n{columns}", MAX_HEADER) if columns else crumb


def _columns_continued(document: Document, span: Span) -> list[str]:
    block = next(blocks_of(document, span), None)
    if block and block.kind == "table" and "\n" in document.text[block.start : span.start]:
        return column_names(document.text, block)
    return []


def _breadcrumb(crumbs: Sequence[str], limit: int) -> str:
    """The crumbs within `limit` tokens: all, then without middle headings, then cut."""
    title, *headings = crumbs
    shorter = [[title, "…", *headings[-kept:]] for kept in range(len(headings) - 1, 0, -1)]
    for parts in (crumbs, *shorter):
        joined = _STEP.join(parts)
        if count_tokens(joined) <= limit:
            return joined
    last = _STEP.join(shorter[-1] if shorter else crumbs)
    cut = _shortened(last, limit)
    return cut if len(cut) > len(title) + len(_STEP) + 1 else _shortened(title, limit)


def _shortened(text: str, limit: int) -> str:
    """`text` within `limit` tokens, cut at a word (a first word that is too long: at a grapheme) and ended with …"""
    if count_tokens(text) <= limit:
        return text
    reach = int(token_starts(text)[limit])
    for ends in (word_starts(text), grapheme_starts(text).tolist()):
        for end in reversed([end for end in ends if 0 < end <= reach]):
            cut = text[:end].rstrip(" |›…") + "…"
            if count_tokens(cut) <= limit:
                return cut
    return ""
