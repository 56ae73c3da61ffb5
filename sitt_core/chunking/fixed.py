"""Windows of tokens, whatever the text says: the baseline that the other strategies have to beat."""

from collections.abc import Iterator

from sitt_core.chunking.pack import Cut, pack, tokens_of
from sitt_core.types import Document, Span


def spans_fixed(document: Document, *, size: int, overlap: int) -> list[Span]:
    """Windows of at most `size` tokens that repeat `overlap` tokens, give or take one; the last one fewer where that spares a window."""
    measure = tokens_of(document.text)

    def last_tokens(previous: Span) -> Iterator[int]:
        amount = overlap
        while amount:
            yield measure.before(previous.end, amount)
            amount //= 2

    return pack(document.text, boundaries_fixed(document), size=size, measure=measure, repeats=last_tokens)


def boundaries_fixed(_: Document) -> list[Cut]:
    """None: windows end at whichever grapheme the size allows."""
    return []
