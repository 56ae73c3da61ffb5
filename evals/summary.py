"""What a run's rows amount to, configuration by configuration: means with n of m, by kind, and the time it took."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals.golden import FLOOR, UNANSWERABLE
from evals.metrics import BINARY, parse_metric
from evals.results import STAGES, Entry, Run, errors, matrices, reasons, tell_apart
from evals.results import follows as follows
from evals.statistics import Interval, interval

HEADLINE = "recall@5"
SEED = 0
TOP_K = "recall@top_k"
"""Whether a question passes: what it expects is among what is shown."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A mean over the questions for which a metric is defined: `n` of `of`; None for none.

    0/1 metrics have an interval, unless there are too few questions for one.
    """

    mean: float | None
    n: int
    of: int
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """A configuration's figures: over the hand-written answerable questions, and by kind; milliseconds as (p50, p95)."""

    entry: Entry
    label: str
    metrics: Mapping[str, Figure]
    kinds: Mapping[str, Mapping[str, Figure]]
    latency_ms: Mapping[str, tuple[float, float]]
    errors: int
    abstention: Mapping[str, Figure]


def headline(run: Run) -> NDArray[np.bool_]:
    """Which questions the headline is about: those that the corpus answers, without the generated ones; all that there are of other kinds if none."""
    kinds = [asked.kind for asked in run.questions]
    written = np.array([kind not in (FLOOR, UNANSWERABLE) for kind in kinds], dtype=bool)
    return written if written.any() else np.array([kind != UNANSWERABLE for kind in kinds], dtype=bool)


def labels(run: Run) -> list[str]:
    """A name for each configuration that tells it from the others of the run: the values of the fields that vary, or its slug."""
    return tell_apart(run.manifest.configurations)


def summarise(run: Run) -> list[Result]:
    """Every configuration's figures, in the order of the run; raises StoreError."""
    names = run.manifest.metrics
    scored = matrices(run, [*names, *(f"ms_{stage}" for stage in STAGES)])
    kinds = np.array([asked.kind for asked in run.questions])
    chosen = headline(run)
    failed = errors(run)
    near = np.array([asked.kind == UNANSWERABLE and bool(asked.about) for asked in run.questions], dtype=bool)
    off = (kinds == UNANSWERABLE) & ~near
    clusters = np.array([asked.primary for asked in run.questions])
    results = []
    for place, (entry, label) in enumerate(zip(run.manifest.configurations, labels(run), strict=True)):
        columns = {name: scored[name][:, place] for name in names}
        refused = columns.get("refused")
        results.append(
            Result(
                entry,
                label,
                {name: _figure(name, values, chosen, clusters) for name, values in columns.items()},
                {
                    kind: {name: _figure(name, values, kinds == kind, clusters) for name, values in columns.items()}
                    for kind in dict.fromkeys(kinds.tolist())
                },
                {stage: spent for stage in STAGES if (spent := _percentiles(scored[f"ms_{stage}"][:, place]))},
                failed.get(place, 0),
                {} if refused is None else _abstention(refused, kinds, near, off, clusters),
            )
        )
    return results


def _figure(name: str, values: NDArray[np.float64], chosen: NDArray[np.bool_], clusters: NDArray[np.str_]) -> Figure:
    kept = values[chosen]
    defined = kept[~np.isnan(kept)]
    if not len(defined):
        return Figure(None, 0, len(kept))
    mean = float(defined.mean())
    if parse_metric(name).family not in BINARY:  # bootstrapping every mean of every metric would take a minute
        return Figure(mean, len(defined), len(kept))
    return Figure(mean, len(defined), len(kept), interval(kept, clusters[chosen], binary=True, seed=SEED))


def _percentiles(values: NDArray[np.float64]) -> tuple[float, float] | None:
    taken = values[~np.isnan(values)]
    return (float(np.percentile(taken, 50)), float(np.percentile(taken, 95))) if len(taken) else None


def _abstention(
    refused: NDArray[np.float64], kinds: NDArray[np.str_], near: NDArray[np.bool_], off: NDArray[np.bool_], clusters: NDArray[np.str_]
) -> dict[str, Figure]:
    """How many were refused of the unanswerable questions, of the near misses and the off-topic ones among them, and of the answerable."""
    groups = {"unanswerable": kinds == UNANSWERABLE, "near-miss": near, "off-topic": off, "answerable": kinds != UNANSWERABLE}
    return {name: _figure("refused", refused, chosen, clusters) for name, chosen in groups.items()}


def passes(row: Mapping[str, Any]) -> bool:
    """Whether a question passes: a document that it expects is among what is shown."""
    return row.get(TOP_K) == 1.0


REASONS_SHOWN = 3
TABLE = (HEADLINE, "recall@2000t", "coverage@2000t", "document-ndcg@10", "refused", "citation-precision")
"""What a table in a terminal shows of the metrics that a run has."""


