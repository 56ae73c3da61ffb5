"""Confirming a choice on the sealed questions: one configuration against one baseline, aggregates only, every use counted."""

import json
import math
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from evals import run as runner
from evals import statistics
from evals.analysis import is_binary
from evals.editing import own_file
from evals.golden import FIELD_GUIDE, QUESTIONS_DIR
from evals.grid import Grid
from evals.metrics import ANSWER_METRICS, parse_metric
from evals.results import errors, matrix
from evals.statistics import Interval, confirmation_level
from evals.subject import DATASET, OWN, Subject
from evals.summary import counted, headline
from sitt_core.build import Workshop
from sitt_core.configuration import Configuration
from sitt_core.errors import Busy, InvalidInput, StoreError
from sitt_core.settings import Settings
from sitt_core.types import Report

LOG = "confirmations.jsonl"
SEED = 0
RESAMPLES = 20_000
LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What the sealed questions say of a configuration against a baseline, at the level of its `use`-th use (from 1).

    `difference` is configuration minus baseline, its interval at that level; no question is named anywhere.
    """

    use: int
    level: float
    metric: str
    configuration: str
    baseline: str
    golden: str
    golden_sha256: str
    n: int
    mean: float | None
    baseline_mean: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float
    confirmed: bool
    when: float


def log_file(subject: Subject, settings: Settings) -> Path:
    """Where the uses of a set's sealed questions are counted: beside its questions, to be committed with them. Raises InvalidInput."""
    if subject.place.startswith(DATASET):
        raise InvalidInput(
            expected="a golden set with sealed questions", got="a public collection", remedy="Its splits are open: run --split."
        )
    if subject.place == FIELD_GUIDE:
        return QUESTIONS_DIR / FIELD_GUIDE / LOG
    if subject.place == OWN:
        return own_file(settings, subject.corpus.name).with_suffix(f".{LOG}")
    place = Path(subject.place)
    return place / LOG if place.is_dir() else place.with_suffix(f".{LOG}")


def uses(path: Path) -> list[Confirmation]:
    """The uses so far, in order; one that was begun and never ended counts too, with p = 1. Raises StoreError."""
    if not path.is_file():
        return []
    try:
        read = [Confirmation(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError, TypeError) as error:
        raise StoreError(
            expected=f"{path.name} to hold the uses so far", got=str(error), remedy="Restore it from version control."
        ) from error
    latest = {each.use: each for each in read}
    return [latest[use] for use in sorted(latest)]


def confirm(
    workshop: Workshop,
    subject: Subject,
    configuration: Configuration,
    baseline: Configuration,
    metric: str,
    *,
    report: Report,
    log: Path | None = None,
) -> Confirmation:
    """Asks the sealed questions under both, says whether the configuration is better at the level of this use, and logs it.

    The use is logged before the questions are asked, so that stopping it half way is no way around. Raises InvalidInput,
    StoreError, or what a configuration fails with.
    """
    if configuration.key == baseline.key:
        raise InvalidInput(expected="two configurations", got=f"{configuration.slug} twice", remedy="Name another --baseline.")
    if metric in ANSWER_METRICS:
        raise InvalidInput(expected="a metric of retrieval", got=metric, remedy="Confirm by recall@5, coverage@2000t or another.")
    parse_metric(metric)
    path = log or log_file(subject, workshop.settings)
    try:
        with FileLock(path.with_suffix(".lock"), timeout=LOCK_SECONDS):
            return _confirm(workshop, subject, (configuration, baseline), metric, path, report)
    except Timeout:
        raise Busy(expected="the sealed questions for itself", got="another confirmation under way", remedy="Wait for it.") from None


def _confirm(
    workshop: Workshop, subject: Subject, pair: tuple[Configuration, Configuration], metric: str, path: Path, report: Report
) -> Confirmation:
    configuration, baseline = pair
    use = len(uses(path)) + 1
    begun = Confirmation(
        use=use,
        level=confirmation_level(use),
        metric=metric,
        configuration=f"{configuration.slug} ({configuration.key})",
        baseline=f"{baseline.slug} ({baseline.key})",
        golden=subject.golden.name,
        golden_sha256=subject.golden.sha256,
        n=0,
        mean=None,
        baseline_mean=None,
        difference=None,
        low=None,
        high=None,
        p=1.0,
        confirmed=False,
        when=time.time(),
    )
    plan = runner.plan_run(
        workshop, subject, runner.Selection(split="sealed"), Grid((configuration, baseline)), runner.choose_metrics((metric,))
    )
    _append(path, begun)
    found = _ask(workshop, subject, plan, metric, level=begun.level, report=report)
    made = replace(begun, **found)  # type: ignore[arg-type]
    _append(path, made)
    return made


def _ask(workshop: Workshop, subject: Subject, plan: runner.Plan, metric: str, *, level: float, report: Report) -> dict[str, object]:
    """The figures alone: the rows are made in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        run = runner.start(workshop, subject, plan, runs_dir=Path(folder))
        done = runner.execute(workshop, run, subject, report=report)
        if done.failures or errors(done):
            raise InvalidInput(
                expected="both configurations to be asked all sealed questions",
                got="; ".join(done.failures.values()) or f"{counted(sum(errors(done).values()), 'question')} without a score",
                remedy="Correct that and confirm again; this use counts.",
            )
        chosen = headline(done)
        scores = matrix(done, metric)[chosen]
        belongs = [asked.primary for asked, wanted in zip(done.questions, chosen, strict=True) if wanted]
    made = statistics.compare(
        scores[:, 0],
        scores[:, 1],
        belongs,
        binary=is_binary(metric),
        seed=SEED,
        resamples=max(RESAMPLES, math.ceil(4 / level)),
        alpha=level,
    )
    found: Interval = made.difference
    return {
        "n": found.n,
        "mean": _mean(scores[:, 0].tolist()),
        "baseline_mean": _mean(scores[:, 1].tolist()),
        "difference": found.mean,
        "low": found.low,
        "high": found.high,
        "p": made.p,
        "confirmed": made.verdict == "better",
    }


def _mean(values: Sequence[float]) -> float | None:
    there = [value for value in values if value == value]
    return sum(there) / len(there) if there else None


def _append(path: Path, made: Confirmation) -> None:
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(made), ensure_ascii=False) + "\n")
    except OSError as error:
        raise StoreError(
            expected=f"to log this use in {path}", got=str(error), remedy="Make it writable: a use that cannot be counted is not made."
        ) from error


def sentence(made: Confirmation) -> str:
    """A confirmation in plain words."""
    if made.difference is None:
        return "The sealed questions give no score for this metric."
    verdict = "Confirmed" if made.confirmed else "Not confirmed"
    limits = (
        f", {100 * (1 - made.level):g} % interval {made.low:+.3f} to {made.high:+.3f}"
        if made.low is not None and made.high is not None
        else ""
    )
    return (
        f"{verdict}: on {counted(made.n, 'sealed question')} {made.metric} is {made.mean:.3f} against {made.baseline_mean:.3f} of the baseline "
        f"(difference {made.difference:+.3f}{limits}; p = {made.p:.4f} at the level {made.level:g} of use {made.use})."
    )
