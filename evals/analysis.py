"""What may be said of a run: leaderboards, head-to-heads, the effect of one field, curves, slices; rows for pages and reports."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals import statistics
from evals.golden import UNANSWERABLE
from evals.metrics import BINARY, parse_metric
from evals.results import Asked, Entry, Run, matrices, matrix
from evals.statistics import Comparison, Interval, Leaderboard, Standing
from evals.summary import HEADLINE, headline, labels
from sitt_core.configuration import BY_NAME, applies
from sitt_core.errors import InvalidInput, shown

SEED = 0
RESAMPLES = 10_000
FAIR = "coverage@2000t"
"""What chunkings are ranked by: at the same number of passages, larger chunks show more text."""
_SAME = 1e-9

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Row:
    """A configuration on a leaderboard; `latency` is the median of the whole search in milliseconds, `tokens` the mean that is shown."""

    place: int
    entry: Entry
    label: str
    standing: Standing
    latency: float | None
    tokens: float | None


@dataclass(frozen=True, slots=True)
class Board:
    """A run's configurations by one metric, the best first, with what can be told apart.

    `cheapest` and `fastest` are the places of the tied configurations that show the fewest tokens and answer soonest.
    """

    metric: str
    rows: tuple[Row, ...]
    leaderboard: Leaderboard
    cheapest: int | None
    fastest: int | None

    def row(self, place: int) -> Row:
        """The row of the configuration at that place."""
        return next(row for row in self.rows if row.place == place)


@dataclass(frozen=True, slots=True)
class Duel:
    """Two configurations head to head, and every question with both scores (None where one has none)."""

    metric: str
    names: tuple[str, str]
    comparison: Comparison
    questions: tuple[tuple[Asked, float | None, float | None], ...]


@dataclass(frozen=True, slots=True)
class Effect:
    """What one field does: the mean score under each of its values, over the configurations that differ in nothing else.

    `leaderboard` has a column for each of `values`; `matched` says how many configurations each mean is over.
    """

    field: str
    metric: str
    values: tuple[str, ...]
    leaderboard: Leaderboard
    matched: int


def require_metric(run: Run, metric: str) -> str:
    """The metric, if the run has it; raises InvalidInput."""
    if metric not in run.manifest.metrics:
        raise InvalidInput(
            expected=f"a metric of run {run.manifest.id}: {', '.join(run.manifest.metrics)}",
            got=shown(metric),
            remedy="Choose one of those.",
        )
    return metric


def is_binary(metric: str) -> bool:
    """Whether its values are 0 or 1."""
    return parse_metric(metric).family in BINARY


def chosen_questions(run: Run, kinds: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Which questions a figure is about: those of the kinds, or the headline's."""
    return np.array([asked.kind in kinds for asked in run.questions], dtype=bool) if kinds else headline(run)


def clusters(run: Run, chosen: NDArray[np.bool_]) -> list[str]:
    """What each chosen question belongs to: its primary document."""
    return [asked.primary for asked, wanted in zip(run.questions, chosen, strict=True) if wanted]


def baseline_place(run: Run, key: str = "") -> int | None:
    """The place of the baseline: the one named, or the one that the run was started with; None for none."""
    wanted = key or run.manifest.baseline
    return run.place_of(wanted) if wanted else None


def board(run: Run, metric: str = HEADLINE, *, baseline: str = "", kinds: Sequence[str] = ()) -> Board:
    """The leaderboard of a run; raises InvalidInput, NotFound or StoreError."""
    chosen = chosen_questions(run, kinds)
    read = matrices(run, [require_metric(run, metric), "ms_total", "tokens"])
    scores = read[metric][chosen]
    made = statistics.compare_all(
        scores,
        clusters(run, chosen),
        binary=is_binary(metric),
        seed=SEED,
        baseline=baseline_place(run, baseline),
        resamples=RESAMPLES,
    )
    rows = [
        Row(place, entry, label, made.standings[place], _median(read["ms_total"][:, place]), _mean(read["tokens"][chosen][:, place]))
        for place, (entry, label) in enumerate(zip(run.manifest.configurations, labels(run), strict=True))
    ]
    rows.sort(key=lambda row: (-(row.standing.mean.mean if row.standing.mean.mean is not None else -1.0), row.place))
    tied = [row for row in rows if row.standing.tied]
    return Board(metric, tuple(rows), made, _least(tied, "tokens"), _least(tied, "latency"))


def _median(values: Scores) -> float | None:
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else None


def _mean(values: Scores) -> float | None:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else None


def _least(rows: Sequence[Row], name: str) -> int | None:
    there = [(getattr(row, name), row.place) for row in rows if getattr(row, name) is not None]
    return min(there)[1] if there else None


