"""Baselines by name, and the gate: whether a configuration has fallen below one, for a script to stop at."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from filelock import FileLock, Timeout

from evals import statistics
from evals.analysis import RESAMPLES, SEED, Duel, duel, is_binary
from evals.metrics import ANSWER_METRICS
from evals.results import Run, errors, open_run
from evals.summary import counted
from sitt_core.errors import Busy, InvalidInput, NotFound, StoreError, shown

BASELINES = "baselines.json"
LEVEL = 0.05
DEFAULT_MAX_DROP = 0.05
LOCK_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says: `reasons` why it fails, empty when it passes.

    `p` is one-sided, for a drop; `seen` is the smallest drop that would have been seen four times in five, None where the
    scores do not say.
    """

    duel: Duel
    p: float
    seen: float | None
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against the configuration."""
        return not self.reasons


def baselines(runs_dir: Path) -> dict[str, tuple[str, str]]:
    """The named baselines: name to (run id, configuration key); raises StoreError."""
    try:
        held = json.loads((runs_dir / BASELINES).read_text(encoding="utf-8"))
        return {str(name): (str(run), str(key)) for name, (run, key) in held.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise StoreError(expected=f"{BASELINES} to hold baselines", got=str(error), remedy="Repair it, or move it away.") from error


def set_baseline(runs_dir: Path, name: str, run: Run, place: int) -> None:
    """Gives a configuration of a run a name to be compared with later, in place of what had it; raises InvalidInput, Busy or StoreError."""
    wanted = name.strip()
    if not wanted or len(wanted) > 60 or not wanted.isprintable() or ":" in wanted:
        raise InvalidInput(expected="a name of 1 to 60 printable characters without a colon", got=shown(name), remedy="For example: main")
    try:
        with FileLock(runs_dir / "baselines.lock", timeout=LOCK_SECONDS):
            held = baselines(runs_dir) | {wanted: (run.manifest.id, run.manifest.configurations[place].key)}
            part = runs_dir / f"{BASELINES}.part"
            part.write_text(json.dumps(held, ensure_ascii=False, indent=1), encoding="utf-8")
            part.replace(runs_dir / BASELINES)
    except Timeout:
        raise Busy(expected=f"to write {BASELINES}", got="another process is writing it", remedy="Try again in a moment.") from None
    except OSError as error:
        raise StoreError(expected=f"to write {BASELINES}", got=str(error), remedy="Check the runs folder's permissions.") from error


def open_baseline(runs_dir: Path, name: str) -> tuple[Run, int]:
    """The run and the place of a named baseline; raises NotFound."""
    held: Mapping[str, tuple[str, str]] = baselines(runs_dir)
    if name not in held:
        there = ", ".join(held) or "none yet"
        raise NotFound(
            expected=f"the name of a baseline ({there})", got=shown(name), remedy="Set it: python -m evals baseline set NAME RUN:KEY"
        )
    run = open_run(runs_dir, held[name][0])
    return run, run.place_of(held[name][1])


def gate(
    candidate: tuple[Run, int], baseline: tuple[Run, int], metric: str, *, max_drop: float = DEFAULT_MAX_DROP, common: bool = False
) -> Verdict:
    """Whether a configuration may pass: no significant drop (one-sided), none beyond `max_drop`, no more errors, no fewer scores.

    Raises InvalidInput when the two were asked other questions or another corpus, unless `common` accepts those that both share.
    """
    if not 0 <= max_drop <= 1:
        raise InvalidInput(expected="a drop from 0 to 1", got=f"{max_drop}", remedy="For example --max-drop 0.05")
    made = duel(candidate, baseline, metric, common=common)
    scores = np.array([[np.nan if value is None else value for value in (a, b)] for _, a, b in made.questions], dtype=np.float64)
    differences, belongs = scores[:, 0] - scores[:, 1], [asked.primary for asked, _, _ in made.questions]
    tested = statistics.sign_flip(differences, belongs, seed=SEED, resamples=RESAMPLES, alternative="less")
    seen = statistics.smallest_drop_seen(differences, belongs, binary=is_binary(metric))
    return Verdict(made, tested.p, seen, tuple(_reasons(made, tested.p, max_drop, candidate, baseline)))


def _reasons(made: Duel, p: float, max_drop: float, candidate: tuple[Run, int], baseline: tuple[Run, int]) -> list[str]:
    drop = -(made.comparison.difference.mean or 0.0)
    reasons = []
    if p <= LEVEL and drop > 0:
        reasons.append(f"{made.metric} fell by {drop:.3f}, which is significant (one-sided p = {p:.4f})")
    if drop > max_drop:
        reasons.append(f"{made.metric} fell by {drop:.3f}, more than the {max_drop:g} that is allowed")
    if not made.comparison.shares.n:
        reasons.append("no question has a score for both, so nothing was compared")
    wrong, before = (errors(run, answers=made.metric in ANSWER_METRICS).get(place, 0) for run, place in (candidate, baseline))
    if wrong > before:
        reasons.append(f"{counted(wrong, 'question')} could not be scored, {before:,} of the baseline")
    scored = [sum(pair[at] is not None for pair in made.questions) for at in (1, 2)]
    if scored[0] < scored[1]:
        reasons.append(f"scored: {counted(scored[0], 'question')}, {scored[1]:,} of the baseline")
    return reasons
