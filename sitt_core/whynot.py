"""Why a document or a quotation is not among the passages: its rank at every stage, and where it was lost."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sitt_core.errors import NotFound, shown
from sitt_core.pipeline import Engine, one_per_text, search
from sitt_core.quotes import check_quote, find_exact, find_loosely
from sitt_core.retrieval.dense import rank_dense
from sitt_core.retrieval.keyword import rank_keyword
from sitt_core.retrieval.words import tokenize
from sitt_core.types import Chunk, Filters, Hit, Retrieval, Span

MAX_PLACES = 100
"""How many places of one quotation are followed."""
_NOWHERE = 10**9


@dataclass(frozen=True, slots=True)
class Standing:
    """A chunk at one stage: its rank of `ranked` and its score, beside how many go on and the score of the last of them.

    `stage` is dense, keyword, fused, merged (chunks of the same text as one) or shown. `rank` and `score` are None when the
    stage does not rank it; `last_score` is None when nothing goes on.
    """

    stage: str
    rank: int | None
    ranked: int
    score: float | None
    goes_on: int
    last_score: float | None
    passed: bool


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of one chunk: its standing at every stage that ran, the rank it is shown at (or None), and why.

    Of a chunk that the filter left out (`excluded`) the standings are those that it would have without the filter.
    """

    chunk: Chunk
    standings: tuple[Standing, ...]
    shown_at: int | None
    sentence: str
    excluded: bool = False

    def standing(self, stage: str) -> Standing | None:
        """Its standing at that stage, or None when the stage did not run."""
        return next((standing for standing in self.standings if standing.stage == stage), None)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer in plain words, and the fates of the chunks it is about, the best first."""

    sentence: str
    fates: tuple[Fate, ...] = ()


@dataclass(frozen=True, slots=True)
class _Ranking:
    """A stage's whole ranking, by chunk id, and which of it went on."""

    stage: str
    hits: Mapping[str, tuple[int, Hit]]
    goes_on: int
    passed: frozenset[str]

    def standing(self, chunk_id: str) -> Standing:
        rank, hit = self.hits.get(chunk_id, (None, None))
        last = min((self.hits[passed][1].score for passed in self.passed if passed in self.hits), default=None)
        return Standing(self.stage, rank, len(self.hits), hit.score if hit else None, self.goes_on, last, chunk_id in self.passed)


def explain_document(result: Retrieval, engine: Engine, *, document_id: str, filters: Filters | None = None) -> Explanation:
    """What became of every chunk of a document in `result`, which `search` gave for the same engine and filters.

    Raises NotFound for a document that the corpus does not hold.
    """
    places = {document.id: at for at, document in enumerate(engine.corpus.documents)}
    if document_id not in places:
        raise NotFound(
            expected=f"a document of {engine.corpus.name}", got=shown(document_id), remedy="Choose one that the list of documents names."
        )
    title = engine.corpus.documents[places[document_id]].title
    positions = np.flatnonzero(engine.index.document_at == places[document_id]).tolist()
    if not positions:
        return Explanation(f"{title} has no text that could be cut into chunks.")
    fates = _fates(result, engine, positions, filters)
    count = "its only chunk" if len(fates) == 1 else f"the best of its {len(fates)} chunks"
    return Explanation(f"{title}, {count}: {fates[0].sentence}", fates)


def explain_quote(result: Retrieval, engine: Engine, *, quote: str, filters: Filters | None = None) -> Explanation:
    """What became of the chunks that hold a quotation, in `result`, which `search` gave for the same engine and filters.

    It is looked for word for word, and where that fails with case, white space and typography aside. Where no chunk holds
    it whole, the fates are those of the chunks that hold parts. Raises InvalidInput for a quotation without words.
    """
    wanted = check_quote(quote)
    places, loosely = _places(engine, wanted)
    if not places:
        return Explanation(
            f"These words are in no document of {engine.corpus.name}: not word for word, nor with case, white space and typography aside."
        )
    said = f"found {'with case, white space and typography aside' if loosely else 'word for word'} in {_where(places, engine)}"
    whole, parts = _holders(engine, places)
    fates = _fates(result, engine, list(whole or parts), filters)
    if whole:
        best = "" if len(fates) == 1 else f", the best of {len(fates)} chunks that hold it"
        return Explanation(f"It is {said}{best}: {fates[0].sentence}", fates)
    share = parts.get(engine.index.position[fates[0].chunk.id], 0.0)
    return Explanation(
        f"It is {said}, but no chunk holds it whole: it lies across a boundary between chunks. "
        f"The one that comes nearest holds {share:.0%} of it: {fates[0].sentence}",
        fates,
    )


