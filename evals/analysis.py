"""What may be said of a run: leaderboards, head-to-heads, the effect of one field, curves, slices; rows for pages and reports."""

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals import judged, statistics
from evals.golden import UNANSWERABLE
from evals.metrics import BINARY, parse_metric
from evals.qualities import BY_QUALITY
from evals.results import Asked, Entry, Run, errors, matrices, matrix, rows
from evals.statistics import Comparison, Interval, Leaderboard, Standing, TieSet
from evals.summary import HEADLINE, follows, headline, labels, summarise
from sitt_core.configuration import BY_NAME, applies
from sitt_core.errors import InvalidInput, shown

SEED = 0
RESAMPLES = 10_000
FAIR = "coverage@2000t"
"""What chunkings are ranked by: at the same number of passages, larger chunks show more text."""
QUICK = 1_000
"""How often documents are drawn for one of very many intervals."""
LARGE = 1_000
"""Questions about more documents than this have their documents drawn in groups: one by one it would take minutes."""
GROUPS, GROUP_RESAMPLES = 500, 1_000
"""Into how many groups of about the same size, and how often they are drawn, flipped or permuted, at least."""
PER_COLUMN = 40
"""Of many configurations, so many times as often: Holm multiplies the smallest p, 1 / (B + 1), by their number."""
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
    if metric not in run.metrics:
        raise InvalidInput(
            expected=f"a metric of run {run.manifest.id}: {', '.join(run.metrics)}",
            got=shown(metric),
            remedy="Choose one of those.",
        )
    return metric


def rankable(run: Run, metric: str) -> str:
    """The metric, if the run has it and more of it is better; raises InvalidInput."""
    if metric == "refused":
        raise InvalidInput(
            expected="a metric of which more is better",
            got="refused, which is right for some questions and wrong for others",
            remedy="show tells what was refused of each sort of question.",
        )
    if metric in BY_QUALITY and BY_QUALITY[metric].lower_is_better:
        raise InvalidInput(
            expected="a metric of which more is better",
            got=f"{metric}, of which less is",
            remedy="The answers' charts show it with its interval.",
        )
    return require_metric(run, metric)


def rankable_metrics(run: Run) -> tuple[str, ...]:
    """The run's metrics of which more is better."""
    return tuple(name for name in run.metrics if name != "refused" and not (name in BY_QUALITY and BY_QUALITY[name].lower_is_better))


def is_binary(metric: str) -> bool:
    """Whether its values are 0 or 1."""
    return metric not in BY_QUALITY and parse_metric(metric).family in BINARY


def clusters(run: Run, chosen: NDArray[np.bool_]) -> list[str]:
    """What each chosen question belongs to: its primary document."""
    return [asked.primary for asked, wanted in zip(run.questions, chosen, strict=True) if wanted]


