"""How well the extractive provider tells questions the field guide answers from those it does not, and what its answers hold.

python -m benchmarks.answerability

The questions are in answerability.yaml, halved by turns: one half chooses the weights; each half chooses a threshold, which the
other half tests. The threshold in use lies between the two.
"""

import asyncio
import tempfile
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from sitt_core import build, ingest
from sitt_core.answering.citations import Ledger
from sitt_core.answering.prompt import make_prompt
from sitt_core.pipeline import Engine, search
from sitt_core.plan import plan_updates
from sitt_core.providers import extractive
from sitt_core.retrieval.weights import rarity
from sitt_core.retrieval.words import tokenize
from sitt_core.settings import load_settings
from sitt_core.store.reading import open_corpus
from sitt_core.types import Answer, CitationPart, DonePart, TextPart

QUESTIONS = Path(__file__).with_suffix(".yaml")
FALSE_REFUSALS = 0.05
STEP = 0.05


@dataclass(frozen=True)
class Asked:
    """A question, what was found out about it, and its answer had it not been refused."""

    question: str
    answerable: bool
    parts: tuple[float, float, float]
    answer: Answer
    has_evidence: bool


def silent(_stage: str, _done: int, _total: int) -> None:
    """A report function that says nothing."""


def make_engine(folder: str) -> tuple[build.Workshop, Engine]:
    """The field guide under the default configuration, built in a folder."""
    workshop = build.Workshop(replace(load_settings({}), data_dir=Path(folder)))
    listing, place = build.read_source("field-guide")
    recipe = workshop.recipe(workshop.settings.defaults, language="english")
    corpus_dir = workshop.settings.store_dir / "field-guide"
    ingest.apply_update(corpus_dir, None, plan_updates(None, [(listing, place)]), recipe=recipe, report=silent)
    return workshop, workshop.engine(open_corpus(workshop.settings.store_dir, "field-guide"), workshop.settings.defaults)


async def ask(entry: dict[str, str], engine: Engine, provider: extractive.Extractive, *, answerable: bool) -> Asked:
    """Searches, assesses and answers, with nothing refused."""
    found = search(entry["question"], engine)
    prompt = make_prompt(found.question, found.passages, citing="extractive")
    ledger, done = Ledger(prompt, found.passages, engine.corpus.document, tokenize=tokenize), None
    async for part in provider.stream(prompt):
        if isinstance(part, TextPart):
            ledger.add_text(part.text)
        elif isinstance(part, CitationPart):
            ledger.add_citation(part)
        else:
            done = part
    assert isinstance(done, DonePart)
    answer = ledger.answer(trace=found.trace, provider=provider.name, done=done)
    for cited in answer.citations:
        assert cited.span and engine.corpus.document(cited.document_id).text[cited.span.start : cited.span.end] == cited.quote
    seen = provider.assess(prompt)
    parts = (seen.closeness, seen.beyond, seen.coverage)
    return Asked(entry["question"], answerable, parts, answer, bool(entry.get("evidence")) and entry["evidence"] in answer.text)


def auc(scores: NDArray[Any], answerable: NDArray[Any]) -> float:
    """How often an answerable question has the higher score of two, ties counted half."""
    gaps = scores[answerable][:, None] - scores[~answerable][None, :]
    return float((gaps > 0).mean() + (gaps == 0).mean() / 2)


def threshold_for(scores: NDArray[Any]) -> float:
    """The highest threshold that refuses at most `FALSE_REFUSALS` of the scores."""
    return float(np.sort(scores)[int(FALSE_REFUSALS * len(scores))])


def deciles(name: str, scores: NDArray[Any]) -> None:
    """One line: where the scores lie."""
    marks = " ".join(f"{value:.2f}" for value in np.quantile(scores, np.arange(0, 1.01, 0.1)))
    print(f"{name:>14}: {marks}")


