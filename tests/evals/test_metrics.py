"""Metrics by their arithmetic, by trec_eval's figures, and by what must hold of any ranking."""

from collections.abc import Mapping, Sequence
from math import floor, log2

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given
from hypothesis import strategies as st

from evals.metrics import (
    ANSWER_METRICS,
    BINARY,
    DEFAULT_METRICS,
    NO_CITATIONS,
    NO_EVIDENCE,
    NO_RELEVANT,
    NO_SENTENCES,
    UNANSWERABLE,
    Gold,
    Metric,
    Place,
    Score,
    Shown,
    abstention,
    citation_precision,
    citation_recall,
    cited_share,
    evidence_rank,
    parse_metric,
    score_answer,
    score_retrieval,
)
from sitt_core.errors import InvalidInput

EVIDENCE_METRICS = ("coverage@5", "coverage@1000t", "span-precision@5", "span-iou@5", "evidence-mrr")
DEFAULTS = [parse_metric(name).at(5) for name in DEFAULT_METRICS]


def passage(*places: tuple[str, int, int], tokens: int = 100) -> Shown:
    return Shown(tuple(Place(*place) for place in places), tokens)


def need(*alternatives: tuple[str, int, int]) -> tuple[Place, ...]:
    return tuple(Place(*place) for place in alternatives)


def ranking(documents: str) -> list[Shown]:
    """One passage of a hundred characters and tokens for each letter, the n-th of a document standing n hundred further on."""
    return [passage((each, 100 * at, 100 * at + 100)) for at, each in enumerate(documents)]


def judged(relevant: str) -> Gold:
    return Gold(dict.fromkeys(relevant, 1))


def value(name: str, gold: Gold, passages: Sequence[Shown]) -> float | None:
    return score_retrieval([parse_metric(name)], gold, passages)[name].value


class TestNames:
    @pytest.mark.parametrize(
        ("name", "metric"),
        [
            pytest.param("recall@5", Metric("recall@5", "recall", k=5), id="passages"),
            pytest.param("recall@1000t", Metric("recall@1000t", "recall", budget=1000), id="tokens"),
            pytest.param("recall-all@10", Metric("recall-all@10", "recall-all", k=10), id="a family with a hyphen"),
            pytest.param("span-iou@250t", Metric("span-iou@250t", "span-iou", budget=250), id="spans within a budget"),
            pytest.param("document-ndcg@10", Metric("document-ndcg@10", "document-ndcg", k=10), id="documents"),
            pytest.param("evidence-mrr", Metric("evidence-mrr", "evidence-mrr"), id="no cut"),
            pytest.param("cited-sentences", Metric("cited-sentences", "cited-sentences"), id="of an answer"),
        ],
    )
    def test_a_name_says_the_metric(self, name: str, metric: Metric) -> None:
        """A name holds the family and the cut, and top_k changes nothing where the name says k."""
        assert parse_metric(name) == metric
        assert not metric.open
        assert metric.at(7) is metric

    @pytest.mark.parametrize("family", ["recall", "recall-all", "recall-share", "coverage", "span-precision", "span-iou"])
    def test_top_k_is_filled_in(self, family: str) -> None:
        """A name that ends in @top_k leaves k open; `at` fills it in and keeps the name, so that runs with another k align."""
        name = f"{family}@top_k"
        assert parse_metric(name) == Metric(name, family)
        assert parse_metric(name).open
        assert parse_metric(name).at(3) == Metric(name, family, k=3)

    @pytest.mark.parametrize(
        "name",
        [
            *("", "recall", "recall@", "@5", "recall@0", "recall@-1", "recall@05", "recall@5.0", "recall@five", "recall@٥"),
            *(
                "recall@0t",
                "recall@5T",
                "recall@t",
                "recall @5",
                " recall@5",
                "recall@5\n",
                "Recall@5",
                "recall@top_kt",
                "recall@9999999999",
            ),
            *("precision@5", "hit@5", "document-recall", "document-recall@1000t", "document-ndcg@top_k"),
            *("evidence-mrr@10", "evidence-mrr@top_k", "refused@5", "cited-sentences@100t"),
        ],
    )
    def test_other_names_are_refused(self, name: str) -> None:
        """Any other name is an InvalidInput that shows it, and names every family and the form."""
        with pytest.raises(InvalidInput) as caught:
            parse_metric(name)
        assert caught.value.got == repr(name)
        for said in ("recall-share", "coverage", "span-iou", "document-map", "evidence-mrr", "refused", "@k", "@top_k", "recall@1000t"):
            assert said in caught.value.expected

    def test_the_lists_are_of_metrics(self) -> None:
        """Every listed metric has a name that parses, once, and every binary family is one of theirs."""
        families = {parse_metric(name).family for name in (*DEFAULT_METRICS, *ANSWER_METRICS)}
        assert len(set(DEFAULT_METRICS)) == len(DEFAULT_METRICS)
        assert BINARY.issubset(families)

    @pytest.mark.parametrize("name", ["recall@top_k", "refused", "citation-recall"])
    def test_what_a_ranking_cannot_be_scored_by(self, name: str) -> None:
        """A k left open, or a metric of answers, is an InvalidInput and never a figure."""
        with pytest.raises(InvalidInput, match=name):
            score_retrieval([parse_metric("recall@5"), parse_metric(name)], judged("a"), ranking("a"))