@dataclass(frozen=True, slots=True)
class Drawing:
    """How the statistics of a list of questions draw its documents: one by one, or in groups where there are many.

    A group of documents is as good a unit as a document, only coarser: each is drawn or flipped whole, so levels and
    coverage stay, and the limits of an interval move by less than a tenth of its width. Not so for the yardstick of the tie set,
    which permutes what differs: in groups, true differences would swell it. So it is taken at its limit, document by document.
    `codes` are the units drawn, `own` the documents themselves.
    """

    codes: NDArray[np.int64]
    own: NDArray[np.int64]

    @property
    def documents(self) -> int:
        """How many documents the questions are about."""
        return int(self.own.max(initial=-1)) + 1

    @property
    def grouped(self) -> bool:
        """Whether documents are drawn in groups."""
        return self.codes is not self.own

    def resamples(self, columns: int = 1) -> int:
        """How often they are drawn for a leaderboard of so many configurations, or a comparison."""
        return min(RESAMPLES, max(GROUP_RESAMPLES, PER_COLUMN * columns)) if self.grouped else RESAMPLES

    def compare_all(self, scores: Scores, *, binary: bool, baseline: int | None = None) -> Leaderboard:
        """`statistics.compare_all` over the questions."""
        made = statistics.compare_all(
            scores, self.codes, binary=binary, seed=SEED, baseline=baseline, resamples=self.resamples(scores.shape[1])
        )
        return self._in_groups(made, scores) if self.grouped else made

    def _in_groups(self, made: Leaderboard, scores: Scores) -> Leaderboard:
        """A leaderboard over groups with the tie set of the documents, and with notes that say groups."""
        ties = made.ties
        if ties is not None:
            comparable = [each.configuration for each in made.standings if each.comparable]
            common = ~np.isnan(scores[:, comparable]).any(axis=1)
            found = ties_of_many(scores[common][:, np.array(comparable)], self.own[common])
            ties = replace(found, best=comparable[found.best], tied=tuple(comparable[each] for each in found.tied))
        standings = (
            replace(
                each,
                mean=self._said(each.mean),
                tied=ties is not None and each.configuration in ties.tied,
                against=self._said_of(each.against) if each.against else None,
            )
            for each in made.standings
        )
        return replace(made, standings=tuple(standings), ties=ties)

    def compare(self, first: Scores, second: Scores, *, binary: bool) -> Comparison:
        """`statistics.compare` over the questions."""
        return self._said_of(statistics.compare(first, second, self.codes, binary=binary, seed=SEED, resamples=self.resamples()))

    def interval(self, values: Scores, *, binary: bool) -> Interval:
        """`statistics.interval` over the questions."""
        return self._said(statistics.interval(values, self.codes, binary=binary, seed=SEED, resamples=QUICK))

    def by_group(self, values: Scores, groups: Sequence[str], *, binary: bool) -> dict[str, Interval]:
        """`statistics.by_group` over the questions."""
        found = statistics.by_group(values, groups, self.codes, binary=binary, seed=SEED, resamples=QUICK)
        return {name: self._said(each) for name, each in found.items()}

    def _said_of(self, made: Comparison) -> Comparison:
        return replace(made, difference=self._said(made.difference))

    def _said(self, found: Interval) -> Interval:
        """An interval whose note calls a group of documents by that name."""
        return replace(found, note=found.note.replace(" documents", " groups of documents")) if self.grouped else found


def draw_documents(belongs: Sequence[Hashable]) -> Drawing:
    """How the documents of some questions are drawn, one entry of `belongs` per question."""
    numbers: dict[Hashable, int] = {}
    own = np.array([numbers.setdefault(each, len(numbers)) for each in belongs], dtype=np.int64)
    if len(numbers) <= LARGE:
        return Drawing(own, own)
    order = np.random.default_rng(SEED).permutation(len(numbers))  # neighbours are often alike
    return Drawing(order[own] % GROUPS, own)


def ties_of_many(scores: Scores, documents: NDArray[np.int64]) -> TieSet:
    """`statistics.tie_set` in the limit of many documents; `scores` has the shape (questions, configurations), none missing.

    There, sums over documents whose labels are permuted, or whose deviations are flipped, are normal with the covariance that
    permuting and flipping give them, so they are drawn from that: `RESAMPLES` times, in no time.
    """
    count, columns = scores.shape
    places = np.unique(documents, return_inverse=True)[1]
    sizes = np.bincount(places).astype(float)
    sums = np.stack([np.bincount(places, weights=scores[:, at]) for at in range(columns)], axis=1)
    means = scores.mean(axis=0)
    inner = sums - sums.mean(axis=1, keepdims=True)
    centred = (sums - means * sizes[:, None]) * np.sqrt(len(sums) / (len(sums) - 1))
    drawn = np.random.default_rng(SEED).standard_normal((RESAMPLES, columns))
    values, vectors = np.linalg.eigh(centred.T @ centred)
    ranges = (
        np.sqrt((inner**2).sum() / max(1, columns - 1)) * np.ptp(drawn, axis=1),
        np.ptp((drawn * np.sqrt(np.maximum(values, 0.0))) @ vectors.T, axis=1),
    )
    yardstick = max(float(np.quantile(each, 1 - statistics.ALPHA)) for each in ranges) / count
    within = means >= means.max() - yardstick - statistics.ROUNDING
    return TieSet(int(means.argmax()), tuple(np.flatnonzero(within).tolist()), yardstick, tuple(means.tolist()))