def duel(one: tuple[Run, int], other: tuple[Run, int], metric: str = HEADLINE, *, common: bool = False) -> Duel:
    """Two configurations (a run and a place in it) over the headline questions that both were asked, first minus second.

    Of different runs only on the same corpus and question set, unless `common` accepts the questions whose text both
    share. Raises InvalidInput or StoreError.
    """
    require_same_questions(one[0], other[0], common=common)
    sides = [_scores_by_question(run, place, metric) for run, place in (one, other)]
    wanted = chosen_questions(one[0])
    asked = [each for each, chosen in zip(one[0].questions, wanted, strict=True) if chosen and (each.id, each.text) in sides[1]]
    if not asked:
        raise InvalidInput(expected="questions that both were asked", got="none in common", remedy="Compare within one run.")
    first, second = (np.array([side.get((each.id, each.text), np.nan) for each in asked]) for side in sides)
    made = statistics.compare(first, second, [each.primary for each in asked], binary=is_binary(metric), seed=SEED, resamples=RESAMPLES)
    names = (labels(one[0])[one[1]], labels(other[0])[other[1]])
    if names[0] == names[1]:
        names = (f"{names[0]} ({one[0].manifest.id})", f"{names[1]} ({other[0].manifest.id})")
    pairs = tuple((each, _value(a), _value(b)) for each, a, b in zip(asked, first.tolist(), second.tolist(), strict=True))
    return Duel(metric, names, made, pairs)


def _scores_by_question(run: Run, place: int, metric: str) -> dict[tuple[str, str], float]:
    values = matrix(run, require_metric(run, metric))[:, place]
    return {(asked.id, asked.text): float(value) for asked, value in zip(run.questions, values, strict=True)}


def _value(score: float) -> float | None:
    return None if np.isnan(score) else score


def require_same_questions(one: Run, other: Run, *, common: bool) -> None:
    """Raises InvalidInput when two runs asked other questions or another corpus, unless `common` accepts that."""
    if common or one.manifest.id == other.manifest.id:
        return
    for what, mine, theirs in (
        ("question set", one.manifest.golden_sha256, other.manifest.golden_sha256),
        ("corpus", one.manifest.corpus_sha256, other.manifest.corpus_sha256),
    ):
        if mine != theirs:
            raise InvalidInput(
                expected=f"two runs on the same {what}",
                got=f"{mine[:12]} and {theirs[:12]}",
                remedy="Run both anew, or accept the questions that both share with --common.",
            )


def varying_fields(run: Run) -> dict[str, tuple[str, ...]]:
    """The fields that the run's configurations differ in, with their values, in the order of the fields; without those that another decides."""
    entries = run.manifest.configurations
    varying: dict[str, tuple[str, ...]] = {}
    for name in BY_NAME:
        values = dict.fromkeys(str(entry.fields[name]) for entry in entries if applies(name, entry.configuration))
        if len(values) > 1 and not any(_decides(leader, name, entries) for leader in varying):
            varying[name] = tuple(values)
    return varying


def _decides(leader: str, name: str, entries: Sequence[Entry]) -> bool:
    """Whether one field's value settles another's, as a strategy its size."""
    pairs = {(str(entry.fields[leader]), str(entry.fields[name])) for entry in entries}
    return len(pairs) == len({first for first, _ in pairs})


def effect(run: Run, field: str, metric: str = HEADLINE) -> Effect | None:
    """What a field does, over the configurations that come in all of its values; None when there are none such."""
    values = varying_fields(run).get(field, ())
    groups = [group for group in _matched(run, field) if {value for value, _ in group} == set(values)]
    if len(values) < 2 or not groups:
        return None
    chosen = headline(run)
    scores = matrix(run, require_metric(run, metric))[chosen]
    columns = [[place for group in groups for value, place in group if value == wanted] for wanted in values]
    # A mean over configurations is one only where all of them are defined.
    means = np.stack([scores[:, places].mean(axis=1) for places in columns], axis=1)
    binary = is_binary(metric) and len(groups) == 1
    made = statistics.compare_all(means, clusters(run, chosen), binary=binary, seed=SEED, resamples=RESAMPLES)
    return Effect(field, metric, values, made, len(groups))


def _matched(run: Run, field: str) -> Iterator[list[tuple[str, int]]]:
    """The configurations (value of the field, place) that differ in nothing but this field and what follows from it."""
    led = [name for name in BY_NAME if name == field or _decides(field, name, run.manifest.configurations)]

    def rest(place: int) -> tuple[str, ...]:
        return tuple(str(value) for name, value in run.manifest.configurations[place].fields.items() if name not in led)

    places = sorted(range(len(run.manifest.configurations)), key=rest)
    for _, group in groupby(places, key=rest):
        yield [(str(run.manifest.configurations[place].fields[field]), place) for place in group]