class TestScore:
    @pytest.mark.parametrize(
        "fields",
        [
            pytest.param({}, id="none"),
            pytest.param({"value": 0.0, "undefined": "no evidence"}, id="a value that is undefined"),
            pytest.param({"undefined": "no evidence", "error": "timed out"}, id="two reasons"),
            pytest.param({"value": float("nan")}, id="not a number"),
            pytest.param({"value": float("inf")}, id="infinite"),
        ],
    )
    def test_exactly_one_outcome(self, fields: dict[str, float | str]) -> None:
        """A score is a finite value or one reason, never both or neither."""
        with pytest.raises(AssertionError, match="not"):
            Score(**fields)  # type: ignore[arg-type]


class TestRecall:
    @pytest.mark.parametrize(
        ("hits", "relevant", "k", "any_", "all_", "share"),
        [
            pytest.param("ppq", "p", 5, 1, 1, 1.0, id="G1: two chunks of a page are one document"),
            pytest.param("aa", "ab", 5, 1, 0, 1 / 2, id="G1: a page found twice is not two pages"),
            pytest.param("aa", "aab", 5, 1, 0, 1 / 2, id="G1: a page expected twice is one"),
            pytest.param("abc", "abc", 2, 1, 0, 2 / 3, id="cut at k"),
            pytest.param("xyza", "a", 3, 0, 0, 0, id="just below the cut"),
            pytest.param("xya", "a", 3, 1, 1, 1, id="just above it"),
            pytest.param("xa", "a", 100, 1, 1, 1, id="fewer passages than k"),
            pytest.param("ab", "abz", 5, 1, 0, 2 / 3, id="a document that no corpus holds stays expected"),
            pytest.param("", "a", 5, 0, 0, 0, id="an empty ranking"),
        ],
    )
    def test_by_arithmetic(self, hits: str, relevant: str, k: int, any_: int, all_: int, share: float) -> None:
        """Of the first k passages, the set of their documents against the set of the relevant ones."""
        found = {name: value(f"{name}@{k}", judged(relevant), ranking(hits)) for name in ("recall", "recall-all", "recall-share")}
        assert found == {"recall": any_, "recall-all": all_, "recall-share": pytest.approx(share)}

    def test_grades_up_to_zero_never_count(self) -> None:
        """A document judged 0 or below is not relevant, is not expected, and is not found."""
        gold = Gold({"a": 2, "b": 0, "c": -1})
        assert gold.relevant == {"a"}
        assert value("recall@2", gold, ranking("bca")) == 0
        assert value("recall-share@3", gold, ranking("bca")) == 1

    def test_a_twin_counts_for_its_document(self) -> None:
        """A passage counts for each document that holds its very text."""
        hits = [passage(("a", 0, 10), ("b", 5, 15), ("a", 50, 60))]
        assert hits[0].documents == ("a", "b")
        assert value("recall@1", judged("b"), hits) == 1
        assert value("recall-share@1", judged("abc"), hits) == 2 / 3

    @pytest.mark.parametrize(
        ("budget", "share"),
        [
            pytest.param(1, 1 / 3, id="one character of the first"),
            pytest.param(100, 1 / 3, id="exactly the first: nothing of the second"),
            pytest.param(101, 2 / 3, id="one more token: one character of the second"),
            pytest.param(200, 2 / 3, id="exactly two"),
            pytest.param(299, 1, id="the last one cut"),
            pytest.param(5000, 1, id="more than there is"),
        ],
    )
    def test_within_a_budget(self, budget: int, share: float) -> None:
        """Passages are read from the top until their tokens reach the budget, the last one in part."""
        assert value(f"recall-share@{budget}t", judged("abc"), ranking("abc")) == pytest.approx(share)

    @pytest.mark.parametrize(
        ("budget", "found"),
        [
            pytest.param(19, 0, id="floor(5 × 19 / 100) = 0 characters"),
            pytest.param(20, 1, id="floor(5 × 20 / 100) = 1 character"),
        ],
    )
    def test_a_passage_of_which_nothing_is_shown(self, budget: int, found: int) -> None:
        """A budget that ends before a passage's first character does not find its document."""
        assert value(f"recall@{budget}t", judged("a"), [passage(("a", 7, 12), tokens=100)]) == found

    def test_a_cut_twin_counts_once(self) -> None:
        """The cut passage brings its twins' documents, but not again those that were found before."""
        hits = [passage(("a", 0, 100)), passage(("x", 0, 100), ("b", 0, 100), ("a", 200, 300))]
        assert value("recall-share@150t", judged("abc"), hits) == 2 / 3

    def test_passages_without_tokens(self) -> None:
        """A passage without tokens is read whole while there is budget, and divides nothing by zero."""
        hits = [passage(("a", 0, 1), tokens=0), passage(("b", 0, 100)), passage(("c", 0, 1), tokens=0)]
        assert value("recall-share@100t", judged("abc"), hits) == 2 / 3
        assert value("recall-share@101t", judged("abc"), hits) == 1


