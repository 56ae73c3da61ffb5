"""What one configuration makes of one question: its ranking against the gold, stage by stage, and its answer."""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evals.golden import Question
from evals.metrics import Gold, Metric, Score, Shown, evidence_rank, score_answer, score_retrieval
from evals.results import ANSWERING, RANKED
from sitt_core.errors import KeyMissing
from sitt_core.pipeline import Asking, Engine, Ranking, one_per_text, rank
from sitt_core.store.reading import Corpus, Index
from sitt_core.types import Answer, Citation, Hit, Matrix, Place, Provider

DEPTH = 100
"""How many passages are scored: top K decides what is shown and answered from, and what `@top_k` metrics see."""
KEPT_PASSAGES = 10
"""How many of them a row names at least; all that an answer was made from."""
_BLANK = re.compile(r"\s+")


class Texts:
    """A corpus's documents as the lab needs them: their texts, and where the white space after a place ends."""

    def __init__(self, corpus: Corpus) -> None:
        self._texts = {document.id: document.text for document in corpus.all_documents()}

    def get(self, document_id: str) -> str | None:
        """The text of a document, or None."""
        return self._texts.get(document_id)

    def place(self, document_id: str, start: int, end: int) -> Place:
        """A place that reaches over the white space after it, so that neighbours touch."""
        blank = _BLANK.match(self._texts[document_id], end)
        return Place(document_id, start, blank.end() if blank else end)


class Ground:
    """An index as metrics see it: what each chunk shows, and which chunks hold the gold of a question; made as it is asked for."""

    def __init__(self, index: Index, texts: Texts) -> None:
        self.index, self._texts = index, texts
        self._shown: dict[int, Shown] = {}
        self._holding: dict[str, frozenset[int]] = {}
        self._of: dict[str, list[int]] = {}
        for position, at in enumerate(index.document_at.tolist()):
            self._of.setdefault(index.document_ids[at], []).append(position)
        self._groups: dict[int, list[int]] = {}
        for position, first in enumerate(index.first_with_text.tolist()):
            self._groups.setdefault(first, []).append(position)

    def shown(self, hit: Hit) -> Shown:
        """The passage that a hit becomes, with its twins."""
        position = self.index.position[hit.chunk_id]
        if position not in self._shown:
            places = tuple(self._place(at) for at in (position, *(other for other in self._same(position) if other != position)))
            self._shown[position] = Shown(places, int(self.index.rows.tokens[position]))
        return self._shown[position]

    def _same(self, position: int) -> list[int]:
        """The positions of the chunks with the very same text, its own among them."""
        return self._groups[int(self.index.first_with_text[position])]

    def _place(self, position: int) -> Place:
        index = self.index
        document = index.document_ids[index.document_at[position]]
        return self._texts.place(document, int(index.rows.starts[position]), int(index.rows.ends[position]))

    def holding(self, question: Question, gold: Gold) -> frozenset[int]:
        """The positions of the chunks that hold its gold, and of those with the very same text.

        That is a whole alternative of its evidence, else a part of one, else anything of an expected document.
        """
        if question.id not in self._holding:
            positions = self._whole_or_part(gold) if gold.needs else self._of_documents(gold)
            self._holding[question.id] = frozenset(same for position in positions for same in self._same(position))
        return self._holding[question.id]

    def _of_documents(self, gold: Gold) -> set[int]:
        return {position for document in gold.relevant for position in self._of.get(document, ())}

    def _whole_or_part(self, gold: Gold) -> set[int]:
        alternatives = [place for need in gold.needs for place in need]
        whole: set[int] = set()
        part: set[int] = set()
        for alternative in alternatives:
            for position in self._of.get(alternative.document_id, ()):
                place = self._place(position)
                if place.start < alternative.end and alternative.start < place.end:
                    contained = place.start <= alternative.start and alternative.end <= place.end
                    (whole if contained else part).add(position)
        return whole or part


@dataclass(frozen=True, slots=True)
class Embedded:
    """Questions embedded one by one, as a person's question is: vectors by text, and the milliseconds that each took."""

    vectors: Mapping[str, Matrix] = field(default_factory=dict)
    milliseconds: Mapping[str, float] = field(default_factory=dict)

    def lookup(self, texts: Sequence[str]) -> Matrix:
        """The vectors of those texts, shape (len(texts), dimension)."""
        return np.concatenate([self.vectors[text] for text in texts])


def embed_questions(embed: Callable[[Sequence[str]], Matrix], texts: Sequence[str], *, report: Callable[[int], None]) -> Embedded:
    """Every distinct text embedded by itself; `report` is told how many are done."""
    vectors, milliseconds = {}, {}
    for done, text in enumerate(dict.fromkeys(texts)):
        started = time.perf_counter()
        vectors[text] = embed([text])
        milliseconds[text] = (time.perf_counter() - started) * 1000
        report(done + 1)
    return Embedded(vectors, milliseconds)


@dataclass(frozen=True, slots=True)
class Found:
    """A ranking with what it took, and the first passages read as a search reads them (milliseconds)."""

    ranking: Ranking
    ms: Mapping[str, float]


