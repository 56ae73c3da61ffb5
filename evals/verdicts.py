"""What may be said of judged answers: scores with intervals and what is missing, noise, agreement with people, claims to read."""

import functools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evals import judged, statistics
from evals.analysis import SEED, board, clusters, draw_documents, interval_cells, rankable_metrics
from evals.qualities import BY_QUALITY
from evals.results import Run, matrices, rows
from evals.statistics import Interval
from evals.summary import counted, headline, labels, short
from sitt_core.notes import Logged

YES = 0.5
"""From this score on a judge is taken to think well of an answer."""
AGREEING = ("groundedness", "faithfulness", "rubric-completeness", "factual-correctness", "answer-relevancy")
"""What is held against people's thumbs, where there is enough of both."""


def quality_rows(run: Run) -> list[dict[str, Any]]:
    """A row for every metric and configuration, over the headline's questions: mean, low, high, method, n of m, bounds, and why scores are missing.

    `bound low` and `bound high` are the mean if every missing score were 0, and 1. `undefined` and `failed` count reasons;
    `waiting` are answers that were not judged yet.
    """
    if run.judged is None:
        return []
    chosen, names, own = headline(run), labels(run), judged.own(run.folder)
    scores, drawing = matrices(run, run.judged.metrics), draw_documents(clusters(run, chosen))
    found = []
    for metric in run.judged.metrics:
        for place, label in enumerate(names):
            values = scores[metric][chosen][:, place]
            low, high = statistics.bounds(values)
            mean = drawing.interval(values, binary=False)
            found.append(
                {
                    "metric": metric,
                    "place": place,
                    "configuration": label,
                    **interval_cells(mean),
                    "method": mean.method,
                    "bound low": low,
                    "bound high": high,
                    **_missing(own, place, np.flatnonzero(chosen).tolist(), metric),
                    "less is better": BY_QUALITY[metric].lower_is_better,
                }
            )
    return found


def _missing(own: Mapping[tuple[int, int], Mapping[str, Any]], place: int, questions: Sequence[int], metric: str) -> dict[str, Any]:
    undefined: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    waiting = 0
    for question in questions:
        row = own.get((place, question))
        if row is None:
            waiting += 1
        elif metric in row["why"]:
            undefined[row["why"][metric]] += 1
        elif metric in row["errors"]:
            failed[row["errors"][metric]] += 1
        elif metric not in row["scores"]:
            waiting += 1
    return {"undefined": dict(undefined.most_common()), "failed": dict(failed.most_common()), "waiting": waiting}


@dataclass(frozen=True, slots=True)
class Spread:
    """The standard deviation `sd` of one repeat's mean of a configuration, pooled over configurations with `df` degrees of freedom."""

    sd: float
    df: int


@dataclass(frozen=True, slots=True)
class Noise:
    """How much a metric's mean varies when nothing changed, beside what configurations differ by.

    `judge`: the same answers judged again. `generator`: answers written again and judged. None where it was not tried.
    `difference` is between the highest and the lowest mean of `configurations`; it and both spreads are over the same `questions`,
    those of the headline for which every one of these configurations has a score in every repeat.
    """

    metric: str
    repeats: int
    questions: int
    configurations: int
    judge: Spread | None
    generator: Spread | None
    difference: float


def noise(run: Run) -> list[Noise]:
    """The noise of every judged metric where answers were judged or written more than once; what cannot vary is left out."""
    if run.judged is None or run.judged.repeats < 2:
        return []
    held = {judged.unit_of(row): row["scores"] for row in judged.rows(run.folder)}
    asked = np.flatnonzero(headline(run)).tolist()
    again, anew = [(0, j) for j in range(run.judged.repeats)], [(a, 0) for a in range(run.judged.repeats)]
    found = []
    for metric in run.judged.metrics:
        places = range(len(run.manifest.configurations))
        judgings = [_whole(held, metric, c, asked, again) for c in places]
        writings = [_whole(held, metric, c, asked, anew) for c in places]
        made = _noise_of(metric, judgings, writings)
        if made is not None:
            found.append(made)
    return found


Repeated = Mapping[int, Sequence[float]]
"""The scores of a configuration's questions (by their places), each with all repeats."""


