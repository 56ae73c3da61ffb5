"""MiniLM in 8-bit integers: as near to the reference as promised, made once, and never mistaken for the float model."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.embedding import english_texts
from sitt_core.embedding import int8 as module
from sitt_core.embedding.int8 import LEVELS, calibration_texts, load_int8, rounded_weights, smoothing, whole_range
from sitt_core.embedding.minilm import LIMIT, MiniLM
from sitt_core.errors import Cancelled, InvalidInput, ModelError
from sitt_core.types import Matrix

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer


@pytest.fixture(scope="module")
def int8(models_dir: Path) -> MiniLM:
    return load_int8(models_dir=models_dir)


def test_it_is_near_the_reference(int8: MiniLM, reference: "SentenceTransformer") -> None:
    """On texts it was not calibrated on, of 40–256 wordpieces, the mean cosine to the float32 reference is 0.995 or more."""
    texts = english_texts(int8, count=60, seed=11)
    cosines = np.sum(int8.embed_passages(texts) * reference.encode(texts), axis=1)
    assert cosines.mean() >= 0.995
    assert cosines.min() >= 0.98


def test_questions_and_passages_agree(int8: MiniLM) -> None:
    """The same text has the same vector either way, alone or among others."""
    texts = calibration_texts()
    passages = int8.embed_passages(texts)
    assert np.sum(passages * int8.embed_queries(texts), axis=1).min() >= 0.999
    assert passages == pytest.approx(np.vstack([int8.embed_passages([text]) for text in texts]), abs=1e-6)


def test_its_products_are_in_integers(int8: MiniLM) -> None:
    """OpenVINO runs every one of the 36 dense layers in 8 bits: a graph that fell back to floats would be slow unseen."""
    layers = [node.get_rt_info() for node in int8.question_model.get_runtime_model().get_ops()]
    dense = [info for info in layers if info["layerType"].astype(str) == "FullyConnected"]
    assert len(dense) == 36
    assert {info["runtimePrecision"].astype(str) for info in dense} <= {"u8", "i8"}


def test_long_texts_are_windowed(int8: MiniLM) -> None:
    """What stands behind the limit counts, as with the float model."""
    first, second = int8.embed_passages(["lake " * 280 + "moth " * 20, "lake " * 280 + "goat " * 20])
    assert first @ second < 0.9999
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-6)


def test_eight_threads_at_once(int8: MiniLM) -> None:
    """Questions from many threads get the vectors that they get one after another."""
    questions = [f"{text[:60]} {number}" for number, text in enumerate(calibration_texts())]
    expected = np.vstack([int8.embed_queries([question]) for question in questions])
    with ThreadPoolExecutor(8) as pool:
        rows = list(pool.map(lambda question: int8.embed_queries([question])[0], questions))
    assert np.vstack(rows) == pytest.approx(expected, abs=1e-3)


def test_progress_adds_up_and_cancels(int8: MiniLM) -> None:
    """`progress` hears every text once; raising in it stops the call."""
    heard: list[int] = []
    int8.embed_passages(calibration_texts(), progress=heard.append)
    assert sum(heard) == 64

    def stop(_: int) -> None:
        raise Cancelled(expected="to go on", got="a cancel", remedy="Start it again.")

    with pytest.raises(Cancelled):
        int8.embed_passages(["lake"], progress=stop)


@pytest.mark.parametrize("text", ["", " \n"])
def test_a_blank_text_is_refused(text: str, int8: MiniLM) -> None:
    """As by every embedder."""
    with pytest.raises(InvalidInput):
        int8.embed_passages([text])


def test_it_is_made_once(int8: MiniLM, models_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Loading it again measures nothing and gives the same vectors; `truncate` shares the file."""
    monkeypatch.setattr(module, "measure_ranges", lambda *_: pytest.fail("measured again"))
    again = load_int8(models_dir=models_dir)
    assert np.array_equal(again.embed_queries(["Bigfoot"]), int8.embed_queries(["Bigfoot"]))
    assert load_int8(models_dir=models_dir, overlong="truncate").fingerprint != int8.fingerprint == again.fingerprint


def test_it_is_another_embedder_than_the_float_one(int8: MiniLM, minilm: MiniLM) -> None:
    """Its vectors never pass for the other's."""
    assert int8.fingerprint != minilm.fingerprint
    assert "int8 v1" in int8.fingerprint
    assert (int8.name, int8.dimension, int8.limit) == ("minilm-int8", 384, LIMIT)


def test_a_processor_that_cannot_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that is not near the float one on this processor is an error, and is not kept."""
    monkeypatch.setattr(module, "calibration_texts", lambda: ["lake"])
    monkeypatch.setattr(module, "LEAST_COSINE", 1.1)
    with pytest.raises(ModelError, match="embedder=minilm"):
        load_int8(models_dir=tmp_path, say=lambda _: None)
    assert not list(tmp_path.glob("*.model"))


def test_overlong_is_windows_or_truncate(tmp_path: Path) -> None:
    """Any other treatment of long texts is refused before anything is made."""
    with pytest.raises(InvalidInput, match="windows or truncate"):
        load_int8(models_dir=tmp_path, overlong="drop")
    assert list(tmp_path.iterdir()) == []


@given(st.floats(-100, 0), st.floats(0.001, 100))
def test_zero_is_a_step_of_the_range(low: float, high: float) -> None:
    """The range keeps its width, moves by at most one step, and holds zero exactly."""
    least, most = whole_range(low, high)
    step = (high - low) / LEVELS
    assert (most - least) == pytest.approx(high - low)
    assert abs(least - low) <= step
    assert least / step == pytest.approx(round(least / step), abs=1e-6)


def test_smoothing_changes_no_product() -> None:
    """Inputs divided and weights multiplied by the same factors give the same product."""
    rng = np.random.default_rng(0)
    inputs, matrix = rng.normal(size=(5, 8)).astype(np.float32), rng.normal(size=(3, 8)).astype(np.float32)
    inputs[:, 2] *= 40
    factors = smoothing(inputs.min(axis=0), inputs.max(axis=0), [matrix])
    assert (inputs / factors) @ (matrix * factors).T == pytest.approx(inputs @ matrix.T, abs=1e-3)
    assert spread(inputs / factors) < spread(inputs)


def spread(inputs: Matrix) -> float:
    """How much larger the largest channel is than the smallest."""
    most = np.abs(inputs).max(axis=0)
    return float(most.max() / most.min())


def test_weights_are_off_by_half_a_step_at_most() -> None:
    """Every output has a step of its own, and a row of zeros stays zero."""
    matrix = np.random.default_rng(0).normal(size=(4, 6)).astype(np.float32)
    matrix[3] = 0
    integers, steps = rounded_weights(matrix)
    assert (integers.dtype, integers.shape, steps.shape) == (np.int8, (4, 6), (4, 1))
    assert np.all(np.abs(integers * steps - matrix) <= steps / 2 + 1e-7)
    assert np.all(integers[3] == 0)
