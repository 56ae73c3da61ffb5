"""The document as one chunk, however long: what cutting it at all has to beat."""

from sitt_core.chunking.pack import Cut, characters_of, pack
from sitt_core.types import Document, Span


def spans_whole(document: Document, *, size: int, overlap: int) -> list[Span]:  # noqa: ARG001 - exempt from both, called like the others
    """One span over all of the text but the white space around it; none for a blank text."""
    measure = characters_of(document.text)
    return pack(document.text, boundaries_whole(document), size=len(document.text), measure=measure)


def boundaries_whole(_: Document) -> list[Cut]:
    """None: there is nothing to cut."""
    return []
