"""RAGAS's own metric classes, asked through our judge: what they are given, and what of their results can be believed.

The only module that imports ragas, which takes seconds, and which would report its use to its makers unless told not to.
"""

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # read when ragas is imported; "1" would not do (ragas 0.4.3)

from ragas.embeddings.base import BaseRagasEmbedding
from ragas.llms.base import InstructorBaseRagasLLM
from ragas.metrics.collections import (
    AnswerRelevancy,
    ContextPrecision,
    ContextRecall,
    FactualCorrectness,
    Faithfulness,
    NoiseSensitivity,
    NonLLMStringSimilarity,
    QuotedSpansAlignment,
    RougeScore,
    SemanticSimilarity,
)

from evals.judge import Ask, Request
from evals.metrics import Score
from evals.quality import NO_CLAIMS, NO_QUOTES, Case, Judged, Scorer
from evals.summary import counted
from sitt_core.errors import shown
from sitt_core.text import sentence_spans
from sitt_core.types import Matrix

EXPLAINED = ("faithfulness", "context-precision", "context-recall", "factual-correctness")
"""The metrics whose statements are kept with verdict and reason; the verdicts of noise sensitivity are too many to read."""
Embed = Callable[[Sequence[str]], Matrix]


class NothingToScore(Exception):
    """The judge found no statement where a metric needs one."""


class Counted(str):
    """A prompt that knows the statements it asks verdicts for."""

    __slots__ = ("statements",)
    statements: tuple[str, ...]


class Counting:
    """One of RAGAS's prompts that ask for a verdict on each statement; its texts know how many those are."""

    def __init__(self, prompt: Any) -> None:
        self._prompt = prompt

    def to_string(self, data: Any) -> Counted:
        """The prompt's text; raises NothingToScore for no statement."""
        if not data.statements:
            raise NothingToScore
        text = Counted(self._prompt.to_string(data))
        text.statements = tuple(data.statements)
        return text


class Through(InstructorBaseRagasLLM):
    """RAGAS's language model: our judge. What it answered is kept in `heard`, as (prompt's statements, answer)."""

    def __init__(self, ask: Ask, reference: str) -> None:
        self._ask = ask
        self._reference = reference
        self.heard: list[tuple[tuple[str, ...], Any]] = []

    def generate(self, prompt: str, response_model: Any) -> Any:
        """Never used: everything is asked from a running loop."""
        raise NotImplementedError

    async def agenerate(self, prompt: str, response_model: Any) -> Any:
        """The judge's answer, of the form and with the verdicts that were asked for."""
        statements = prompt.statements if isinstance(prompt, Counted) else ()
        answer = await self._ask(
            Request(str(prompt), response_model, lambda found: wrong_verdicts(found, len(statements), (self._reference,)))
        )
        self.heard.append((statements, answer))
        return answer


def wrong_verdicts(found: Any, statements: int, texts: Sequence[str] = ()) -> str:
    """What is wrong with an answer of one of RAGAS's forms, or "": its own classes take any number for a verdict, and any count of them.

    `texts` are those that the judge had to take apart itself: each of their sentences has to stand in what it judged.
    """
    listed = getattr(found, "statements", None)
    if statements and len(listed or ()) != statements:
        return f"{counted(len(listed or ()), 'verdict')} for {counted(statements, 'statement')}"
    if hasattr(found, "claims") and not found.claims:
        return "no claim of a text that has some"
    marks = [getattr(each, "verdict", None) for each in listed or () if not isinstance(each, str)]
    if hasattr(found, "classifications"):
        marks += [each.attributed for each in found.classifications]
        if left := _left_out(texts, [each.statement for each in found.classifications]):
            return f"no verdict for {shown(left)}"
    marks += [getattr(found, name) for name in ("verdict", "noncommittal") if hasattr(found, name)]
    wrong = [mark for mark in marks if mark not in (0, 1)]
    if wrong:
        return f"a verdict of {wrong[0]}, which is neither 0 nor 1"
    if hasattr(found, "question") and not found.question.strip():
        return "an empty question"
    return ""


def _left_out(texts: Sequence[str], statements: Sequence[str]) -> str:
    """The first sentence of which less than half the words stand in any statement; "" for none."""
    judged = set(_WORD.findall(" ".join(statements).casefold()))
    for text in texts:
        for start, end in sentence_spans(text):
            words = set(_WORD.findall(text[start:end].casefold()))
            if 2 * len(words & judged) < len(words):
                return text[start:end].strip()
    return ""


class Local(BaseRagasEmbedding):
    """RAGAS's embedder: ours."""

    def __init__(self, embed: Embed) -> None:
        super().__init__()
        self._embed = embed

    def embed_text(self, text: str, **kwargs: Any) -> list[float]:  # noqa: ARG002
        """A text's vector."""
        return [float(value) for value in self._embed([text])[0]]

    async def aembed_text(self, text: str, **kwargs: Any) -> list[float]:  # noqa: ARG002
        """The same; it takes milliseconds, so nobody is kept waiting."""
        return self.embed_text(text)