def drawing_note(run: Run) -> str:
    """What has to be said of a run whose documents are drawn in groups; empty for any other."""
    drawing = draw_documents(clusters(run, headline(run)))
    if not drawing.grouped:
        return ""
    times = drawing.resamples(len(run.manifest.configurations))
    return (
        f"These questions are about {drawing.documents:,} documents: for intervals and tests they were drawn in {GROUPS:,} random groups, "
        f"{times:,} times, which moves limits by less than a tenth of an interval's width; ties are told by the normal limit of the randomisation."
    )


def baseline_place(run: Run, key: str = "") -> int | None:
    """The place of the baseline: the one named, or the one that the run was started with; None for none."""
    wanted = key or run.manifest.baseline
    return run.place_of(wanted) if wanted else None


def board(run: Run, metric: str = HEADLINE, *, baseline: str = "") -> Board:
    """The leaderboard of a run; raises InvalidInput, NotFound or StoreError."""
    chosen = headline(run)
    read = matrices(run, [rankable(run, metric), "ms_total", "tokens"])
    scores = read[metric][chosen]
    drawing = draw_documents(clusters(run, chosen))
    made = drawing.compare_all(scores, binary=is_binary(metric), baseline=baseline_place(run, baseline))
    rows = [
        Row(place, entry, label, made.standings[place], _median(read["ms_total"][:, place]), _mean(read["tokens"][chosen][:, place]))
        for place, (entry, label) in enumerate(zip(run.manifest.configurations, labels(run), strict=True))
    ]
    # What is defined for fewer questions comes last, however high its mean: leaving out the hard ones must not raise it.
    rows.sort(key=lambda row: (not row.standing.comparable, -_mean_or_less(row.standing), row.place))
    tied = [row for row in rows if row.standing.tied]
    return Board(metric, tuple(rows), made, _least(tied, "tokens"), _least(tied, "latency"))


def _mean_or_less(standing: Standing) -> float:
    return -1.0 if standing.mean.mean is None else standing.mean.mean


def _median(values: Scores) -> float | None:
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else None


def _mean(values: Scores) -> float | None:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else None


def _least(rows: Sequence[Row], name: str) -> int | None:
    there = [(getattr(row, name), row.place) for row in rows if getattr(row, name) is not None]
    return min(there)[1] if there else None


def board_rows(made: Board) -> list[dict[str, Any]]:
    """A row for every configuration of a leaderboard, the best first: its figures, and what may be said of it."""
    return [
        {
            "rank": rank,
            "place": row.place,
            "configuration": row.label,
            "key": row.entry.key,
            **interval_cells(row.standing.mean),
            "method": row.standing.mean.method,
            "tied": row.standing.tied,
            "baseline": row.place == made.leaderboard.baseline,
            "ms": row.latency,
            "tokens": row.tokens,
            **_bound_cells(row.standing),
            **_against_cells(row.standing),
            "why not": row.standing.why_not,
        }
        for rank, row in enumerate(made.rows, start=1)
    ]


def _bound_cells(standing: Standing) -> dict[str, Any]:
    """What the mean would be if every missing score were 0, and if every one were 1; None where none is missing."""
    low, high = standing.bounds if standing.mean.n < standing.mean.of else (None, None)
    return {"missing as 0": low, "missing as 1": high}


def _against_cells(standing: Standing) -> dict[str, Any]:
    """What a configuration is against the baseline; nothing where none was named."""
    if standing.against is None:
        return {}
    found = standing.against
    return {
        "difference": found.difference.mean,
        "difference low": found.difference.low,
        "difference high": found.difference.high,
        "p (Holm)": standing.p_adjusted,
        "won": found.wins,
        "equal": found.ties,
        "lost": found.losses,
    }