def main() -> None:
    """Builds, asks, and prints distributions, the choice made on one half and what it does on the other."""
    entries = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        workshop, engine = make_engine(folder)
        embedder = workshop.embedder(workshop.settings.defaults)
        provider = extractive.Extractive(
            embed=embedder.embed_passages, tokenize=tokenize, weight=rarity(engine.index.postings), threshold=-1.0
        )
        asked = [
            asyncio.run(ask(entry, engine, provider, answerable=kind == "answerable"))
            for kind in ("answerable", "unanswerable")
            for entry in entries[kind]
        ]
    parts = np.array([each.parts for each in asked])
    answerable = np.array([each.answerable for each in asked])
    places = np.concatenate([np.arange(answerable.sum()), np.arange((~answerable).sum())])
    first = places % 2 == 0
    print(f"{answerable.sum()} answerable questions, {(~answerable).sum()} that are not; deciles of the score:")
    weights = np.array([extractive.CLOSENESS, extractive.BEYOND, extractive.COVERAGE])
    scores = parts @ weights
    deciles("answerable", scores[answerable])
    deciles("unanswerable", scores[~answerable])
    grid = [(a, b, 1 - a - b) for a, b in product(np.arange(0, 1 + STEP / 2, STEP), repeat=2) if a + b <= 1 + 1e-9]
    best = max(grid, key=lambda each: auc(parts[first] @ np.array(each), answerable[first]))
    print(f"best weights on the first half: {', '.join(f'{weight:.2f}' for weight in best)}; in use: {weights.tolist()}")
    rows = [("best weights", np.array(best)), ("weights in use", weights)]
    rows += [(f"{name} alone", np.eye(3)[at]) for at, name in enumerate(("closeness", "beyond", "coverage"))]
    for name, each in rows:
        report(name, parts @ each, answerable, first)
    refused = scores < extractive.THRESHOLD
    print(f"threshold in use {extractive.THRESHOLD}: {refused[answerable].mean():.1%} of the answerable and", end=" ")
    print(f"{refused[~answerable].mean():.1%} of the unanswerable of all refused")
    answered = [each for each in asked if each.answerable]
    share = np.mean([each.has_evidence for each in answered])
    length = np.mean([len(each.answer.citations) for each in answered])
    print(f"answers that hold the expected words: {share:.2f} of {len(answered)}; sentences in an answer: {length:.1f}")
    show("wrongly refused", asked, scores, wanted=True)
    show("wrongly answered", asked, scores, wanted=False)


def report(name: str, scores: NDArray[Any], answerable: NDArray[Any], first: NDArray[Any]) -> None:
    """One line: what the threshold that each half chooses does on the other half."""
    wrong, right, chosen = [], [], []
    for chooses in (first, ~first):
        chosen.append(threshold_for(scores[answerable & chooses]))
        wrong += (scores[answerable & ~chooses] < chosen[-1]).tolist()
        right += (scores[~answerable & ~chooses] < chosen[-1]).tolist()
    areas = f"AUC {auc(scores[first], answerable[first]):.3f} and {auc(scores[~first], answerable[~first]):.3f}"
    print(f"{name:>16}: {areas}, thresholds {chosen[0]:.3f} and {chosen[1]:.3f};", end=" ")
    print(f"on the other half {np.mean(wrong):.1%} of the answerable and {np.mean(right):.1%} of the unanswerable refused")


def show(name: str, asked: list[Asked], scores: NDArray[Any], *, wanted: bool) -> None:
    """The questions on the wrong side of the threshold in use, worst first."""
    wrong = [(score, each) for score, each in zip(scores, asked, strict=True) if each.answerable == wanted]
    wrong = [(score, each) for score, each in wrong if (score < extractive.THRESHOLD) == wanted]
    print(f"{name}: {len(wrong)}")
    for score, each in sorted(wrong, key=lambda pair: pair[0], reverse=not wanted):
        print(f"  {score:.3f} {each.question}")


if __name__ == "__main__":
    main()
