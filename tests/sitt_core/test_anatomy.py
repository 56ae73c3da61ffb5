"""Pieces, cuts, lengths and the map, worked out by hand and held against their definitions."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sitt_core import anatomy
from sitt_core.anatomy import Bin, Cutting, Piece, Summary
from sitt_core.types import Chunk, Document, Span
from tests.fakes.corpora import document
from tests.fakes.embedder import HashEmbedder

NOTE = document("note.md", "# Lake\n\nAn eel. A monk.\n\nA cat.")


def chunk(start: int, end: int, *, of: Document = NOTE, header: str = "") -> Chunk:
    text = of.text[start:end]
    return Chunk(f"{start}-{end}", of.id, start, end, text, (), len(text.split()), header)


def whole(of: Document = NOTE) -> Span:
    return Span(0, len(of.text))


def test_pieces_split_at_chunks_overlaps_and_headings() -> None:
    """Each piece names the chunks it belongs to; white space between chunks belongs to none, an overlap to two."""
    assert NOTE.text == "# Lake\n\nAn eel. A monk.\n\nA cat."
    chunks = [chunk(0, 15), chunk(8, 23), chunk(25, 31)]
    assert anatomy.pieces(NOTE, chunks, whole()) == [
        Piece(0, 6, (1,), heading=True),
        Piece(6, 8, (1,), heading=False),
        Piece(8, 15, (1, 2), heading=False),
        Piece(15, 23, (2,), heading=False),
        Piece(23, 25, (), heading=False),
        Piece(25, 31, (3,), heading=False),
    ]


def test_pieces_of_a_part_begin_and_end_with_it() -> None:
    """A part cuts the pieces at its edges; their chunks keep their numbers."""
    chunks = [chunk(0, 15), chunk(15, 23), chunk(25, 31)]
    assert anatomy.pieces(NOTE, chunks, Span(10, 26)) == [
        Piece(10, 15, (1,), heading=False),
        Piece(15, 23, (2,), heading=False),
        Piece(23, 25, (), heading=False),
        Piece(25, 26, (3,), heading=False),
    ]


@given(st.lists(st.integers(0, 30), min_size=2, max_size=12, unique=True), st.integers(0, 4))
def test_pieces_lose_nothing(edges: list[int], overlap: int) -> None:
    """Whatever the chunks, the pieces put together are the text, and each lies in exactly the chunks that it names."""
    cuts = sorted(edges)
    chunks = [chunk(max(0, start - overlap), end) for start, end in itertools.pairwise(cuts)]
    chunks = [each for at, each in enumerate(chunks) if at == 0 or each.start > chunks[at - 1].start]
    made = anatomy.pieces(NOTE, chunks, whole())
    assert "".join(NOTE.text[piece.start : piece.end] for piece in made) == NOTE.text
    for piece in made:
        holding = [number for number, each in enumerate(chunks, start=1) if each.start <= piece.start and piece.end <= each.end]
        assert list(piece.chunks) == holding


def test_cuts_are_the_ends_of_all_chunks_but_the_last() -> None:
    """A text in one chunk is not cut; an overlap does not move a cut."""
    assert anatomy.cuts([chunk(0, 31)]) == frozenset()
    assert anatomy.cuts([chunk(0, 15), chunk(8, 23), chunk(25, 31)]) == {15, 23}
    assert anatomy.cuts([]) == frozenset()


def test_a_cutting_is_measured_as_it_is_embedded() -> None:
    """Lengths count the header too, in the embedder's tokens; the summary counts tokens, overlap and what exceeds the limit."""
    chunks = [chunk(0, 15, header="Lake"), chunk(8, 23), chunk(25, 31)]
    cutting = anatomy.cut_up(NOTE, lambda _: chunks, HashEmbedder(limit=4))
    assert cutting == Cutting(tuple(chunks), (5, 4, 2), 4)
    assert anatomy.summarise(cutting) == Summary(chunks=3, least=2, median=4, most=4, overlong=1, repeated=7)


def test_a_document_without_chunks_has_nothing_to_count() -> None:
    """Nothing is cut, nothing is measured, and the counts are zero."""
    cutting = anatomy.cut_up(NOTE, lambda _: [], HashEmbedder())
    assert anatomy.summarise(cutting) == Summary(0, 0, 0, 0, 0, 0)
    assert anatomy.token_lengths([NOTE], lambda _: [], HashEmbedder()) == ()


def test_token_lengths_run_over_all_documents() -> None:
    """Every chunk of every document counts once."""
    assert anatomy.token_lengths([NOTE, NOTE], lambda _: [chunk(0, 15), chunk(25, 31)], HashEmbedder()) == (4, 2, 4, 2)