def find(text: str, engine: Engine, embedded: Embedded) -> Found:
    """The ranking of a question whose vector is known, timed stage by stage as `search` goes through them."""
    ranking = rank(text, replace(engine, embed=embedded.lookup) if engine.embed else engine)
    ms = {stage.name: stage.milliseconds for stage in ranking.stages}
    started = time.perf_counter()
    engine.corpus.passages(engine.index, ranking.hits[: engine.configuration.top_k])
    ms["passages"] = (time.perf_counter() - started) * 1000
    if engine.embed:
        ms["embed"] = embedded.milliseconds[ranking.question]
    # What `search` waits for: in a small index one stage after the other.
    return Found(ranking, ms | {"total": sum(ms.values())})


def without_own_id(ranking: Ranking, question_id: str, index: Index) -> Ranking:
    """The ranking, at every stage, without the document that has the question's own id."""
    at = next((at for at, id_ in enumerate(index.document_ids) if id_ == question_id), -1)
    own = set(np.flatnonzero(index.document_at == at).tolist())
    if not own:
        return ranking

    def others(hits: Sequence[Hit]) -> tuple[Hit, ...]:
        return tuple(hit for hit in hits if index.position[hit.chunk_id] not in own)

    fused = others(ranking.fused)
    stages = tuple(replace(stage, hits=others(stage.hits)) for stage in ranking.stages)
    # Merged anew: a chunk with the text of its own document stood behind it.
    return replace(ranking, stages=stages, fused=fused, hits=tuple(one_per_text(fused, index)))


def retrieval_row(found: Found, question: Question, gold: Gold, ground: Ground, metrics: Sequence[Metric], *, top_k: int) -> dict[str, Any]:
    """The part of a row that the ranking decides; `evals.results.columns` describes it."""
    hits = found.ranking.hits[:DEPTH]
    passages = [ground.shown(hit) for hit in hits]
    scores = score_retrieval([metric.at(top_k) for metric in metrics], gold, passages)
    ranks = _ranks(found.ranking, ground.holding(question, gold), ground.index, top_k) if gold.relevant else {}
    own = [passage.places[0] for passage in passages[: max(KEPT_PASSAGES, top_k)]]
    return {
        **_told(scores),
        "error": "",
        **ranks,
        "tokens": sum(passage.tokens for passage in passages[:top_k]),
        "evidence_rank": evidence_rank(gold, passages) if gold.needs else None,
        **{f"ms_{stage}": round(spent, 3) for stage, spent in found.ms.items()},
        "found": [[place.document_id, place.start, place.end, round(hit.score, 5)] for place, hit in zip(own, hits, strict=False)],
    }


def _told(scores: Mapping[str, Score]) -> dict[str, Any]:
    """Values by metric, and under `why` the reasons of those that have none."""
    why = {name: score.undefined or score.error for name, score in scores.items() if score.value is None}
    return {**{name: score.value for name, score in scores.items()}, "why": why or None}


def _ranks(ranking: Ranking, holding: frozenset[int], index: Index, top_k: int) -> dict[str, Any]:
    """The gold's rank after every stage, and the stage that lost it: `retrieval` when no retriever has it, `cut` when it is below top K."""
    lists: dict[str, Sequence[Hit]] = {stage.name: stage.hits for stage in ranking.stages if stage.name in RANKED}
    ranks = {f"rank_{name}": _first(hits, holding, index) for name, hits in lists.items()}
    shown = _first(ranking.hits, holding, index)
    lost_at = "" if shown and shown <= top_k else "cut" if shown else "retrieval"
    return {**ranks, "rank_shown": shown, "lost_at": lost_at}


def _first(hits: Sequence[Hit], holding: frozenset[int], index: Index) -> int | None:
    return next((at for at, hit in enumerate(hits, start=1) if index.position[hit.chunk_id] in holding), None)


def answer_row(question: Question, gold: Gold, engine: Engine, provider: Provider) -> dict[str, Any]:
    """The part of a row that an answer decides: its scores, the answer itself, how long it took.

    An answer that broke off is an error, not a refusal. Raises KeyMissing, which no other question would mend.
    """
    started = time.perf_counter()
    asking = Asking(question.text, engine, provider)
    answer = asyncio.run(asking.run())
    spent = (time.perf_counter() - started) * 1000
    if isinstance(asking.failure, KeyMissing):
        raise asking.failure
    if answer.stop == "stopped":
        raise KeyboardInterrupt  # asyncio turns Ctrl-C into cancelling the answer, which keeps what has come: no row is made of that
    kept = _kept(answer)
    if answer.problem:
        return {"error": f"{ANSWERING}{answer.problem}", "answer": kept, "ms_answer": round(spent, 3)}
    scores = score_answer(
        gold,
        refused=answer.refused,
        citations=[_cited_place(citation) for citation in answer.citations],
        cited=sum(sentence.support != "uncited" for sentence in answer.sentences),
        sentences=0 if answer.refused else len(answer.sentences),
    )
    return {**_told(scores), "error": "", "answer": kept, "ms_answer": round(spent, 3)}


def _cited_place(citation: Citation) -> Place:
    """Where a citation's quote stands; nowhere for one that is in no document."""
    return Place(citation.document_id, citation.span.start, citation.span.end) if citation.span else Place(citation.document_id, 0, 0)


def _kept(answer: Answer) -> dict[str, Any]:
    """What a row keeps of an answer; citations as [document, start, end, verdict]."""
    places = [(_cited_place(citation), citation.verdict) for citation in answer.citations]
    return {
        "text": answer.text,
        "refused": answer.refused,
        "problem": answer.problem,
        "citations": [[place.document_id, place.start, place.end, verdict] for place, verdict in places],
        "dollars": answer.usage.dollars,
    }
