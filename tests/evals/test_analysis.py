"""What is said of a run, held against rows whose figures are worked by hand."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from evals import analysis
from evals.findings import difference, findings, metric_words, signed
from evals.statistics import Interval, tie_set
from evals.summary import lines, summarise
from sitt_core.errors import InvalidInput
from tests.fakes.runs import GOOD, HALF, JUDGE, MOST, a_run, columns, entry, with_verdicts


class TestBoard:
    def test_best_first_with_what_is_tied_and_what_it_costs(self, tmp_path: Path) -> None:
        """57 of 60 and 60 of 60 cannot be told apart, 30 of 60 can; of the tied the cheapest and the fastest are named."""
        run = a_run(tmp_path, [entry(keyword="off"), entry(top_k=3), entry()], columns(HALF, MOST, GOOD), milliseconds=[1.0, 9.0, 5.0])
        board = analysis.board(run)
        assert [row.place for row in board.rows] == [2, 1, 0]
        assert [row.standing.mean.mean for row in board.rows] == [1.0, 57 / 60, 30 / 60]
        assert [row.standing.tied for row in board.rows] == [True, True, False]
        assert (board.cheapest, board.fastest) == (2, 2)
        assert board.row(1).latency == 9.0

    def test_a_configuration_without_any_score_is_last(self, tmp_path: Path) -> None:
        """It has no mean and is not comparable, and the others are not kept from being compared."""
        run = a_run(tmp_path, [entry(), entry(top_k=3)], columns([None] * len(HALF), HALF))
        board = analysis.board(run)
        assert [row.place for row in board.rows] == [1, 0]
        assert board.rows[1].standing.mean.mean is None
        assert not board.rows[1].standing.comparable

    def test_a_baseline_is_named_beforehand_or_now(self, tmp_path: Path) -> None:
        """Holm's p of every other configuration against it."""
        run = a_run(tmp_path, [entry(), entry(keyword="off")], columns(GOOD, HALF), baseline=entry().key)
        board = analysis.board(run)
        assert board.leaderboard.baseline == 0
        found = board.row(1).standing
        assert found.p_adjusted is not None
        assert found.p_adjusted < 0.001
        assert analysis.board(run, baseline=entry(keyword="off").key).leaderboard.baseline == 1

    def test_a_metric_that_the_run_has_not(self, tmp_path: Path) -> None:
        """Those that there are are named."""
        run = a_run(tmp_path, [entry()], columns(GOOD))
        with pytest.raises(InvalidInput, match="a metric of run"):
            analysis.board(run, "recall@7")

    def test_generated_and_unanswerable_questions_are_not_in_the_headline(self, tmp_path: Path) -> None:
        """Unless there is nothing else."""
        scores = columns([1.0, 0.0, 0.0] * 20)
        run = a_run(tmp_path, [entry()], scores, kinds=("detail", "named", "unanswerable"))
        assert analysis.board(run).rows[0].standing.mean.mean == 1.0
        alone = a_run(tmp_path, [entry()], scores, kinds=("named",), run_id="20260101-000000-0002")
        assert analysis.board(alone).rows[0].standing.mean.mean == pytest.approx(1 / 3)


