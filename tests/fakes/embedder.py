"""An embedder without a model: every word has a direction of its own, drawn from its hash."""

from collections.abc import Sequence

import numpy as np

from sitt_core.embedding.hashing import direction
from sitt_core.errors import ModelError
from sitt_core.types import Matrix, Progress


class HashEmbedder:
    """A `types.Embedder` that counts what it embeds and, when told to, fails as real ones do.

    `embedded` holds the passages of every call that returned, `asked` the questions. `nan_in` makes NaN of the vector of
    every text that contains it, `missing` leaves that many vectors out of an answer, `down_after` raises once that many
    passages are embedded.
    """

    def __init__(self, *, dimension: int = 8, seed: int = 0, limit: int = 10_000) -> None:
        self.name, self.dimension, self.limit = f"fake-{seed}", dimension, limit
        self.fingerprint = f"fake {seed} ({dimension})"
        self.seed = seed
        self.embedded: list[str] = []
        self.asked: list[str] = []
        self.nan_in = ""
        self.missing = 0
        self.down_after: int | None = None
        self._directions: dict[str, Matrix] = {}

    def embed_passages(self, texts: Sequence[str], *, progress: Progress | None = None) -> Matrix:
        """Unit rows, unless a switch says otherwise."""
        if self.down_after is not None and len(self.embedded) + len(texts) > self.down_after:
            raise ModelError(expected="the embedder to answer", got="no answer", remedy="Start it.")
        vectors = self._vectors(texts)
        if self.nan_in:
            vectors[[self.nan_in in text for text in texts]] = np.nan
        self.embedded += texts
        if progress:
            progress(len(texts))
        return vectors[: len(texts) - self.missing]

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Unit rows."""
        self.asked += texts
        return self._vectors(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of words."""
        return [len(text.split()) for text in texts]

    def _vectors(self, texts: Sequence[str]) -> Matrix:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in enumerate(texts):
            total = sum((self._direction(word) for word in text.casefold().split()), np.zeros(self.dimension))
            length = np.linalg.norm(total)
            vectors[row] = total / length if length > 0 else np.eye(1, self.dimension)[0]
        return vectors

    def _direction(self, word: str) -> Matrix:
        if word not in self._directions:
            self._directions[word] = direction(word, dimension=self.dimension, seed=self.seed)
        return self._directions[word]