class TestEvidence:
    @pytest.mark.parametrize(
        ("needs", "hits", "covered"),
        [
            pytest.param([need(("a", 10, 20))], [passage(("a", 0, 30))], 1, id="inside one passage"),
            pytest.param([need(("a", 10, 20))], [passage(("a", 10, 20))], 1, id="exactly one passage"),
            pytest.param([need(("a", 10, 20))], [passage(("a", 0, 19))], 0, id="a character short"),
            pytest.param([need(("a", 10, 20))], [passage(("b", 0, 30))], 0, id="another document's text"),
            pytest.param([need(("a", 10, 20))], [passage(("a", 0, 15)), passage(("a", 15, 30))], 1, id="two passages that touch"),
            pytest.param([need(("a", 10, 20))], [passage(("a", 12, 30)), passage(("a", 0, 14))], 1, id="two that overlap, later one first"),
            pytest.param([need(("a", 10, 20))], [passage(("a", 0, 14)), passage(("a", 15, 30))], 0, id="two with a gap"),
            pytest.param(
                [need(("a", 10, 40))], [passage(("a", 0, 15)), passage(("a", 30, 50)), passage(("a", 15, 30))], 1, id="the middle last"
            ),
            pytest.param([need(("a", 10, 20), ("b", 0, 5))], [passage(("b", 0, 9))], 1, id="any alternative suffices"),
            pytest.param([need(("a", 10, 20), ("b", 0, 5))], [passage(("a", 10, 15)), passage(("b", 3, 5))], 0, id="halves of two do not"),
            pytest.param([need(("a", 10, 20)), need(("b", 0, 5))], [passage(("b", 0, 9))], 1 / 2, id="one need of two"),
            pytest.param([need(("a", 10, 20))], [passage(("x", 0, 30), ("a", 5, 35))], 1, id="at a twin's place"),
            pytest.param([need(("a", 10, 20))], [passage(("a", 10, 15)), passage(("x", 0, 5), ("a", 15, 20))], 1, id="half of it a twin's"),
            pytest.param([need(("a", 10, 20))], [], 0, id="an empty ranking"),
        ],
    )
    def test_coverage(self, needs: list[tuple[Place, ...]], hits: list[Shown], covered: float) -> None:
        """A need is covered when one of its alternatives stands whole in what its document shows."""
        assert value("coverage@5", Gold({"a": 1}, tuple(needs)), hits) == covered

    @pytest.mark.parametrize(
        ("budget", "covered"),
        [
            pytest.param(50, 0, id="the first 50 of 100 characters: up to 50"),
            pytest.param(59, 0, id="a character short"),
            pytest.param(60, 1 / 2, id="up to 60: the first need"),
            pytest.param(199, 1 / 2, id="the second passage up to 199"),
            pytest.param(200, 1, id="both whole"),
        ],
    )
    def test_coverage_within_a_budget(self, budget: int, covered: float) -> None:
        """The cut passage shows its first floor(length × remaining / tokens) characters, joined to what came before."""
        gold = Gold({"a": 1}, (need(("a", 30, 60)), need(("a", 90, 200))))
        hits = [passage(("a", 0, 100), tokens=100), passage(("a", 100, 200), tokens=100)]
        assert value(f"coverage@{budget}t", gold, hits) == covered

    def test_a_twin_is_cut_like_its_passage(self) -> None:
        """Each place of a cut passage shows the first part of its own length."""
        gold = Gold({"b": 1}, (need(("b", 500, 550)),))
        hits = [passage(("a", 0, 100), ("b", 500, 604), tokens=80)]
        assert floor(104 * 38 / 80) == 49
        assert floor(104 * 39 / 80) == 50
        assert value("coverage@38t", gold, hits) == 0
        assert value("coverage@39t", gold, hits) == 1

    @pytest.mark.parametrize(
        ("hits", "precision", "iou"),
        [
            pytest.param([passage(("a", 10, 20))], 10 / 10, 10 / 20, id="half of the gold and nothing else"),
            pytest.param([passage(("a", 0, 40))], 20 / 40, 20 / 40, id="all of it and as much again"),
            pytest.param([passage(("a", 30, 70))], 0, 0, id="beside it"),
            pytest.param([passage(("x", 10, 30))], 0, 0, id="another document"),
            pytest.param([passage(("a", 0, 25)), passage(("a", 15, 40))], 20 / (25 + 25), 20 / 40, id="an overlap is read twice, met once"),
            pytest.param([passage(("a", 0, 20)), passage(("x", 0, 30))], 10 / 50, 10 / (20 + 10 + 30), id="beside and elsewhere"),
            pytest.param([], 0, 0, id="an empty ranking"),
        ],
    )
    def test_spans(self, hits: list[Shown], precision: float, iou: float) -> None:
        """Precision counts all that is read, as often as it is; IoU counts each character once. Gold is a[10:30]."""
        gold = Gold({"a": 1}, (need(("a", 10, 22)), need(("a", 25, 30), ("a", 20, 25))))
        assert gold.evidence == {"a": ((10, 30),)}
        assert value("span-precision@5", gold, hits) == pytest.approx(precision)
        assert value("span-iou@5", gold, hits) == pytest.approx(iou)

    @pytest.mark.parametrize(
        ("alternatives", "precision", "iou"),
        [
            pytest.param([("a", 10, 20)], 10 / 40, 10 / 40, id="gold at its own place"),
            pytest.param([("b", 110, 120)], 10 / 40, 10 / (10 + 40 - 10), id="gold at the twin's"),
            pytest.param([("a", 10, 20), ("b", 110, 120)], 10 / 40, 20 / (20 + 40 - 10), id="gold at both"),
            pytest.param([("a", 10, 20), ("b", 120, 130)], 20 / 40, 20 / (20 + 40 - 20), id="another part at each"),
            pytest.param([("b", 138, 150)], 2 / 40, 3 / (12 + 40 - 2), id="white space after the twin's, which has more"),
        ],
    )
    def test_spans_of_twins(self, alternatives: list[tuple[str, int, int]], precision: float, iou: float) -> None:
        """A passage with a twin is read once, and is gold where it is at either place. It is a[0:40], which is b[100:141]."""
        gold = Gold({"a": 1, "b": 1}, (need(*alternatives),))
        hits = [passage(("a", 0, 40), ("b", 100, 141))]
        assert value("span-precision@1", gold, hits) == pytest.approx(precision)
        assert value("span-iou@1", gold, hits) == pytest.approx(iou)

    def test_spans_within_a_budget(self) -> None:
        """Of the cut passage only the shown part is read: 100 + 50 characters, of which 10 + 30 are gold."""
        gold = Gold({"a": 1}, (need(("a", 90, 130)), need(("a", 160, 180))))
        hits = [passage(("a", 0, 100), tokens=40), passage(("a", 100, 200), tokens=40)]
        assert value("span-precision@60t", gold, hits) == pytest.approx((10 + 30) / 150)
        assert value("span-iou@60t", gold, hits) == pytest.approx(40 / (150 + 20))

    @pytest.mark.parametrize(
        ("order", "rank"),
        [
            pytest.param("ab", 2, id="both at once"),
            pytest.param("xaxb", 4, id="the last need decides"),
            pytest.param("cx", 1, id="one passage with both"),
            pytest.param("xca", 2, id="what comes after does not matter"),
            pytest.param("axx", None, id="one need is never met"),
            pytest.param("", None, id="an empty ranking"),
        ],
    )
    def test_evidence_mrr(self, order: str, rank: int | None) -> None:
        """The smallest number of passages from the top that cover every need, and 1 over it, or 0."""
        chunks = {"a": ("d", 0, 50), "b": ("d", 50, 100), "c": ("d", 0, 100), "x": ("e", 0, 100)}
        gold = Gold({"d": 1}, (need(("d", 10, 20)), need(("d", 45, 60), ("d", 60, 70))))
        hits = [passage(chunks[each]) for each in order]
        assert evidence_rank(gold, hits) == rank
        assert value("evidence-mrr", gold, hits) == (1 / rank if rank else 0)

    def test_no_rank_without_needs(self) -> None:
        """No number of passages covers what no need asks for."""
        assert evidence_rank(judged("a"), ranking("a")) is None