class TestDuel:
    def test_who_won_which_question(self, tmp_path: Path) -> None:
        """The difference, and both scores of every question."""
        run = a_run(tmp_path, [entry(), entry(keyword="off")], columns(GOOD, HALF))
        made = analysis.duel((run, 0), (run, 1))
        assert (made.comparison.wins, made.comparison.ties, made.comparison.losses) == (30, 30, 0)
        assert made.comparison.difference.mean == 0.5
        assert made.comparison.verdict == "better"
        assert [(a, b) for _, a, b in made.questions] == list(zip(GOOD, HALF, strict=True))

    def test_runs_on_other_questions_are_refused_unless_the_common_ones_will_do(self, tmp_path: Path) -> None:
        """Of another set, or another corpus."""
        one = a_run(tmp_path, [entry()], columns(GOOD))
        other = a_run(tmp_path, [entry()], columns(HALF[:40]), run_id="20260101-000000-0002", golden_sha256="h" * 64)
        with pytest.raises(InvalidInput, match="two runs on the same question set"):
            analysis.duel((one, 0), (other, 0))
        made = analysis.duel((one, 0), (other, 0), common=True)
        assert len(made.questions) == 40
        assert made.names[0] != made.names[1]

    @pytest.mark.parametrize(
        ("metric", "other", "told"),
        [
            ("groundedness", {"model": "claude-fake-other"}, "claude-fake-judge.*claude-fake-other"),
            ("groundedness", {"provider": "openai"}, "openai"),
            ("groundedness", {"prompts": "2"}, "prompts 1,.*prompts 2,"),
            ("rouge-l", {"ragas": "0.5"}, "RAGAS 0.4.*RAGAS 0.5"),
            ("groundedness", {"own": False}, ""),
            ("rouge-l", {"model": "claude-fake-other", "prompts": "2"}, ""),
            ("recall@5", {"model": "claude-fake-other"}, ""),
        ],
        ids=["model", "provider", "prompts", "by code of another version", "same judge", "by code", "not of answers"],
    )
    def test_scores_of_two_judges_are_not_compared(self, tmp_path: Path, metric: str, other: dict[str, Any], told: str) -> None:
        """Whatever else is accepted; both are named, and what to do. What no judge scored does not depend on one."""
        runs = []
        for number, about in enumerate((JUDGE, replace(JUDGE, **other)), start=1):
            run = a_run(tmp_path, [entry()], columns(GOOD), run_id=f"20260101-000000-000{number}")
            scores = {name: columns(GOOD) for name in ("groundedness", "rouge-l")}
            runs.append((with_verdicts(run, scores, about=about), 0))
        for common in (False, True):
            if not told:
                assert analysis.duel(*runs, metric, common=common).comparison.shares.n == len(GOOD)  # type: ignore[misc]
                continue
            with pytest.raises(InvalidInput, match=told) as refused:
                analysis.duel(*runs, metric, common=common)  # type: ignore[misc]
            assert "--again" in str(refused.value)


class TestEffect:
    def test_one_field_over_the_configurations_that_differ_in_nothing_else(self, tmp_path: Path) -> None:
        """Two by two: each value's mean is over both settings of the other field."""
        entries = [entry(keyword=keyword, top_k=top_k) for keyword in ("bm25s", "off") for top_k in (5, 3)]
        run = a_run(tmp_path, entries, columns(GOOD, GOOD, HALF, HALF))
        assert analysis.varying_fields(run) == {"keyword": ("bm25s", "off"), "top_k": ("5", "3")}
        made = analysis.effect(run, "keyword")
        assert made is not None
        assert (made.values, made.matched) == (("bm25s", "off"), 2)
        assert [standing.mean.mean for standing in made.leaderboard.standings] == [1.0, 0.5]
        assert [standing.tied for standing in made.leaderboard.standings] == [True, False]
        same = analysis.effect(run, "top_k")
        assert same is not None
        assert all(standing.tied for standing in same.leaderboard.standings)
        assert analysis.against(0, 1, made, run).difference.mean == 0.5

    def test_a_field_that_another_decides_is_no_field_of_its_own(self, tmp_path: Path) -> None:
        """A strategy brings its size and overlap: they are not what varies."""
        entries = [entry(chunking__strategy=strategy) for strategy in ("structural", "fixed", "sentence")]
        run = a_run(tmp_path, entries, columns(GOOD, HALF, HALF))
        assert list(analysis.varying_fields(run)) == ["chunking.strategy"]

    def test_confounded_fields_have_no_effect_of_their_own(self, tmp_path: Path) -> None:
        """Where two fields always change together, neither is given the difference."""
        run = a_run(tmp_path, [entry(keyword="bm25s", top_k=5), entry(keyword="off", top_k=10)], columns(GOOD, HALF))
        assert list(analysis.varying_fields(run)) == ["keyword", "top_k"]
        assert analysis.effect(run, "keyword") is None
        assert analysis.effect(run, "top_k") is None
        assert not any("beats" in sentence for sentence in findings(run))

    def test_a_configuration_that_failed_takes_only_its_own_group_along(self, tmp_path: Path) -> None:
        """The others still say what the field does."""
        entries = [entry(keyword=keyword, top_k=top_k) for top_k in (5, 3) for keyword in ("bm25s", "off")]
        run = a_run(tmp_path, entries, columns(GOOD, HALF, [None] * len(GOOD), HALF))
        made = analysis.effect(run, "keyword")
        assert made is not None
        assert (made.matched, [standing.mean.mean for standing in made.leaderboard.standings]) == (1, [1.0, 0.5])

    def test_nothing_matched_is_none(self, tmp_path: Path) -> None:
        """Where no two configurations differ in that field alone, nothing is said of it."""
        run = a_run(tmp_path, [entry(keyword="off", top_k=3), entry()], columns(GOOD, HALF))
        assert analysis.effect(run, "embedder") is None