@pytest.mark.parametrize(
    ("text", "most", "expected"),
    [
        pytest.param("abc", 5, [Span(0, 3)], id="short"),
        pytest.param("ab\ncd\nef", 4, [Span(0, 3), Span(3, 6), Span(6, 8)], id="at lines"),
        pytest.param("abcdefg", 3, [Span(0, 3), Span(3, 6), Span(6, 7)], id="no line"),
        pytest.param("", 3, [Span(0, 0)], id="empty"),
    ],
)
def test_parts_end_with_a_line_where_there_is_one(text: str, most: int, expected: list[Span]) -> None:
    """Together the parts are the text, and none is longer than asked."""
    assert anatomy.parts(text, most) == expected


def test_no_bin_lies_on_both_sides_of_the_limit() -> None:
    """With a limit of 10 and a width of 4 the bins end at …, 6, 10, 14: a length of 10 is within, 11 beyond."""
    assert anatomy.histogram([1, 2, 3, 10, 11, 14, 15], limit=10, width=4) == [
        Bin(0, 2, 2),
        Bin(2, 6, 1),
        Bin(6, 10, 1),
        Bin(10, 14, 2),
        Bin(14, 18, 1),
    ]
    assert anatomy.histogram([], limit=10, width=4) == []


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=60), st.integers(1, 600), st.integers(1, 90))
def test_every_length_is_in_one_bin(lengths: list[int], limit: int, width: int) -> None:
    """The bins join without a gap, count everything, and split exactly what is longer than the limit from the rest."""
    bins = anatomy.histogram(lengths, limit=limit, width=width)
    assert sum(each.count for each in bins) == len(lengths)
    assert all(before.high == after.low for before, after in itertools.pairwise(bins))
    assert sum(each.count for each in bins if each.low >= limit) == sum(length > limit for length in lengths)


@pytest.mark.parametrize(
    ("longest", "width"), [pytest.param(n, w, id=str(n)) for n, w in ((1, 1), (40, 1), (41, 2), (81, 5), (470, 20), (8000, 200))]
)
def test_bin_widths_are_round(longest: int, width: int) -> None:
    """1, 2 or 5 times a power of ten, and at most about forty of them."""
    assert anatomy.bin_width(longest) == width


def test_a_spread_reaches_over_everything() -> None:
    """Few items are all taken; of many, as many as asked, evenly and in order."""
    assert anatomy.spread([1, 2, 3], 5) == [1, 2, 3]
    assert anatomy.spread(range(10), 4) == [0, 2, 5, 7]


def test_the_plane_of_a_flat_cloud_keeps_everything() -> None:
    """Points on a rectangle of 6 by 2 in three dimensions: the long side is the first axis, with 9 of 10 parts of the variance."""
    cloud = np.array([[3, 0, 1], [3, 0, -1], [-3, 0, 1], [-3, 0, -1]], np.float32)
    made = anatomy.project(cloud)
    assert made.explained == pytest.approx((0.9, 0.1))
    assert made.points == pytest.approx(np.array([[3, 1], [3, -1], [-3, 1], [-3, -1]]))
    assert made.place(np.array([[6, 5, 0]], np.float32)) == pytest.approx(np.array([[6, 0]]))


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(2, 8))
def test_the_plane_is_that_of_the_singular_vectors(seed: int, rows: int, width: int) -> None:
    """Coordinates and shares are those of numpy's SVD of the centred vectors, up to the sign of an axis; twice gives the same."""
    cloud = np.random.default_rng(seed).standard_normal((rows, width)).astype(np.float32)
    made = anatomy.project(cloud)
    centred = cloud.astype(np.float64) - cloud.astype(np.float64).mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    expected = (u * s)[:, :2]
    expected = np.pad(expected, ((0, 0), (0, 2 - expected.shape[1])))
    assert np.abs(made.points) == pytest.approx(np.abs(expected), abs=1e-6)
    assert made.explained[0] == pytest.approx(s[0] ** 2 / (s**2).sum(), abs=1e-9)
    assert np.array_equal(anatomy.project(cloud).points, made.points)


@pytest.mark.parametrize(
    "cloud",
    [
        pytest.param(np.zeros((0, 4), np.float32), id="none"),
        pytest.param(np.ones((1, 4), np.float32), id="one"),
        pytest.param(np.ones((5, 4), np.float32), id="all the same"),
        pytest.param(np.array([[1.0], [1.0]], np.float32), id="one dimension"),
    ],
)
def test_a_cloud_without_extent_lies_in_the_middle(cloud: np.ndarray) -> None:
    """No division by a variance of nought: every point at the origin, nothing explained."""
    made = anatomy.project(cloud)
    assert made.points.shape == (len(cloud), 2)
    assert made.points == pytest.approx(np.zeros((len(cloud), 2)))
    assert made.explained == (0.0, 0.0)
