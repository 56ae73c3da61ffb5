"""Why a drafted question is left out: each filter by itself, with its reason in words."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from evals.golden import MAX_CONTAINMENT, NGRAM, Question, Quote, containment, places_of
from sitt_core.types import Document, Matrix

SIMILAR = 0.92
"""The cosine of two questions' vectors (minilm) from which they count as one. No two of the field guide's open ones come above .71."""
ENGLISH = "english"
_WORD = re.compile(r"\w+")

_READER = re.compile(
    r"\b(?:this|the|that|these|given|provided)\s+(?:\w+\s+)?"
    r"(?:passages?|texts?|excerpts?|extracts?|paragraphs?|sections?|articles?|documents?|quotes?|quotations?|snippets?|authors?|writers?)\b(?!\s+of\b)"
    r"|\b(?:above|below)[- ]?mentioned\b|\baforementioned\b|\b(?:as|is|are|was|were)\s+(?:mentioned|described|listed|given|stated|shown|named)\s+"
    r"(?:above|below|here|earlier)\b|\b(?:mentioned|described|listed|named|said)\s+(?:above|below|earlier)\b|\bthe\s+above\b|\bsee\s+(?:above|below)\b",
    re.IGNORECASE,
)
"""What only somebody who reads the passage can follow."""
_POINTING = re.compile(
    r"(?<!there['’]s )(?<!there is )\b(?:this|these)\b(?!\s+(?:days?|weeks?|months?|years?|centur(?:y|ies)|world|earth|planet)\b)",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\b(?:he|him|his|she|her|hers|it|its|they|them|their|theirs)\b", re.IGNORECASE)
_EXPLETIVE = re.compile(
    r"\bit\s+(?:(?:is|was|be|been)\s+)?(?:said|believed|thought|known|claimed|reported|assumed|possible|likely|true|takes?|took|costs?|pays?|that|who)\b",
    re.IGNORECASE,
)
"""Where "it" stands for nothing: is it said that …, how long did it take to …"""
_EMPTY = frozenset(
    _WORD.findall(
        "a an and are as at be been but by can could did do does for from had has have how if in into is like long many may might much of often "
        "old on or s should some such than that the then there to under until up upon was were what when where whether which who whom whose why "
        "will with would about after before during because exactly really ever just also"
    )
)
"""Words that a pronoun cannot stand for."""


@dataclass(slots=True)
class Known:
    """Questions that a draft is held against: their words, and the vectors of their texts, (questions, dimension)."""

    texts: set[str] = field(default_factory=set)
    vectors: list[Matrix] = field(default_factory=list)

    def add(self, texts: Sequence[str], vectors: Matrix) -> None:
        """Holds further drafts against these as well."""
        self.texts |= {words_of(text) for text in texts}
        self.vectors += list(vectors)


def words_of(text: str) -> str:
    """A question's words, case, form and punctuation aside."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def is_like(text: str, vector: Matrix, known: Known) -> bool:
    """Whether a question (its vector of length 1, (dimension,)) asks what a known one asks: the same words, or a cosine of `SIMILAR`."""
    if words_of(text) in known.texts:
        return True
    return bool(known.vectors) and float(np.max(np.stack(known.vectors) @ vector)) >= SIMILAR


def unresolved(quote: str, document: Document) -> str:
    """Why a quotation is no evidence: it does not stand in the document word for word, or stands there more than once."""
    count = len(places_of(Quote(document.id, quote), document.text)) if quote.strip() else 0
    if count == 1:
        return ""
    return f"its evidence stands at {count:,} places of {document.id}" if count else f"its evidence is not word for word in {document.id}"


def dangling(text: str, language: str = ENGLISH) -> str:
    """Why a question cannot be understood by itself; nothing is said of other languages than English, whose words these are."""
    if language != ENGLISH:
        return ""
    if found := _READER.search(text):
        return f"“{found.group()}” is known only to who reads the passage"
    if found := _POINTING.search(text):
        return f"“{found.group()}” points at what only the passage's reader sees"
    for found in _PRONOUN.finditer(text):
        before = {word.casefold() for word in _WORD.findall(text[: found.start()])}
        if before <= _EMPTY and not _EXPLETIVE.match(text, found.start()):
            return f"“{found.group()}” stands for nothing that the question names before it"
    return ""


def leaking(question: Question) -> str:
    """Why a question's wording gives its evidence away: more of its word 3-grams stand there than the golden check lets pass."""
    share = containment(question)
    if share <= MAX_CONTAINMENT:
        return ""
    return f"{share:.0%} of its word {NGRAM}-grams are in its evidence, at most {MAX_CONTAINMENT:.0%} may be"


def undiscriminating(ranks: Mapping[str, int | None], depth: int) -> str:
    """Why a question cannot tell configurations apart, from the rank of its evidence in each retriever's own ranking, None for not in it.

    First in all of them, it is first under any fusion of them; in the `depth` candidates of none, it is found under none.
    """
    names = " and ".join(ranks)
    if all(rank == 1 for rank in ranks.values()):
        return f"too easy: {names} each rank its evidence first, so every fusion of them does"
    if all(rank is None for rank in ranks.values()):
        return f"hopeless: its evidence is in the first {depth:,} of neither {names}, so no fusion of them finds it"
    return ""
