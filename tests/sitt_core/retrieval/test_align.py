"""Several results side by side: the same passages are in one group however they were cut, and overlaps are counted by hand."""

from sitt_core.retrieval.align import align, overlap, places
from sitt_core.types import Chunk, Hit, Passage, Source


def passage(rank: int, document: str, start: int, end: int, *twins: Passage) -> Passage:
    chunk = Chunk(f"{document}:{start}:{end}", document, start, end, "x" * (end - start), (), 1)
    return Passage(rank, chunk, document, Source("", "", ""), Hit(chunk.id, 1.0), 1000, twins)


def test_the_same_passage_has_the_ranks_of_every_result() -> None:
    """By best rank, those that more results have first; what only one has is a group of its own."""
    a = [passage(1, "lake", 0, 100), passage(2, "sky", 0, 100)]
    b = [passage(1, "moor", 0, 100), passage(2, "lake", 0, 100)]
    c = [passage(1, "lake", 10, 100)]
    groups = align([a, b, c])
    assert [(group.number, group.ranks) for group in groups] == [(1, ((1,), (2,), (1,))), (2, ((), (1,), ())), (3, ((2,), (), ()))]
    assert [group.sides for group in groups] == [(0, 1, 2), (1,), (0,)]


def test_what_one_cut_in_two_is_the_whole_of_another() -> None:
    """Both halves stand with the whole, under both of their ranks."""
    whole, halves = [passage(1, "lake", 0, 200)], [passage(1, "lake", 0, 100), passage(2, "lake", 100, 200)]
    assert [group.ranks for group in align([whole, halves])] == [((1,), (1, 2))]
    assert [group.ranks for group in align([halves, whole])] == [((1, 2), (1,))]


def test_a_twin_is_the_passage_too() -> None:
    """A text that stands in two documents is the same wherever another result found it."""
    twin = passage(1, "copy", 0, 100)
    assert [group.ranks for group in align([[passage(1, "lake", 0, 100, twin)], [twin]])] == [((1,), (1,))]
    assert len(places(passage(1, "lake", 0, 100, twin))) == 2


def test_passages_of_one_result_are_never_joined_by_themselves() -> None:
    """Overlapping chunks of one result stay two, unless another result has what holds both."""
    assert len(align([[passage(1, "lake", 0, 100), passage(2, "lake", 20, 120)]])) == 2


def test_nothing_at_all() -> None:
    """No result, and empty results, have no groups."""
    assert align([]) == ()
    assert align([[], []]) == ()


def test_overlap_by_hand() -> None:
    """One of three documents and 50 of 250 characters are shared; overlapping text counts once."""
    one = [passage(1, "lake", 0, 100), passage(2, "sky", 0, 100)]
    other = [passage(1, "lake", 50, 100), passage(2, "lake", 60, 100), passage(3, "moor", 0, 50)]
    found = overlap(one, other)
    assert (found.documents, found.characters) == (1 / 3, 50 / 250)
    assert (overlap([], []).documents, overlap([], []).characters) == (1.0, 1.0)
    assert overlap(one, one).characters == 1.0
    assert overlap(one, []).documents == 0.0