def _places(engine: Engine, quote: str) -> tuple[list[tuple[str, Span]], bool]:
    """Where the quotation stands, and whether it took a loose look to find it."""
    documents = engine.corpus.all_documents()
    for loosely, find in enumerate((find_exact, find_loosely)):
        found = [(document.id, span) for document in documents for span in find(document.text, quote)][:MAX_PLACES]
        if found:
            return found, bool(loosely)
    return [], False


def _where(places: Sequence[tuple[str, Span]], engine: Engine) -> str:
    titles = {document.id: document.title for document in engine.corpus.documents}
    documents = list(dict.fromkeys(document_id for document_id, _ in places))
    least = "at least " if len(places) == MAX_PLACES else ""
    more = f" and {least}{len(documents) - 1} more document{'s' * (len(documents) > 2)}" if len(documents) > 1 else ""
    return titles[documents[0]] + more


def _holders(engine: Engine, places: Sequence[tuple[str, Span]]) -> tuple[list[int], dict[int, float]]:
    """The positions of the chunks that hold a place whole, and of those that hold a part, with the part held."""
    at = {document.id: place for place, document in enumerate(engine.corpus.documents)}
    numbers = np.unique([at[document_id] for document_id, _ in places])
    positions = np.flatnonzero(np.isin(engine.index.document_at, numbers)).tolist()
    whole, parts = [], {}
    for position, chunk in zip(positions, engine.index.chunks(positions), strict=True):
        held = max((_held(chunk, span) for document_id, span in places if document_id == chunk.document_id), default=0.0)
        if held == 1.0:
            whole.append(position)
        elif held > 0:
            parts[position] = held
    return whole, parts


def _held(chunk: Chunk, span: Span) -> float:
    common = min(chunk.end, span.end) - max(chunk.start, span.start)
    return max(0, common) / (span.end - span.start)


def _fates(result: Retrieval, engine: Engine, positions: Sequence[int], filters: Filters | None) -> tuple[Fate, ...]:
    """The fates of the chunks at those positions, the best first."""
    allowed = engine.corpus.allowed(engine.index, filters or Filters())
    outside = [] if allowed is None else [position for position in positions if not allowed[position]]
    inside = [position for position in positions if position not in set(outside)]
    fates = _judge(result, engine, inside, filters) if inside else []
    if outside:
        open_result = search(result.question, engine)
        fates += [_excluded(fate, engine, filters or Filters()) for fate in _judge(open_result, engine, outside, None)]
    return tuple(sorted(fates, key=_merit))


def _excluded(fate: Fate, engine: Engine, filters: Filters) -> Fate:
    """A fate without the filter, told as what it would be."""
    document = next(document for document in engine.corpus.documents if document.id == fate.chunk.document_id)
    clashes = [
        f"{name} {' or '.join(wanted)}, and it has {getattr(document, name) or 'none'}"
        for name in ("category", "region", "origin")
        if (wanted := getattr(filters, name)) and getattr(document, name) not in wanted
    ]
    sentence = f"the filter leaves it out ({'; '.join(clashes)}). Without the filter: {fate.sentence}"
    return replace(fate, shown_at=None, sentence=sentence, excluded=True)


def _merit(fate: Fate) -> tuple[int, int, int, int]:
    ranks = {standing.stage: standing.rank for standing in fate.standings if standing.rank}
    nearest = min(ranks.get("dense", _NOWHERE), ranks.get("keyword", _NOWHERE))
    return (fate.shown_at or _NOWHERE, ranks.get("shown", _NOWHERE), nearest, fate.chunk.start)


def _judge(result: Retrieval, engine: Engine, positions: Sequence[int], filters: Filters | None) -> list[Fate]:
    rankings = list(_rankings(result, engine, filters))
    leaders = _leaders(rankings[-1], engine)
    fates = []
    for chunk in engine.index.chunks(positions):
        text = int(engine.index.first_with_text[engine.index.position[chunk.id]])
        leader = leaders.get(text, chunk.id)
        # What follows the merging speaks of the passage that stands for the text.
        standings = tuple(ranking.standing(leader if ranking.stage in ("merged", "shown") else chunk.id) for ranking in rankings)
        final = standings[-1]
        twin_of = "" if leader == chunk.id else _document_title(leader, engine)
        fates.append(Fate(chunk, standings, final.rank if final.passed else None, _sentence(standings, result, engine, twin_of)))
    return fates


