"""A run in plain words: what beats what by how much, what cannot be told apart, and what was not measured."""

from collections.abc import Iterator, Sequence

from evals.analysis import FAIR, Board, Effect, against, board, duel, effect, ever_run, varying_fields
from evals.golden import UNANSWERABLE
from evals.results import Run
from evals.statistics import Comparison, Interval
from evals.summary import HEADLINE, Result, headline, short, summarise
from sitt_core.configuration import BY_NAME

CHUNKING = "chunking."
NAMES = {
    "recall": "recall",
    "coverage": "evidence coverage",
    "document-ndcg": "nDCG of documents",
    "rouge-l": "ROUGE-L",
}
FEW_LISTED = 4


def findings(run: Run, everything: Sequence[Run] = (), *, made: Board | None = None) -> list[str]:
    """One sentence or two for each thing that the run's figures say; `everything` are all runs, to say how often was tried,
    `made` the headline's leaderboard where there is one already.

    Only from rows that there are: a run that is not done is said to be so. Raises StoreError.
    """
    metric = HEADLINE if HEADLINE in run.manifest.metrics else next((name for name in run.manifest.metrics if name != "refused"), "")
    if not metric:
        return [*_state(run), *_refusals(run), *_judged(run), *_caveats(run, everything)]
    made = made if made is not None and made.metric == metric else board(run, metric)
    said = [*_state(run), *_best(run, made), *_effects(run, metric), *_baseline(made), *_power(run, made), *_refusals(run)]
    return [*said, *_judged(run), *_caveats(run, everything)]


def _judged(run: Run) -> Iterator[str]:
    """Where to read what a judge says of the answers, and who that is."""
    if run.judged is not None and run.judged.provider:
        yield f"Its answers were judged by {run.judged.judge}: what that says stands under Answers."


def metric_words(name: str) -> str:
    """A metric as a sentence names it: `recall at 5`, `evidence coverage at 2,000 tokens`."""
    family, _, cut = name.partition("@")
    words = NAMES.get(family, family.replace("-", " "))
    if cut.endswith("t") and cut[:-1].isdigit():
        return f"{words} at {int(cut[:-1]):,} tokens"
    return f"{words} at {'top K' if cut == 'top_k' else cut}" if cut else words


def _state(run: Run) -> Iterator[str]:
    if run.state != "done":
        yield "The run is not finished: what follows is about the rows so far."
    for key, why in run.failures.items():
        entry = next(each for each in run.manifest.configurations if each.key == key)
        yield f"Not measured: {entry.slug}. {why}"


def _best(run: Run, made: Board) -> Iterator[str]:
    best = made.rows[0]
    if best.standing.mean.mean is None:
        yield f"No question has a score for {metric_words(made.metric)} yet."
        return
    count = int(headline(run).sum())
    yield f"Over {count} questions the highest {metric_words(made.metric)} is {best.label}: {_mean(best.standing.mean)}."
    there = [row for row in made.rows if row.standing.comparable]
    for row in made.rows[len(there) :][:FEW_LISTED]:
        yield f"{row.label} is not comparable: {row.standing.why_not}."
    if len(there) == 1:
        return
    if made.leaderboard.ties is None:
        yield f"Which configuration is best cannot be said: {made.leaderboard.note}."
        return
    tied = [row for row in there if row.standing.tied]
    if len(tied) == 1:
        yield f"It is distinguishable from each of the other {len(there) - 1} that are comparable."
        return
    others = "All" if len(tied) == len(there) else f"{len(tied)}"
    cheapest, fastest = (made.row(place) if place is not None else None for place in (made.cheapest, made.fastest))
    named = [f"the one that shows the fewest tokens is {cheapest.label} ({cheapest.tokens:,.0f})"] if cheapest and cheapest.tokens else []
    named += [f"the fastest is {fastest.label} ({fastest.latency:.1f} ms)"] if fastest and fastest.latency else []
    yield (
        f"{others} of {len(there)} configurations are not distinguishable from it (randomised Tukey HSD, within "
        f"{short(made.leaderboard.ties.yardstick)}); of these {' and '.join(named)}."
    )


def _mean(found: Interval) -> str:
    if found.mean is None:
        return "not defined"
    missing = f", defined for {found.n} of {found.of}" if found.n < found.of else ""
    if found.low is None or found.high is None:
        return f"{short(found.mean)} ({found.method}{missing})"
    return f"{short(found.mean)} (95 % interval {short(found.low)}–{short(found.high)}{missing})"


def _effects(run: Run, metric: str) -> Iterator[str]:
    for field in varying_fields(run):
        by = FAIR if field.startswith(CHUNKING) and FAIR in run.manifest.metrics else metric
        made = effect(run, field, by)
        if made is not None:
            yield _effect_sentence(run, made)


