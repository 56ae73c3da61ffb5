"""Runs whose scores are known, without anything having been asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evals import judged, results
from evals.judged import About
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


JUDGE = About("claude", "claude-fake-judge", "http://127.0.0.1:9", True, "1", (), 1, "0.4", "minilm", 0.0)


def with_verdicts(
    run: Run,
    scores: Mapping[str, Sequence[Sequence[float | str | None]]],
    *,
    repeats: int = 1,
    details: Mapping[str, Any] | None = None,
    about: About = JUDGE,
) -> Run:
    """The run with its answers judged: (questions, configurations) by metric, a text for why one is undefined, None for one that failed.

    Every repeat after the first has each score lower by a hundredth of its number.
    """
    judged.write_about(run.folder, About(**{**_fields(about), "metrics": tuple(scores), "repeats": repeats}))
    first = next(iter(scores.values()))
    for q in range(len(first)):
        for c in range(len(first[q])):
            for j in range(repeats):
                told = {metric: rows[q][c] for metric, rows in scores.items()}
                row = {
                    "scores": {metric: value - j / 100 for metric, value in told.items() if isinstance(value, float)},
                    "why": {metric: value for metric, value in told.items() if isinstance(value, str)},
                    "errors": {metric: "the judge said nothing" for metric, value in told.items() if value is None},
                }
                judged.append(run.folder, judged.ROWS, {"c": c, "q": q, "a": 0, "j": j, **row, "details": dict(details or {})})
    return results.open_run(run.folder.parent, run.manifest.id)


def _fields(about: About) -> dict[str, Any]:
    return {name: getattr(about, name) for name in About.__slots__}


GOOD = [1.0] * QUESTIONS
HALF = [1.0, 0.0] * (QUESTIONS // 2)
MOST = [0.0] * 3 + [1.0] * (QUESTIONS - 3)


def columns(*sides: Sequence[float | None]) -> list[list[float | None]]:
    return [list(row) for row in zip(*sides, strict=True)]
