"""How good an answer is: RAGAS's metrics and ours, for one answer at a time; what needs no judge is known without asking one."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from evals.judge import Ask, Request, fenced, prompt_text
from evals.metrics import UNANSWERABLE, Score
from sitt_core.errors import InvalidInput, shown
from sitt_core.text import sentence_spans

Need = Literal["answer", "reference", "passages"]

REFUSED = "the answer refuses"
NO_ANSWER = "the run kept no answer"
NO_REFERENCE = "the question has no reference answer"
NO_PASSAGES = "no passage was retrieved"
NO_CLAIMS = "the judge found no claim in the answer"
NO_QUOTES = "the answer quotes nothing"


@dataclass(frozen=True, slots=True)
class Quality:
    """A metric of answers: what it needs, whether a judge has to be asked, whether less is better, and what it says in words.

    `refusal` is the score of a refused answerable question: None where the metric says nothing about it. `unproven` is that of an
    answer, or of a retrieval, without any passage.
    """

    name: str
    needs: frozenset[Need]
    judged: bool
    meaning: str
    refusal: float | None = None
    unproven: float | None = None
    lower_is_better: bool = False


def _quality(
    name: str,
    needs: Sequence[Need],
    meaning: str,
    *,
    judged: bool = True,
    refusal: float | None = None,
    unproven: float | None = None,
    lower_is_better: bool = False,
) -> Quality:
    return Quality(name, frozenset(needs), judged, meaning, refusal, unproven, lower_is_better)


QUALITIES: tuple[Quality, ...] = (
    _quality("faithfulness", ["answer", "passages"], "RAGAS: statements of the answer that follow from the passages.", unproven=0.0),
    _quality("answer-relevancy", ["answer"], "RAGAS: how near questions made from the answer are to the one asked.", refusal=0.0),
    _quality(
        "context-precision", ["reference", "passages"], "RAGAS: average precision of the passages that help to the reference.", unproven=0.0
    ),
    _quality("context-recall", ["reference", "passages"], "RAGAS: statements of the reference that the passages hold.", unproven=0.0),
    _quality("factual-correctness", ["answer", "reference"], "RAGAS: F1 of claims between answer and reference.", refusal=0.0),
    _quality(
        "noise-sensitivity",
        ["answer", "reference", "passages"],
        "RAGAS: wrong statements taken from relevant passages; less is better.",
        lower_is_better=True,
    ),
    _quality("groundedness", ["answer", "passages"], "Claims of the answer that a passage supports, one by one.", unproven=0.0),
    _quality("rubric-faithfulness", ["answer", "passages"], "A mark from 0 to 10, as a tenth: true to the passages.", unproven=0.0),
    _quality("rubric-completeness", ["answer"], "A mark from 0 to 10, as a tenth: says what is asked for.", refusal=0.0),
    _quality("rubric-relevance", ["answer"], "A mark from 0 to 10, as a tenth: about the question alone.", refusal=0.0),
    _quality(
        "semantic-similarity",
        ["answer", "reference"],
        "RAGAS: cosine of answer and reference, by the local embedder.",
        judged=False,
        refusal=0.0,
    ),
    _quality("rouge-l", ["answer", "reference"], "RAGAS: ROUGE-L F1 of answer and reference.", judged=False, refusal=0.0),
    _quality("string-similarity", ["answer", "reference"], "RAGAS: 1 − normalised edit distance.", judged=False, refusal=0.0),
    _quality("quoted-spans", ["answer", "passages"], "RAGAS: quotations of the answer that stand in a passage.", judged=False),
)
BY_QUALITY: Mapping[str, Quality] = {each.name: each for each in QUALITIES}
OWN_GROUPS: Mapping[str, tuple[str, ...]] = {
    "groundedness": ("groundedness",),
    "rubric": ("rubric-faithfulness", "rubric-completeness", "rubric-relevance"),
}
"""Metrics of ours that one request gives."""


def choose_qualities(names: Sequence[str], *, judge: bool) -> tuple[str, ...]:
    """The metrics of those names, in the order of the table: all that can be had when none is named. Raises InvalidInput."""
    unknown = [name for name in names if name not in BY_QUALITY]
    if unknown:
        raise InvalidInput(
            expected=f"metrics of answers: {', '.join(BY_QUALITY)}", got=", ".join(map(shown, unknown)), remedy="Choose from those."
        )
    chosen = [each for each in QUALITIES if (each.name in names if names else judge or not each.judged)]
    lacking = [each.name for each in chosen if each.judged and not judge]
    if lacking:
        raise InvalidInput(
            expected=f"a judge for {', '.join(lacking)}",
            got="none: no provider has a key",
            remedy="Set a key (ANTHROPIC_API_KEY, OPENAI_API_KEY, …), or JUDGE_PROVIDER for a server of your own.",
        )
    return tuple(each.name for each in chosen)


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