def _effect_sentence(run: Run, made: Effect) -> str:
    """What a field does: its values from the best down, who beats whom by how much, who cannot be told apart."""
    standings = made.leaderboard.standings
    known = [at for at in range(len(made.values)) if standings[at].comparable and standings[at].mean.mean is not None]
    order = sorted(known, key=lambda at: -(standings[at].mean.mean or 0.0))
    listed = ", ".join(f"{made.values[at]} {short(standings[at].mean.mean or 0.0, 3)}" for at in order)
    listed += "".join(f", {made.values[at]} not comparable" for at in range(len(made.values)) if at not in known)
    over = f", each averaged over {made.matched} configurations" if made.matched > 1 else ""
    lead = f"{BY_NAME[made.field].label} ({metric_words(made.metric)}{over}): {listed}."
    ties = made.leaderboard.ties
    if ties is None:
        return f"{lead} {made.leaderboard.note.capitalize()}."
    beaten = [at for at in order if at not in ties.tied]
    if not beaten:
        return f"{lead} Nothing here is distinguishable."
    best = order[0]
    told = [_beats(made.values[best], made.values[at], against(best, at, made, run)) for at in beaten[:FEW_LISTED]]
    alike = [made.values[at] for at in order if at in ties.tied]
    same = f" {_listed(alike)} are not distinguishable." if len(alike) > 1 else ""
    return f"{lead} {'; '.join(told)}.{same}"


def _beats(one: str, other: str, made: Comparison) -> str:
    return f"{one} beats {other} by {difference(made.difference)}"


def difference(found: Interval) -> str:
    """A difference with the half-width of its interval, or its limits where they lie unevenly."""
    if found.mean is None:
        return "an amount that is not defined"
    if found.low is None or found.high is None:
        return f"{found.mean:.2f} (too few for an interval)"
    return f"{short(found.mean)} (95 % interval {signed(found.low)} to {signed(found.high)})"


def signed(value: float) -> str:
    """A difference as tables print it: with its sign, without the zero before the point."""
    return f"{value:+.2f}".replace("0.", ".", 1).replace("-", "−")


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


def _baseline(made: Board) -> Iterator[str]:
    """Every configuration that differs from the baseline after Holm's correction."""
    if made.leaderboard.baseline is None:
        return
    baseline = made.row(made.leaderboard.baseline)
    differing = [row for row in made.rows if row.standing.p_adjusted is not None and row.standing.p_adjusted <= 0.05]
    if not differing:
        yield f"Against the baseline {baseline.label}, named beforehand, no configuration differs after Holm's correction."
        return
    for row in differing[:FEW_LISTED]:
        assert row.standing.against is not None
        found = row.standing.against
        verb = "better" if (found.difference.mean or 0.0) > 0 else "worse"
        yield (
            f"{row.label} is {verb} than the baseline {baseline.label} by {difference(found.difference)} "
            f"(Holm-adjusted p = {row.standing.p_adjusted:.3f}; {found.wins} won, {found.ties} equal, {found.losses} lost)."
        )


def _power(run: Run, made: Board) -> Iterator[str]:
    """The difference that these questions could have shown between the first two."""
    if len(made.rows) < 2 or not made.rows[1].standing.comparable:
        return
    found = duel((run, made.rows[0].place), (run, made.rows[1].place), made.metric).comparison
    if found.detectable is not None:
        yield (
            f"Between the first two of the list these {found.shares.n} questions would show a difference of {short(found.detectable)} "
            "four times in five; smaller ones are often missed."
        )


def _refusals(run: Run) -> Iterator[str]:
    if "refused" not in run.manifest.metrics:
        return
    results = summarise(run)
    for result in results[:FEW_LISTED]:
        yield _refusal_sentence(result)
    if len(results) > FEW_LISTED:
        yield f"What the other {len(results) - FEW_LISTED} refused stands in the table of refusals."


def _refusal_sentence(result: Result) -> str:
    groups = {name: figure for name, figure in result.abstention.items() if figure.mean is not None}
    told = ", ".join(f"{short(figure.mean or 0.0)} of the {figure.n} {name} ones" for name, figure in groups.items())
    return f"{result.label} refused {told}."


def _caveats(run: Run, everything: Sequence[Run]) -> Iterator[str]:
    tried = ever_run(everything, run.manifest.golden_sha256)
    stale = sum(bool(asked.stale) for asked in run.questions)
    if stale:
        said = "1 question has" if stale == 1 else f"{stale} questions have"
        yield f"{said} stale evidence: what needs it is not defined there."
    if not any(asked.kind == UNANSWERABLE for asked in run.questions):
        yield "No unanswerable question was asked, so nothing is said about refusing."
    if tried > len(run.manifest.configurations):
        yield (
            f"{tried} configurations have been tried on these questions in the runs that are kept: corrections hold within this run and for "
            f"{metric_words(HEADLINE)}; effects of fields, other metrics and slices are exploratory. Confirm a choice on the sealed questions."
        )
    else:
        yield f"Corrections hold within this run and for {metric_words(HEADLINE)}; effects of fields, other metrics and slices are exploratory."