def test_curves_and_slices(tmp_path: Path) -> None:
    """A point for every k, and for every kind of question, with n and an interval."""
    run = a_run(tmp_path, [entry()], columns(HALF), metrics=("recall@1", "recall@5", "recall@1000t"), kinds=("detail", "detail", "alias"))
    assert [(row["at"], row["mean"]) for row in analysis.curve(run)] == [(1, 0.5), (5, 0.5)]
    assert [row["at"] for row in analysis.curve(run, budgets=True)] == [1000]
    assert {row["kind"]: (row["n"], row["mean"]) for row in analysis.by_kind(run)} == {"detail": (40, 0.5), "alias": (20, 0.5)}


def test_the_front_is_what_nothing_beats_in_both(tmp_path: Path) -> None:
    """Worse and slower is behind it; better or faster is on it."""
    run = a_run(tmp_path, [entry(), entry(top_k=3), entry(top_k=2)], columns(GOOD, HALF, HALF), milliseconds=[5.0, 1.0, 9.0])
    fronts = {row["place"]: (row["front_ms"], row["front_tokens"]) for row in analysis.tradeoff(analysis.board(run))}
    assert fronts == {0: (True, True), 1: (True, False), 2: (False, True)}


def test_disagreement_first(tmp_path: Path) -> None:
    """Questions on which the configurations differ come first, and alone when asked."""
    run = a_run(tmp_path, [entry(), entry(top_k=3)], [[1.0, 1.0], [0.0, 1.0], [None, 1.0], [None, None]])
    order, scores = analysis.disagreement(run)
    assert order[0] == 1
    assert set(order) == {0, 1, 2}
    assert np.array_equal(scores[0], [0.0, 1.0])
    assert analysis.disagreement(run, only_different=True)[0] == [1]


def test_how_often_was_tried(tmp_path: Path) -> None:
    """Different configurations over all runs on a question set."""
    one = a_run(tmp_path, [entry(), entry(top_k=3)], columns(GOOD, HALF))
    other = a_run(tmp_path, [entry(), entry(top_k=2)], columns(GOOD, HALF), run_id="20260101-000000-0002")
    assert analysis.ever_run([one, other], "g" * 64) == 3
    assert analysis.ever_run([one, other], "x") == 0


