"""Reciprocal rank fusion by its arithmetic: agreement counts, order is score order, and nobody falls by rising."""

from collections.abc import Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sitt_core.retrieval.fusion import fuse_rrf
from sitt_core.types import Hit

IDS = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)
LEGS = st.dictionaries(st.sampled_from(["dense", "keyword", "third"]), IDS, max_size=3)


def ranking(ids: Sequence[str], *, scale: float = 1.0) -> list[Hit]:
    return [Hit(chunk_id, scale * (100 - place)) for place, chunk_id in enumerate(ids)]


def order(fused: Sequence[Hit]) -> list[str]:
    return [hit.chunk_id for hit in fused]


@pytest.mark.parametrize("k", [1, 60, 1000])
def test_first_in_both(k: int) -> None:
    """The chunk that both rankings put first scores 2 / (k + 1)."""
    fused = fuse_rrf({"dense": ranking("ab"), "keyword": ranking("ac")}, k=k)
    assert fused[0].chunk_id == "a"
    assert fused[0].score == pytest.approx(2 / (k + 1))


def test_by_arithmetic() -> None:
    """Each ranking that holds a chunk adds 1 / (60 + rank); one that does not adds nothing."""
    fused = fuse_rrf({"dense": ranking("abc"), "keyword": ranking("cd")})
    assert {hit.chunk_id: hit.score for hit in fused} == pytest.approx({"c": 1 / 63 + 1 / 61, "a": 1 / 61, "b": 1 / 62, "d": 1 / 62})
    assert order(fused) == ["c", "a", "b", "d"]


def test_agreement_beats_one_first_place() -> None:
    """With the default k, fourth in both beats first in one; with k = 1 it would not."""
    legs = {"dense": ranking(["y", "a", "b", "x"]), "keyword": ranking(["c", "d", "e", "x"])}
    assert 2 / (60 + 4) > 1 / (60 + 1)
    assert order(fuse_rrf(legs))[0] == "x"
    assert 2 / (1 + 4) < 1 / (1 + 1)
    assert order(fuse_rrf(legs, k=1))[:2] == ["c", "y"]


def test_scales_do_not_matter() -> None:
    """Only ranks count: rankings with very different scores fuse like equals, and the displayed order is the fused one."""
    small, large = ranking("abcd", scale=1e-6), ranking("dcea", scale=1e6)
    assert order(fuse_rrf({"dense": small, "keyword": large})) == order(fuse_rrf({"dense": ranking("abcd"), "keyword": ranking("dcea")}))


def test_what_the_rankings_gave_stays() -> None:
    """A fused hit keeps each ranking's rank and score beside its fused ones."""
    fused = fuse_rrf({"dense": [Hit("a", 0.9), Hit("b", 0.7)], "keyword": [Hit("b", 12.5)]})
    b, a = 1 / 62 + 1 / 61, 1 / 61
    assert fused == [
        Hit("b", pytest.approx(b), {"dense": 2, "keyword": 1, "fused": 1}, {"dense": 0.7, "keyword": 12.5, "fused": pytest.approx(b)}),
        Hit("a", pytest.approx(a), {"dense": 1, "fused": 2}, {"dense": 0.9, "fused": pytest.approx(a)}),
    ]


@pytest.mark.parametrize(
    ("legs", "expected"),
    [
        pytest.param({}, [], id="no rankings"),
        pytest.param({"dense": "", "keyword": ""}, [], id="both empty"),
        pytest.param({"dense": "", "keyword": "ba"}, ["b", "a"], id="one empty: the other's order"),
        pytest.param({"dense": "ba"}, ["b", "a"], id="one ranking alone"),
        pytest.param({"dense": "ba", "keyword": "ab"}, ["a", "b"], id="a tie goes by id"),
        pytest.param({"dense": "b", "keyword": "a"}, ["a", "b"], id="a tie of strangers goes by id"),
        pytest.param({"x": "pqr", "y": "qrp", "z": "rpq"}, ["p", "q", "r"], id="a tie of three, summed in three orders"),
    ],
)
def test_edges(legs: dict[str, str], expected: list[str]) -> None:
    """Empty rankings add nothing; equal sums tie and go by chunk id."""
    assert order(fuse_rrf({name: ranking(ids) for name, ids in legs.items()})) == expected


@given(LEGS, st.integers(1, 1000))
def test_equals_the_formula(legs: dict[str, list[str]], k: int) -> None:
    """Every ranked chunk is there once, in the order of the displayed score, ties by id, ranks counting from 1."""
    fused = fuse_rrf({name: ranking(ids) for name, ids in legs.items()}, k=k)
    assert {hit.chunk_id: hit.score for hit in fused} == pytest.approx(
        {each: sum(1 / (k + ids.index(each) + 1) for ids in legs.values() if each in ids) for ids in legs.values() for each in ids}
    )
    assert fused == sorted(fused, key=lambda hit: (-hit.score, hit.chunk_id))
    assert [hit.ranks["fused"] for hit in fused] == list(range(1, len(fused) + 1))
    assert all(hit.scores["fused"] == hit.score for hit in fused)


@given(LEGS)
def test_the_order_of_the_rankings_does_not_matter(legs: dict[str, list[str]]) -> None:
    """Naming the rankings in another order changes no score by even a bit."""
    forth = fuse_rrf({name: ranking(ids) for name, ids in legs.items()})
    back = fuse_rrf({name: ranking(ids) for name, ids in reversed(legs.items())})
    assert [(hit.chunk_id, hit.score) for hit in forth] == [(hit.chunk_id, hit.score) for hit in back]


@given(LEGS, st.data())
def test_rising_never_hurts(legs: dict[str, list[str]], data: st.DataObject) -> None:
    """A chunk that one ranking moves up never loses its place in the fused order."""
    assume(any(legs.values()))
    name = data.draw(st.sampled_from([name for name, ids in legs.items() if ids]))
    chunk = data.draw(st.sampled_from(legs[name]))
    target = data.draw(st.integers(0, legs[name].index(chunk)))
    others = [each for each in legs[name] if each != chunk]
    risen = {**legs, name: [*others[:target], chunk, *others[target:]]}
    before = order(fuse_rrf({name: ranking(ids) for name, ids in legs.items()}))
    after = order(fuse_rrf({name: ranking(ids) for name, ids in risen.items()}))
    assert after.index(chunk) <= before.index(chunk)


@given(IDS, IDS, st.data())
def test_being_found_never_hurts(dense: list[str], keyword: list[str], data: st.DataObject) -> None:
    """A chunk that a second ranking finds as well, at its end, never loses its place."""
    missing = [each for each in dense if each not in keyword]
    assume(missing)
    chunk = data.draw(st.sampled_from(missing))
    before = order(fuse_rrf({"dense": ranking(dense), "keyword": ranking(keyword)}))
    after = order(fuse_rrf({"dense": ranking(dense), "keyword": ranking([*keyword, chunk])}))
    assert after.index(chunk) <= before.index(chunk)