class TestDocuments:
    @pytest.mark.parametrize(
        ("name", "expected"),
        [
            pytest.param("document-recall@1", 0, id="recall below the first"),
            pytest.param("document-recall@2", 1 / 3, id="recall: b"),
            pytest.param("document-recall@3", 2 / 3, id="recall: b, a"),
            pytest.param("document-precision@3", 2 / 3, id="precision"),
            pytest.param("document-precision@10", 2 / 10, id="precision of fewer documents than k"),
            pytest.param("document-mrr@1", 0, id="mrr below the first"),
            pytest.param("document-mrr@10", 1 / 2, id="mrr"),
            pytest.param("document-map@2", (1 / 2) / 3, id="map, cut"),
            pytest.param("document-map@100", (1 / 2 + 2 / 3) / 3, id="map"),
            pytest.param("document-ndcg@2", (1 / log2(3)) / (3 / log2(2) + 2 / log2(3)), id="ndcg, cut"),
            pytest.param("document-ndcg@10", (1 / log2(3) + 3 / log2(4)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4)), id="ndcg"),
        ],
    )
    def test_by_arithmetic(self, name: str, expected: float) -> None:
        """Documents stand where their first passage does: x, b, a, y, with gold a: 3, b: 1 and z: 2, and y judged harmful."""
        gold = Gold({"a": 3, "b": 1, "z": 2, "x": 0, "y": -2})
        assert value(name, gold, ranking("xxbxbaay")) == pytest.approx(expected)

    def test_a_twins_document_follows_its_own(self) -> None:
        """A passage with twins brings its documents in order, its own first."""
        hits = [passage(("x", 0, 10), ("a", 0, 10)), passage(("b", 0, 10))]
        assert value("document-mrr@10", judged("a"), hits) == 1 / 2
        assert value("document-mrr@10", judged("b"), hits) == 1 / 3
        assert value("document-recall@2", judged("ab"), hits) == 1 / 2

    def test_nothing_found(self) -> None:
        """An empty ranking, and one without a relevant document, score 0 everywhere."""
        names = [name for name in DEFAULT_METRICS if name.startswith("document-")]
        for hits in ("", "xyz"):
            assert {value(name, judged("a"), ranking(hits)) for name in names} == {0}

    @pytest.mark.parametrize("k", [1, 5, 10, 100])
    def test_equals_trec_eval(self, k: int) -> None:
        """200 random rankings score what trec_eval gives their documents, to the last digits."""
        random = np.random.default_rng(k)
        golds: dict[str, dict[str, int]] = {}
        passages: dict[str, list[Shown]] = {}
        for number in range(200):
            documents = [f"d{each}" for each in random.choice(150, size=int(random.integers(3, 40)), replace=False)]
            grades = {document: int(random.integers(0, 4)) for document in documents}
            golds[f"q{number}"] = {**grades, "missing": int(random.integers(1, 3))}
            order = random.choice(150, size=int(random.integers(1, 120)))
            passages[f"q{number}"] = [passage((f"d{each}", at * 10, at * 10 + 10)) for at, each in enumerate(order)]
        assert_as_trec_eval(golds, passages, k)


