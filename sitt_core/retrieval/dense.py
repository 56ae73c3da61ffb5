"""Ranking by cosine similarity: by one product per question over unit vectors that were read once, or by an HNSW graph."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sitt_core.types import Hit, Mask, Matrix

Nearest = Callable[[NDArray[np.float32], int], NDArray[np.int64]]
"""A unit vector (dimension,) and a depth to the positions of about the nearest chunks, in any order."""

SHARED_ROWS = 20_000
"""From so many rows on, the processors share a product: below, handing out the work takes longer than the work."""

_shares = ThreadPoolExecutor(max_workers=os.cpu_count() or 1, thread_name_prefix="dense")


def rank_dense(vectors: Matrix, chunk_ids: Sequence[str], queries: Matrix, n: int, *, allowed: Mask | None = None) -> list[list[Hit]]:
    """For each query the `n` chunks of highest cosine similarity, best first, ties in chunk order.

    vectors: (chunks, dimension) and queries: (questions, dimension), unit rows; score: cosine, -1 to 1.
    Chunks outside `allowed` (chunks,) do not take part.
    """
    return [_hits(similarities(vectors, query), chunk_ids, n, allowed) for query in queries]


def similarities(vectors: Matrix, query: NDArray[np.float32]) -> NDArray[np.float32]:
    """The cosine of each unit row of `vectors` (chunks, dimension) with a unit vector (dimension,); shape (chunks,).

    Not `vectors @ query`: BLAS rounds a row differently by its place and by how many questions come at once, so that equal
    vectors would not tie and a batch would not rank as its questions do one by one. einsum treats every row alike.
    """
    if len(vectors) < SHARED_ROWS:
        return np.asarray(np.einsum("ij,j->i", vectors, query), dtype=np.float32)
    found = np.empty(len(vectors), dtype=np.float32)
    # Small pieces: a processor that is busy with something else then holds up only one of them.
    edges = np.linspace(0, len(vectors), 4 * (os.cpu_count() or 1) + 1).astype(int).tolist()
    done = [_shares.submit(np.einsum, "ij,j->i", vectors[a:b], query, out=found[a:b]) for a, b in pairwise(edges)]
    for each in done:
        each.result()
    return found


def rank_hnsw(nearest: Nearest, vectors: Matrix, chunk_ids: Sequence[str], queries: Matrix, n: int) -> list[list[Hit]]:
    """As `rank_dense`, among the chunks that a graph names: nearly always the same, and some may be missed.

    A graph may hand over fewer than `n`; scores, ranks and ties are those of `rank_dense` for the chunks it names.
    """
    rankings = []
    for query in queries:
        named = np.sort(nearest(query, n))
        rankings.append(_hits(np.einsum("ij,j->i", vectors[named], query), [chunk_ids[at] for at in named.tolist()], n, None))
    return rankings


def _hits(similarity: NDArray[np.float32], chunk_ids: Sequence[str], n: int, allowed: Mask | None) -> list[Hit]:
    positions = best(similarity, n, allowed=allowed)
    scores = similarity[positions].tolist()
    return [
        Hit(chunk_ids[position], score, {"dense": rank}, {"dense": score})
        for rank, (position, score) in enumerate(zip(positions.tolist(), scores, strict=True), start=1)
    ]


def best(scores: NDArray[np.float32], n: int, *, allowed: Mask | None = None) -> NDArray[np.int64]:
    """The positions of the `n` highest scores among the allowed, descending, ties by position."""
    candidates = np.arange(len(scores)) if allowed is None else np.flatnonzero(allowed)
    if len(candidates) > n:
        # Everything that ties with the n-th stays in until the stable sort has ordered it.
        threshold = np.partition(scores[candidates], len(candidates) - n)[len(candidates) - n]
        candidates = candidates[scores[candidates] >= threshold]
    order = np.argsort(-scores[candidates], kind="stable")[:n]
    return np.asarray(candidates[order], dtype=np.int64)