def so_far(run: Run, metric: str = HEADLINE) -> list[dict[str, Any]]:
    """A row for every configuration of a run on its way: how many questions it has done, and the mean over them with Wilson's interval.

    What is compared here was not asked the same questions yet, so nothing is said of ties; the best so far first.
    """
    read = matrices(run, ["c", require_metric(run, metric)])
    chosen = headline(run)
    found = []
    for place, label in enumerate(labels(run)):
        done = ~np.isnan(read["c"][:, place])
        values = read[metric][chosen][:, place]
        if is_binary(metric):  # nothing is concluded from it, so questions count one by one
            cells = interval_cells(statistics.interval(values, None, binary=True, seed=SEED))
        else:
            there = values[~np.isnan(values)]
            cells = {"mean": float(there.mean()) if len(there) else None, "low": None, "high": None, "n": len(there), "of": len(values)}
        found.append({"place": place, "configuration": label, "done": int(done.sum()), "questions": len(done), **cells})
    return sorted(found, key=lambda row: (-(row["mean"] if row["mean"] is not None else -1.0), row["place"]))


def duel(one: tuple[Run, int], other: tuple[Run, int], metric: str = HEADLINE, *, common: bool = False) -> Duel:
    """Two configurations (a run and a place in it) over the headline questions that both were asked, first minus second.

    Of different runs only on the same corpus and question set, unless `common` accepts the questions whose text both
    share; and by a metric of answers only where the same judge gave both scores. Raises InvalidInput or StoreError.
    """
    require_same_questions(one[0], other[0], common=common)
    require_same_judge(one[0], other[0], metric)
    asked, first, second = _paired(one, other, metric)
    if not asked:
        raise InvalidInput(expected="questions that both were asked", got="none in common", remedy="Compare within one run.")
    made = draw_documents([each.primary for each in asked]).compare(first, second, binary=is_binary(metric))
    names = (labels(one[0])[one[1]], labels(other[0])[other[1]])
    if names[0] == names[1]:
        names = (f"{names[0]} ({one[0].manifest.id})", f"{names[1]} ({other[0].manifest.id})")
    pairs = tuple((each, _value(a), _value(b)) for each, a, b in zip(asked, first.tolist(), second.tolist(), strict=True))
    return Duel(metric, names, made, pairs)


def _paired(one: tuple[Run, int], other: tuple[Run, int], metric: str) -> tuple[list[Asked], Scores, Scores]:
    """The headline questions of the first that both were asked, with each one's scores."""
    wanted = headline(one[0])
    asked = [each for each, chosen in zip(one[0].questions, wanted, strict=True) if chosen]
    scores = matrix(one[0], rankable(one[0], metric))[wanted]
    if one[0].manifest.id == other[0].manifest.id:
        return asked, scores[:, one[1]], scores[:, other[1]]
    theirs = _scores_by_question(other[0], other[1], metric)
    shared = [at for at, each in enumerate(asked) if (each.id, each.text) in theirs]
    kept = [asked[at] for at in shared]
    return kept, scores[shared, one[1]], np.array([theirs[each.id, each.text] for each in kept])


def _scores_by_question(run: Run, place: int, metric: str) -> dict[tuple[str, str], float]:
    values = matrix(run, rankable(run, metric))[:, place].tolist()
    return {(asked.id, asked.text): value for asked, value in zip(run.questions, values, strict=True)}


def _value(score: float) -> float | None:
    return None if np.isnan(score) else score


def require_same_questions(one: Run, other: Run, *, common: bool) -> None:
    """Raises InvalidInput when two runs asked other questions or another corpus, unless `common` accepts that."""
    if common or one.manifest.id == other.manifest.id:
        return
    for what, mine, theirs in (
        ("question set", one.manifest.golden_sha256, other.manifest.golden_sha256),
        ("choice of questions", _asked(one), _asked(other)),
        ("corpus", one.manifest.corpus_sha256, other.manifest.corpus_sha256),
    ):
        if mine != theirs:
            raise InvalidInput(
                expected=f"two runs on the same {what}",
                got=f"{mine[:12]} and {theirs[:12]}",
                remedy="Run both anew, or accept the questions that both share with --common.",
            )