def _rankings(result: Retrieval, engine: Engine, filters: Filters | None) -> Iterator[_Ranking]:
    """Every stage's ranking in order: the retrievers' over all that may answer, then those of `result` itself."""
    index, n = engine.index, len(engine.index.chunk_ids)
    allowed = engine.corpus.allowed(index, filters or Filters())
    candidates = engine.configuration.fusion_candidates
    lists = {stage.name: stage.hits for stage in result.trace.stages if stage.name in ("dense", "keyword", "fusion")}
    if engine.embed:
        ranking = rank_dense(index.vectors, index.chunk_ids, engine.embed([result.question]), n, allowed=allowed)[0]
        yield _ranking("dense", ranking, candidates, lists["dense"])
    if engine.scorer:
        words = tokenize(result.question, engine.language)
        ranking = rank_keyword(index.postings, engine.scorer, index.chunk_ids, [words], n, allowed=allowed)[0]
        yield _ranking("keyword", ranking, candidates, lists["keyword"])
    fused = lists["fusion"] if "fusion" in lists else next(iter(lists.values()))
    if "fusion" in lists:
        yield _ranking("fused", fused, len(fused), fused)
    distinct = one_per_text(fused, index)
    yield _ranking("merged", distinct, len(distinct), distinct)
    yield _ranking("shown", distinct, engine.configuration.top_k, distinct[: engine.configuration.top_k])


def _ranking(stage: str, hits: Sequence[Hit], goes_on: int, passed: Sequence[Hit]) -> _Ranking:
    by_id = {hit.chunk_id: (rank, hit) for rank, hit in enumerate(hits, start=1)}
    return _Ranking(stage, by_id, goes_on, frozenset(hit.chunk_id for hit in passed))


def _leaders(final: _Ranking, engine: Engine) -> dict[int, str]:
    """The chunk that stands for each text, by the text's number."""
    return {int(engine.index.first_with_text[engine.index.position[chunk_id]]): chunk_id for chunk_id in final.hits}


def _document_title(chunk_id: str, engine: Engine) -> str:
    return engine.corpus.documents[int(engine.index.document_at[engine.index.position[chunk_id]])].title


def _sentence(standings: Sequence[Standing], result: Retrieval, engine: Engine, twin_of: str) -> str:
    """Where it is shown or lost, in one plain sentence."""
    legs = [_leg_sentence(standing, result, engine) for standing in standings if standing.stage in ("dense", "keyword")]
    final = standings[-1]
    as_twin = f" as the same text in {twin_of}" if twin_of else ""
    if final.passed:
        return f"shown at rank {final.rank}{as_twin}; {'; '.join(legs)}."
    if final.rank is not None:
        against = f": {_score(final.score)} against {_score(final.last_score)} of the last" if final.last_score is not None else ""
        return f"lost at the final cut, {_nth(final.rank)}{as_twin} where {final.goes_on} are shown{against}; {'; '.join(legs)}."
    off = [f"{name} is off" for name, on in (("dense", engine.embed), ("keyword", engine.scorer)) if not on]
    return f"no retriever hands it over; {'; '.join([*legs, *off])}."


def _leg_sentence(standing: Standing, result: Retrieval, engine: Engine) -> str:
    name = standing.stage
    if standing.rank is None:
        words = tokenize(result.question, engine.language)
        return f"{name} does not match: " + ("it shares no word with the question" if words else "the question has no searchable word")
    place = f"{name} ranks it {_nth(standing.rank)} of {standing.ranked:,}"
    if standing.passed:
        return place
    if standing.rank <= standing.goes_on:
        return f"{place}, but the approximate search (HNSW) did not find it"
    return (
        f"{place}, below the {standing.goes_on:,} candidates ({_score(standing.score)} against {_score(standing.last_score)} of the last)"
    )


def _score(score: float | None) -> str:
    return "nothing" if score is None else f"{score:.4f}" if abs(score) < 0.1 else f"{score:.2f}"


def _nth(rank: int) -> str:
    ending = "th" if 10 <= rank % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank:,}{ending}"
