"""The distilled model: what a wordpiece alone means, without torch and without a limit."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from sitt_core.embedding import static as module
from sitt_core.embedding.minilm import packaged_tokenizer, packaged_weights
from sitt_core.embedding.static import DIMENSION, StaticMiniLM, load_static, principal_components, zipf_weights
from sitt_core.embedding.windows import UNLIMITED
from sitt_core.errors import Cancelled, InvalidInput

TEXTS = ["Bigfoot", "What is the Mothman said to look like?", "二酸化炭素と河童について。", "🦶🏽", "\u200b", "a" * 2000, "[CLS] [UNK]"]


@pytest.fixture(scope="module")
def static(models_dir: Path) -> StaticMiniLM:
    return load_static(models_dir=models_dir)


def test_every_text_has_a_unit_vector(static: StaticMiniLM) -> None:
    """One that the vocabulary lacks, and one without a token, too; the same as a question and as a passage, alone or not."""
    vectors = static.embed_passages(TEXTS)
    assert vectors.shape == (len(TEXTS), DIMENSION)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-6)
    assert vectors == pytest.approx(np.vstack([static.embed_queries([text]) for text in TEXTS]), abs=1e-6)


def test_like_is_near_like(static: StaticMiniLM) -> None:
    """A question is nearer to its answer than to another text."""
    question, near, far = static.embed_passages(
        ["Which lake is the monster said to live in?", "A creature was reported in the loch.", "The vote on parking was postponed."]
    )
    assert question @ near > question @ far + 0.1


def test_a_text_is_the_mean_of_its_wordpieces(static: StaticMiniLM) -> None:
    """Worked by hand: the wordpieces' rows added up, whatever their order, unknown ones left out."""
    ids = [static.tokenizer.token_to_id(word) for word in ("lake", "monster", "monster")]
    expected = static.vectors[ids].mean(axis=0)
    for text in ("lake monster monster", "monster lake monster", "monster 🦶🏽 monster lake"):
        assert static.embed_queries([text])[0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


def test_no_text_is_too_long(static: StaticMiniLM) -> None:
    """Whatever stands at the end of 20,000 words counts, and nothing is windowed."""
    first, second = static.embed_passages(["lake " * 20_000 + "moth " * 5_000, "lake " * 20_000 + "goat " * 5_000])
    assert first @ second < 0.999
    assert static.limit == UNLIMITED
    assert static.count_tokens(["lake " * 20_000, "\u200b", "chupacabra"]) == [20_000, 0, 4]


def test_eight_threads_at_once(static: StaticMiniLM) -> None:
    """Questions from many threads get the vectors that they get one after another."""
    questions = [f"question {number} about lake {number % 7}" for number in range(200)]
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda question: static.embed_queries([question])[0], questions))
    assert np.array_equal(np.vstack(rows), static.embed_queries(questions))


def test_progress_adds_up_and_cancels(static: StaticMiniLM) -> None:
    """`progress` hears every text once; raising in it stops the call."""
    heard: list[int] = []
    static.embed_passages(TEXTS, progress=heard.append)
    assert sum(heard) == len(TEXTS)

    def stop(_: int) -> None:
        raise Cancelled(expected="to go on", got="a cancel", remedy="Start it again.")

    with pytest.raises(Cancelled):
        static.embed_passages(TEXTS, progress=stop)


@pytest.mark.parametrize(("text", "message"), [("", "text 0"), (" \n", "text 0"), ("\ud800 x", "Unicode")])
def test_what_is_no_text_is_refused(text: str, message: str, static: StaticMiniLM) -> None:
    """Blank ones and lone surrogates are named errors."""
    with pytest.raises(InvalidInput, match=message):
        static.embed_passages([text])


def test_no_texts_give_no_rows(static: StaticMiniLM) -> None:
    """An empty list is an array of shape (0, 256)."""
    assert static.embed_passages([]).shape == static.embed_queries([]).shape == (0, DIMENSION)


def test_it_is_made_once(static: StaticMiniLM, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading it again distils nothing, and does not even read the weights."""
    monkeypatch.setattr(module, "packaged_weights", lambda: pytest.fail("distilled again"))
    again = load_static(models_dir=models_dir, overlong="truncate")
    assert np.array_equal(again.vectors, static.vectors)
    assert again.fingerprint == static.fingerprint


def test_its_fingerprint_says_what_it_was_made_from(static: StaticMiniLM) -> None:
    """Source weights, tokenizer, every parameter of the distillation, and the matrix: another one is another embedder."""
    assert StaticMiniLM(static.vectors[:, ::-1], static.tokenizer).fingerprint != static.fingerprint
    assert all(part in static.fingerprint for part in (module.WEIGHTS_SHA256, module.TOKENIZER_SHA256, "static v1", "256", "0.0001"))


def test_a_wordpiece_alone_is_what_the_model_makes_of_it() -> None:
    """The mean over [CLS], wordpiece and [SEP] points where the model's own vector of that word points."""
    tokenizer = packaged_tokenizer()
    words = ["lake", "monster", "footprint", "##ing"]
    ids = np.array([tokenizer.token_to_id(word) for word in words])
    rows = module._outputs(packaged_weights(), ids, tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]"))
    from sitt_core.embedding.minilm import load_minilm

    expected = load_minilm().embed_queries(words[:3])
    assert np.sum(rows[:3] * expected, axis=1) == pytest.approx(np.linalg.norm(rows[:3], axis=1), rel=1e-3)
    assert rows.shape == (4, 384)


def test_principal_components_keep_the_most_variance() -> None:
    """Equal to the projection by singular values, with the largest value of each direction positive."""
    rows = np.random.default_rng(0).normal(size=(50, 6)) * np.array([9, 5, 3, 1, 0.5, 0.1])
    found = principal_components(rows.astype(np.float32), 3)
    left, sizes, _ = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)
    assert np.abs(found) == pytest.approx(np.abs(left[:, :3] * sizes[:3]), abs=1e-3)
    assert np.all(found[np.abs(found).argmax(axis=0), range(3)] > 0)


def test_zipf_weights_by_hand() -> None:
    """Ranks 1, 2, 3: p = (1/2, 1/3, 1/4) / (13/12), weight = 1e-4 / (1e-4 + p)."""
    expected = [1e-4 / (1e-4 + (1 / rank) / (13 / 12)) for rank in (2, 3, 4)]
    assert zipf_weights(3) == pytest.approx(expected)