def lines(run: Run, results: Sequence[Result]) -> list[str]:
    """A run as lines for a terminal: a table of configurations, the best first by its first metric, then refusals and notes."""
    names = [name for name in TABLE if name in run.manifest.metrics] or list(run.manifest.metrics[:4])
    floor = FLOOR if any(FLOOR in result.kinds for result in results) and names[0] != "refused" else ""
    header = ["configuration", "key", *names, *([floor] if floor else []), "p50 ms", "p95 ms"]
    table = [header]
    for result in sorted(results, key=lambda result: -(result.metrics[names[0]].mean or 0.0)):
        figures = [_figure_text(result.metrics[name]) for name in names]
        figures += [_figure_text(result.kinds[floor][names[0]])] if floor else []
        spent = [f"{each:.1f}" for each in result.latency_ms.get("total", ())] or ["–", "–"]
        table.append([result.label, result.entry.key, *figures, *spent])
    said = [
        f"run {run.manifest.id} ({run.state}): {counted(len(run.questions), 'question')}; figures over the {int(headline(run).sum())} answerable and "
        f"written by hand{f', and {names[0]} of the generated ones ({floor})' if floor else ''}",
        *aligned(table),
    ]
    for result in results:
        if result.abstention:
            refused = ", ".join(f"{_figure_text(each)} of {each.of} {name}" for name, each in result.abstention.items())
            said.append(f"{result.label}: refused {refused}")
    why = reasons(run) if any(result.errors for result in results) else []
    for result, told in zip(results, why, strict=False):
        said += _error_lines(result, told.errors)
    named = {result.entry.key: result.label for result in results}
    said += [f"failed: {named.get(key, '')} ({key}): {reason}" for key, reason in run.failures.items()]
    said += [f"skipped {line}" for line in run.manifest.skipped]
    return said + [f"note: {note}" for note in run.manifest.notes]


def _error_lines(result: Result, errors_: Mapping[str, int]) -> list[str]:
    """How many questions a configuration could not be asked, and the most frequent reasons."""
    if not errors_:
        return []
    more = ["  … show --json has them all"] if len(errors_) > REASONS_SHOWN else []
    listed = [f"  {rows:,} × {error}" for error, rows in list(errors_.items())[:REASONS_SHOWN]]
    return [f"{result.label}: {counted(result.errors, 'question')} could not be scored", *listed, *more]


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """A table's rows as lines, the first column to the left and the others to the right."""
    wide = [max(len(row[at]) for row in table) for at in range(len(table[0]))]
    return ["  ".join(cell.ljust(wide[at]) if at < 2 else cell.rjust(wide[at]) for at, cell in enumerate(row)) for row in table]


def _figure_text(figure: Figure) -> str:
    """Such as `.84 [.78–.89]`, with n of m where some questions have no value."""
    if figure.mean is None:
        return "–"
    missing = f" ({figure.n}/{figure.of})" if figure.n < figure.of else ""
    if figure.interval is None:
        return f"{short(figure.mean, 3)}{missing}"
    if figure.interval.low is None or figure.interval.high is None:
        return f"{short(figure.mean)}{missing}"
    return f"{short(figure.mean)} [{short(figure.interval.low)}–{short(figure.interval.high)}]{missing}"


def short(value: float, digits: int = 2) -> str:
    """A share as tables print it: without the zero before the point."""
    text = f"{value:.{digits}f}"  # rounded first: .999 is 1.0 too
    return text.removeprefix("0") if text.startswith("0") else f"{value:.{digits - 1}f}"


def counted(count: int, noun: str) -> str:
    """A number of things: `1 question`, `1,190 questions`."""
    return f"{count:,} {noun}{'s' * (count != 1)}"


def as_json(run: Run, results: Sequence[Result]) -> dict[str, Any]:
    """A run as JSON: its id, how many questions, and every configuration's figures with the reasons of those that are missing."""
    return {
        "run": run.manifest.id,
        "name": run.manifest.name,
        "state": run.state,
        "corpus": run.manifest.corpus,
        "golden": run.manifest.golden,
        "questions": len(run.questions),
        "skipped": list(run.manifest.skipped),
        "failed": dict(run.failures),
        "notes": list(run.manifest.notes),
        "results": [
            {
                "key": result.entry.key,
                "slug": result.entry.slug,
                "label": result.label,
                "configuration": dict(result.entry.fields),
                "metrics": {name: _figure_json(figure) for name, figure in result.metrics.items()},
                "kinds": {kind: {name: _figure_json(figure) for name, figure in figures.items()} for kind, figures in result.kinds.items()},
                "abstention": {name: _figure_json(figure) for name, figure in result.abstention.items()},
                "latency_ms": {stage: {"p50": round(p50, 3), "p95": round(p95, 3)} for stage, (p50, p95) in result.latency_ms.items()},
                "errors": result.errors,
                "errors_by_reason": dict(why.errors),
                "undefined_by_reason": {metric: dict(counts) for metric, counts in why.undefined.items()},
            }
            for result, why in zip(results, reasons(run), strict=True)
        ],
    }


def _figure_json(figure: Figure) -> dict[str, Any]:
    limits = {"low": figure.interval.low, "high": figure.interval.high} if figure.interval else {}
    return {"mean": figure.mean, "n": figure.n, "of": figure.of, **limits}