def assert_as_trec_eval(golds: Mapping[str, dict[str, int]], passages: Mapping[str, Sequence[Shown]], k: int) -> None:
    """Ours and trec_eval's figures of the same rankings of documents; its recip_rank knows no cut, so it gets k documents."""
    ours = {"recall": f"recall_{k}", "precision": f"P_{k}", "ndcg": f"ndcg_cut_{k}", "map": f"map_cut_{k}"}
    run = {
        question: {document: float(-place) for place, document in enumerate(dict.fromkeys(each.documents[0] for each in hits))}
        for question, hits in passages.items()
    }
    first = {question: dict(list(ranked.items())[:k]) for question, ranked in run.items()}
    theirs = pytrec_eval.RelevanceEvaluator(golds, {f"recall.{k}", f"P.{k}", f"ndcg_cut.{k}", f"map_cut.{k}"}).evaluate(run)
    reciprocal = pytrec_eval.RelevanceEvaluator(golds, {"recip_rank"}).evaluate(first)
    metrics = [parse_metric(f"document-{each}@{k}") for each in (*ours, "mrr")]
    for question, grades in golds.items():
        scores = score_retrieval(metrics, Gold(grades), passages[question])
        expected = {f"document-{each}@{k}": theirs[question][name] for each, name in ours.items()}
        expected[f"document-mrr@{k}"] = reciprocal[question]["recip_rank"]
        assert {name: score.value for name, score in scores.items()} == pytest.approx(expected, abs=1e-12)


