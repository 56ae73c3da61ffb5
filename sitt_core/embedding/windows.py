"""How a text longer than an embedder's limit becomes one vector; knows no embedder in particular."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from sitt_core.errors import InvalidInput, ModelError
from sitt_core.types import Matrix, Progress

Overlong = Literal["windows", "truncate"]
NORM_TOLERANCE = 1e-3
UNLIMITED = 1_000_000_000
"""The `limit` of an embedder that reads a text of any length at once."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A text in its embedder's own tokens (ids or strings, special ones left out) and the word that each belongs to."""

    pieces: Sequence[Any]
    words: Sequence[int | None]


Tokenise = Callable[[Sequence[str]], Sequence[Tokens]]
Done = Callable[[Sequence[int]], None]
"""Told which windows are finished, by number; may raise to stop the work."""
EmbedWindows = Callable[[Sequence[Sequence[Any]], Done], Matrix]
"""Windows of at most `limit` pieces to one unit row each."""


def windows(words: Sequence[int | None], limit: int) -> list[tuple[int, int]]:
    """Token ranges that together cover all of `words`, each of at most `limit` tokens, cut between words.

    Only a word that is longer than `limit` is cut inside. No tokens are one empty range.
    """
    spans = []
    start = 0
    while len(words) - start > limit:
        cut = end = start + limit
        while cut > start and words[cut] is not None and words[cut] == words[cut - 1]:
            cut -= 1
        spans.append((start, cut if cut > start else end))
        start = spans[-1][1]
    return [*spans, (start, len(words))]


def embed_texts(
    texts: Sequence[str],
    *,
    limit: int,
    dimension: int,
    overlong: Overlong,
    tokenise: Tokenise,
    embed: EmbedWindows,
    progress: Progress | None = None,
) -> Matrix:
    """Unit rows, shape (len(texts), dimension): Σ nᵢuᵢ / ‖Σ nᵢuᵢ‖ over a text's windows, uᵢ unit vectors, nᵢ their tokens.

    `truncate` embeds the first `limit` tokens alone. Raises `InvalidInput` for a blank text, `ModelError` for rows of
    another shape, not finite or not of length 1, and whatever `progress` raises.
    """
    refuse_blank(texts)
    if not texts:
        return np.empty((0, dimension), np.float32)
    pieces: list[Sequence[Any]] = []
    owners: list[int] = []
    for number, tokens in enumerate(tokenise(texts)):
        spans = windows(tokens.words, limit) if overlong == "windows" else [(0, limit)]
        pieces += [tokens.pieces[start:end] for start, end in spans]
        owners += [number] * len(spans)
    vectors = checked_units(embed(pieces, _by_text(owners, progress)), rows=len(pieces), dimension=dimension)
    counts = np.array([max(len(piece), 1) for piece in pieces], np.float32)
    first = np.searchsorted(owners, np.arange(len(texts)))
    return _units(np.add.reduceat(vectors * counts[:, None], first, axis=0))


def refuse_blank(texts: Sequence[str]) -> None:
    """Raises `InvalidInput` naming the first blank text."""
    for number, text in enumerate(texts):
        if not text.strip():
            raise InvalidInput(expected="a text with something in it", got=f"{text!r} (text {number})", remedy="Leave blank texts out.")


def checked_units(vectors: Matrix, *, rows: int, dimension: int) -> Matrix:
    """The vectors scaled to exactly length 1; raises `ModelError` unless all are finite, of that shape and nearly so already."""
    if vectors.shape != (rows, dimension):
        raise _nonsense(f"an array of shape ({rows}, {dimension})", f"shape {vectors.shape}")
    norms = np.linalg.norm(vectors, axis=1)
    bad = ~(np.abs(norms - 1) <= NORM_TOLERANCE)  # NaN is not within any tolerance
    if bad.any():
        row = int(np.argmax(bad))
        raise _nonsense("vectors of length 1", f"length {norms[row]} in row {row}")
    return _units(vectors)


def _by_text(owners: Sequence[int], progress: Progress | None) -> Done:
    """Finished windows counted as finished texts: a text is finished with its last window."""
    left = np.bincount(owners)

    def done(numbers: Sequence[int]) -> None:
        finished = 0
        for number in numbers:
            left[owners[number]] -= 1
            finished += int(left[owners[number]] == 0)
        if progress is not None:
            progress(finished)

    return done


def _units(vectors: Matrix) -> Matrix:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    if not norms.all():
        raise _nonsense("windows that add up to a direction", "windows that cancel out")
    return np.asarray(vectors / norms, dtype=np.float32)


def _nonsense(expected: str, got: str) -> ModelError:
    return ModelError(expected=f"{expected} from the embedder", got=got, remedy="Nothing was stored; run `python -m sitt_core doctor`.")