def against(one: int, other: int, made: Effect, run: Run) -> Comparison:
    """Two values of a field (by their columns) head to head, first minus second."""
    chosen = headline(run)
    scores = matrix(run, made.metric)[chosen]
    groups = [group for group in _matched(run, made.field) if {value for value, _ in group} == set(made.values)]
    sides = [
        scores[:, [place for group in groups for value, place in group if value == made.values[at]]].mean(axis=1) for at in (one, other)
    ]
    binary = is_binary(made.metric) and made.matched == 1
    return statistics.compare(sides[0], sides[1], clusters(run, chosen), binary=binary, seed=SEED, resamples=RESAMPLES)


def curve(run: Run, family: str = "recall", *, budgets: bool = False) -> list[dict[str, Any]]:
    """A row for every configuration and every k (or token budget) that the run has of a metric's family: mean, low, high, n."""
    named = [
        (metric.budget if budgets else metric.k, name) for name in run.manifest.metrics if (metric := parse_metric(name)).family == family
    ]
    points = sorted((at, name) for at, name in named if at is not None)
    chosen = headline(run)
    scored, names, belongs = matrices(run, [name for _, name in points]), labels(run), clusters(run, chosen)
    rows = []
    for place, label in enumerate(names):
        for at, name in points:
            found = _quick_interval(scored[name][chosen][:, place], belongs, binary=is_binary(name))
            rows.append({"place": place, "configuration": label, "at": at, **interval_cells(found)})
    return rows


def _quick_interval(values: Scores, belongs: Sequence[str], *, binary: bool) -> Interval:
    return statistics.interval(values, belongs, binary=binary, seed=SEED, resamples=RESAMPLES if binary else 1000)


def interval_cells(found: Interval) -> dict[str, Any]:
    """A mean with its interval as cells of a row."""
    return {"mean": found.mean, "low": found.low, "high": found.high, "n": found.n, "of": found.of, "note": found.note}


def by_kind(run: Run, metric: str = HEADLINE) -> list[dict[str, Any]]:
    """A row for every configuration and kind of question: mean, low, high, n; unanswerable ones have a metric of their own."""
    scores = matrix(run, require_metric(run, metric))
    kinds = [asked.kind for asked in run.questions]
    everything = np.ones(len(kinds), dtype=bool)
    rows = []
    for place, label in enumerate(labels(run)):
        groups = statistics.by_group(
            scores[:, place], kinds, clusters(run, everything), binary=is_binary(metric), seed=SEED, resamples=1000
        )
        rows += [
            {"place": place, "configuration": label, "kind": kind, **interval_cells(found)}
            for kind, found in groups.items()
            if kind != UNANSWERABLE or metric == "refused"
        ]
    return rows


def tradeoff(made: Board) -> list[dict[str, Any]]:
    """A row for every configuration: mean, median latency, tokens shown, and whether it is on the Pareto front of either."""
    rows = [
        {
            "place": row.place,
            "configuration": row.label,
            "mean": row.standing.mean.mean,
            "ms": row.latency,
            "tokens": row.tokens,
            "tied": row.standing.tied,
        }
        for row in made.rows
    ]
    return [{**row, "front_ms": _on_front(row, rows, "ms"), "front_tokens": _on_front(row, rows, "tokens")} for row in rows]


def _on_front(row: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], cost: str) -> bool:
    """Whether nothing is at least as good and as cheap, and better in one."""
    if row["mean"] is None or row[cost] is None:
        return False
    there = [each for each in rows if each["mean"] is not None and each[cost] is not None]
    return not any(
        each["mean"] >= row["mean"] and each[cost] <= row[cost] and (each["mean"] > row["mean"] or each[cost] < row[cost]) for each in there
    )


def disagreement(run: Run, metric: str = HEADLINE, *, only_different: bool = False) -> tuple[list[int], Scores]:
    """The questions (by place) in which the configurations differ most first, and the scores (questions in that order, configurations)."""
    scores = matrix(run, require_metric(run, metric))
    there = ~np.isnan(scores)
    counted = there.sum(axis=1)
    known = np.where(there, scores, 0.0)
    means = known.sum(axis=1) / np.maximum(counted, 1)
    spread = np.where(there, (scores - means[:, None]) ** 2, 0.0).sum(axis=1) / np.maximum(counted, 1)
    order = [place for place in np.lexsort((means, -spread)).tolist() if counted[place] and not (only_different and spread[place] <= _SAME)]
    return order, scores[order]


def ever_run(everything: Sequence[Run], golden_sha256: str) -> int:
    """How many different configurations were ever run on a question set: the more, the likelier that one looks good by chance."""
    return len({entry.key for run in everything if run.manifest.golden_sha256 == golden_sha256 for entry in run.manifest.configurations})