class TestUndefined:
    @pytest.mark.parametrize(
        ("gold", "reason"),
        [
            pytest.param(Gold({}, answerable=False), UNANSWERABLE, id="unanswerable"),
            pytest.param(Gold({"a": 1}, (need(("a", 0, 5)),), answerable=False), UNANSWERABLE, id="unanswerable, with gold all the same"),
            pytest.param(Gold({}), NO_RELEVANT, id="nothing judged"),
            pytest.param(Gold({"a": 0, "b": -1}, (need(("a", 0, 5)),)), NO_RELEVANT, id="nothing relevant"),
        ],
    )
    def test_every_metric(self, gold: Gold, reason: str) -> None:
        """No metric of a question without an answer, or without a relevant document, has a value; each says why."""
        assert score_retrieval(DEFAULTS, gold, ranking("ab")) == dict.fromkeys(DEFAULT_METRICS, Score(undefined=reason))

    @pytest.mark.parametrize(
        ("gold", "reason"),
        [
            pytest.param(Gold({"a": 1}), NO_EVIDENCE, id="no needs"),
            pytest.param(Gold({"a": 1}, ((),)), NO_EVIDENCE, id="a need without alternatives"),
            pytest.param(Gold({"a": 1}, (need(("a", 0, 5)),), stale="its quote is gone"), "its quote is gone", id="stale"),
            pytest.param(Gold({"a": 1}, stale="its quote is gone"), "its quote is gone", id="stale, needs left out"),
        ],
    )
    def test_evidence_metrics(self, gold: Gold, reason: str) -> None:
        """Without usable evidence the evidence metrics say why; those of documents have their values."""
        scores = score_retrieval([parse_metric(name) for name in (*EVIDENCE_METRICS, "recall@5", "document-map@5")], gold, ranking("a"))
        assert {name: scores[name] for name in EVIDENCE_METRICS} == dict.fromkeys(EVIDENCE_METRICS, Score(undefined=reason))
        assert scores["recall@5"] == scores["document-map@5"] == Score(1.0)

    def test_an_empty_ranking_is_a_zero(self) -> None:
        """Finding nothing is a value, and it is 0 everywhere."""
        gold = Gold({"a": 1}, (need(("a", 0, 5)),))
        assert score_retrieval(DEFAULTS, gold, []) == dict.fromkeys(DEFAULT_METRICS, Score(0.0))


