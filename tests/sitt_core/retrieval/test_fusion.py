"""Fusion by its arithmetic: agreement counts, order is score order, and nobody falls by rising."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sitt_core.retrieval.fusion import fuse_convex, fuse_rrf
from sitt_core.types import Hit

IDS = st.lists(st.sampled_from("abcdefghij"), unique=True, max_size=10)
LEGS = st.dictionaries(st.sampled_from(["dense", "keyword", "third"]), IDS, max_size=3)


SCORES = st.dictionaries(st.sampled_from("abcdefghij"), st.floats(-1e6, 1e6), max_size=10)
SCORED = st.dictionaries(st.sampled_from(["dense", "keyword"]), SCORES, max_size=2)
ALPHAS = st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]) | st.floats(0, 1)


def scored(scores: Mapping[str, float]) -> list[Hit]:
    """A ranking with those scores, best first, ties by id."""
    return [Hit(chunk_id, scores[chunk_id]) for chunk_id in sorted(scores, key=lambda each: (-scores[each], each))]


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


class TestConvex:
    def test_by_arithmetic(self) -> None:
        """dense 0.9 .. 0.5 and keyword 12 .. 2 become 1 .. 0 each; alpha weighs dense, what one did not find adds 0."""
        dense, keyword = {"a": 0.9, "b": 0.8, "c": 0.5}, {"c": 12.0, "b": 7.0, "d": 2.0}
        fused = fuse_convex({"dense": scored(dense), "keyword": scored(keyword)}, alpha=0.7)
        assert {hit.chunk_id: hit.score for hit in fused} == pytest.approx(
            {"a": 0.7 * 1, "b": 0.7 * (0.8 - 0.5) / (0.9 - 0.5) + 0.3 * (7 - 2) / (12 - 2), "c": 0.7 * 0 + 0.3 * 1, "d": 0}
        )
        assert order(fused) == ["a", "b", "c", "d"]

    def test_what_the_rankings_gave_stays(self) -> None:
        """A fused hit keeps each ranking's rank and own score beside its fused ones."""
        fused = fuse_convex({"dense": [Hit("a", 0.9), Hit("b", 0.7)], "keyword": [Hit("b", 12.5)]}, alpha=0.25)
        assert fused == [
            Hit("b", 0.75, {"dense": 2, "keyword": 1, "fused": 1}, {"dense": 0.7, "keyword": 12.5, "fused": 0.75}),
            Hit("a", 0.25, {"dense": 1, "fused": 2}, {"dense": 0.9, "fused": 0.25}),
        ]

    @pytest.mark.parametrize(
        ("legs", "alpha", "expected"),
        [
            pytest.param({}, 0.5, {}, id="no rankings"),
            pytest.param({"dense": {}, "keyword": {}}, 0.5, {}, id="both empty"),
            pytest.param({"dense": {"a": 0.9, "b": 0.1}, "keyword": {}}, 0.3, {"a": 1, "b": 0}, id="a blind leg leaves its weight"),
            pytest.param({"dense": {}, "keyword": {"a": 3, "b": 1}}, 1.0, {"a": 1, "b": 0}, id="dense blind, whatever alpha"),
            pytest.param({"keyword": {"a": 3, "b": 1}}, 0.9, {"a": 1, "b": 0}, id="one ranking alone"),
            pytest.param({"dense": {"a": -0.2}, "keyword": {"b": 4}}, 0.6, {"a": 0.6, "b": 0.4}, id="a single candidate is 1"),
            pytest.param({"dense": {"b": 2, "a": 2}, "keyword": {"b": 1}}, 0.5, {"b": 1, "a": 0.5}, id="all equal are 1"),
            pytest.param({"dense": {"b": 2, "a": 1}, "keyword": {"a": 2, "b": 1}}, 0.5, {"a": 0.5, "b": 0.5}, id="a tie goes by id"),
            pytest.param({"dense": {"a": 2, "b": 1}, "keyword": {"b": 2, "c": 1}}, 0.0, {"b": 1, "a": 0, "c": 0}, id="alpha 0"),
            pytest.param({"dense": {"a": 2, "b": 1}, "keyword": {"b": 2, "c": 1}}, 1.0, {"a": 1, "b": 0, "c": 0}, id="alpha 1"),
        ],
    )
    def test_edges(self, legs: dict[str, dict[str, float]], alpha: float, expected: dict[str, float]) -> None:
        """A ranking that found nothing has no weight; what cannot be told apart counts whole; ties go by id."""
        fused = fuse_convex({name: scored(scores) for name, scores in legs.items()}, alpha=alpha)
        assert [(hit.chunk_id, hit.score) for hit in fused] == list(expected.items())

    @given(SCORED, ALPHAS)
    def test_order_is_score_order(self, legs: dict[str, dict[str, float]], alpha: float) -> None:
        """Every ranked chunk is there once, from 0 to 1, in the order of the displayed score, ties by id, ranks counting from 1."""
        fused = fuse_convex({name: scored(scores) for name, scores in legs.items()}, alpha=alpha)
        assert sorted(order(fused)) == sorted({chunk_id for scores in legs.values() for chunk_id in scores})
        assert fused == sorted(fused, key=lambda hit: (-hit.score, hit.chunk_id))
        assert all(0 <= hit.score <= 1 for hit in fused)
        assert [hit.ranks["fused"] for hit in fused] == list(range(1, len(fused) + 1))
        assert all(hit.scores["fused"] == hit.score for hit in fused)

    @given(SCORED, ALPHAS)
    def test_the_order_of_the_rankings_does_not_matter(self, legs: dict[str, dict[str, float]], alpha: float) -> None:
        """Naming the rankings in another order changes no score by even a bit."""
        made = {name: scored(scores) for name, scores in legs.items()}
        forth, back = fuse_convex(made, alpha=alpha), fuse_convex(dict(reversed(made.items())), alpha=alpha)
        assert [(hit.chunk_id, hit.score) for hit in forth] == [(hit.chunk_id, hit.score) for hit in back]

    @given(SCORED, ALPHAS, st.data())
    def test_rising_never_hurts(self, legs: dict[str, dict[str, float]], alpha: float, data: st.DataObject) -> None:
        """A chunk whose score one ranking raises never loses its place."""
        assume(any(legs.values()))
        name = data.draw(st.sampled_from([name for name, scores in legs.items() if scores]))
        chunk = data.draw(st.sampled_from(sorted(legs[name])))
        risen = {**legs, name: {**legs[name], chunk: data.draw(st.floats(legs[name][chunk], 2e6))}}
        before, after = (order(fuse_convex({n: scored(s) for n, s in each.items()}, alpha=alpha)) for each in (legs, risen))
        assert after.index(chunk) <= before.index(chunk)

    @given(SCORED, ALPHAS, st.integers(-8, 8), st.integers(-100, 100))
    def test_scale_and_zero_do_not_matter(self, legs: dict[str, dict[str, float]], alpha: float, power: int, shift: int) -> None:
        """Scores in another unit fuse alike: only their distances within a ranking count."""
        whole = {name: {chunk_id: float(round(score)) for chunk_id, score in scores.items()} for name, scores in legs.items()}
        moved = {name: {chunk_id: 2.0**power * (score + shift) for chunk_id, score in scores.items()} for name, scores in whole.items()}
        fused = [fuse_convex({name: scored(scores) for name, scores in each.items()}, alpha=alpha) for each in (whole, moved)]
        assert [(hit.chunk_id, hit.score) for hit in fused[0]] == [(hit.chunk_id, hit.score) for hit in fused[1]]
