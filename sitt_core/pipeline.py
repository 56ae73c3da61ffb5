"""Question → passages → answer with checked citations, every stage timed and kept. Read this first."""

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from sitt_core.answering.citations import Ledger
from sitt_core.answering.prompt import make_prompt
from sitt_core.configuration import Configuration, require_retriever
from sitt_core.errors import KeyMissing, SittError
from sitt_core.retrieval.dense import SHARED_ROWS, rank_dense, rank_hnsw
from sitt_core.retrieval.fusion import fuse_convex, fuse_rrf
from sitt_core.retrieval.keyword import Scorer, rank_keyword
from sitt_core.retrieval.words import tokenize
from sitt_core.store.reading import Corpus, Index
from sitt_core.text import check_question, count_tokens, normalise
from sitt_core.types import (
    REFUSAL,
    Answer,
    AnswerPart,
    CitationPart,
    DonePart,
    Filters,
    Hit,
    Mask,
    Matrix,
    Passage,
    Prompt,
    Provider,
    Retrieval,
    Stage,
    TextPart,
    Trace,
    Turn,
    Usage,
)

EmbedQueries = Callable[[Sequence[str]], Matrix]

_leg = ThreadPoolExecutor(max_workers=8, thread_name_prefix="keyword")


@dataclass(frozen=True, slots=True)
class Engine:
    """What a configuration searches with. `embed` and `scorer` are None when their retriever is off."""

    configuration: Configuration
    corpus: Corpus
    index: Index
    language: str
    embed: EmbedQueries | None
    scorer: Scorer | None


