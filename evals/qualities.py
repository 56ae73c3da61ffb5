"""The metrics of answers: what each needs, whether a judge has to be asked, and what it says; the table that all else looks up."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sitt_core.errors import InvalidInput, shown

Need = Literal["answer", "reference", "passages"]


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
