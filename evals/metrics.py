"""How well a ranking or an answer meets the gold: every metric's definition, for one question at a time.

Two views of a ranking. *Passage level*: what a reader sees, which is its first k passages, or its passages from the top
until their tokens reach a budget, the last one cut. *Document level* (`document-…`): distinct documents, each at the place of
its first passage, as BEIR and trec_eval rank them.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import inf, isfinite, log2

from sitt_core.errors import InvalidInput, shown
from sitt_core.types import Place

Interval = tuple[int, int]
"""`[start, end)`, in code points of one document."""


@dataclass(frozen=True, slots=True)
class Gold:
    """What a question should find: the grade of each judged document (> 0 is relevant), and the evidence it needs.

    All `needs` are wanted; of a need, any alternative suffices. `stale` says why the evidence can no longer be used.
    `relevant` are the documents with a grade > 0; `evidence` is the text of all alternatives by document, in pieces that
    neither overlap nor touch.
    """

    grades: Mapping[str, int]
    needs: tuple[tuple[Place, ...], ...] = ()
    answerable: bool = True
    stale: str = ""
    relevant: frozenset[str] = field(init=False, repr=False, compare=False)
    evidence: Mapping[str, tuple[Interval, ...]] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        alternatives = defaultdict(list)
        for place in (place for need in self.needs for place in need):
            alternatives[place.document_id].append((place.start, place.end))
        evidence = {document: joined for document, pieces in alternatives.items() if (joined := _joined(pieces))}
        object.__setattr__(self, "relevant", frozenset(document for document, grade in self.grades.items() if grade > 0))
        object.__setattr__(self, "evidence", evidence)


@dataclass(frozen=True, slots=True)
class Shown:
    """A passage as metrics see it: its own place first, then those of its twins (the very same text elsewhere).

    `documents` are the distinct documents of the places, its own first.
    """

    places: tuple[Place, ...]
    tokens: int
    documents: tuple[str, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "documents", tuple(dict.fromkeys(place.document_id for place in self.places)))


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one question: a value, or why there cannot be one (`undefined`), or why there is none (`error`)."""

    value: float | None = None
    undefined: str = ""
    error: str = ""

    def __post_init__(self) -> None:
        assert (self.value is not None) + bool(self.undefined) + bool(self.error) == 1, f"not exactly one outcome: {self}"
        assert self.value is None or isfinite(self.value), f"not a number: {self}"


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric as its name states it: `k` passages or documents, or a `budget` in tokens, or neither."""

    name: str
    family: str
    k: int | None = None
    budget: int | None = None

    @property
    def open(self) -> bool:
        """Whether the name ends in "@top_k", so that `at` must say what k is."""
        return self.family in _PASSAGE and self.k is None and self.budget is None

    def at(self, top_k: int) -> "Metric":
        """This metric with k = `top_k` under its own name where the name leaves k open, else itself."""
        return replace(self, k=top_k) if self.open else self


DEFAULT_METRICS: tuple[str, ...] = (
    *("recall@1", "recall@3", "recall@5", "recall@10", "recall@20", "recall@top_k"),
    *("recall-all@5", "recall-all@10", "recall-share@5"),
    *("recall@1000t", "recall@2000t", "recall@4000t"),
    *("recall-all@1000t", "recall-all@2000t", "recall-all@4000t"),
    *("coverage@5", "coverage@10", "coverage@1000t", "coverage@2000t", "coverage@4000t"),
    *("document-recall@5", "document-recall@10", "document-recall@100"),
    *("document-precision@5", "document-mrr@10", "document-ndcg@10", "document-map@100"),
    *("span-precision@5", "span-iou@5", "evidence-mrr"),
)
"""The retrieval metrics that a run computes unless told otherwise."""

ANSWER_METRICS: tuple[str, ...] = ("refused", "citation-precision", "citation-recall", "cited-sentences")
"""What `score_answer` gives."""

BINARY = frozenset({"recall", "recall-all", "refused"})
"""The families whose values are 0 or 1."""

UNANSWERABLE = "the corpus does not answer this question"
NO_RELEVANT = "the question names no relevant document"
NO_EVIDENCE = "the question names no evidence"
NO_CITATIONS = "the answer cites nothing"
NO_SENTENCES = "the answer has no sentences"

_NAME = re.compile(r"(?P<family>[a-z-]+)(?:@(?:(?P<top>top_k)|(?P<count>[1-9][0-9]{0,8})(?P<tokens>t?)))?")


def parse_metric(name: str) -> Metric:
    """The metric of that name: "recall@5", "recall@1000t", "recall@top_k", "document-ndcg@10", "evidence-mrr", "refused"."""
    if found := _NAME.fullmatch(name):
        family, top, count, tokens = found.group("family", "top", "count", "tokens")
        if family in _PASSAGE and (top or count):
            return Metric(name, family, int(count) if count and not tokens else None, int(count) if tokens else None)
        if family in _DOCUMENT and count and not tokens:
            return Metric(name, family, int(count))
        if family in _WITHOUT_CUT and not (top or count):
            return Metric(name, family)
    raise InvalidInput(
        expected=f"a metric: {', '.join(_PASSAGE)} with @k, @top_k or @tokens (recall@5, recall@top_k, recall@1000t); "
        f"{', '.join(_DOCUMENT)} with @k; or {', '.join(_WITHOUT_CUT)} as they are",
        got=shown(name),
        remedy="Write the family and, where it takes one, the number of passages, documents or tokens, from 1 up.",
    )


def score_retrieval(metrics: Sequence[Metric], gold: Gold, passages: Sequence[Shown]) -> dict[str, Score]:
    """The score of every metric, by its name, of one ranking (best first).

    Undefined are all metrics of a question that the corpus does not answer or that has no relevant document, and the
    evidence metrics (coverage, span-precision, span-iou, evidence-mrr) of one without evidence or with stale evidence.
    Relevant documents that are in no passage, or in no corpus, count as not found. InvalidInput is raised for a metric
    of an answer, or one whose k is left open.
    """
    for metric in metrics:
        if metric.open or metric.family not in _RETRIEVAL:
            raise InvalidInput(
                expected="metrics of a ranking whose k is known", got=metric.name, remedy="Use Metric.at(top_k), or score_answer."
            )
    reason = "" if gold.answerable else UNANSWERABLE
    undefined = reason or ("" if gold.relevant else NO_RELEVANT)
    unproven = undefined or _no_evidence(gold)
    ranking = _ranking(gold, passages)
    return {
        metric.name: Score(undefined=why) if (why := unproven if metric.family in _EVIDENCE else undefined) else _score(metric, ranking)
        for metric in metrics
    }


def evidence_rank(gold: Gold, passages: Sequence[Shown]) -> int | None:
    """The smallest number of passages from the top that together cover every need; None when all of them do not."""
    last = max(_need_ranks(gold, [passage.places for passage in passages]), default=inf)
    return None if last == inf else int(last)


@dataclass(frozen=True, slots=True)
class _Ranking:
    """A ranking with what several metrics need of it, computed once."""

    gold: Gold
    passages: Sequence[Shown]
    spent: Sequence[int]  # the tokens of each passage and those before it
    first: Mapping[str, int]  # the passage that each found relevant document comes with, from 1, ascending
    graded: Sequence[tuple[int, int]]  # (rank among distinct documents, grade) of each found relevant document, ascending
    covered: Sequence[float]  # how many passages cover each need; inf when all of them do not


@dataclass(frozen=True, slots=True)
class _Seen:
    """How far a reader gets: so many passages whole, and these first parts of the places of the next one."""

    whole: int
    part: tuple[Place, ...] = ()


def _ranking(gold: Gold, passages: Sequence[Shown]) -> _Ranking:
    documents: dict[str, int] = {}
    for rank, passage in enumerate(passages, start=1):
        for document in passage.documents:
            documents.setdefault(document, rank)
    found = [(place, document) for place, document in enumerate(documents, start=1) if document in gold.relevant]
    return _Ranking(
        gold=gold,
        passages=passages,
        spent=list(accumulate(passage.tokens for passage in passages)),
        first={document: documents[document] for _, document in found},
        graded=[(place, gold.grades[document]) for place, document in found],
        covered=_need_ranks(gold, [passage.places for passage in passages]),
    )


def _seen(ranking: _Ranking, metric: Metric) -> _Seen:
    """The first k passages; or those from the top until their tokens reach the budget, the last one cut in proportion.

    The cut passage shows the first ⌊length · remaining tokens / its tokens⌋ characters of each of its places.
    """
    if metric.budget is None:
        assert metric.k is not None
        return _Seen(min(metric.k, len(ranking.passages)))
    whole = bisect_left(ranking.spent, metric.budget)
    if whole == len(ranking.passages):
        return _Seen(whole)
    passage = ranking.passages[whole]
    remaining = metric.budget - (ranking.spent[whole] - passage.tokens)
    cut = (Place(at.document_id, at.start, at.start + (at.end - at.start) * remaining // passage.tokens) for at in passage.places)
    return _Seen(whole, tuple(place for place in cut if place.start < place.end))


def _score(metric: Metric, ranking: _Ranking) -> Score:
    if metric.family in _PASSAGE:
        return Score(_PASSAGE[metric.family](ranking, _seen(ranking, metric)))
    if metric.family in _DOCUMENT:
        assert metric.k is not None
        return Score(_DOCUMENT[metric.family](ranking, metric.k))
    return Score(_evidence_mrr(ranking))


def _found(ranking: _Ranking, seen: _Seen) -> int:
    """How many relevant documents are among those of the passages seen."""
    whole = bisect_right(list(ranking.first.values()), seen.whole)
    return whole + len({place.document_id for place in seen.part if ranking.first.get(place.document_id, 0) > seen.whole})


def _recall(ranking: _Ranking, seen: _Seen) -> float:
    """1 if any relevant document is among those of the passages seen, else 0."""
    return float(_found(ranking, seen) > 0)


def _recall_all(ranking: _Ranking, seen: _Seen) -> float:
    """1 if every relevant document is among those of the passages seen, else 0."""
    return float(_found(ranking, seen) == len(ranking.gold.relevant))


def _recall_share(ranking: _Ranking, seen: _Seen) -> float:
    """Relevant documents among those of the passages seen / relevant documents."""
    return _found(ranking, seen) / len(ranking.gold.relevant)


def _coverage(ranking: _Ranking, seen: _Seen) -> float:
    """Needs with an alternative that stands whole in the text seen / needs; spans that touch or overlap are one."""
    covered = ranking.covered
    if seen.part and seen.whole + 1 in covered:  # else the cut passage completes no need
        texts = [*(passage.places for passage in ranking.passages[: seen.whole]), seen.part]
        return sum(rank < inf for rank in _need_ranks(ranking.gold, texts)) / len(covered)
    return sum(rank <= seen.whole for rank in covered) / len(covered)


def _span_precision(ranking: _Ranking, seen: _Seen) -> float:
    """Characters seen that are gold, each once / characters read, as often as they are read; 0 when nothing is.

    Gold is the text of all alternatives of all needs. A passage is read at its own place, and a character of it is gold
    if it is at that place or at a twin's. Source: Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval",
    Chroma 2024, where it is counted in tokens.
    """
    spans = _spans(ranking, seen)
    return spans.gold / spans.read if spans.read else 0.0


def _span_iou(ranking: _Ranking, seen: _Seen) -> float:
    """|seen ∩ gold| / |seen ∪ gold| in characters, each counted once; a twin's place is seen where it is gold.

    What is gold only at a twin's place is not held against the passage's own. Source as for span-precision; there, text
    that is read twice counts twice in the denominator, which span-precision already does.
    """
    spans = _spans(ranking, seen)
    total = sum(_length(pieces) for pieces in ranking.gold.evidence.values())
    return spans.met / (total + spans.distinct - spans.gold)


@dataclass(frozen=True, slots=True)
class _Spans:
    """Characters of what a reader sees."""

    read: int  # of the own places, as often as they are read
    distinct: int  # of the own places, each once
    gold: int  # of `distinct`, those that are gold at that place or at a twin's
    met: int  # of the gold, those that are at any place


def _spans(ranking: _Ranking, seen: _Seen) -> _Spans:
    evidence = ranking.gold.evidence
    own, gold, met = defaultdict(list), defaultdict(list), defaultdict(list)
    for places in (*(passage.places for passage in ranking.passages[: seen.whole]), *((seen.part,) if seen.part else ())):
        home = places[0]
        own[home.document_id].append((home.start, home.end))
        for place in places:
            for start, end in evidence.get(place.document_id, ()):
                if start < place.end and place.start < end:
                    start, end = max(start, place.start), min(end, place.end)
                    away = home.start - place.start
                    met[place.document_id].append((start, end))
                    gold[home.document_id].append((start + away, min(end + away, home.end)))
    return _Spans(
        read=sum(_length(pieces) for pieces in own.values()),
        distinct=sum(_length(_joined(pieces)) for pieces in own.values()),
        gold=sum(_length(_joined(pieces)) for pieces in gold.values()),
        met=sum(_length(_joined(pieces)) for pieces in met.values()),
    )


def _evidence_mrr(ranking: _Ranking) -> float:
    """1 / the smallest number of passages from the top that together cover every need; 0 when all of them do not."""
    return 1 / max(ranking.covered)


def _document_recall(ranking: _Ranking, k: int) -> float:
    """Relevant documents among the first k / relevant documents."""
    return sum(rank <= k for rank, _ in ranking.graded) / len(ranking.gold.relevant)


def _document_precision(ranking: _Ranking, k: int) -> float:
    """Relevant documents among the first k / k, however few there are."""
    return sum(rank <= k for rank, _ in ranking.graded) / k


def _document_mrr(ranking: _Ranking, k: int) -> float:
    """1 / rank of the first relevant document; 0 when none is among the first k."""
    first = ranking.graded[0][0] if ranking.graded else inf
    return 1 / first if first <= k else 0.0


def _document_ndcg(ranking: _Ranking, k: int) -> float:
    """Σ grade / log2(rank + 1) over the relevant of the first k documents / the same of the best order, as trec_eval."""
    best = sorted((ranking.gold.grades[document] for document in ranking.gold.relevant), reverse=True)[:k]
    return _gain((rank, grade) for rank, grade in ranking.graded if rank <= k) / _gain(enumerate(best, start=1))


def _gain(graded: Iterable[tuple[int, int]]) -> float:
    return sum(grade / log2(rank + 1) for rank, grade in graded)


def _document_map(ranking: _Ranking, k: int) -> float:
    """Σ precision at the rank of each relevant document among the first k / relevant documents, as trec_eval's map_cut."""
    precisions = (found / rank for found, (rank, _) in enumerate(ranking.graded, start=1) if rank <= k)
    return sum(precisions) / len(ranking.gold.relevant)


