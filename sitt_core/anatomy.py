"""How a corpus is cut and where its vectors lie, as numbers that a person can look at: pieces, cuts, lengths, a plane."""

import bisect
import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from sitt_core.types import Chunk, Document, Embedder, Matrix, Span

Chunker = Callable[[Document], list[Chunk]]
Plane = NDArray[np.float64]
T = TypeVar("T")

BLOCK = 8192
"""Vectors per step of the projection: a large index is never copied whole."""


@dataclass(frozen=True, slots=True)
class Cutting:
    """One document as one strategy cuts it.

    `lengths` runs parallel to `chunks`: what is embedded (header and text) in the embedder's own tokens, of which it reads
    `limit` at once.
    """

    chunks: tuple[Chunk, ...]
    lengths: tuple[int, ...]
    limit: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text that belongs to the same chunks throughout, by number from 1: none (white space), one, or an overlap."""

    start: int
    end: int
    chunks: tuple[int, ...]
    heading: bool


@dataclass(frozen=True, slots=True)
class Summary:
    """A cutting in numbers: tokens (cl100k_base) of its chunks, how many exceed the embedder's limit, characters in two chunks."""

    chunks: int
    least: int
    median: int
    most: int
    overlong: int
    repeated: int


@dataclass(frozen=True, slots=True)
class Bin:
    """How many lengths are above `low` and at most `high`."""

    low: int
    high: int
    count: int


@dataclass(frozen=True, slots=True)
class Projection:
    """The plane through a cloud of vectors that keeps most of its variance.

    `points` has shape (n, 2); `explained` is the share of the variance along each axis.
    """

    points: Plane
    explained: tuple[float, float]
    mean: Plane
    axes: Plane

    def place(self, vectors: Matrix) -> Plane:
        """Where other vectors of the same space fall on the plane, shape (len(vectors), 2)."""
        placed: Plane = (np.asarray(vectors, dtype=np.float64) - self.mean) @ self.axes
        return placed


def cut_up(document: Document, chunk: Chunker, embedder: Embedder) -> Cutting:
    """The document's chunks under a chunker, measured by an embedder; nothing is stored."""
    chunks = tuple(chunk(document))
    return Cutting(chunks, tuple(embedder.count_tokens([each.embedded for each in chunks])) if chunks else (), embedder.limit)


def summarise(cutting: Cutting) -> Summary:
    """The cutting in numbers; zeros for a document without a chunk."""
    tokens = [chunk.tokens for chunk in cutting.chunks] or [0]
    repeated = sum(max(0, before.end - after.start) for before, after in zip(cutting.chunks, cutting.chunks[1:], strict=False))
    overlong = sum(length > cutting.limit for length in cutting.lengths)
    return Summary(len(cutting.chunks), min(tokens), round(statistics.median(tokens)), max(tokens), overlong, repeated)


def cuts(chunks: Sequence[Chunk]) -> frozenset[int]:
    """Where a text is cut: the ends of all chunks but the last. White space belongs to none, so two strategies agree on an end or do not."""
    return frozenset(chunk.end for chunk in chunks[:-1])


def pieces(document: Document, chunks: Sequence[Chunk], part: Span) -> list[Piece]:
    """`part` of the document's text, split wherever a chunk or a heading begins or ends; chunks' starts and ends ascend."""
    headings = [(block.start, block.end) for block in document.blocks if block.kind == "heading"]
    edges = {part.start, part.end, *(edge for chunk in chunks for edge in (chunk.start, chunk.end))}
    edges.update(edge for heading in headings for edge in heading)
    within = sorted(edge for edge in edges if part.start <= edge <= part.end)
    starts, ends = [chunk.start for chunk in chunks], [chunk.end for chunk in chunks]
    made = []
    for start, end in itertools.pairwise(within):
        numbers = range(bisect.bisect_right(ends, start), bisect.bisect_right(starts, start))
        at = bisect.bisect_right(headings, start, key=lambda heading: heading[0]) - 1
        made.append(Piece(start, end, tuple(number + 1 for number in numbers), at >= 0 and start < headings[at][1]))
    return made


def parts(text: str, most: int) -> list[Span]:
    """A long text in parts of about `most` characters, each ending with a line where there is one."""
    made, start = [], 0
    while len(text) - start > most:
        line = text.rfind("\n", start, start + most) + 1
        end = line if line > start else start + most
        made.append(Span(start, end))
        start = end
    return [*made, Span(start, len(text))]


def token_lengths(documents: Sequence[Document], chunk: Chunker, embedder: Embedder) -> tuple[int, ...]:
    """The lengths of all chunks of those documents, as embedded, in the embedder's own tokens."""
    texts = [each.embedded for document in documents for each in chunk(document)]
    return tuple(embedder.count_tokens(texts)) if texts else ()


def histogram(lengths: Sequence[int], *, limit: int, width: int) -> list[Bin]:
    """The lengths in bins of `width`, one of which ends at `limit`: no bin lies on both sides of it."""
    if not lengths:
        return []
    bins = [(length - limit - 1) // width for length in lengths]
    counted = np.bincount(np.array(bins) - min(bins), minlength=1)
    return [Bin(max(0, limit + at * width), limit + (at + 1) * width, int(count)) for at, count in enumerate(counted, start=min(bins))]


def bin_width(longest: int, *, bins: int = 40) -> int:
    """A round width (1, 2 or 5 times a power of ten) of which at most about `bins` reach to `longest`."""
    width = 1
    while longest / width > bins:
        leading = int(str(width)[0])
        width = width * 5 // 2 if leading == 2 else width * 2
    return width


def spread(items: Sequence[T], most: int) -> list[T]:
    """At most `most` of the items, evenly spread over all of them, in order."""
    if len(items) <= most:
        return list(items)
    return [items[at * len(items) // most] for at in range(most)]


def project(vectors: Matrix) -> Projection:
    """The first two principal components: of the centred vectors' covariance, the eigenvectors of the largest eigenvalues.

    Exact, without a seed: an axis points to where its largest loading is positive. Fewer than two vectors, or
    vectors that are all the same, lie in the middle and explain nothing.
    """
    blocks = [vectors[at : at + BLOCK] for at in range(0, len(vectors), BLOCK)]
    mean: Plane = np.asarray(vectors.mean(axis=0, dtype=np.float64)) if blocks else np.zeros(vectors.shape[1])
    covariance = np.zeros((vectors.shape[1], vectors.shape[1]))
    for block in blocks:
        centred = block - mean
        covariance += centred.T @ centred
    variances, directions = np.linalg.eigh(covariance)
    axes = directions[:, ::-1][:, :2]
    axes = np.pad(axes, ((0, 0), (0, 2 - axes.shape[1])))
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), [0, 1]] < 0, -1.0, 1.0)
    total = float(variances.sum())
    largest = [*variances[::-1][:2].tolist(), 0.0][:2]
    first, second = (max(0.0, each) / total if total > 1e-12 else 0.0 for each in largest)
    points = np.concatenate([(block - mean) @ axes for block in blocks]) if blocks else np.zeros((0, 2))
    return Projection(points, (first, second), mean, axes)