def _whole(
    held: Mapping[judged.Unit, Mapping[str, float]], metric: str, c: int, asked: Sequence[int], which: Sequence[tuple[int, int]]
) -> Repeated:
    listed = {q: [held.get((c, q, a, j), {}).get(metric) for a, j in which] for q in asked}
    return {q: [value for value in scores if value is not None] for q, scores in listed.items() if None not in scores}


def _noise_of(metric: str, judgings: Sequence[Repeated], writings: Sequence[Repeated]) -> Noise | None:
    """From the judgings and the writings of each configuration; without writings an answer is the same each time."""
    pairs = [(again, anew, again.keys() & (anew or again).keys()) for again, anew in zip(judgings, writings, strict=True)]
    there = [pair for pair in pairs if pair[2]]
    shared = sorted(set.intersection(*(set(whole) for *_, whole in there))) if there else []
    if not shared:
        return None
    again = np.array([[scores[q] for q in shared] for scores, *_ in there])
    anew = np.array([[scores[q] for q in shared] for _, scores, _ in there if scores])
    judge = _spread(again) if BY_QUALITY[metric].judged else None  # code says the same of the same answer each time
    generator = _spread(anew) if len(anew) else None
    if judge is None and generator is None:
        return None
    means = again[:, :, 0].mean(axis=1)
    return Noise(metric, again.shape[2], len(shared), len(there), judge, generator, float(means.max() - means.min()))


def _spread(scores: NDArray[np.float64]) -> Spread:
    """Of scores of the shape (configurations, questions, repeats)."""
    variances = scores.mean(axis=1).var(axis=1, ddof=1)
    return Spread(math.sqrt(variances.mean()), len(scores) * (scores.shape[2] - 1))


def noise_row(each: Noise) -> dict[str, Any]:
    """The noise of a metric as a line of a table, with what repeats alone bring about."""
    alone = repeats_alone(each)
    return {
        "metric": each.metric,
        "beyond noise": None if alone is None else each.difference > alone + SAME,
        "largest difference": each.difference,
        "from repeats alone": alone,
        "SD, judged again": each.judge.sd if each.judge else None,
        "SD, written again": each.generator.sd if each.generator else None,
        "repeats": each.repeats,
        "questions": each.questions,
        "configurations": each.configurations,
    }


def repeats_alone(each: Noise) -> float | None:
    """The difference of the highest and the lowest mean that repeats alone exceed in 5 % of cases at most, if configurations are equal.

    The studentized range (Tukey) of so many means, with the degrees of freedom that their standard deviation is known with; the
    larger one of judge and generator. It takes noise for about the same in every configuration. None where neither is known, or
    of fewer than two configurations.
    """
    known = [spread for spread in (each.judge, each.generator) if spread is not None]
    if not known or each.configurations < 2:
        return None
    return max(_range_quantile(each.configurations, spread.df) * spread.sd for spread in known)


@functools.cache
def _range_quantile(k: int, df: int) -> float:
    from scipy.stats import studentized_range  # type: ignore[import-untyped]  # slow to import

    return float(studentized_range.ppf(1 - statistics.ALPHA, k, df))


