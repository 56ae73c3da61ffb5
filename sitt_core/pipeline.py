"""Question → passages, every stage timed and kept. Read this first."""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from sitt_core.configuration import Configuration, require_retriever
from sitt_core.retrieval.dense import rank_dense, rank_hnsw
from sitt_core.retrieval.fusion import fuse_convex, fuse_rrf
from sitt_core.retrieval.keyword import Scorer, rank_keyword
from sitt_core.retrieval.words import tokenize
from sitt_core.store.reading import Corpus, Index
from sitt_core.text import check_question
from sitt_core.types import Filters, Hit, Mask, Matrix, Passage, Retrieval, Stage, Trace

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


def search(question: str, engine: Engine, *, filters: Filters | None = None) -> Retrieval:
    """The passages that answer a question, best first, with the trace of every stage.

    The two retrievers run side by side; what both or either ranked is fused, chunks of the very same text become one
    passage, and the first `top_k` are read from the store. Raises InvalidInput for a question, configuration or filter
    that cannot be used.
    """
    asked = check_question(question)
    configuration, index = engine.configuration, engine.index
    require_retriever(configuration)
    allowed = engine.corpus.allowed(index, filters or Filters())
    clock = Clock()
    keyword_leg = _leg.submit(_keyword, asked, engine, allowed, clock) if engine.scorer else None
    dense_stages = _dense(asked, engine, allowed, clock) if engine.embed else []
    keyword_stages = keyword_leg.result() if keyword_leg else []
    stages = [*dense_stages, *keyword_stages]
    rankings = {stage.name: stage.hits for stage in stages if stage.name in ("dense", "keyword")}
    started = clock.now()
    fused, how = _fuse(configuration, rankings) if len(rankings) > 1 else (list(next(iter(rankings.values()))), "")
    if len(rankings) > 1:
        taken = sum(len(ranking) for ranking in rankings.values())
        stages.append(Stage("fusion", started, clock.now() - started, taken, tuple(fused), how))
    started = clock.now()
    distinct = one_per_text(fused, index)
    passages = engine.corpus.passages(index, distinct[: configuration.top_k], allowed=allowed)
    merged = len(fused) - len(distinct)
    note = f"{merged} with the same text as a better one" if merged else ""
    stages.append(Stage("passages", started, clock.now() - started, len(fused), tuple(passage.hit for passage in passages), note))
    reachable = len(index.chunk_ids) if allowed is None else int(allowed.sum())
    return Retrieval(asked, passages, Trace(tuple(stages), clock.now(), _notices(configuration, stages, passages, reachable)))


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
