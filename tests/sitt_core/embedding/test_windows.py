"""Long texts: where the windows are cut and how their vectors become one."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.embedding.windows import Done, EmbedWindows, Overlong, Tokens, embed_texts, windows
from sitt_core.errors import Cancelled, InvalidInput, ModelError
from sitt_core.types import Matrix, Progress

EAST, NORTH = [1.0, 0.0], [0.0, 1.0]


def letters(texts: Sequence[str]) -> list[Tokens]:
    """Every letter is a token; words stand between spaces."""
    return [
        Tokens([letter for letter in text if letter != " "], [n for n, word in enumerate(text.split()) for _ in word]) for text in texts
    ]


def compass(pieces: Sequence[Sequence[str]], done: Done) -> Matrix:
    """A window that begins with e points east, any other north."""
    done(range(len(pieces)))
    return np.array([EAST if piece[0] == "e" else NORTH for piece in pieces], np.float32)


def embed(texts: Sequence[str], *, overlong: Overlong = "windows", by: EmbedWindows = compass, progress: Progress | None = None) -> Matrix:
    return embed_texts(texts, limit=3, dimension=2, overlong=overlong, tokenise=letters, embed=by, progress=progress)


@pytest.mark.parametrize(
    ("words", "limit", "expected"),
    [
        pytest.param([], 3, [(0, 0)], id="nothing is one empty window"),
        pytest.param([0, 0, 1], 3, [(0, 3)], id="exactly the limit is one window"),
        pytest.param([0, 0, 1, 1], 3, [(0, 2), (2, 4)], id="the word that does not fit moves on whole"),
        pytest.param([0, 1, 2, 3], 3, [(0, 3), (3, 4)], id="a cut may fall on the limit"),
        pytest.param([0] * 7, 3, [(0, 3), (3, 6), (6, 7)], id="a word above the limit is cut inside"),
        pytest.param([0, 1, 1, 1, 1], 3, [(0, 1), (1, 4), (4, 5)], id="a giant begins a window of its own"),
        pytest.param([None, None, None, None], 3, [(0, 3), (3, 4)], id="tokens of no word stand alone"),
    ],
)
def test_cuts_between_words(words: list[int | None], limit: int, expected: list[tuple[int, int]]) -> None:
    """Windows are cut between words, and inside a word only when it alone exceeds the limit."""
    assert windows(words, limit) == expected


@given(st.lists(st.integers(1, 9), max_size=40), st.integers(1, 12))
def test_windows_cover_everything(lengths: list[int], limit: int) -> None:
    """The windows follow one another without gap or overlap, never exceed the limit, and split only words above it."""
    words = [number for number, length in enumerate(lengths) for _ in range(length)]
    spans = windows(words, limit)
    assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
    assert spans[-1][1] == len(words)
    assert all(end - start <= limit for start, end in spans)
    for _, end in spans[:-1]:
        assert words[end - 1] != words[end] or lengths[words[end]] > limit


def test_one_vector_is_the_length_weighted_sum_of_unit_windows_normalised() -> None:
    """Three tokens east and one north are (3, 1) / √10: weighting each window by its tokens and normalising both matter."""
    vector = embed(["eee n"])[0]
    assert vector == pytest.approx(np.array([3, 1]) / np.sqrt(3**2 + 1**2), abs=1e-6)
    assert vector != pytest.approx(np.array([1, 1]) / np.sqrt(2), abs=0.1), "unweighted"
    assert vector != pytest.approx(np.array([3, 1]) / 4, abs=0.01), "not normalised"


def test_windows_are_made_unit_before_they_are_weighted() -> None:
    """A window whose vector is a hair off length 1 counts by its tokens alone."""
    vector = embed(["eee n"], by=lambda *_: np.array([[1.0009, 0], [0, 0.9991]], np.float32))[0]
    assert vector == pytest.approx(np.array([3, 1]) / np.sqrt(10), abs=1e-6)


def test_truncate_embeds_the_first_tokens_alone() -> None:
    """With `truncate` what stands behind the limit changes nothing."""
    assert embed(["eee n", "eee eee", "nn eee"], overlong="truncate") == pytest.approx(np.array([EAST, EAST, NORTH]))


def test_short_texts_keep_their_rows_among_long_ones() -> None:
    """Row i is text i, however many windows the texts before it had."""
    rows = embed(["n", "eee eee eee", "n", "eee n", "e"])
    assert rows == pytest.approx(np.array([NORTH, EAST, NORTH, [3 / 10**0.5, 1 / 10**0.5], EAST]), abs=1e-6)
    assert rows.dtype == np.float32


def test_no_texts_give_no_rows() -> None:
    """An empty list is an array without rows, and nothing is asked of the embedder."""
    assert embed([]).shape == (0, 2)


def test_progress_counts_texts_not_windows() -> None:
    """A text is finished with the last of its windows."""

    def one_by_one(pieces: Sequence[Sequence[str]], done: Done) -> Matrix:
        for number in range(len(pieces)):
            done([number])
        return np.array([EAST] * len(pieces), np.float32)

    heard: list[int] = []
    embed(["e", "eee eee eee", "e"], by=one_by_one, progress=heard.append)
    assert heard == [1, 0, 0, 1, 1]


def test_progress_may_stop_the_work() -> None:
    """What `progress` raises comes through."""

    def stop(_: int) -> None:
        raise Cancelled(expected="to go on", got="a cancel", remedy="Start it again.")

    with pytest.raises(Cancelled):
        embed(["e"], progress=stop)


@pytest.mark.parametrize("blank", ["", " ", "\n\t"], ids=["empty", "space", "lines"])
def test_blank_texts_are_refused(blank: str) -> None:
    """A blank text is the caller's mistake and is named by its number."""
    with pytest.raises(InvalidInput, match="text 1"):
        embed(["e", blank])


@pytest.mark.parametrize(
    "rows",
    [
        pytest.param([[np.nan, 0.0]], id="not a number"),
        pytest.param([[np.inf, 0.0]], id="infinite"),
        pytest.param([[0.0, 0.0]], id="zero"),
        pytest.param([[1.002, 0.0]], id="not of length 1"),
        pytest.param([EAST, EAST], id="a row too many"),
        pytest.param([[1.0, 0.0, 0.0]], id="another dimension"),
    ],
)
def test_nonsense_from_a_model_is_refused(rows: list[list[float]]) -> None:
    """Vectors that are not finite, not unit or of another shape are an error, never stored."""
    with pytest.raises(ModelError):
        embed(["e"], by=lambda *_: np.array(rows, np.float32))


def test_windows_that_cancel_out_are_refused() -> None:
    """Windows that add up to nothing have no direction to return."""
    with pytest.raises(ModelError, match="cancel out"):
        embed(["eee www"], by=lambda *_: np.array([EAST, [-1.0, 0.0]], np.float32))