_WORD = re.compile(r"\w+")
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)|(?<=s)['’](?=\s)")


def plain(text: str) -> str:
    """The text with its apostrophes as letters: RAGAS takes them for quotation marks, and all between two of them for a quotation."""
    return _APOSTROPHE.sub("\N{MODIFIER LETTER APOSTROPHE}", text)


def scorers(embed: Embed) -> Mapping[str, Scorer]:
    """A scorer for every metric of RAGAS's that we use, by our name of it."""
    local = Local(embed)

    def with_answer(case: Case) -> dict[str, Any]:
        return {"user_input": case.question, "response": case.answer}

    def faithfulness(llm: Through) -> Any:
        metric: Any = Faithfulness(llm=llm)
        metric.nli_statement_prompt = Counting(metric.nli_statement_prompt)
        return metric

    def factual_correctness(llm: Through) -> Any:
        metric: Any = FactualCorrectness(llm=llm)
        metric.nli_prompt = Counting(metric.nli_prompt)
        return metric

    def noise_sensitivity(llm: Through) -> Any:
        metric: Any = NoiseSensitivity(llm=llm)
        metric.faithfulness_prompt = Counting(metric.faithfulness_prompt)
        return metric

    return {
        "faithfulness": _scorer("faithfulness", faithfulness, lambda case: {**with_answer(case), "retrieved_contexts": [*case.passages]}),
        "answer-relevancy": _scorer("answer-relevancy", lambda llm: AnswerRelevancy(llm=llm, embeddings=local), with_answer),
        "context-precision": _scorer(
            "context-precision",
            lambda llm: ContextPrecision(llm=llm),
            lambda case: {"user_input": case.question, "reference": case.reference, "retrieved_contexts": [*case.passages]},
        ),
        "context-recall": _scorer(
            "context-recall",
            lambda llm: ContextRecall(llm=llm),
            lambda case: {"user_input": case.question, "reference": case.reference, "retrieved_contexts": [*case.passages]},
        ),
        "factual-correctness": _scorer(
            "factual-correctness", factual_correctness, lambda case: {"response": case.answer, "reference": case.reference}
        ),
        "noise-sensitivity": _scorer(
            "noise-sensitivity",
            noise_sensitivity,
            lambda case: {**with_answer(case), "reference": case.reference, "retrieved_contexts": [*case.passages]},
        ),
        "semantic-similarity": _scorer(
            "semantic-similarity",
            lambda _: SemanticSimilarity(embeddings=local),
            lambda case: {"reference": case.reference, "response": case.answer},
        ),
        "rouge-l": _scorer("rouge-l", lambda _: RougeScore(), lambda case: {"reference": case.reference, "response": case.answer}),
        "string-similarity": _scorer(
            "string-similarity", lambda _: NonLLMStringSimilarity(), lambda case: {"reference": case.reference, "response": case.answer}
        ),
        "quoted-spans": _scorer(
            "quoted-spans",
            lambda _: QuotedSpansAlignment(),
            lambda case: {"response": plain(case.answer or ""), "retrieved_contexts": [plain(text) for text in case.passages]},
        ),
    }


def _scorer(name: str, make: Callable[[Through], Any], inputs: Callable[[Case], dict[str, Any]]) -> Scorer:
    async def score(case: Case, ask: Ask) -> Mapping[str, Judged]:
        llm = Through(ask, case.reference)
        try:
            result = await make(llm).ascore(**inputs(case))
        except NothingToScore:
            return {name: Judged(Score(undefined=NO_CLAIMS))}
        return {name: Judged(_believed(name, result), _detail(llm) if name in EXPLAINED else None)}

    return score


def _believed(name: str, result: Any) -> Score:
    value = float(result.value)
    if name == "quoted-spans" and str(result.reason or "").startswith("No quoted spans"):
        return Score(undefined=NO_QUOTES)  # RAGAS says 1
    if math.isnan(value):
        return Score(undefined=NO_CLAIMS)
    if not -1e-6 <= value <= 1 + 1e-6:
        return (
            Score(error=f"a score of {value:g}, which is not between 0 and 1") if value > 1 or name != "semantic-similarity" else Score(0.0)
        )
    return Score(min(max(round(value, 8), 0.0), 1.0))  # RAGAS's perfect precision is .9999999999


def _detail(llm: Through) -> list[dict[str, Any]]:
    """The statements that were judged, with verdict and reason."""
    found: list[dict[str, Any]] = []
    for _, answer in llm.heard:
        for each in [*getattr(answer, "statements", ()), *getattr(answer, "classifications", ())]:
            if not isinstance(each, str):
                verdict = each.verdict if hasattr(each, "verdict") else each.attributed
                found.append({"claim": each.statement, "supported": verdict, "reason": each.reason})
        if hasattr(answer, "verdict"):
            found.append({"claim": f"passage {len(found) + 1} helps", "supported": answer.verdict, "reason": answer.reason})
    return found
