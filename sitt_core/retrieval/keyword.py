"""Ranking by BM25 over shared words: making the postings, and the two libraries that score them."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sitt_core.retrieval.dense import best
from sitt_core.retrieval.words import tokenize
from sitt_core.types import Hit, Mask, Postings

K1 = 1.5
B = 0.75

Scorer = Callable[[list[int]], NDArray[np.float32]]
"""Term numbers of a question (repeats kept) to a score for every chunk, shape (chunks,)."""


def build_postings(texts: Sequence[str], language: str) -> Postings:
    """Tokenizes every text once and weighs its words with bm25s (method lucene, k1 1.5, b 0.75)."""
    return _assemble(_count(texts, range(len(texts)), language), len(texts))


def extend_postings(old: Postings, before: Sequence[int], texts: Sequence[str], language: str) -> Postings:
    """What `build_postings` gives for `texts`, tokenizing only those that are new: text i was at place `before[i]` of `old`, or -1."""
    place = np.full(len(old.lengths), -1, dtype=np.int64)
    places = np.asarray(before, dtype=np.int64)
    place[places[places >= 0]] = np.flatnonzero(places >= 0)
    names = np.array(list(old.terms), dtype=object)
    owners, now = np.repeat(np.arange(len(names)), np.diff(old.starts)), place[old.chunks]
    kept = now >= 0
    new = [at for at, was in enumerate(before) if was < 0]
    words, chunks, counts = _count([texts[at] for at in new], new, language)
    counted = (names[owners[kept]].tolist() + words, now[kept].tolist() + chunks, old.counts[kept].tolist() + counts)
    return _assemble(counted, len(texts))


_Counts = tuple[list[str], list[int], list[int]]
"""Parallel: a word, a chunk that holds it, how often; in any order."""


def _count(texts: Sequence[str], chunks: Sequence[int], language: str) -> _Counts:
    rows = [
        (word, chunk, count) for chunk, text in zip(chunks, texts, strict=True) for word, count in Counter(tokenize(text, language)).items()
    ]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def _assemble(counted: _Counts, size: int) -> Postings:
    """The postings of `size` chunks: by word in alphabetical order, then by chunk."""
    terms = {term: number for number, term in enumerate(sorted(set(counted[0])))}
    owners = np.array([terms[word] for word in counted[0]], dtype=np.int64)
    chunks, counts = np.array(counted[1], dtype=np.int32), np.array(counted[2], dtype=np.int32)
    order = np.lexsort((chunks, owners))
    owners, chunks, counts = owners[order], chunks[order], counts[order]
    starts = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=len(terms))))).astype(np.int64)
    lengths = np.bincount(chunks, weights=counts, minlength=size).astype(np.int32)
    by_chunk = np.argsort(chunks, kind="stable")
    bags = np.split(np.repeat(owners[by_chunk], counts[by_chunk]), np.cumsum(lengths)[:-1])
    weights = _weigh([bag.tolist() for bag in bags], len(terms))
    return Postings(terms, starts, chunks, counts, weights, lengths)


def _weigh(bags: list[list[int]], terms: int) -> NDArray[np.float32]:
    """bm25s's weights in the order of the postings: by word, then by chunk."""
    if terms == 0:  # bm25s divides by the mean length
        return np.zeros(0, dtype=np.float32)
    model = _bm25s()
    matrix = model.build_index_from_ids(list(range(terms)), bags, show_progress=False)
    order = np.lexsort((matrix["indices"], np.repeat(np.arange(terms), np.diff(matrix["indptr"]))))
    return np.asarray(matrix["data"][order], dtype=np.float32)


def _bm25s() -> Any:
    import bm25s

    return bm25s.BM25(method="lucene", k1=K1, b=B)


def bm25s_scorer(postings: Postings) -> Scorer:
    """bm25s (Lucene's BM25) restored from the stored weights: nothing is tokenized or weighed again."""
    model = _bm25s()
    model.nonoccurrence_array = None
    model.scores = {"data": postings.weights, "indices": postings.chunks, "indptr": postings.starts, "num_docs": len(postings.lengths)}

    def score(terms: list[int]) -> NDArray[np.float32]:
        return np.asarray(model.get_scores_from_ids(terms), dtype=np.float32)

    return score


def okapi_scorer(postings: Postings) -> Scorer:
    """rank-bm25's BM25Okapi restored from the stored counts: its own formula, floors and all."""
    from rank_bm25 import BM25Okapi

    if not postings.terms:  # BM25Okapi divides by their number
        return lambda _terms: np.zeros(len(postings.lengths), dtype=np.float32)
    counts: list[dict[int, int]] = [{} for _ in postings.lengths]
    owner = np.repeat(np.arange(len(postings.terms)), np.diff(postings.starts))
    for term, chunk, count in zip(owner.tolist(), postings.chunks.tolist(), postings.counts.tolist(), strict=True):
        counts[chunk][term] = count
    model = BM25Okapi.__new__(BM25Okapi)  # its constructor tokenizes and counts, which the index did when it was built
    model.k1, model.b, model.epsilon = K1, B, 0.25
    model.corpus_size, model.doc_len = len(postings.lengths), postings.lengths.tolist()
    model.avgdl = sum(model.doc_len) / max(1, len(model.doc_len))
    model.doc_freqs, model.idf = counts, {}
    model._calc_idf(dict(enumerate(np.diff(postings.starts).tolist())))

    def score(terms: list[int]) -> NDArray[np.float32]:
        return np.asarray(model.get_scores(terms), dtype=np.float32)

    return score


SCORERS: dict[str, Callable[[Postings], Scorer]] = {"bm25s": bm25s_scorer, "rank-bm25": okapi_scorer}


def rank_keyword(
    postings: Postings,
    scorer: Scorer,
    chunk_ids: Sequence[str],
    questions: Sequence[list[str]],
    n: int,
    *,
    allowed: Mask | None = None,
) -> list[list[Hit]]:
    """For each question (its words) the `n` best chunks that share a word with it, ties in chunk order.

    A match is a shared word, never a positive score: rank-bm25 gives common words none. No shared word: no hits.
    """
    return [
        _rank_one(postings, scorer, chunk_ids, [postings.terms[word] for word in words if word in postings.terms], n, allowed)
        for words in questions
    ]


def _rank_one(postings: Postings, scorer: Scorer, chunk_ids: Sequence[str], terms: list[int], n: int, allowed: Mask | None) -> list[Hit]:
    if not terms:
        return []
    matching = np.zeros(len(postings.lengths), dtype=bool)
    for term in set(terms):
        matching[postings.chunks[postings.starts[term] : postings.starts[term + 1]]] = True
    if allowed is not None:
        matching &= allowed
    scores = scorer(terms)
    positions = best(scores, n, allowed=matching)
    return [
        Hit(chunk_ids[position], score, {"keyword": rank}, {"keyword": score})
        for rank, (position, score) in enumerate(zip(positions.tolist(), scores[positions].tolist(), strict=True), start=1)
    ]
