"""Runs whose scores are known, without anything having been asked."""

from collections.abc import Sequence
from pathlib import Path

from evals import results
from evals.results import Asked, Entry, Manifest, Run, Writer
from sitt_core.configuration import Configuration, configure

QUESTIONS = 60


def entry(**changes: object) -> Entry:
    made: Configuration = configure({name.replace("__", "."): value for name, value in changes.items()})
    return Entry(made.key, made.slug, made.to_dict())


def a_run(
    runs_dir: Path,
    entries: Sequence[Entry],
    scores: Sequence[Sequence[float | None]],
    *,
    metrics: Sequence[str] = ("recall@5",),
    kinds: Sequence[str] = ("detail",),
    run_id: str = "20260101-000000-0001",
    golden_sha256: str = "g" * 64,
    baseline: str = "",
    milliseconds: Sequence[float] = (),
) -> Run:
    """A run whose rows hold those scores: (questions, configurations), the same for every metric."""
    manifest = Manifest(
        id=run_id,
        name="",
        started=0.0,
        corpus="tales",
        corpus_sha256="c" * 64,
        golden="tales",
        golden_place="tales.yaml",
        golden_sha256=golden_sha256,
        metrics=tuple(metrics),
        configurations=tuple(entries),
        baseline=baseline,
    )
    asked = [Asked(f"q{at}", f"Question {at}?", kinds[at % len(kinds)], f"d{at}.md", (f"d{at}.md",)) for at in range(len(scores))]
    run = results.create(runs_dir, manifest, asked)
    with results.writing(run):
        writer = Writer(run)
        for q, row in enumerate(scores):
            for c, value in enumerate(row):
                ms = milliseconds[c] if milliseconds else 1.0 + c
                writer.append(
                    {"c": c, "q": q, **dict.fromkeys(metrics, value), "error": "", "ms_total": ms, "tokens": 1000 - 100 * c, "lost_at": ""}
                )
        writer.close(failures={})
    return results.open_run(runs_dir, run_id)


GOOD = [1.0] * QUESTIONS
HALF = [1.0, 0.0] * (QUESTIONS // 2)
MOST = [0.0] * 3 + [1.0] * (QUESTIONS - 3)


def columns(*sides: Sequence[float | None]) -> list[list[float | None]]:
    return [list(row) for row in zip(*sides, strict=True)]