class TestAnswers:
    GOLD = Gold({"a": 1}, (need(("a", 10, 20), ("b", 0, 5)), need(("a", 40, 50))))

    def test_refusing_is_recorded(self) -> None:
        """Refusing is 1 and answering 0, for every question."""
        assert (abstention(True), abstention(False)) == (Score(1.0), Score(0.0))

    @pytest.mark.parametrize(
        ("citations", "precision", "recall"),
        [
            pytest.param(need(("a", 10, 20)), 1 / 1, 1 / 2, id="one need"),
            pytest.param(need(("a", 0, 11), ("a", 49, 90)), 2 / 2, 2 / 2, id="an overlap of one character each"),
            pytest.param(need(("a", 0, 10), ("a", 20, 40)), 0, 0, id="touching is not overlapping"),
            pytest.param(need(("b", 0, 5), ("b", 10, 20)), 1 / 2, 1 / 2, id="an alternative, and its span in the wrong document"),
            pytest.param(need(("a", 12, 13), ("a", 14, 15), ("c", 0, 9)), 2 / 3, 1 / 2, id="a need cited twice is one need"),
            pytest.param(need(("a", 10, 50)), 1 / 1, 2 / 2, id="one citation over both"),
            pytest.param(need(("a", 15, 15), ("a", 15, 16)), 1 / 2, 1 / 2, id="a quote that stands nowhere"),
        ],
    )
    def test_citations(self, citations: tuple[Place, ...], precision: float, recall: float) -> None:
        """Precision is of the citations, recall of the needs; any overlap will do."""
        assert citation_precision(citations, self.GOLD) == Score(precision)
        assert citation_recall(citations, self.GOLD) == Score(recall)

    def test_nothing_cited(self) -> None:
        """Citing nothing leaves precision undefined and makes recall 0."""
        assert citation_precision([], self.GOLD) == Score(undefined=NO_CITATIONS)
        assert citation_recall([], self.GOLD) == Score(0.0)

    @pytest.mark.parametrize(
        ("gold", "reason"),
        [
            pytest.param(Gold({}, answerable=False), UNANSWERABLE, id="unanswerable"),
            pytest.param(judged("a"), NO_EVIDENCE, id="no evidence"),
            pytest.param(Gold({"a": 1}, stale="its quote is gone"), "its quote is gone", id="stale"),
        ],
    )
    @pytest.mark.parametrize("citations", [(), need(("a", 0, 5))], ids=["uncited", "cited"])
    def test_without_evidence(self, gold: Gold, reason: str, citations: tuple[Place, ...]) -> None:
        """Without evidence neither is defined, whatever is cited."""
        assert citation_precision(citations, gold) == citation_recall(citations, gold) == Score(undefined=reason)

    def test_cited_sentences(self) -> None:
        """The share of sentences with a citation; an answer without sentences has none."""
        assert cited_share(2, 3) == Score(2 / 3)
        assert cited_share(0, 0) == Score(undefined=NO_SENTENCES)

    def test_all_of_an_answer(self) -> None:
        """One call gives every answer metric under its name."""
        scores = score_answer(self.GOLD, refused=False, citations=need(("a", 10, 20)), cited=1, sentences=4)
        assert tuple(scores) == ANSWER_METRICS
        assert [score.value for score in scores.values()] == [0, 1, 1 / 2, 1 / 4]


