"""Where the subject changes: cuts between sentences whose neighbourhoods are far apart in an embedding."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sitt_core.chunking.pack import Cut, Rank, pack, tokens_of
from sitt_core.chunking.structural import boundaries_structural
from sitt_core.text import sentence_spans
from sitt_core.types import Document, Matrix, Span

EmbedSentences = Callable[[Sequence[str]], Matrix]
"""Texts to unit rows, (len(texts), dimension); never called with a blank text, nor for a document in which nothing can stand out."""

BUFFER = 2
"""How many sentences on either side of a gap are compared: one alone is too short to tell a subject by, or to be one."""
_DECIMALS = 6  # below that, distances of equal texts differ by how a model rounds


def spans_semantic(document: Document, *, size: int, overlap: int, percentile: int, embed: EmbedSentences) -> list[Span]:
    """Spans of at most `size` tokens that end where the subject changes and wherever a section ends.

    The subject changes where the distance between the sentences before and after exceeds that percentile of the
    document's distances. Where the size cuts, it is as `structural` cuts, and the next span repeats up to `overlap`
    whole sentences.
    """
    sections = boundaries_structural(document)
    sentences = _sentences(document)
    starts = [sentence.start for sentence in sentences]

    def last_sentences(previous: Span) -> list[int]:
        first, beyond = bisect_right(starts, previous.start), bisect_left(starts, previous.end)
        cut_inside = beyond > 0 and sentences[beyond - 1].end > previous.end
        return [] if cut_inside else starts[max(first, beyond - overlap) : beyond]

    # A change of subject is a section's end that no heading marks: it always cuts, and nothing is repeated over it.
    groups = _compared(_by_section(sentences, sections))
    changes = _changes(document.text, groups, percentile=percentile, embed=embed)
    cuts = [*sections, *(Cut(offset, Rank.SECTION) for offset in changes)]
    return pack(document.text, cuts, size=size, measure=tokens_of(document.text), repeats=last_sentences)


def all_alike(texts: Sequence[str]) -> Matrix:
    """Stands in for vectors that are not there yet: every sentence the same, so that the subject never changes."""
    return np.ones((len(texts), 1), np.float32)


def sentence_texts(document: Document) -> list[str]:
    """What `spans_semantic` would embed of a document, so that a build can embed all documents' sentences at once."""
    groups = _compared(_by_section(_sentences(document), boundaries_structural(document)))
    return [document.text[sentence.start : sentence.end] for group in groups for sentence in group]


def _sentences(document: Document) -> list[Span]:
    """The sentences of prose, in order; a table, a piece of code or HTML counts as one; headings are left out."""
    spans: list[Span] = []
    for block in document.blocks:
        if block.kind in ("paragraph", "item", "quote"):
            inside = sentence_spans(document.text[block.start : block.end])
            spans += [Span(block.start + start, block.start + end) for start, end in inside]
        elif block.kind != "heading" and document.text[block.start : block.end].strip():
            spans.append(Span(block.start, block.end))
    return spans


def _by_section(sentences: Sequence[Span], cuts: Sequence[Cut]) -> list[list[Span]]:
    """The sentences between one section's end and the next: only these are neighbours."""
    starts = [sentence.start for sentence in sentences]
    ends = sorted({cut.offset for cut in cuts if cut.rank is Rank.SECTION})
    edges = [0, *(bisect_left(starts, end) for end in ends), len(sentences)]
    return [list(sentences[first:beyond]) for first, beyond in pairwise(edges) if first < beyond]


def _compared(groups: Sequence[Sequence[Span]]) -> list[Sequence[Span]]:
    """The sections with `BUFFER` sentences on either side of a gap; none where there is one gap, which exceeds no other."""
    long = [group for group in groups if len(group) >= 2 * BUFFER]
    return long if sum(len(group) - 2 * BUFFER + 1 for group in long) > 1 else []


def _changes(text: str, groups: Sequence[Sequence[Span]], *, percentile: int, embed: EmbedSentences) -> list[int]:
    """Where the sentences begin before which the distance exceeds that percentile of the document's distances."""
    if not groups:
        return []
    vectors = np.asarray(embed([text[sentence.start : sentence.end] for group in groups for sentence in group]), dtype=np.float64)
    edges = np.cumsum([0, *(len(group) for group in groups)]).tolist()
    distances = np.concatenate([gap_distances(vectors[first:beyond]) for first, beyond in pairwise(edges)])
    after = [sentence.start for group in groups for sentence in group[BUFFER : len(group) - BUFFER + 1]]
    far = distances > np.percentile(distances, percentile)
    return [offset for offset, is_far in zip(after, far.tolist(), strict=True) if is_far]


def gap_distances(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cosine distance at each gap with `BUFFER` rows on either side, (rows - 2 · BUFFER + 1,): of the rows' sum before to that after.

    Hearst's TextTiling (1997) with embeddings. The usual buffer, a window around each sentence, is not used: windows of
    neighbours share all but their outer sentences, so that the two at the gap would not be compared at all.
    """
    sums = np.lib.stride_tricks.sliding_window_view(vectors, BUFFER, axis=0).sum(axis=-1)
    before, after = sums[:-BUFFER], sums[BUFFER:]
    lengths = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    similarity = np.einsum("ij,ij->i", before, after) / np.maximum(lengths, 1e-12)  # opposites cancel out: similar to nothing
    return np.asarray(np.round(1.0 - similarity, _DECIMALS), dtype=np.float64)