class Clock:
    """Milliseconds since the question was asked."""

    def __init__(self) -> None:
        self._zero = time.perf_counter()

    def now(self) -> float:
        """Milliseconds since this clock was made."""
        return (time.perf_counter() - self._zero) * 1000.0


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a question found before any text is read: the stages so far, what they ranked, and of that one hit per text, best first."""

    question: str
    stages: tuple[Stage, ...]
    fused: tuple[Hit, ...]
    hits: tuple[Hit, ...]


def search(question: str, engine: Engine, *, filters: Filters | None = None) -> Retrieval:
    """The passages that answer a question, best first, with the trace of every stage.

    Of what `rank` finds the first `top_k` are read. Raises InvalidInput for a question, configuration or filter that cannot be used.
    """
    clock, configuration, index = Clock(), engine.configuration, engine.index
    allowed = engine.corpus.allowed(index, filters or Filters())
    ranking = rank(question, engine, allowed=allowed, clock=clock)
    started = clock.now()
    passages = engine.corpus.passages(index, ranking.hits[: configuration.top_k], allowed=allowed)
    merged = len(ranking.fused) - len(ranking.hits)
    note = f"{merged} with the same text as a better one" if merged else ""
    shown = tuple(passage.hit for passage in passages)
    stages = (*ranking.stages, Stage("passages", started, clock.now() - started, len(ranking.fused), shown, note))
    reachable = len(index.chunk_ids) if allowed is None else int(allowed.sum())
    return Retrieval(ranking.question, passages, Trace(stages, clock.now(), _notices(configuration, stages, passages, reachable)))


def rank(question: str, engine: Engine, *, allowed: Mask | None = None, clock: Clock | None = None) -> Ranking:
    """The ranking of the chunks for a question, as deep as the retrievers' candidates go; `allowed` (chunks,) leaves others out.

    The two retrievers run side by side, in a small index one after the other; what both or either ranked is fused, and
    chunks of the very same text become one. Raises InvalidInput for a question or configuration that cannot be used.
    """
    asked = check_question(question)
    configuration, index = engine.configuration, engine.index
    require_retriever(configuration)
    clock = clock or Clock()
    # In a small index a ranking takes less time than handing it to another thread.
    beside = _leg.submit(_keyword, asked, engine, allowed, clock) if engine.scorer and len(index.chunk_ids) >= SHARED_ROWS else None
    dense_stages = _dense(asked, engine, allowed, clock) if engine.embed else []
    keyword_stages = beside.result() if beside else _keyword(asked, engine, allowed, clock) if engine.scorer else []
    stages = [*dense_stages, *keyword_stages]
    rankings = {stage.name: stage.hits for stage in stages if stage.name in ("dense", "keyword")}
    started = clock.now()
    fused, how = _fuse(configuration, rankings) if len(rankings) > 1 else (list(next(iter(rankings.values()))), "")
    if len(rankings) > 1:
        taken = sum(len(ranking) for ranking in rankings.values())
        stages.append(Stage("fusion", started, clock.now() - started, taken, tuple(fused), how))
    return Ranking(asked, tuple(stages), tuple(fused), tuple(one_per_text(fused, index)))


def _dense(question: str, engine: Engine, allowed: Mask | None, clock: Clock) -> list[Stage]:
    assert engine.embed is not None
    started = clock.now()
    queries = engine.embed([question])
    embedded = clock.now()
    ranking, path = _rank_dense(engine, queries, allowed)
    return [
        Stage("embed", started, embedded - started, 1, (), f"{queries.shape[1]} dimensions"),
        Stage("dense", embedded, clock.now() - embedded, len(engine.index.chunk_ids), tuple(ranking), path),
    ]


def _rank_dense(engine: Engine, queries: Matrix, allowed: Mask | None) -> tuple[list[Hit], str]:
    """The ranking of one question, and the path that made it: the graph knows no filters, so they mean exact search."""
    configuration, index, exact = engine.configuration, engine.index, "exact: one product with every vector"
    n = configuration.fusion_candidates
    if configuration.dense == "hnsw" and allowed is None:
        ef = configuration.hnsw_ef_search
        nearest = partial(engine.corpus.nearest, index, ef_search=ef)
        ranking = rank_hnsw(nearest, index.vectors, index.chunk_ids, queries, n)[0]
        if len(ranking) == min(n, len(index.chunk_ids)):
            return ranking, f"hnsw: ef_search {ef}, {_graph_recall(index, ef)}"
        exact += f" (the graph gave only {len(ranking)})"
    elif configuration.dense == "hnsw":
        exact += " (filters mean exact search)"
    return rank_dense(index.vectors, index.chunk_ids, queries, n, allowed=allowed)[0], exact


def _graph_recall(index: Index, ef_search: int) -> str:
    measured = index.meta.get("hnsw_recall_ef", "")
    there = "" if measured == str(ef_search) else f" with ef_search {measured}"
    return f"recall {float(index.meta['hnsw_recall']):.2f} against exact when built{there}"


def _fuse(configuration: Configuration, rankings: Mapping[str, Sequence[Hit]]) -> tuple[list[Hit], str]:
    """The one ranking, and how it came about."""
    if configuration.fusion == "rrf":
        return fuse_rrf(rankings, k=configuration.fusion_k), f"reciprocal rank, k {configuration.fusion_k}"
    alpha, empty = configuration.fusion_alpha, [name for name, ranking in rankings.items() if not ranking]
    note = f"convex sum of scores from 0 to 1, dense {alpha:g}, keyword {round(1 - alpha, 4):g}"
    if empty:
        note = f"convex sum of scores from 0 to 1; {' and '.join(empty)} found nothing and has no weight"
    return fuse_convex(rankings, alpha=alpha), note


def _keyword(question: str, engine: Engine, allowed: Mask | None, clock: Clock) -> list[Stage]:
    assert engine.scorer is not None
    index, n = engine.index, engine.configuration.fusion_candidates
    started = clock.now()
    words = tokenize(question, engine.language)
    ranking = rank_keyword(index.postings, engine.scorer, index.chunk_ids, [words], n, allowed=allowed)[0]
    unknown = [word for word in dict.fromkeys(words) if word not in index.postings.terms]
    note = "words: " + ", ".join(dict.fromkeys(words)) if words else "no searchable word in the question"
    note += f"; nowhere in the corpus: {', '.join(unknown)}" if unknown else ""
    return [Stage("keyword", started, clock.now() - started, len(index.chunk_ids), tuple(ranking), note)]


def one_per_text(hits: Sequence[Hit], index: Index) -> list[Hit]:
    """The hits without those whose text a better hit already has."""
    seen: set[int] = set()
    kept = []
    for hit in hits:
        text = int(index.first_with_text[index.position[hit.chunk_id]])
        if text not in seen:
            seen.add(text)
            kept.append(hit)
    return kept


def _notices(configuration: Configuration, stages: Sequence[Stage], passages: Sequence[Passage], reachable: int) -> tuple[str, ...]:
    """What the reader should know about this result besides the passages."""
    notices = []
    keyword = next((stage for stage in stages if stage.name == "keyword"), None)
    if keyword and not keyword.hits:
        notices.append(f"Keyword search found nothing ({keyword.note}); it took no part.")
    if reachable == 0:
        notices.append("No chunk passes the filters.")
    elif configuration.top_k > reachable and sum(1 + len(passage.twins) for passage in passages) == reachable:
        notices.append(f"Top K is {configuration.top_k}, but only {reachable} chunks can be searched: they are all here.")
    elif len(passages) < configuration.top_k:
        notices.append(f"{len(passages)} of {configuration.top_k} passages: nothing else was found by the retrievers that are on.")
    return tuple(notices)


def ignore(_: AnswerPart) -> None:
    """For those who wait for the whole answer."""


class Asking:
    """One question on its way to its answer: `run` brings it, `so_far` shows from any thread what has come of it.

    `retrieval` and `prompt` are None until the passages have been found; the question is never changed on the way.
    `failure` is what broke the answer off, if anything did.
    """

    def __init__(
        self, question: str, engine: Engine, provider: Provider, *, filters: Filters | None = None, history: Sequence[Turn] = ()
    ) -> None:
        """Raises InvalidInput for a question or a configuration that cannot be used."""
        self.question = check_question(question)
        require_retriever(engine.configuration)
        self.engine, self.provider, self.filters, self.history = engine, provider, filters, tuple(history)
        self.retrieval: Retrieval | None = None
        self.prompt: Prompt | None = None
        self.failure: SittError | None = None
        self._lock = threading.Lock()
        self._ledger: Ledger | None = None
        self._writing = 0.0

    async def run(self, told: Callable[[AnswerPart], None] = ignore) -> Answer:
        """The answer; `told` is given every part as it comes.

        What the provider fails with, before or after the first words, a cited document that cannot be read, and being
        cancelled end the answer (`stop`, `problem`) and keep what has come. Raises InvalidInput or StoreError when the passages cannot be found.
        """
        ledger = await asyncio.to_thread(self._look_up)
        unknown = Usage(dollars=None)
        done, problem = DonePart("error", unknown, self.provider.model), ""
        try:
            async with contextlib.aclosing(self._parts(ledger.prompt)) as parts:
                async for heard in parts:
                    part = _cleaned(heard)
                    with self._lock:
                        _enter(ledger, part)
                    done = part if isinstance(part, DonePart) else done
                    told(part)
        except SittError as error:
            self.failure, problem = error, str(error)
        except asyncio.CancelledError:
            done = DonePart("stopped", unknown, self.provider.model, "Tokens counted here: the provider had no time to say.")
        return self._answer(replace(done, usage=self._usage(done.usage)), problem)

    def so_far(self) -> Answer | None:
        """The answer as far as it has come; None until the passages have been found."""
        if self._ledger is None:
            return None
        with self._lock:
            return self._answer(DonePart("stopped", Usage(), self.provider.model), "")

    @property
    def sent(self) -> str:
        """What the provider was sent, as text; nothing before the passages have been found."""
        return self.provider.as_sent(self.prompt) if self.prompt else ""

    def _look_up(self) -> Ledger:
        engine = self.engine
        retrieval = search(self.question, engine, filters=self.filters)
        version = engine.configuration.answer_prompt
        prompt = make_prompt(self.question, retrieval.passages, citing=self.provider.citing, version=version, history=self.history)
        words = partial(tokenize, language=engine.language)
        ledger = Ledger(prompt, retrieval.passages, engine.corpus.document, tokenize=words)
        self._writing = time.perf_counter()
        self.retrieval, self.prompt, self._ledger = retrieval, prompt, ledger
        return ledger

    def _parts(self, prompt: Prompt) -> AsyncGenerator[AnswerPart, None]:
        return self.provider.stream(prompt) if prompt.excerpts else _nothing_found(self.provider.model)

    def _usage(self, told: Usage) -> Usage:
        """What the provider said that the answer took; where it said nothing, the tokens as counted here."""
        assert self.prompt is not None and self._ledger is not None
        if self.provider.citing == "extractive" or isinstance(self.failure, KeyMissing):
            return Usage()
        if told.input_tokens or not self.prompt.excerpts:
            return told
        if self.failure is not None and not self._ledger.text:
            return Usage(dollars=None)  # whether anything was read for nothing is the provider's secret
        return replace(told, input_tokens=count_tokens(self.sent), output_tokens=count_tokens(self._ledger.text))

    def _answer(self, done: DonePart, problem: str) -> Answer:
        assert self.retrieval is not None and self._ledger is not None
        trace, spent = self.retrieval.trace, (time.perf_counter() - self._writing) * 1000
        stage = Stage("answer", trace.milliseconds, spent, len(self.retrieval.passages), (), done.note)
        whole = replace(trace, stages=(*trace.stages, stage), milliseconds=trace.milliseconds + spent)
        return self._ledger.answer(trace=whole, provider=self.provider.name, done=done, problem=problem)


def _cleaned(part: AnswerPart) -> AnswerPart:
    """A part without control characters, which a terminal obeys, and lone surrogates, which no file and no page can hold."""
    if isinstance(part, TextPart):
        return replace(part, text=normalise(part.text, piece=True))
    return replace(part, quote=normalise(part.quote)) if isinstance(part, CitationPart) else part


def _enter(ledger: Ledger, part: AnswerPart) -> None:
    if isinstance(part, TextPart):
        ledger.add_text(part.text)
    elif isinstance(part, CitationPart):
        ledger.add_citation(part)


async def _nothing_found(model: str) -> AsyncGenerator[AnswerPart, None]:
    """Where there is no passage there is nothing to answer from: a refusal that nobody has to be paid for."""
    yield TextPart(REFUSAL)
    yield DonePart("end", Usage(), model, "No passage was found, so the provider was not asked.")
