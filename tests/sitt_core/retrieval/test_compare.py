import pytest
from hypothesis import given
from hypothesis import strategies as st

from sitt_core.retrieval.compare import Comparison, compare
from sitt_core.types import Chunk, Hit, Passage, Source


def passage(rank: int, document: str, start: int, end: int, *twins: Passage, cut: str = "a") -> Passage:
    chunk = Chunk(f"{cut}:{document}:{start}:{end}", document, start, end, "x" * (end - start), (), 1)
    return Passage(rank, chunk, document, Source("", "", ""), Hit(chunk.id, 1.0), 1000, twins)


def told(found: Comparison) -> list[str]:
    """Every passage as `document:start before>rank`, those that left with `>-`."""
    now = [
        f"{change.passage.chunk.document_id}:{change.passage.chunk.start} {change.before or '-'}>{change.passage.rank}"
        for change in found.changes
    ]
    return now + [f"{each.chunk.document_id}:{each.chunk.start} {each.rank}>-" for each in found.left]


def test_what_entered_left_moved_and_stayed() -> None:
    """Each passage of now says where it was; what is gone is named with the rank it had."""
    before = [passage(1, "a", 0, 10), passage(2, "b", 0, 10), passage(3, "c", 0, 10), passage(4, "d", 0, 10)]
    now = [passage(1, "a", 0, 10), passage(2, "d", 0, 10), passage(3, "e", 0, 10), passage(4, "b", 0, 10)]
    found = compare(before, now, same_cut=True)
    assert told(found) == ["a:0 1>1", "d:0 4>2", "e:0 ->3", "b:0 2>4", "c:0 3>-"]
    assert [each.chunk.document_id for each in found.entered] == ["e"]
    assert [(change.passage.chunk.document_id, change.rise) for change in found.moved] == [("d", 2), ("b", -2)]
    assert [each.chunk.document_id for each in found.stayed] == ["a"]


@pytest.mark.parametrize(
    ("before", "now", "same"),
    [
        pytest.param((0, 100), (0, 100), True, id="the same span"),
        pytest.param((0, 400), (100, 200), True, id="one within the other"),
        pytest.param((0, 100), (50, 150), True, id="half of each"),
        pytest.param((0, 100), (51, 151), False, id="less than half of either"),
        pytest.param((0, 100), (60, 120), True, id="most of the shorter"),
        pytest.param((0, 100), (100, 200), False, id="neighbours"),
        pytest.param((0, 1), (0, 1), True, id="one character"),
    ],
)
def test_differently_cut_passages_are_the_same_by_half_of_the_shorter(before: tuple[int, int], now: tuple[int, int], same: bool) -> None:
    """Of the same document, and sharing at least half of the shorter one's characters; in either direction."""
    one, other = passage(1, "a", *before), passage(1, "a", *now, cut="b")
    for first, second in ((one, other), (other, one)):
        assert bool(compare([first], [second], same_cut=False).stayed) is same


def test_the_same_place_in_another_document_is_another_passage() -> None:
    """Spans are of a document."""
    assert told(compare([passage(1, "a", 0, 10)], [passage(1, "b", 0, 10, cut="b")], same_cut=False)) == ["b:0 ->1", "a:0 1>-"]


def test_one_passage_may_stand_for_several_that_were_cut_smaller() -> None:
    """Nothing left whose text is still shown; the rank before is that of the piece that shares most."""
    pieces = [passage(1, "a", 0, 30), passage(2, "b", 0, 9), passage(3, "a", 30, 100)]
    found = compare(pieces, [passage(1, "a", 0, 100, cut="b")], same_cut=False)
    assert told(found) == ["a:0 3>1", "b:0 2>-"]
    assert told(compare([passage(1, "a", 0, 100, cut="b")], pieces, same_cut=False)) == ["a:0 1>1", "b:0 ->2", "a:30 1>3"]


def test_overlapping_neighbours_of_one_chunking_are_two_passages() -> None:
    """With the same chunking the chunk decides, however much of it the next one repeats."""
    one, next_one = passage(1, "a", 0, 100), passage(1, "a", 40, 120)
    assert told(compare([one], [next_one], same_cut=True)) == ["a:40 ->1", "a:0 1>-"]


def test_a_twin_is_the_passage() -> None:
    """The same text elsewhere, shown for another document this time, has not moved."""
    twin = passage(1, "b", 0, 10)
    before = [passage(1, "a", 0, 10, twin)]
    assert told(compare(before, [twin], same_cut=True)) == ["b:0 1>1"]
    assert told(compare(before, [passage(1, "b", 0, 12, cut="b")], same_cut=False)) == ["b:0 1>1"]


spans = st.tuples(st.sampled_from("abc"), st.integers(0, 40), st.integers(1, 40))
results = st.lists(spans, unique=True, max_size=8).map(
    lambda found: [passage(rank, document, start, start + length) for rank, (document, start, length) in enumerate(found, start=1)]
)


@given(results, st.booleans())
def test_a_result_against_itself_stays(result: list[Passage], same_cut: bool) -> None:
    """Everything stays at its rank; nothing enters or leaves."""
    found = compare(result, result, same_cut=same_cut)
    assert (list(found.stayed), found.moved, found.entered, found.left) == (result, (), (), ())


@given(results, results, st.booleans())
def test_entering_is_leaving_seen_from_the_other_side(before: list[Passage], now: list[Passage], same_cut: bool) -> None:
    """What enters in one direction leaves in the other; every passage of now is in exactly one group."""
    found, back = compare(before, now, same_cut=same_cut), compare(now, before, same_cut=same_cut)
    assert found.entered == back.left
    assert found.left == back.entered
    assert len(found.entered) + len(found.moved) + len(found.stayed) == len(now)