def noise_sentence(listed: Sequence[Noise]) -> str:
    """In words which metrics' differences are more than noise."""
    rows = [noise_row(each) for each in listed]
    beyond, within, unknown = ([row["metric"] for row in rows if row["beyond noise"] is answer] for answer in (True, False, None))
    said = []
    if beyond:
        where = "every metric" if len(beyond) == len(rows) else ", ".join(beyond)
        said.append(f"In {where} the configurations differ by more than repeats alone bring about.")
    if within:
        where = "every metric" if len(within) == len(rows) else ", ".join(within)
        said.append(f"In {where} the configurations differ by no more than repeats alone bring about: that may be noise.")
    if unknown:
        said.append(f"Nothing can be said of {', '.join(unknown)}: it takes two configurations and repeats of them.")
    return " ".join(said)


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge against people: over `n` answers with a thumb and a score, how often both think well or both ill of one.

    `kappa` is Cohen's: 0 for what chance would give, None where either of both never differs: it would be 0 whatever the other thinks. `above` is the share of pairs of a
    liked and a disliked answer in which the liked one has the higher score (half for equal ones); None without such a pair.
    """

    metric: str
    n: int
    ups: int
    share: Interval
    kappa: float | None
    above: float | None


def agreements(run: Run, logged: Sequence[Logged] = ()) -> list[Agreement]:
    """The agreement of each metric of `AGREEING` that was judged; thumbs were given in the Lab, or on Ask to the very same answer."""
    if run.judged is None:
        return []
    given = thumbs_of(run, logged)
    own = judged.own(run.folder)
    made = []
    for metric in (name for name in AGREEING if name in run.judged.metrics):
        pairs = [
            (place, own[place]["scores"][metric], thumb == "up")
            for place, thumb in sorted(given.items())
            if place in own and metric in own[place]["scores"]
        ]
        if pairs:
            made.append(_agreement(run, metric, pairs))
    return made


def _agreement(run: Run, metric: str, pairs: Sequence[tuple[tuple[int, int], float, bool]]) -> Agreement:
    scores = np.array([score for _, score, _ in pairs])
    liked = np.array([up for _, _, up in pairs], dtype=bool)
    well = scores >= YES
    belongs = [run.questions[q].primary for (_, q), _, _ in pairs]
    share = statistics.interval((well == liked).astype(float), belongs, binary=True, seed=SEED)
    by_chance = well.mean() * liked.mean() + (1 - well.mean()) * (1 - liked.mean())
    both_differ = all(0 < each.mean() < 1 for each in (well, liked))
    kappa = float(((well == liked).mean() - by_chance) / (1 - by_chance)) if both_differ else None
    gaps = scores[liked][:, None] - scores[~liked][None, :]
    above = float(((gaps > 0) + 0.5 * (gaps == 0)).mean()) if gaps.size else None
    return Agreement(metric, len(pairs), int(liked.sum()), share, kappa, above)


def agreement_row(each: Agreement) -> dict[str, Any]:
    """The agreement of a metric with people as a line of a table."""
    return {
        "metric": each.metric,
        "n": each.n,
        "thumbs up": each.ups,
        "agree": each.share.mean,
        "low": each.share.low,
        "high": each.share.high,
        "method": each.share.method,
        "kappa": each.kappa,
        "liked scored higher": each.above,
    }


def agreement_sentence(listed: Sequence[Agreement]) -> str:
    """In one sentence how far the judge may be trusted, as far as people have said."""
    if not listed:
        return ""
    most = max(each.n for each in listed)
    if most < FEW_THUMBS:
        return f"{counted(most, 'thumb')} {'is' if most == 1 else 'are'} too few to say whether the judge sees answers as people do: {FEW_THUMBS} or more begin to."
    best = max(listed, key=lambda each: each.share.mean or 0.0)
    return f"Of the metrics held against {most} thumbs, {best.metric} agrees with people the most often: {short(best.share.mean or 0.0)} of {best.n}."


FEW_THUMBS = 20


def thumbs_of(run: Run, logged: Sequence[Logged] = ()) -> dict[tuple[int, int], str]:
    """The thumbs for a run's answers by the places of configuration and question.

    Those given on Ask count for the same question with the very same answer, whatever their corpus is called: it may have been
    renamed since the run. What was given in the Lab goes before.
    """
    asked = {" ".join(each.text.split()): at for at, each in enumerate(run.questions)}
    liked = {
        (asked[question], text): each.thumb
        for each in logged
        if each.thumb
        and (text := each.record.get("text", ""))
        and (question := " ".join(str(each.record.get("question", "")).split())) in asked
    }
    found: dict[tuple[int, int], str] = {}
    if liked:
        for row in rows(run):
            thumb = liked.get((row["q"], (row["answer"] or {}).get("text", "")))
            if thumb:
                found[row["c"], row["q"]] = thumb
    return found | judged.thumbs(run.folder)


@dataclass(frozen=True, slots=True)
class AnswerView:
    """An answer to be read: its text, scores, and its sentences with claims, verdicts and reasons where they were judged.

    `statements` are RAGAS's, by metric; `marks` the reasons of the rubric; `passages` are the documents with the places in them that it was
    made from, numbered from 1 by the claims.
    """

    place: int
    label: str
    text: str
    refused: bool
    problem: str
    scores: Mapping[str, float]
    missing: Mapping[str, str]
    sentences: Sequence[Mapping[str, Any]]
    statements: Mapping[str, Sequence[Mapping[str, Any]]]
    marks: Mapping[str, str]
    passages: Sequence[tuple[str, int, int]] = ()


def answer_views(run: Run, question: int, places: Sequence[int]) -> list[AnswerView]:
    """The answers of some configurations to a question (by its place), as far as there are any."""
    own, names = judged.own(run.folder), labels(run)
    by_place = {row["c"]: row for row in rows(run, question=question)}
    found = []
    for place in places:
        row, verdict = by_place.get(place), own.get((place, question))
        answer = (row or {}).get("answer") or {}
        details = verdict["details"] if verdict else {}
        found.append(
            AnswerView(
                place,
                names[place],
                str(answer.get("text", "")),
                bool(answer.get("refused")),
                str(answer.get("problem") or (row["error"] if row else "not asked yet")),
                verdict["scores"] if verdict else {},
                {**verdict["why"], **verdict["errors"]} if verdict else {},
                details.get("groundedness", ()),
                {name: each for name, each in details.items() if name != "groundedness" and isinstance(each, list)},
                {name: each for name, each in details.items() if isinstance(each, str)},
                _passages(run, place, row),
            )
        )
    return found


def _passages(run: Run, place: int, row: Mapping[str, Any] | None) -> tuple[tuple[str, int, int], ...]:
    top = run.manifest.configurations[place].configuration.top_k
    return tuple((document, start, end) for document, start, end, *_ in ((row or {}).get("found") or ())[:top])


def verdict_findings(run: Run) -> list[str]:
    """What the judged scores say, in sentences: who judged, what can be told apart, what is missing, how noisy it is."""
    if run.judged is None:
        return []
    said = (
        [f"Answers were judged by {run.judged.judge}."]
        if run.judged.provider
        else ["Answers were compared with references by code; no model judged."]
    )
    return [*said, *_told_apart(run), *_missing_sentences(run), *_noise_sentences(run)]


SAME = 1e-9
"""Means that differ by no more are the same."""


def _told_apart(run: Run) -> Iterator[str]:
    assert run.judged is not None
    for metric in (name for name in rankable_metrics(run) if name in run.judged.metrics):
        made = board(run, metric)
        there = [row for row in made.rows if row.standing.comparable and row.standing.mean.mean is not None]
        if not there:
            continue
        best = there[0]
        mean = short(best.standing.mean.mean or 0.0, 3)
        equal = sum(abs((row.standing.mean.mean or 0.0) - (best.standing.mean.mean or 0.0)) <= SAME for row in there)
        if len(made.rows) == 1 or equal == len(made.rows):
            yield f"{metric}: {mean}{' for every configuration' if equal > 1 else ''}."
        elif len(there) == 1:
            yield f"{metric}: {best.label} {mean}; {made.rows[1].label} is not comparable: {made.rows[1].standing.why_not}."
        elif made.leaderboard.ties is None:
            yield f"{metric}: the highest is {best.label}, {mean}; {made.leaderboard.note or 'too few questions to tell configurations apart'}."
        else:
            tied = sum(row.standing.tied for row in there)
            told = (
                "nothing is distinguishable"
                if tied == len(there)
                else "it is distinguishable from every other"
                if tied == 1
                else f"{tied - 1} of the other {len(there) - 1} cannot be told from it"
            )
            yield f"{metric}: the highest is {best.label}, {mean}; {told}."


def _missing_sentences(run: Run) -> Iterator[str]:
    listed = quality_rows(run)
    failed = sum(sum(row["failed"].values()) for row in listed)
    if failed:
        reasons = sum((Counter(row["failed"]) for row in listed), Counter[str]())
        them = "it" if failed == 1 else "them"
        yield f"{counted(failed, 'verdict')} failed, for example: {reasons.most_common(1)[0][0]} Going on asks for {them} again."
    waiting = max((row["waiting"] for row in listed), default=0)
    if waiting:
        yield f"Not everything is judged yet: {'' if waiting == 1 else 'up to '}{counted(waiting, 'answer')} of a configuration {'waits' if waiting == 1 else 'wait'}."


def _noise_sentences(run: Run) -> Iterator[str]:
    for each in noise(run):
        told = [
            f"{name} {short(spread.sd, 3)}"
            for name, spread in (("judging again", each.judge), ("writing again", each.generator))
            if spread is not None
        ]
        said = f"{each.metric} varies from repeat to repeat by a standard deviation of {', '.join(told)}"
        alone = repeats_alone(each)
        if alone is not None:
            said += f"; configurations differ by up to {short(each.difference, 3)}, repeats alone by up to {short(alone, 3)}"
        yield f"{said}."
