"""Why a passage matched: what each word of the question adds to its BM25 score."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sitt_core.retrieval.words import tokenize
from sitt_core.types import Postings


@dataclass(frozen=True, slots=True)
class WordWeight:
    """One word of the question in one chunk: how often it stands there, and what it adds to the chunk's score.

    `holders` is the number of chunks that hold the word: the fewer, the more it weighs. A word that the question
    repeats is one entry, weighed as often as it is asked.
    """

    word: str
    count: int
    holders: int
    weight: float


def word_weights(
    words: Sequence[str], postings: Postings, scorer: Callable[[list[int]], NDArray[np.float32]], chunks: Sequence[int]
) -> list[tuple[WordWeight, ...]]:
    """For each chunk (by position) every word of the question that it holds, heaviest first.

    The weights are the scorer's own, asked for one word at a time: they add up to the score that it gives the chunk for
    the whole question. Words that no chunk holds have no entry anywhere.
    """
    found: list[list[WordWeight]] = [[] for _ in chunks]
    for word, asked in Counter(words).items():
        term = postings.terms.get(word)
        if term is None:
            continue
        reach = slice(int(postings.starts[term]), int(postings.starts[term + 1]))
        holders, counts, scores = postings.chunks[reach], postings.counts[reach], scorer([term])
        for entries, chunk in zip(found, chunks, strict=True):
            for place in np.flatnonzero(holders == chunk):  # one at most
                entries.append(WordWeight(word, int(counts[place]), len(holders), asked * float(scores[chunk])))
    return [tuple(sorted(entries, key=lambda entry: (-entry.weight, entry.word))) for entries in found]


def rarity(postings: Postings) -> Callable[[str], float]:
    """What makes a word rare: its inverse document frequency, ln(1 + (N − n + ½) / (n + ½)), n of N chunks holding it.

    The form that Lucene's BM25 uses: never negative, and highest for a word that no chunk holds.
    """
    chunks = len(postings.lengths)

    def weight(word: str) -> float:
        term = postings.terms.get(word)
        holders = 0 if term is None else int(postings.starts[term + 1] - postings.starts[term])
        return math.log1p((chunks - holders + 0.5) / (holders + 0.5))

    return weight


def asked_as(question: str, language: str) -> dict[str, str]:
    """For each word of the question, as `tokenize` gives it, how the reader wrote it: `creatur` is `creatures`."""
    written: dict[str, str] = {}
    for run in question.split():
        forms = tokenize(run, language)
        as_written = run.strip("".join(character for character in run if not character.isalnum())).casefold()
        written |= {form: as_written if len(forms) == 1 else form for form in forms if form not in written}
    return written