def require_same_judge(one: Run, other: Run, metric: str) -> None:
    """Raises InvalidInput when a metric of answers was scored by another judge, or in another way, in the other run."""
    mine, theirs = one.judged, other.judged
    if one.manifest.id == other.manifest.id or metric not in BY_QUALITY or mine is None or theirs is None:
        return
    by_code = not BY_QUALITY[metric].judged
    if mine.same_judge(theirs) or (by_code and (mine.ragas, mine.embedder) == (theirs.ragas, theirs.embedder)):
        return
    raise InvalidInput(
        expected=f"two runs whose {metric} was scored by the same judge, in the same way",
        got=" and ".join(f"{run.manifest.id} by {_judge_in_full(about)}" for run, about in ((one, mine), (other, theirs))),
        remedy="Judge both by the same one: python -m evals ragas RUN --again.",
    )


def _judge_in_full(about: judged.About) -> str:
    return f"{about.judge} (prompts {about.prompts}, RAGAS {about.ragas}, embedder {about.embedder})"


def _asked(run: Run) -> str:
    """Names the questions that a run asks of its set."""
    return hashlib.sha256("\n".join(sorted(asked.id for asked in run.questions)).encode()).hexdigest()


def varying_fields(run: Run) -> dict[str, tuple[str, ...]]:
    """The fields that the run's configurations differ in, with their values, in the order of the fields; without those that another decides."""
    entries = run.manifest.configurations
    made = [entry.configuration for entry in entries]
    varying: dict[str, tuple[str, ...]] = {}
    for name in BY_NAME:
        values = dict.fromkeys(str(each[name]) for each in made if applies(name, each))
        if len(values) > 1 and not any(follows(name, leader, entries) for leader in varying):
            varying[name] = tuple(values)
    return varying


def effect(run: Run, field: str, metric: str = HEADLINE) -> Effect | None:
    """What a field does, over the configurations that come in all of its values; None when there are none such."""
    values = varying_fields(run).get(field, ())
    if len(values) < 2:
        return None
    chosen = headline(run)
    scores = matrix(run, rankable(run, metric))[chosen]
    groups = _whole_groups(run, field, values, scores)
    if not groups:
        return None
    columns = [[place for group in groups for value, place in group if value == wanted] for wanted in values]
    # A mean over configurations is one only where all of them are defined.
    means = np.stack([scores[:, places].mean(axis=1) for places in columns], axis=1)
    binary = is_binary(metric) and len(groups) == 1
    made = draw_documents(clusters(run, chosen)).compare_all(means, binary=binary)
    return Effect(field, metric, values, made, len(groups))


def effect_metric(run: Run, field: str, metric: str) -> str:
    """What a field's values are ranked by: chunkings at an equal budget of tokens where the run has that and nothing else is asked for."""
    return FAIR if metric == HEADLINE and field.startswith("chunking.") and FAIR in run.manifest.metrics else metric


def effect_rows(made: Effect) -> list[dict[str, Any]]:
    """A row for every value of the field, the best first: its mean over the matched configurations, and whether it is tied with the best."""
    found = [
        {
            "place": at,
            "configuration": value,
            **interval_cells(standing.mean),
            "method": standing.mean.method,
            "tied": standing.tied,
            "baseline": False,
            "why not": standing.why_not,
            "configurations": made.matched,
        }
        for at, (value, standing) in enumerate(zip(made.values, made.leaderboard.standings, strict=True))
    ]
    return sorted(found, key=lambda row: (-(row["mean"] if row["mean"] is not None else -1.0), row["place"]))


def _whole_groups(run: Run, field: str, values: Sequence[str], scores: Scores) -> list[list[tuple[str, int]]]:
    """The matched configurations that come in every value, each with a score of some question: one that failed takes its group along."""
    there = np.asarray(~np.isnan(scores).all(axis=0)).tolist()
    return [
        group for group in _matched(run, field) if {value for value, _ in group} == set(values) and all(there[place] for _, place in group)
    ]


