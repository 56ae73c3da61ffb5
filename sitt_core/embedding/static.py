"""all-MiniLM-L6-v2 distilled into one vector per wordpiece, as model2vec does it (Tulkens and van Dongen 2024).

model2vec's own distillation pins transformers and tokenizers below what sentence-transformers is pinned to here; its method is
short, and the float model is here already, without torch.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sitt_core.embedding.converted import Say, converted, say_on_stderr
from sitt_core.embedding.minilm import (
    TOKENIZER_SHA256,
    WEIGHTS_SHA256,
    bert_graph,
    check_loadable,
    packaged_tokenizer,
    packaged_weights,
)
from sitt_core.embedding.windows import UNLIMITED, Done, Tokens, embed_texts
from sitt_core.errors import InvalidInput
from sitt_core.types import Matrix, Progress

VERSION = 1  # raise it when the same text gets another vector
DIMENSION = 256
SIF = 1e-4  # a / (a + p) of Arora et al. 2017: how little a frequent wordpiece counts
LEFT_OUT = r"\[unused\d+\]|\[(PAD|CLS|SEP|MASK)\]"
BATCH = 512
RECIPE = f"weights {WEIGHTS_SHA256}; tokenizer {TOKENIZER_SHA256}; static v{VERSION}; dimension {DIMENSION}; sif {SIF}"


def load_static(*, models_dir: Path, overlong: str = "windows", say: Say = say_on_stderr) -> "StaticMiniLM":
    """The embedder; its vectors are distilled at the first use on a machine. Raises `ModelError`.

    `overlong` changes nothing: a text of any length is read at once.
    """
    check_loadable(overlong)
    tokenizer = packaged_tokenizer()
    made = converted(models_dir / "static-minilm.model", recipe=RECIPE, make=lambda: distilled(packaged_weights(), tokenizer), say=say)
    return StaticMiniLM(made["vectors"], tokenizer)


@dataclass(eq=False, repr=False)
class StaticMiniLM:
    """An `Embedder`: a text is the mean of its wordpieces' vectors (row number = token id), whatever their order."""

    vectors: Matrix
    tokenizer: Any
    name: str = "static-minilm"
    dimension: int = DIMENSION
    limit: int = UNLIMITED

    @cached_property
    def fingerprint(self) -> str:
        """Everything that decides a vector; the matrix itself too, since on another processor its axes may come out turned."""
        matrix = hashlib.sha256(self.vectors.tobytes()).hexdigest()
        return f"static-minilm; {RECIPE}; matrix {matrix}; mean of wordpieces; L2 normalised; no limit"

    @cached_property
    def unknown(self) -> int:
        """The token that stands for what the vocabulary lacks."""
        return int(self.tokenizer.token_to_id("[UNK]"))

    def embed_passages(self, texts: Sequence[str], *, progress: Progress | None = None) -> Matrix:
        """Unit rows, shape (len(texts), 256); `progress` hears how many texts were finished since its last call."""
        return embed_texts(
            texts,
            limit=UNLIMITED,
            dimension=DIMENSION,
            overlong="windows",
            tokenise=self._tokenise,
            embed=self._means,
            progress=progress,
        )

    def embed_queries(self, texts: Sequence[str]) -> Matrix:
        """Unit rows, shape (len(texts), 256); safe from many threads."""
        return self.embed_passages(texts)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Lengths in wordpieces."""
        return [len(tokens.pieces) for tokens in self._tokenise(texts)]

    def _tokenise(self, texts: Sequence[str]) -> list[Tokens]:
        try:
            encodings = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        except TypeError as error:
            raise InvalidInput(expected="texts of valid Unicode", got=str(error), remedy="Remove lone surrogates.") from error
        # A text is never cut, so that nobody asks which word a piece belongs to.
        return [Tokens(encoding.ids, encoding.ids) for encoding in encodings]

    def _means(self, texts: Sequence[Sequence[int]], done: Done) -> Matrix:
        means = np.empty((len(texts), DIMENSION), np.float32)
        for row, pieces in enumerate(texts):
            # What the vocabulary lacks says nothing, unless there is nothing else.
            known = [piece for piece in pieces if piece != self.unknown] or [self.unknown]
            means[row] = self.vectors[known].mean(axis=0)
            done([row])
        return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def distilled(weights: Mapping[str, Matrix], tokenizer: Any) -> dict[str, Matrix]:
    """`vectors`, shape (vocabulary, 256): what the model makes of each wordpiece alone, projected and weighted.

    Wordpieces are in order of frequency in BERT's vocabulary, so that Zipf's law gives their probability. The left-out ones,
    which no text contains, have the vector of [UNK].
    """
    vocabulary: dict[str, int] = tokenizer.get_vocab(with_added_tokens=True)
    kept = np.array(sorted(number for token, number in vocabulary.items() if not re.fullmatch(LEFT_OUT, token)))
    alone = _outputs(weights, kept, tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]"))
    vectors = np.empty((len(vocabulary), DIMENSION), np.float32)
    projected = principal_components(alone, DIMENSION) * zipf_weights(len(kept))[:, None]
    vectors[:] = projected[np.searchsorted(kept, tokenizer.token_to_id("[UNK]"))]
    vectors[kept] = projected
    return {"vectors": vectors}


def _outputs(weights: Mapping[str, Matrix], tokens: NDArray[np.int64], start: int, end: int) -> Matrix:
    """The mean of the model's last layer over [CLS], token and [SEP], before it is normalised; shape (tokens, 384)."""
    import openvino

    graph = bert_graph(weights)
    total = graph.get_results()[0].input_value(0).get_node().input_value(0)
    core = openvino.Core()
    model = core.compile_model(openvino.Model([total], graph.get_parameters(), "pooled"), "CPU")
    ids = np.stack([np.full_like(tokens, start), tokens, np.full_like(tokens, end)], axis=1).astype(np.int32)
    totals = np.vstack([model(ids[at : at + BATCH])[0] for at in range(0, len(ids), BATCH)])
    return np.asarray(totals / ids.shape[1], np.float32)


def principal_components(rows: Matrix, n: int) -> Matrix:
    """The rows along their `n` directions of greatest variance, shape (rows, n); signs such that the largest value is positive."""
    centred = rows.astype(np.float64) - rows.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)  # by growing variance
    scores = centred @ directions[:, ::-1][:, :n]
    largest = scores[np.abs(scores).argmax(axis=0), np.arange(n)]
    return np.asarray(scores * np.sign(largest), np.float32)


def zipf_weights(n: int) -> Matrix:
    """What the wordpiece of rank r counts, shape (n,): a / (a + p), p proportional to 1 / (r + 1), 1-based."""
    inverse = 1 / np.arange(2, n + 2)
    return np.asarray(SIF / (SIF + inverse / inverse.sum()), np.float32)