DOCUMENTS = st.sampled_from("abcde")
PLACES = st.builds(
    lambda document, start, length: Place(document, start, start + length), DOCUMENTS, st.integers(0, 30), st.integers(1, 20)
)
NEEDS = st.lists(st.lists(PLACES, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)
GOLDS = st.builds(Gold, st.dictionaries(DOCUMENTS, st.integers(-1, 3), min_size=1), NEEDS).filter(lambda gold: gold.relevant)


@st.composite
def passages_with_twins(draw: st.DrawFn) -> Shown:
    """A passage at up to three places of one length, but for the white space that follows."""
    own = draw(PLACES)
    twins = draw(st.lists(st.tuples(DOCUMENTS, st.integers(0, 30), st.integers(0, 1)), max_size=2))
    places = (own, *(Place(document, start, start + own.end - own.start + more) for document, start, more in twins))
    return Shown(places, draw(st.integers(0, 12)))


RANKINGS = st.lists(passages_with_twins(), max_size=8)
Characters = set[tuple[str, int]]


def characters(places: Sequence[Place]) -> Characters:
    return {(place.document_id, at) for place in places for at in range(place.start, place.end)}


def seen_of(metric: Metric, passages: Sequence[Shown]) -> list[tuple[Place, ...]]:
    """The places that the metric's cut shows, passage by passage, token by token."""
    if metric.budget is None:
        return [each.places for each in passages[: metric.k]]
    seen, left = [], metric.budget
    for each in passages:
        if left <= 0:
            break
        share = min(1.0, left / each.tokens) if each.tokens else 1.0
        cut = [Place(at.document_id, at.start, at.start + floor((at.end - at.start) * share + 1e-9)) for at in each.places]
        if kept := tuple(at for at in cut if at.start < at.end):
            seen.append(kept)
        left -= each.tokens
    return seen


def expected_of(metric: Metric, gold: Gold, passages: Sequence[Shown]) -> float:
    """The passage-level metrics, counted character by character."""
    seen = seen_of(metric, passages)
    found = {place.document_id for places in seen for place in places} & gold.relevant
    met = characters([place for places in seen for place in places])
    wanted = characters([place for need in gold.needs for place in need])
    own = characters([places[0] for places in seen])
    right = {
        (places[0].document_id, places[0].start + at)
        for places in seen
        for at in range(places[0].end - places[0].start)
        if any((place.document_id, place.start + at) in wanted for place in places if place.start + at < place.end)
    }
    match metric.family:
        case "recall":
            return float(bool(found))
        case "recall-all":
            return float(found == gold.relevant)
        case "recall-share":
            return len(found) / len(gold.relevant)
        case "coverage":
            return sum(any(characters([place]) <= met for place in need) for need in gold.needs) / len(gold.needs)
        case "span-precision":
            read = sum(places[0].end - places[0].start for places in seen)
            return len(right) / read if read else 0
        case _:
            return len(met & wanted) / (len(wanted) + len(own - right))


CUTS = st.one_of(st.integers(1, 10).map(str), st.integers(1, 60).map("{}t".format))
FAMILIES = ("recall", "recall-all", "recall-share", "coverage", "span-precision", "span-iou")


class TestAnyRanking:
    @given(GOLDS, RANKINGS, CUTS)
    def test_equals_the_counting_of_characters(self, gold: Gold, passages: list[Shown], cut: str) -> None:
        """Every passage-level metric is what counting character by character gives."""
        metrics = [parse_metric(f"{family}@{cut}") for family in FAMILIES]
        scores = score_retrieval(metrics, gold, passages)
        assert {name: score.value for name, score in scores.items()} == pytest.approx(
            {metric.name: expected_of(metric, gold, passages) for metric in metrics}
        )

    @given(GOLDS, RANKINGS)
    def test_values_are_shares(self, gold: Gold, passages: list[Shown]) -> None:
        """Every value is from 0 to 1, those of binary families are one of the two, and no metric depends on its company."""
        metrics = [*DEFAULTS, *(parse_metric(f"{family}@{cut}") for family in FAMILIES for cut in ("3", "20t"))]
        scores = score_retrieval(metrics, gold, passages)
        for metric in metrics:
            value = scores[metric.name].value
            assert value is not None
            assert 0 <= value <= 1
            assert value in (0, 1) or metric.family not in BINARY
            assert score_retrieval([metric], gold, passages) == {metric.name: scores[metric.name]}

    @given(GOLDS, RANKINGS, st.sampled_from(["", "t"]))
    def test_more_is_never_less(self, gold: Gold, passages: list[Shown], unit: str) -> None:
        """Recall and coverage never fall when more passages or tokens are read."""
        for family in ("recall", "recall-all", "recall-share", "coverage", *(["document-recall"] if not unit else [])):
            names = [f"{family}@{cut}{unit}" for cut in range(1, 40)]
            values = [score.value for score in score_retrieval([parse_metric(name) for name in names], gold, passages).values()]
            assert values == sorted(values, key=lambda value: value or 0)

    @given(GOLDS, RANKINGS, CUTS, st.data())
    def test_twins_never_hurt(self, gold: Gold, passages: list[Shown], cut: str, data: st.DataObject) -> None:
        """A further place of a passage's text lowers no metric of passages."""
        metrics = [parse_metric(name) for name in (*(f"{family}@{cut}" for family in FAMILIES), "evidence-mrr")]
        more = [
            Shown((*each.places, Place(document, start, start + each.places[0].end - each.places[0].start)), each.tokens)
            for each in passages
            for document, start in [data.draw(st.tuples(DOCUMENTS, st.integers(0, 30)))]
        ]
        before, after = (score_retrieval(metrics, gold, each) for each in (passages, more))
        for name, score in before.items():
            assert (after[name].value or 0) >= (score.value or 0) - 1e-12

    @given(GOLDS, RANKINGS)
    def test_the_rank_is_the_first_full_coverage(self, gold: Gold, passages: list[Shown]) -> None:
        """`evidence_rank` is the smallest k whose coverage is 1."""
        ks = range(1, len(passages) + 1)
        assert evidence_rank(gold, passages) == next((k for k in ks if value(f"coverage@{k}", gold, passages) == 1), None)
