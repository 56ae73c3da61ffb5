"""How good an answer is: RAGAS's metrics and ours, for one answer at a time; what needs no judge is known without asking one."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from evals.judge import Ask, Request, fenced, prompt_text
from evals.metrics import UNANSWERABLE, Score
from evals.qualities import BY_QUALITY
from sitt_core.text import sentence_spans

REFUSED = "the answer refuses"
NO_ANSWER = "the run kept no answer"
NO_REFERENCE = "the question has no reference answer"
NO_PASSAGES = "no passage was retrieved"
NO_CLAIMS = "the judge found no claim"
NO_QUOTES = "the answer quotes nothing"


@dataclass(frozen=True, slots=True)
class Case:
    """An answer with all that it is judged by; `answer` is None where the run kept none, `passages` are what it was given."""

    question: str
    answerable: bool
    reference: str
    answer: str | None
    refused: bool
    passages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """A score and what it rests on: claims with verdicts and reasons, marks, or nothing."""

    score: Score
    detail: Any = None


Scorer = Callable[[Case, Ask], Awaitable[Mapping[str, Judged]]]
"""Scores an answer by one or several metrics; raises what asking a judge raises."""


def known(name: str, case: Case) -> Score | None:
    """The score that needs no question to anybody, or None.

    Without an answer, a reference or a claim there is nothing to score. But leaving out what was hard must not raise a mean: an
    answerable question that was refused, or for which nothing was retrieved, counts as the worst where a metric is about that.
    """
    quality = BY_QUALITY[name]
    if "reference" in quality.needs and not case.answerable:
        return Score(undefined=UNANSWERABLE)
    if "reference" in quality.needs and not case.reference:
        return Score(undefined=NO_REFERENCE)
    if "answer" in quality.needs:
        if case.answer is None:
            return Score(undefined=NO_ANSWER)
        if case.refused or not case.answer.strip():
            return Score(quality.refusal) if case.answerable and quality.refusal is not None else Score(undefined=REFUSED)
    if "passages" in quality.needs and not case.passages:
        return Score(undefined=NO_PASSAGES) if quality.unproven is None else Score(quality.unproven)
    return None


class Claim(BaseModel):
    """A claim of a sentence and what the judge says of it."""

    claim: str
    supported: int
    passages: list[int]
    reason: str


class SentenceClaims(BaseModel):
    """The claims of the sentence of that number."""

    sentence: int
    claims: list[Claim]


class Grounding(BaseModel):
    """The claims of all sentences."""

    sentences: list[SentenceClaims]


class Mark(BaseModel):
    """A mark from 0 to 10 and why."""

    score: int
    reason: str


class Rubric(BaseModel):
    """Three marks."""

    faithfulness: Mark
    completeness: Mark
    relevance: Mark


def sentences_of(answer: str) -> list[str]:
    """The sentences of an answer, without white space around them."""
    return [text for start, end in sentence_spans(answer) if (text := answer[start:end].strip())]


async def groundedness(case: Case, ask: Ask) -> Mapping[str, Judged]:
    """Supported claims / claims; the detail has the sentences with their claims."""
    assert case.answer is not None
    sentences = sentences_of(case.answer)
    request = Request(
        _asked_about("groundedness", case, {"sentences": _numbered(sentences)}),
        Grounding,
        lambda found: _wrong_claims(found, len(sentences), len(case.passages)),
    )
    found: Grounding = await ask(request)
    claims = [claim for sentence in found.sentences for claim in sentence.claims]
    detail = [
        {"sentence": sentences[each.sentence - 1], "claims": [claim.model_dump() for claim in each.claims]}
        for each in sorted(found.sentences, key=lambda each: each.sentence)
    ]
    score = Score(sum(claim.supported for claim in claims) / len(claims)) if claims else Score(undefined=NO_CLAIMS)
    return {"groundedness": Judged(score, detail)}


def _wrong_claims(found: Grounding, sentences: int, passages: int) -> str:
    numbers = sorted(each.sentence for each in found.sentences)
    if numbers != list(range(1, sentences + 1)):
        return f"verdicts for the sentences {numbers}, not for each of the {sentences} once"
    for claim in (claim for each in found.sentences for claim in each.claims):
        if claim.supported not in (0, 1):
            return f"a verdict of {claim.supported}, which is neither 0 nor 1"
        if any(not 1 <= number <= passages for number in claim.passages):
            return f"the passages {claim.passages} of {passages}"
        if claim.supported and not claim.passages:
            return "a supported claim without a passage that supports it"
    return ""


async def rubric(case: Case, ask: Ask) -> Mapping[str, Judged]:
    """Three marks from 0 to 10, each as a tenth, with the judge's reason."""
    assert case.answer is not None
    more = {"answer": case.answer, **({"reference answer": case.reference} if case.reference else {})}
    found: Rubric = await ask(Request(_asked_about("rubric", case, more), Rubric, _wrong_marks))
    marks = {"faithfulness": found.faithfulness, "completeness": found.completeness, "relevance": found.relevance}
    return {f"rubric-{name}": Judged(Score(mark.score / 10), mark.reason) for name, mark in marks.items()}


def _wrong_marks(found: Rubric) -> str:
    marks = [found.faithfulness.score, found.completeness.score, found.relevance.score]
    return "" if all(0 <= mark <= 10 for mark in marks) else f"marks of {marks}, not all from 0 to 10"


def _asked_about(name: str, case: Case, more: Mapping[str, str]) -> str:
    """A prompt of ours with the texts that it is about."""
    passages = {f"passage {number}": text for number, text in enumerate(case.passages, start=1)}
    return f"{prompt_text(name)}\n\n{fenced({'question': case.question, **passages, **more})}"


def _numbered(texts: Sequence[str]) -> str:
    return "\n".join(f"{number}. {' '.join(text.split())}" for number, text in enumerate(texts, start=1))


OWN_SCORERS: Mapping[str, Scorer] = {"groundedness": groundedness, "rubric": rubric}
