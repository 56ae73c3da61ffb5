"""Exact ranking by cosine: what a person would compute, ties in chunk order, the same alone, in a batch and in threads."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sitt_core.retrieval.dense import SHARED_ROWS, best, rank_dense, similarities
from sitt_core.types import Hit, Matrix

SCORES = hnp.arrays(np.float32, st.integers(0, 30), elements=st.sampled_from([-1.0, -0.5, 0.0, 0.25, 0.5, 0.75, 1.0]))


def unit_rows(rows: int, dimension: int, *, seed: int) -> Matrix:
    values = np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)
    return np.asarray(values / np.linalg.norm(values, axis=1, keepdims=True), dtype=np.float32)


def ids_of(vectors: Matrix) -> list[str]:
    return [f"c{number}" for number in range(len(vectors))]


class TestBest:
    @given(SCORES, st.integers(1, 40), st.data())
    def test_equals_sorting(self, scores: np.ndarray, n: int, data: st.DataObject) -> None:
        """The positions are those of a full sort by score, then position, cut at n, over the allowed alone."""
        allowed = data.draw(st.none() | hnp.arrays(np.bool_, len(scores)))
        among = [at for at in range(len(scores)) if allowed is None or allowed[at]]
        assert best(scores, n, allowed=allowed).tolist() == sorted(among, key=lambda at: (-scores[at], at))[:n]

    @pytest.mark.parametrize(
        ("n", "allowed", "positions"),
        [
            pytest.param(2, None, [1, 3], id="ties at the top, by position"),
            pytest.param(4, None, [1, 3, 4, 0], id="ties at the cut, by position"),
            pytest.param(9, None, [1, 3, 4, 0, 2], id="more than there are"),
            pytest.param(2, [True, False, True, False, True], [4, 0], id="only the allowed"),
            pytest.param(2, [False] * 5, [], id="none allowed"),
        ],
    )
    def test_examples(self, n: int, allowed: list[bool] | None, positions: list[int]) -> None:
        """Highest first, ties by position."""
        scores = np.array([0.5, 0.9, 0.5, 0.9, 0.9], dtype=np.float32)
        assert best(scores, n, allowed=None if allowed is None else np.array(allowed)).tolist() == positions


class TestRanking:
    def test_by_arithmetic(self) -> None:
        """The score is the cosine: 3·0.6 + 4·0.8 over 5 for the (3, 4) direction, and so on."""
        vectors = np.array([[1, 0], [0.6, 0.8], [-1, 0]], dtype=np.float32)
        ((first, second, third),) = rank_dense(vectors, ["x", "diagonal", "back"], np.array([[0.6, 0.8]], dtype=np.float32), 3)
        assert [first.chunk_id, second.chunk_id, third.chunk_id] == ["diagonal", "x", "back"]
        assert [first.score, second.score, third.score] == pytest.approx([0.6 * 0.6 + 0.8 * 0.8, 0.6, -0.6])
        assert second == Hit("x", second.score, {"dense": 2}, {"dense": second.score})

    @pytest.mark.parametrize(("rows", "dimension"), [(1, 3), (7, 384), (200, 16), (333, 17)])
    def test_equals_brute_force(self, rows: int, dimension: int) -> None:
        """Order and scores are those of plain Python's sums in double precision."""
        vectors, queries = unit_rows(rows, dimension, seed=1), unit_rows(5, dimension, seed=2)
        for query, ranking in zip(queries, rank_dense(vectors, ids_of(vectors), queries, 10), strict=True):
            cosines = [sum(float(a) * float(b) for a, b in zip(row, query, strict=True)) for row in vectors]
            expected = sorted(range(rows), key=lambda at: (-cosines[at], at))[:10]
            assert [hit.chunk_id for hit in ranking] == [f"c{at}" for at in expected]
            assert [hit.score for hit in ranking] == pytest.approx([cosines[at] for at in expected], abs=1e-6)
            assert [hit.ranks["dense"] for hit in ranking] == list(range(1, len(expected) + 1))

    @pytest.mark.parametrize("rows", [2, 5, 31, 102, 2003])
    def test_equal_vectors_tie(self, rows: int) -> None:
        """Chunks with equal vectors have equal scores wherever they stand, and come in chunk order."""
        vectors = np.repeat(unit_rows(1, 384, seed=3), rows, axis=0)
        (ranking,) = rank_dense(vectors, ids_of(vectors), unit_rows(1, 384, seed=4), rows)
        assert len({hit.score for hit in ranking}) == 1
        assert [hit.chunk_id for hit in ranking] == ids_of(vectors)

    def test_a_batch_is_its_questions(self) -> None:
        """What the lab measures in a batch is, to the last bit, what the chat ranks one by one."""
        vectors, queries = unit_rows(501, 384, seed=5), unit_rows(13, 384, seed=6)
        alone = [rank_dense(vectors, ids_of(vectors), query[None], 50)[0] for query in queries]
        assert rank_dense(vectors, ids_of(vectors), queries, 50) == alone

    @pytest.mark.parametrize("rows", [SHARED_ROWS - 1, SHARED_ROWS, SHARED_ROWS + 7])
    def test_a_shared_product_is_the_same(self, rows: int) -> None:
        """Where the processors share the rows, every similarity is, to the last bit, what one of them computes."""
        vectors, query = unit_rows(rows, 24, seed=11), unit_rows(1, 24, seed=12)[0]
        assert np.array_equal(similarities(vectors, query), np.einsum("ij,j->i", vectors, query))

    def test_allowed(self) -> None:
        """Only allowed chunks take part; their scores do not change, their ranks close up."""
        vectors, query = unit_rows(40, 8, seed=7), unit_rows(1, 8, seed=8)
        allowed = np.arange(40) % 3 == 0
        (everything,) = rank_dense(vectors, ids_of(vectors), query, 40)
        (filtered,) = rank_dense(vectors, ids_of(vectors), query, 40, allowed=allowed)
        assert [(hit.chunk_id, hit.score) for hit in filtered] == [
            (hit.chunk_id, hit.score) for hit in everything if allowed[int(hit.chunk_id[1:])]
        ]
        assert [hit.ranks["dense"] for hit in filtered] == list(range(1, 15))
        assert rank_dense(vectors, ids_of(vectors), query, 40, allowed=np.zeros(40, dtype=bool)) == [[]]

    @pytest.mark.parametrize(
        ("rows", "questions", "lengths"), [(3, 2, [3, 3]), (0, 2, [0, 0]), (3, 0, [])], ids=["few chunks", "no chunks", "no questions"]
    )
    def test_more_than_there_is(self, rows: int, questions: int, lengths: list[int]) -> None:
        """n above the number of chunks gives all there are, one ranking for each question."""
        vectors, queries = np.ones((rows, 4), dtype=np.float32), np.ones((questions, 4), dtype=np.float32)
        assert [len(ranking) for ranking in rank_dense(vectors, ids_of(vectors), queries, 50)] == lengths

    def test_threads(self) -> None:
        """Eight threads that ask at once get their own questions' rankings, as one thread does."""
        vectors = unit_rows(1000, 64, seed=9)
        queries = [unit_rows(3, 64, seed=100 + number) for number in range(8)]
        expected = [rank_dense(vectors, ids_of(vectors), each, 20) for each in queries]
        together = threading.Barrier(8)

        def work(number: int) -> bool:
            together.wait(timeout=60)
            return all(rank_dense(vectors, ids_of(vectors), queries[number], 20) == expected[number] for _ in range(20))

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(work, range(8))) == [True] * 8
