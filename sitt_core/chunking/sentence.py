"""Where sentences end: spans of whole sentences, counted in characters."""

from bisect import bisect_left
from collections.abc import Iterator

from sitt_core.chunking.pack import Cut, Rank, characters_of, pack
from sitt_core.text import sentence_spans, word_starts
from sitt_core.types import Document, Span


def spans_sentence(document: Document, *, size: int, overlap: int) -> list[Span]:
    """Spans of at most `size` code points; each repeats whole sentences, else words, from the last `overlap` of the one before."""
    cuts = boundaries_sentence(document)
    ranked = [[cut.offset for cut in cuts if cut.rank is rank] for rank in (Rank.SENTENCE, Rank.WORD)]

    def last_sentences(previous: Span) -> Iterator[int]:
        for starts in ranked:
            yield from starts[bisect_left(starts, previous.end - overlap) : bisect_left(starts, previous.end)]

    return pack(document.text, cuts, size=size, measure=characters_of(document.text), repeats=last_sentences)


def boundaries_sentence(document: Document) -> list[Cut]:
    """Between sentences, then between words; a heading, a list item or a table ends a sentence too."""
    sentences = {start for start, _ in sentence_spans(document.text)} | {block.start for block in document.blocks}
    words = word_starts(document.text)
    return [Cut(start, Rank.SENTENCE) for start in sorted(sentences)] + [Cut(start, Rank.WORD) for start in words]