def _matched(run: Run, field: str) -> Iterator[list[tuple[str, int]]]:
    """The configurations (value of the field, place) that differ in nothing but this field and what follows from it."""
    led = [name for name in BY_NAME if name == field or follows(name, field, run.manifest.configurations)]

    def rest(place: int) -> tuple[str, ...]:
        return tuple(str(value) for name, value in run.manifest.configurations[place].fields.items() if name not in led)

    places = sorted(range(len(run.manifest.configurations)), key=rest)
    for _, group in groupby(places, key=rest):
        yield [(str(run.manifest.configurations[place].fields[field]), place) for place in group]


def against(one: int, other: int, made: Effect, run: Run) -> Comparison:
    """Two values of a field (by their columns) head to head, first minus second."""
    chosen = headline(run)
    scores = matrix(run, made.metric)[chosen]
    groups = _whole_groups(run, made.field, made.values, scores)
    sides = [
        scores[:, [place for group in groups for value, place in group if value == made.values[at]]].mean(axis=1) for at in (one, other)
    ]
    binary = is_binary(made.metric) and made.matched == 1
    return draw_documents(clusters(run, chosen)).compare(sides[0], sides[1], binary=binary)


def curve(run: Run, family: str = "recall", *, budgets: bool = False) -> list[dict[str, Any]]:
    """A row for every configuration and every k (or token budget) that the run has of a metric's family: mean, low, high, n."""
    named = [
        (metric.budget if budgets else metric.k, name) for name in run.manifest.metrics if (metric := parse_metric(name)).family == family
    ]
    points = sorted((at, name) for at, name in named if at is not None)
    chosen = headline(run)
    scored, names, drawing = matrices(run, [name for _, name in points]), labels(run), draw_documents(clusters(run, chosen))
    rows = []
    for place, label in enumerate(names):
        for at, name in points:
            found = drawing.interval(scored[name][chosen][:, place], binary=is_binary(name))
            rows.append({"place": place, "configuration": label, "at": at, **interval_cells(found)})
    return rows


def interval_cells(found: Interval) -> dict[str, Any]:
    """A mean with its interval as cells of a row."""
    return {"mean": found.mean, "low": found.low, "high": found.high, "n": found.n, "of": found.of, "note": found.note}


def by_kind(run: Run, metric: str = HEADLINE) -> list[dict[str, Any]]:
    """A row for every configuration and kind of question: mean, low, high, n; unanswerable ones have a metric of their own."""
    scores = matrix(run, require_metric(run, metric))
    kinds = [asked.kind for asked in run.questions]
    drawing = draw_documents([asked.primary for asked in run.questions])
    rows = []
    for place, label in enumerate(labels(run)):
        groups = drawing.by_group(scores[:, place], kinds, binary=is_binary(metric))
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
            "n": row.standing.mean.n,
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


def cells(run: Run, metric: str, questions: Sequence[int], columns: Sequence[int]) -> list[dict[str, Any]]:
    """A row for every question and configuration (by place, in that order): its value, or why it has none.

    `outcome` is `value`, `undefined`, `error`, or `missing` where the run has not come to it yet.
    """
    read = matrices(run, ["c", require_metric(run, metric)])
    names = labels(run)
    return [
        {
            "place": place,
            "c": column,
            "question": run.questions[place].id,
            "text": run.questions[place].text,
            "configuration": names[column],
            **cell,
        }
        for place in questions
        for column, cell in zip(columns, _outcomes(run, metric, place, columns, read), strict=True)
    ]