class TestFindings:
    def test_leaving_out_the_hard_questions_makes_no_winner(self, tmp_path: Path) -> None:
        """A configuration that is defined for a third of them is not comparable, however high its mean, and beats nobody."""
        some: list[float | None] = [1.0] * 20 + [None] * (len(GOOD) - 20)
        run = a_run(tmp_path, [entry(keyword="off"), entry(), entry(top_k=3)], columns(some, MOST, HALF))
        assert [row.place for row in analysis.board(run).rows] == [1, 2, 0]
        said = " ".join(findings(run))
        assert f"the highest recall at 5 is {analysis.board(run).rows[0].label}: .95" in said
        assert "is not comparable: defined for" in said
        assert ".000" not in said

    def test_refusing_is_nothing_to_rank_by(self, tmp_path: Path) -> None:
        """More of it is not better: boards, duels and effects refuse it by name."""
        run = a_run(tmp_path, [entry(), entry(top_k=3)], columns(GOOD, HALF), metrics=("refused",))
        for look in (lambda: analysis.board(run, "refused"), lambda: analysis.duel((run, 0), (run, 1), "refused")):
            with pytest.raises(InvalidInput, match="of which more is better"):
                look()
        assert findings(run)

    def test_what_beats_what_by_how_much(self, tmp_path: Path) -> None:
        """The winner, the losers with the difference and its interval, what cannot be told apart, what was tried."""
        entries = [entry(keyword=keyword, top_k=top_k) for keyword in ("bm25s", "off") for top_k in (5, 3)]
        run = a_run(tmp_path, entries, columns(GOOD, MOST, HALF, HALF), baseline=entries[2].key)
        said = " ".join(findings(run, [run]))
        assert "Over 60 questions the highest recall at 5 is" in said
        assert "2 of 4 configurations are not distinguishable from it" in said
        assert "bm25s beats off by .4" in said
        assert "Nothing here is distinguishable" in said
        assert "better than the baseline" in said
        assert "No unanswerable question was asked" in said

    def test_all_the_same_is_a_result(self, tmp_path: Path) -> None:
        """Equal configurations are said to be not distinguishable."""
        run = a_run(tmp_path, [entry(), entry(top_k=3)], columns(HALF, HALF))
        assert "All of 2 configurations are not distinguishable" in " ".join(findings(run))

    def test_too_few_questions_name_no_winner(self, tmp_path: Path) -> None:
        """Below twenty nothing is said to be best."""
        run = a_run(tmp_path, [entry(), entry(top_k=3)], columns(GOOD[:8], HALF[:8]))
        said = " ".join(findings(run))
        assert "cannot be said: too few" in said

    def test_one_configuration_and_no_score_at_all(self, tmp_path: Path) -> None:
        """Nothing to compare is no error."""
        assert findings(a_run(tmp_path, [entry()], columns(HALF)))
        empty = a_run(tmp_path, [entry(), entry(top_k=3)], columns([None] * 30, [None] * 30), run_id="20260101-000000-0002")
        assert "No question has a score" in findings(empty)[0]

    @pytest.mark.parametrize(
        ("metric", "words"),
        [
            ("recall@5", "recall at 5"),
            ("recall@top_k", "recall at top K"),
            ("coverage@2000t", "evidence coverage at 2,000 tokens"),
            ("document-ndcg@10", "nDCG of documents at 10"),
            ("evidence-mrr", "evidence mrr"),
        ],
    )
    def test_metrics_in_words(self, metric: str, words: str) -> None:
        """As a sentence names them."""
        assert metric_words(metric) == words

    def test_differences_carry_their_sign(self) -> None:
        """With a real minus, and without the zero before the point."""
        assert (signed(0.081), signed(-0.081)) == ("+.08", "−.08")
        assert difference(Interval(0.1, -0.02, 0.22, 30, 30, "BCa")) == ".10 (95 % interval −.02 to +.22)"
        assert "too few" in difference(Interval(0.1, None, None, 3, 3, "too few"))


def test_a_summary_says_n_of_m(tmp_path: Path) -> None:
    """Means are over what is defined, and say over how much that is."""
    run = a_run(tmp_path, [entry()], columns([1.0] * 30 + [None] * 30))
    (result,) = summarise(run)
    assert (result.metrics["recall@5"].mean, result.metrics["recall@5"].n, result.metrics["recall@5"].of) == (1.0, 30, 60)
    assert any("(30/60)" in line for line in lines(run, [result]))


class TestTiesOfMany:
    """The tie set in the limit of many documents keeps its level, and says what the randomisation says."""

    @staticmethod
    def equal(seed: int, documents: int, columns: int = 24) -> tuple[np.ndarray, np.ndarray]:
        """0/1 scores of equal configurations, two questions a document, which succeed and fail together."""
        rng = np.random.default_rng(seed)
        places = np.repeat(np.arange(documents), 2)
        shared = rng.standard_normal((documents, columns))[places] * 0.7 + rng.standard_normal((documents, 1))[places]
        return (shared + rng.standard_normal((2 * documents, columns)) * 0.7 > -1.0).astype(float), places

    def test_the_level(self) -> None:
        """Of 24 equal configurations, all are in it in 95 % of 1,000 repetitions, as far as those can tell."""
        wrong = [len(analysis.ties_of_many(*self.equal(seed, 200)).tied) < 24 for seed in range(1000)]
        assert scipy.stats.binomtest(sum(wrong), len(wrong)).proportion_ci(0.99).low <= 0.05

    def test_the_yardstick_is_that_of_the_randomisation(self) -> None:
        """Within a twentieth, over ten draws of 1,000 documents."""
        for seed in range(10):
            scores, places = self.equal(seed, 1000, columns=8)
            exact = tie_set(scores, places, seed=1, permutations=1999)
            assert analysis.ties_of_many(scores, places).yardstick == pytest.approx(exact.yardstick, rel=0.05)

    def test_what_is_worse_is_left_out(self) -> None:
        """A configuration that loses a tenth of its questions is not tied with its equals."""
        scores, places = self.equal(3, 1000)
        scores[::10, 7] = 0.0
        assert 7 not in analysis.ties_of_many(scores, places).tied
