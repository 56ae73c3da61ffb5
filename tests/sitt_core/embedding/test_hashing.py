"""The embedder without a model."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.embedding.hashing import DIMENSION, HashEmbedder
from sitt_core.embedding.windows import UNLIMITED
from sitt_core.errors import Cancelled, InvalidInput

TEXTS = st.lists(st.text(min_size=1, max_size=40).filter(str.strip), min_size=1, max_size=6)


@given(TEXTS)
def test_every_text_has_a_unit_vector_of_its_own(texts: list[str]) -> None:
    """Finite rows of length 1, the same for passages and questions, alone and among others, now and in another instance."""
    vectors = HashEmbedder().embed_passages(texts)
    assert vectors.shape == (len(texts), DIMENSION)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    alone = [HashEmbedder().embed_queries([text])[0] for text in texts]
    assert vectors == pytest.approx(np.vstack(alone), abs=1e-6)


def test_shared_words_bring_texts_near() -> None:
    """Whoever shares most words is nearest, in any order and case."""
    embedder = HashEmbedder()
    question = embedder.embed_queries(["the monster of the lake"])[0]
    near, far = embedder.embed_passages(["THE LAKE of the monster", "a parking regulation was postponed"]) @ question
    assert near == pytest.approx(1, abs=1e-6)
    assert far < 0.5


def test_the_vectors_are_the_same_on_every_machine() -> None:
    """A known value: an index built elsewhere stays readable until VERSION says otherwise."""
    assert HashEmbedder().embed_queries(["Bigfoot"])[0][:3] == pytest.approx([-0.02030, -0.03956, 0.02782], abs=1e-4)


def test_another_seed_is_another_embedder() -> None:
    """Neither vectors nor fingerprints agree."""
    first, second = HashEmbedder(seed=1), HashEmbedder(seed=2)
    assert first.fingerprint != second.fingerprint
    assert first.embed_queries(["lake"])[0] @ second.embed_queries(["lake"])[0] < 0.9


def test_counts_words_and_has_no_limit() -> None:
    """Its tokens are words; no text is too long for it."""
    assert HashEmbedder().count_tokens(["a lake", "", "x " * 5000]) == [2, 0, 5000]
    assert HashEmbedder().limit == UNLIMITED


def test_progress_may_cancel() -> None:
    """It hears every text, and what it raises comes out."""
    heard: list[int] = []
    HashEmbedder().embed_passages(["a", "b"], progress=heard.append)
    assert sum(heard) == 2

    def stop(_: int) -> None:
        raise Cancelled(expected="to go on", got="a cancel", remedy="Start it again.")

    with pytest.raises(Cancelled):
        HashEmbedder().embed_passages(["a"], progress=stop)


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
def test_a_blank_text_is_refused(text: str) -> None:
    """As by every embedder."""
    with pytest.raises(InvalidInput, match="text 1"):
        HashEmbedder().embed_passages(["lake", text])


def test_no_texts_give_no_rows() -> None:
    """An empty list is an array of shape (0, dimension)."""
    assert HashEmbedder(dimension=8).embed_passages([]).shape == (0, 8)


def test_eight_threads_at_once() -> None:
    """Questions from many threads get the vectors that they get one after another."""
    embedder = HashEmbedder()
    questions = [f"question {number} about lake {number % 7}" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda question: embedder.embed_queries([question])[0], questions))
    assert np.vstack(rows) == pytest.approx(HashEmbedder().embed_queries(questions), abs=1e-6)