_PASSAGE: Mapping[str, Callable[[_Ranking, _Seen], float]] = {
    "recall": _recall,
    "recall-all": _recall_all,
    "recall-share": _recall_share,
    "coverage": _coverage,
    "span-precision": _span_precision,
    "span-iou": _span_iou,
}
_DOCUMENT: Mapping[str, Callable[[_Ranking, int], float]] = {
    "document-recall": _document_recall,
    "document-precision": _document_precision,
    "document-mrr": _document_mrr,
    "document-ndcg": _document_ndcg,
    "document-map": _document_map,
}
_RETRIEVAL = frozenset({*_PASSAGE, *_DOCUMENT, "evidence-mrr"})
_WITHOUT_CUT = ("evidence-mrr", *ANSWER_METRICS)
_EVIDENCE = frozenset({"coverage", "span-precision", "span-iou", "evidence-mrr"})


def score_answer(gold: Gold, *, refused: bool, citations: Sequence[Place], cited: int, sentences: int) -> dict[str, Score]:
    """The score of each of `ANSWER_METRICS`, by its name, of one answer.

    `citations` are the places that the answer cites; one whose quote stands nowhere is an empty place, which counts as
    wrong. `cited` of its `sentences` bear a citation.
    """
    return {
        "refused": abstention(refused),
        "citation-precision": citation_precision(citations, gold),
        "citation-recall": citation_recall(citations, gold),
        "cited-sentences": cited_share(cited, sentences),
    }


