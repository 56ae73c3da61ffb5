"""An embedder without a model, for tests and soak runs: every word has a direction of its own, drawn from its hash."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from sitt_core.embedding.windows import UNLIMITED, checked_units, refuse_blank
from sitt_core.types import Matrix, Progress

VERSION = 1  # raise it when the same text gets another vector
DIMENSION = 64
KEPT_WORDS = 50_000


class HashEmbedder:
    """An `Embedder`: texts that share words are near each other, the same text has the same vector on every machine.

    Long texts need no windows, so that `overlong` would change nothing.
    """

    def __init__(self, *, dimension: int = DIMENSION, seed: int = 0) -> None:
        self.name, self.dimension, self.limit = "hash", dimension, UNLIMITED
        self.fingerprint = f"hash v{VERSION}; seed {seed}; dimension {dimension}"
        self._direction = lru_cache(KEPT_WORDS)(lambda word: direction(word, dimension=dimension, seed=seed))

    def embed_passages(self, texts: Sequence[str], *, progress: Progress | None = None) -> Matrix:
        """Unit rows, shape (len(texts), dimension); raises InvalidInput for a blank text and whatever `progress` raises."""
        vectors = self.embed_queries(texts)
        if progress is not None:
            progress(len(texts))
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Unit rows, shape (len(texts), dimension); safe from many threads."""
        refuse_blank(texts)
        vectors = np.empty((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            total = np.sum([self._direction(word) for word in text.casefold().split()], axis=0)
            vectors[row] = total / np.linalg.norm(total)
        return checked_units(vectors, rows=len(texts), dimension=self.dimension)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of words."""
        return [len(text.split()) for text in texts]


def direction(word: str, *, dimension: int, seed: int) -> Matrix:
    """Where a word points: shape (dimension,), normally distributed, from the SHA-256 of seed and word alone."""
    digest = hashlib.sha256(f"{seed} {word}".encode("utf-8", "surrogatepass")).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "little")).standard_normal(dimension).astype(np.float32)