def _outcomes(run: Run, metric: str, place: int, columns: Sequence[int], read: Mapping[str, Scores]) -> Iterator[dict[str, Any]]:
    """What came of a question under some configurations; rows are read whole only where a value is missing."""
    values, asked = read[metric][place, list(columns)], ~np.isnan(read["c"][place, list(columns)])
    whole: dict[int, Mapping[str, Any]] = {}
    later = metric in BY_QUALITY
    if (asked & np.isnan(values)).any():
        whole = judged_rows(run, place) if later else {row["c"]: row for row in rows(run, question=place)}
    for column, value in zip(columns, values.tolist(), strict=True):
        row = whole.get(column)
        if not np.isnan(value):
            yield {"outcome": "value", "value": value, "reason": ""}
        elif row is None:
            yield {"outcome": "missing", "value": None, "reason": "not judged yet" if later else "not asked yet"}
        elif why := (row["why"] or {}).get(metric):
            yield {"outcome": "undefined", "value": None, "reason": why}
        else:
            reason = row["errors"].get(metric, "") if later else row["error"]
            yield {"outcome": "error", "value": None, "reason": reason or "no value and no reason"}


def judged_rows(run: Run, question: int) -> dict[int, Mapping[str, Any]]:
    """The judged rows of a question's own answers, by the place of the configuration."""
    return {c: row for (c, q), row in judged.own(run.folder).items() if q == question}


def duel_rows(made: Duel) -> list[dict[str, Any]]:
    """A row for every question of a duel: both scores and who won, the widest differences first."""
    found: list[dict[str, Any]] = [
        {
            "question": asked.id,
            "kind": asked.kind,
            "text": asked.text,
            "A": first,
            "B": second,
            "won by": _winner(first, second),
        }
        for asked, first, second in made.questions
    ]
    return sorted(found, key=lambda row: (_ORDER[row["won by"]], -abs((row["A"] or 0.0) - (row["B"] or 0.0))))


_ORDER = {"A": 0, "B": 0, "neither": 1, "": 2}


def _winner(first: float | None, second: float | None) -> str:
    """`A`, `B` or `neither`; empty where one of them has no score."""
    if first is None or second is None:
        return ""
    return "neither" if abs(first - second) <= _SAME else "A" if first > second else "B"


def metric_means(run: Run) -> list[dict[str, Any]]:
    """A row for every configuration, in the order of the run: its mean by every metric over the headline's questions, with n of m."""
    chosen = headline(run)
    read = {name: values[chosen] for name, values in matrices(run, run.metrics).items()}
    found = []
    for place, label in enumerate(labels(run)):
        columns = {name: values[:, place] for name, values in read.items()}
        means = {name: {"mean": _mean(values), "n": int((~np.isnan(values)).sum()), "of": len(values)} for name, values in columns.items()}
        found.append({"place": place, "configuration": label, "means": means})
    return found


def trouble(run: Run, *, most: int = 200) -> list[dict[str, Any]]:
    """What could not be scored, by its reason: how many questions, under which configuration, and one of them; the most frequent first."""
    found: dict[tuple[int, str], list[str]] = {}
    for place in errors(run):
        for row in rows(run, configuration=place):
            if row["error"]:
                found.setdefault((place, row["error"]), []).append(run.questions[row["q"]].id)
    names = labels(run)
    listed: list[dict[str, Any]] = [
        {"configuration": names[place], "questions": len(ids), "reason": reason, "such as": ids[0]}
        for (place, reason), ids in found.items()
    ]
    return sorted(listed, key=lambda row: -row["questions"])[:most]


def abstention_rows(run: Run) -> list[dict[str, Any]]:
    """A row for every configuration: the share of the unanswerable, near-miss, off-topic and answerable questions that it refused.

    For each of the four a mean, `n …`, `low …` and `high …` (95 %, None for too few).
    """
    if "refused" not in run.manifest.metrics:
        return []
    rows = []
    for result in summarise(run):
        row: dict[str, Any] = {"configuration": result.label}
        for name, figure in result.abstention.items():
            low, high = (figure.interval.low, figure.interval.high) if figure.interval else (None, None)
            row |= {name: figure.mean, f"n {name}": figure.n, f"low {name}": low, f"high {name}": high}
        rows.append(row)
    return rows


def ever_run(everything: Sequence[Run], golden_sha256: str) -> int:
    """How many different configurations were ever run on a question set: the more, the likelier that one looks good by chance."""
    return len({entry.key for run in everything if run.manifest.golden_sha256 == golden_sha256 for entry in run.manifest.configurations})
