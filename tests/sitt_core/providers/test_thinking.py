"""Thinking at the head of an answer, however it is cut into pieces."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.providers.thinking import CLOSES, ThinkingReader

LIKELY = st.lists(st.sampled_from(["<think>", "</think>", "<thi", "</th", "nk>", "<", ">", " ", "\n", "a", "answer"]), max_size=8).map(
    "".join
)


def shown(pieces: list[str]) -> str:
    reader = ThinkingReader()
    return "".join([*map(reader.feed, pieces), reader.close()])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        pytest.param("<think>Hm.</think>\n\nYes.", "Yes.", id="thinking"),
        pytest.param(" \n<think></think>Yes. ", "Yes. ", id="empty, after white space"),
        pytest.param("<think>Hm. Yes.", "", id="never ended"),
        pytest.param("<think>Hm.</think> \n", "", id="nothing else"),
        pytest.param("<think>a<think>b</think>Yes.</think>", "Yes.</think>", id="the first end counts"),
        pytest.param("Yes. <think>Hm.</think>", "Yes. <think>Hm.</think>", id="further on"),
        pytest.param("<think>a</think><think>b</think>", "<think>b</think>", id="a second one"),
        pytest.param(" <thin", " <thin", id="a tag that was not finished"),
        pytest.param("<thinking>", "<thinking>", id="another tag"),
        pytest.param(" \n", " \n", id="white space"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_what_is_shown(text: str, told: str) -> None:
    """In one piece and in single characters."""
    assert shown([text]) == shown(list(text)) == told


@given(LIKELY, st.lists(st.integers(0, 60)))
def test_cuts_change_nothing(text: str, cuts: list[int]) -> None:
    """However the text is cut into pieces, the same is shown."""
    edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    assert shown([text[start:end] for start, end in pairwise(edges)]) == shown([text])


@given(st.text(), st.text())
def test_only_the_answer_is_left(thinking: str, answer: str) -> None:
    """Whatever was thought."""
    thought = thinking.replace(CLOSES, "")
    if CLOSES not in thought:
        assert shown([f"<think>{thought}</think>{answer}"]) == answer.lstrip()


def test_text_is_not_held_back() -> None:
    """A word that begins no tag is told at once."""
    reader = ThinkingReader()
    assert [reader.feed(piece) for piece in (" ", "<", "b>", "so")] == ["", "", " <b>", "so"]