def abstention(refused: bool) -> Score:
    """1 if the answer says that the corpus does not answer, else 0; right only where `Gold.answerable` is false."""
    return Score(float(refused))


def citation_precision(citations: Sequence[Place], gold: Gold) -> Score:
    """Citations that overlap gold evidence / citations; undefined without citations or evidence."""
    if why := _unproven(gold) or ("" if citations else NO_CITATIONS):
        return Score(undefined=why)
    right = (any(_overlap(cited, piece) for piece in gold.evidence.get(cited.document_id, ())) for cited in citations)
    return Score(sum(right) / len(citations))


def citation_recall(citations: Sequence[Place], gold: Gold) -> Score:
    """Needs with an alternative that a citation overlaps / needs, so 0 when nothing is cited; undefined without evidence."""
    if why := _unproven(gold):
        return Score(undefined=why)
    return Score(sum(any(_cites(citations, alternative) for alternative in need) for need in gold.needs) / len(gold.needs))


def cited_share(cited: int, sentences: int) -> Score:
    """Sentences with a citation / sentences; undefined without sentences."""
    return Score(cited / sentences) if sentences else Score(undefined=NO_SENTENCES)


def _cites(citations: Sequence[Place], wanted: Place) -> bool:
    return any(cited.document_id == wanted.document_id and _overlap(cited, (wanted.start, wanted.end)) for cited in citations)


def _overlap(place: Place, piece: Interval) -> bool:
    return max(place.start, piece[0]) < min(place.end, piece[1])


def _unproven(gold: Gold) -> str:
    return _no_evidence(gold) if gold.answerable else UNANSWERABLE


def _no_evidence(gold: Gold) -> str:
    return gold.stale or ("" if gold.evidence else NO_EVIDENCE)


def _need_ranks(gold: Gold, texts: Iterable[Sequence[Place]]) -> list[float]:
    """How many of the texts, from the first, cover each need; inf when all of them do not."""
    met: dict[str, list[tuple[int, Place]]] = {document: [] for document in gold.evidence}
    for rank, places in enumerate(texts, start=1):
        for place in places:
            if place.document_id in met:
                met[place.document_id].append((rank, place))
    return [min((_whole_at(wanted, met.get(wanted.document_id, ())) for wanted in need), default=inf) for need in gold.needs]


def _whole_at(wanted: Place, met: Iterable[tuple[int, Place]]) -> float:
    """The rank of the place that leaves nothing of what is wanted uncovered; inf when none does."""
    missing = [(wanted.start, wanted.end)]
    for rank, place in met:
        if place.start >= wanted.end or place.end <= wanted.start:
            continue
        sides = ((start, min(end, place.start), max(start, place.end), end) for start, end in missing)
        missing = [each for a, b, c, d in sides for each in ((a, b), (c, d)) if each[0] < each[1]]
        if not missing:
            return rank
    return inf


def _joined(pieces: Iterable[Interval]) -> tuple[Interval, ...]:
    """The same characters in ascending pieces that neither overlap nor touch; empty pieces go."""
    joined: list[Interval] = []
    for start, end in sorted(pieces):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        elif start < end:
            joined.append((start, end))
    return tuple(joined)


def _length(pieces: Iterable[Interval]) -> int:
    return sum(end - start for start, end in pieces)
