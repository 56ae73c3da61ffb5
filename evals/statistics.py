"""What scores allow us to say: intervals, paired tests, ties with the best, and how small a difference could have been seen.

Questions about one document succeed and fail together, so documents are what every procedure here draws, flips, permutes
or counts. That is what `clusters` says, one entry per question: its primary document, or None for a question that stands
alone (in place of the list: all do). Scores are arrays, NaN where a score is not defined. All figures are repeatable:
the same `seed` gives the same.
"""

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri, stdtrit  # type: ignore[import-untyped]

from sitt_core.errors import InvalidInput, shown

Floats = npt.NDArray[np.float64]
Clusters = Sequence[Hashable | None] | npt.NDArray[np.generic] | None
Method = Literal["Wilson", "Newcombe", "BCa", "too few", "undefined"]
Alternative = Literal["two-sided", "less", "greater"]
Verdict = Literal["better", "worse", "not distinguishable", "not comparable", "too few"]

ALPHA = 0.05
RESAMPLES = 10_000
MIN_QUESTIONS = 20
"""With fewer, a mean gets no interval and a comparison no verdict."""

MIN_DOCUMENTS = 5
"""Questions about fewer get no interval either: a bootstrap of two documents covers half of the time."""

FEW_DOCUMENTS = 10
"""With fewer, BCa intervals cover 91–94 % in place of 95 %, so they carry a note."""

FEW_DIFFERENT = 5
"""With fewer scores that are not the most frequent one, BCa intervals cover 70–90 %, so they carry a note."""

MAX_GAP_POINTS = 5
"""Configurations whose shares of defined scores differ by more percentage points are not comparable."""

ROUNDING = 1e-9
"""Sums of the same scores in another order differ by less than this share of their size."""

CHUNK_CELLS = 2_000_000
"""Numbers drawn at once, which bounds memory."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its confidence interval; `low` and `high` are None when the method is "too few" or "undefined"."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    """Questions whose score is defined."""
    of: int
    """Questions asked."""
    method: Method
    note: str = ""


NOTHING = Interval(None, None, None, 0, 0, "undefined", "no score is defined")


@dataclass(frozen=True, slots=True)
class SignFlip:
    """The paired randomisation test of one mean difference, with how many differences were above, at and below zero."""

    mean: float | None
    p: float
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class TieSet:
    """The configurations that cannot be told from the best: those whose mean is within the yardstick of its mean."""

    best: int
    tied: tuple[int, ...]
    """Column indices in ascending order, the best among them."""
    yardstick: float
    means: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Comparability:
    """Whether two lists of scores were defined about equally often, and on how many questions both were."""

    n: int
    """Questions defined for both."""
    of: int
    share_a: float
    share_b: float
    comparable: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two configurations head to head, a minus b: positive means that a is higher."""

    difference: Interval
    p: float
    wins: int
    ties: int
    losses: int
    shares: Comparability
    bounds_a: tuple[float, float]
    bounds_b: tuple[float, float]
    bounds: tuple[float, float]
    """The mean difference if every score that one side lacks were the worst for a, and the best for a."""
    detectable: float | None
    """The smallest difference that these questions would have shown with 80 % power; None when it cannot be estimated."""
    verdict: Verdict
    """What may be said about a: that it is better or worse than b, or why neither."""


@dataclass(frozen=True, slots=True)
class Standing:
    """One configuration of a leaderboard."""

    configuration: int
    """Its column."""
    mean: Interval
    bounds: tuple[float, float]
    tied: bool
    """Whether it belongs to the tie set."""
    comparable: bool
    why_not: str
    against: Comparison | None
    """Head to head, this one minus the baseline; None for the baseline itself or when none was named."""
    p_adjusted: float | None
    """Holm's, over all configurations but the baseline; None where there is no comparison, or it is not comparable."""


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All configurations in column order, and what can be said about the best of them."""

    standings: tuple[Standing, ...]
    ties: TieSet | None
    """In columns of the leaderboard; None when fewer than `MIN_QUESTIONS` questions are defined for all that are comparable."""
    n: int
    """Questions defined for every comparable configuration: those that the tie set uses."""
    baseline: int | None
    note: str = ""


# Intervals


def wilson_limits(share: npt.ArrayLike, n: npt.ArrayLike, *, alpha: float = ALPHA) -> tuple[Floats, Floats]:
    """Lower and upper limits for proportions of `n` questions, elementwise; `n` need not be whole.

    (p + z²/2n ± z √(p(1 − p)/n + z²/4n²)) / (1 + z²/n). Source: Wilson, JASA 22 (1927).
    """
    p, count, z = np.asarray(share, float), np.asarray(n, float), _normal(alpha)
    middle, half = p + z**2 / (2 * count), z * np.sqrt(p * (1 - p) / count + z**2 / (4 * count**2))
    scale = 1 + z**2 / count
    return np.clip((middle - half) / scale, 0, p), np.clip((middle + half) / scale, p, 1)


def newcombe_limits(table: npt.ArrayLike, *, alpha: float = ALPHA) -> tuple[Floats, Floats]:
    """Lower and upper limits for differences of two paired proportions, first minus second.

    `table` has the shape (4, ...): successes of both, of the first alone, of the second alone, of neither; counts need
    not be whole. Source: Newcombe, Statistics in Medicine 17 (1998) 2635–2650, method 10: the Wilson limits of the two
    proportions, squared and added, less 2φ times their product; φ's numerator is reduced by n/2, though not below 0.
    """
    both, first, second, neither = np.asarray(table, float)
    n = both + first + second + neither
    p1, p2 = (both + first) / n, (both + second) / n
    (low1, high1), (low2, high2) = wilson_limits(p1, n, alpha=alpha), wilson_limits(p2, n, alpha=alpha)
    excess = both * neither - first * second
    excess = np.where(excess > 0, np.maximum(excess - n / 2, 0), excess)
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    phi = excess / np.sqrt(np.where(margins > 0, margins, np.inf))
    below = (p1 - low1) ** 2 - 2 * phi * (p1 - low1) * (high2 - p2) + (high2 - p2) ** 2
    above = (high1 - p1) ** 2 - 2 * phi * (high1 - p1) * (p2 - low2) + (p2 - low2) ** 2
    return p1 - p2 - np.sqrt(np.maximum(below, 0)), p1 - p2 + np.sqrt(np.maximum(above, 0))


def bca_limits(
    values: npt.ArrayLike, clusters: Clusters, *, seed: int, resamples: int = RESAMPLES, alpha: float = ALPHA
) -> tuple[Floats, Floats]:
    """Lower and upper limits for the mean of each column of `values`, shape (questions, columns), none missing.

    Whole clusters are drawn, with all their questions, the same for every column; the jackknife leaves out one cluster at
    a time. Columns whose clusters all have one mean get a width of 0. Source: Efron, JASA 82 (1987), "BCa". The
    percentiles are those of Hesterberg, The American Statistician 69 (2015), expanded: z becomes t with k − 1 degrees
    of freedom times √(k/(k − 1)) for k clusters, without which 20 questions cover .93 of normal data and 80 questions
    about 20 documents .92. What it cannot mend: 20 differences, most of them 0, cover .91, and 20 scores of which two are
    not 1, .77. At least two clusters are needed.
    """
    scores = np.asarray(values, float)
    codes = _codes(clusters, len(scores))
    sums, sizes = _sums(scores, codes), _sums(np.ones((len(scores), 1)), codes)
    k, total = _several(len(sizes)), sizes.sum()
    means = sums.sum(0) / total
    parts = sums - means * sizes
    influence = parts / (total - sizes)
    influence -= influence.mean(0)
    spread = (influence**2).sum(0)
    alive = np.sqrt(spread) > ROUNDING * np.abs(scores).max(0, initial=0) / total
    skew = (influence**3).sum(0) / np.where(alive, 6 * spread**1.5, 1)
    drawn = np.concatenate([weights @ parts / (weights @ sizes) for weights in _draws(k, resamples, seed)])
    slack = ROUNDING * np.abs(scores).max(0, initial=0)
    bias = ndtri(((drawn < -slack).mean(0) + (drawn <= slack).mean(0)) / 2)
    reach = math.sqrt(k / (k - 1)) * stdtrit(k - 1, 1 - alpha / 2)
    z = bias + np.array([[-reach], [reach]])
    at = np.where(alive, ndtr(bias + z / (1 - skew * z)), 0.5)
    low, high = np.array([np.quantile(column, shares) for column, shares in zip(drawn.T, at.T, strict=True)]).T
    return np.where(alive, means + low, means), np.where(alive, means + high, means)


def effective_size(values: npt.ArrayLike, clusters: Clusters, *, alpha: float = ALPHA) -> Floats:
    """How many independent questions each column of `values`, shape (questions, columns), counts as, given its clusters.

    n / max(1, deff) · (t with n − 1 degrees of freedom / t with k − 1)², where deff is the variance of the mean
    with the k clusters as units over that with the n questions as units; it is 1 where no two scores differ. Source:
    Korn and Graubard, Survey Methodology 24 (1998) 193–201. At least two clusters are needed.
    """
    scores = np.asarray(values, float)
    residuals = scores - scores.mean(0)
    sums = _sums(residuals, _codes(clusters, len(scores)))
    n, k = len(scores), _several(len(sums))
    spread = (residuals**2).sum(0)
    effect = np.where(spread > 0, (sums**2).sum(0) / np.where(spread > 0, spread, 1) * (k / (k - 1)) / (n / (n - 1)), 1)
    ratio = stdtrit(n - 1, 1 - alpha / 2) / stdtrit(k - 1, 1 - alpha / 2)
    return np.asarray(n / np.maximum(effect, 1) * ratio**2, float)


def wilson(successes: int, n: int, *, effective: float | None = None, alpha: float = ALPHA) -> Interval:
    """The share of successes among `n` questions with Wilson's interval; undefined when `n` is 0.

    `effective` is how many independent questions they count as (see `effective_size`), when it is not `n`.
    """
    if not 0 <= successes <= n:
        raise InvalidInput(expected="0 ≤ successes ≤ n", got=f"{successes} of {n}", remedy="Count the successes among the questions.")
    if n == 0:
        return NOTHING
    low, high = wilson_limits(successes / n, n if effective is None else effective, alpha=alpha)
    return Interval(successes / n, float(low), float(high), n, n, "Wilson")


def paired_table(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[int, int, int, int]:
    """How many questions succeed in both, in a alone, in b alone, in neither; questions not defined for both are left out.

    Raises InvalidInput for a score that is neither 0 nor 1.
    """
    pairs = np.stack(_same_questions(a, b))
    first, second = _zeros_and_ones(pairs[:, ~np.isnan(pairs).any(0)]).astype(bool)
    return int((first & second).sum()), int((first & ~second).sum()), int((~first & second).sum()), int((~first & ~second).sum())


def newcombe_paired(table: tuple[int, int, int, int], *, effective: float | None = None, alpha: float = ALPHA) -> Interval:
    """The difference of two paired proportions, first minus second, with Newcombe's interval; undefined for an empty table.

    `table` counts successes of both, of the first alone, of the second alone, of neither (see `paired_table`).
    `effective` is how many independent questions they count as, when it is not their number.
    """
    if min(table) < 0:
        raise InvalidInput(expected="four counts", got=shown(table), remedy="Use paired_table(a, b).")
    n = sum(table)
    if n == 0:
        return NOTHING
    low, high = newcombe_limits(np.asarray(table) * ((n if effective is None else effective) / n), alpha=alpha)
    return Interval((table[1] - table[2]) / n, float(low), float(high), n, n, "Newcombe")


def bca(values: npt.ArrayLike, clusters: Clusters, *, seed: int, resamples: int = RESAMPLES, alpha: float = ALPHA) -> Interval:
    """The mean of `values`, one per question, with the BCa interval of `bca_limits`.

    A sample without spread has a width of 0; one about a single document is undefined, like the mean of nothing. Paired
    differences are values like any others.
    """
    sample = _sample(values, clusters)
    if sample.documents < 2:
        return _without_limits(sample) or NOTHING
    low, high = bca_limits(sample.scores[:, None], sample.codes, seed=seed, resamples=resamples, alpha=alpha)
    return Interval(sample.mean, float(low[0]), float(high[0]), sample.n, sample.of, "BCa", _weakness(sample))


def interval(
    values: npt.ArrayLike,
    clusters: Clusters,
    *,
    binary: bool,
    seed: int,
    resamples: int = RESAMPLES,
    alpha: float = ALPHA,
) -> Interval:
    """The mean of the defined values with the interval that suits them: Wilson's when they are 0 or 1, else BCa.

    Fewer than `MIN_QUESTIONS`, or about fewer than `MIN_DOCUMENTS`, are "too few"; about a single document they are
    "undefined". Plain Wilson is not honest when the questions of a document move together (in simulation, with 2.4
    questions per document whose latent scores correlate .4, it covers 89 %, with .75 84 %), so its n is
    `effective_size`; the note says so. Raises InvalidInput for a value that is neither 0 nor 1 where `binary` says they are.
    """
    sample = _sample(values, clusters)
    if binary:
        _zeros_and_ones(sample.scores)
    lacking = _without_limits(sample)
    if lacking is not None:
        return lacking
    if not binary:
        return replace(bca(sample.scores, sample.codes, seed=seed, resamples=resamples, alpha=alpha), of=sample.of)
    effective = sample.effective(alpha)
    found = wilson(int(sample.scores.sum()), sample.n, effective=effective, alpha=alpha)
    return replace(found, of=sample.of, note=_counts_as(sample, effective))


def by_group(
    values: npt.ArrayLike,
    groups: Sequence[str],
    clusters: Clusters,
    *,
    binary: bool,
    seed: int,
    resamples: int = RESAMPLES,
    alpha: float = ALPHA,
) -> dict[str, Interval]:
    """The `interval` of each group of questions, in the order in which the groups first appear."""
    scores = _vector(values)
    codes = _codes(clusters, len(scores))
    if len(groups) != len(scores):
        raise InvalidInput(expected=f"{len(scores)} groups, one per question", got=f"{len(groups)}", remedy="Name every question's group.")
    members = {group: np.array([each == group for each in groups]) for group in dict.fromkeys(groups)}
    return {
        group: interval(scores[inside], codes[inside], binary=binary, seed=seed, resamples=resamples, alpha=alpha)
        for group, inside in members.items()
    }


# Paired tests


def flip_p_values(
    differences: npt.ArrayLike,
    clusters: Clusters,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    alternative: Alternative = "two-sided",
) -> Floats:
    """The p of each column of paired differences, shape (questions, columns): how often random signs give as large a mean.

    A sign is drawn per cluster, since signs per question keep the level only when the questions of a document do not move
    together (in simulation, with 2.4 questions per document whose latent scores correlate .4, a nominal 5 % is 10 %).
    p = (b + 1) / (B + 1); where k clusters have no more than B patterns of signs, all are enumerated and p = b / 2^k. A
    difference of 0 changes nothing, so NaN (not defined for both) counts as 0. Source: Smucker, Allan and Carterette,
    CIKM 2007 (Fisher's randomisation test); Phipson and Smyth, Statistical Applications in Genetics and Molecular Biology
    9 (2010), for the 1 that is added.
    """
    scores = np.nan_to_num(np.asarray(differences, float), nan=0.0)
    sums = _sums(scores, _codes(clusters, len(scores)))
    sums = sums[np.any(sums != 0, axis=1)]  # what is 0 has no sign
    observed = sums.sum(0)
    slack = ROUNDING * np.abs(sums).sum(0)
    exact = 2 ** len(sums) <= resamples
    beyond = np.zeros(observed.shape)
    for signs in _all_signs(len(sums)) if exact else _signs(len(sums), resamples, seed):
        flipped = signs @ sums
        if alternative == "two-sided":
            beyond += (np.abs(flipped) >= np.abs(observed) - slack).sum(0)
        elif alternative == "greater":
            beyond += (flipped >= observed - slack).sum(0)
        else:
            beyond += (flipped <= observed + slack).sum(0)
    return beyond / 2 ** len(sums) if exact else (beyond + 1) / (resamples + 1)


def sign_flip(
    differences: npt.ArrayLike,
    clusters: Clusters,
    *,
    seed: int,
    resamples: int = RESAMPLES,
    alternative: Alternative = "two-sided",
) -> SignFlip:
    """The test of `flip_p_values` for one configuration against another, with wins, ties and losses by question.

    `alternative` is what a small p speaks for: a mean other than, below ("less") or above ("greater") zero.
    """
    sample = _sample(differences, clusters)
    (p,) = flip_p_values(sample.scores[:, None], sample.codes, seed=seed, resamples=resamples, alternative=alternative)
    wins, losses = int(np.sum(sample.scores > ROUNDING)), int(np.sum(sample.scores < -ROUNDING))
    return SignFlip(sample.mean, float(p), wins, sample.n - wins - losses, losses)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values in their own order, adjusted so that all those at most α together are wrong with a probability of at most α.

    The i-th smallest of m, times m − i + 1, but no less than the one before and no more than 1. It holds for comparisons
    with a baseline named beforehand; for the best as the data show it there is `tie_set`. Source: Holm, Scandinavian
    Journal of Statistics 6 (1979).
    """
    p = np.asarray(p_values, float)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(stepped, 1)
    return [float(each) for each in adjusted]


def tie_set(scores: npt.ArrayLike, clusters: Clusters, *, seed: int, permutations: int = RESAMPLES, alpha: float = ALPHA) -> TieSet:
    """The best configuration by mean and those that cannot be told from it; `scores` has the shape (questions, configurations).

    Randomised Tukey HSD: labels of configurations are permuted within each cluster, and the (1 − α) quantile of max − min
    of the means is the yardstick. Source: Carterette, ACM TOIS 30 (2012). Labels permuted per question leave out one of
    24 equal configurations in 10–40 % of simulated runs when the questions of a document move together. Permuting also
    takes all configurations to be equally alike: a few unlike the rest (one keyword run among variants of dense) are left
    out in 10–25 % of runs. So the yardstick is never shorter than the quantile with every configuration's own spread,
    from random signs on the clusters' deviations from the means; together they keep 5 %. Raises InvalidInput for missing scores.
    """
    values = np.asarray(scores, float)
    if values.ndim != 2 or 0 in values.shape or np.isnan(values).any():
        raise InvalidInput(
            expected="scores of the shape (questions, configurations), all defined",
            got=f"shape {values.shape}, {int(np.isnan(values).sum())} not defined",
            remedy="Keep the questions that are defined for every configuration.",
        )
    codes = _codes(clusters, len(values))
    sums, sizes = _sums(values, codes), _sums(np.ones((len(values), 1)), codes)
    means = values.mean(0)
    ranges = [_relabelled(sums[np.ptp(sums, axis=1) > 0], permutations, seed)]
    k = len(sums)
    if k > 1:
        centred = (sums - means * sizes) * math.sqrt(k / (k - 1)) * stdtrit(k - 1, 1 - alpha / 2) / _normal(alpha)
        ranges.append(np.concatenate([np.ptp(signs @ centred, axis=1) for signs in _signs(k, permutations, seed)]))
    rank = math.floor(_reached(alpha, permutations) * (permutations + 1) + ROUNDING)
    yardstick = max(float(np.partition(each, -rank)[-rank]) for each in ranges) / len(values)
    within = means >= means.max() - yardstick - ROUNDING * np.abs(values).max()
    return TieSet(int(means.argmax()), tuple(np.flatnonzero(within).tolist()), yardstick, tuple(means.tolist()))


def confirmation_level(use: int) -> float:
    """The α of the `use`-th confirmation on sealed questions, .05 / 2^use, counted from 1: however many follow, .05 in all."""
    if use < 1:
        raise InvalidInput(expected="a use of 1 or more", got=f"{use}", remedy="Count the confirmations so far, and this one.")
    return float(ALPHA / 2**use)


# Missing scores


def comparable(a: npt.ArrayLike, b: npt.ArrayLike) -> Comparability:
    """On how many questions both are defined, and whether their shares of defined scores differ by at most `MAX_GAP_POINTS`.

    Beyond that they are not comparable: leaving out the hard questions must not raise a mean.
    """
    first, second = _same_questions(a, b)
    of, has_a, has_b = len(first), int(np.sum(~np.isnan(first))), int(np.sum(~np.isnan(second)))
    n = int(np.sum(~np.isnan(first) & ~np.isnan(second)))
    why_not = "" if n else "no question is defined for both"
    if abs(has_a - has_b) * 100 > MAX_GAP_POINTS * of:
        why_not = f"defined for {has_a} and {has_b} of {of} questions, more than {MAX_GAP_POINTS} points apart"
    return Comparability(n, of, has_a / of if of else 0.0, has_b / of if of else 0.0, not why_not, why_not)


def bounds(values: npt.ArrayLike) -> tuple[float, float]:
    """The mean if every missing score were 0, and if every one were 1, for scores between the two; (0, 1) of nothing."""
    scores = _vector(values)
    if len(scores) == 0:
        return 0.0, 1.0
    return float(np.nan_to_num(scores, nan=0.0).mean()), float(np.nan_to_num(scores, nan=1.0).mean())


# How small a difference could have been seen


def detectable_with_spread(
    sd: float, n: float, *, power: float = 0.8, alpha: float = ALPHA, alternative: Alternative = "two-sided"
) -> float:
    """The smallest mean difference that `n` questions show with that power, for differences of standard deviation `sd`.

    (z of the level + z of the power) · sd / √n, the normal approximation of the paired test.
    """
    return float((_critical(alpha, alternative) + ndtri(power)) * sd / math.sqrt(n))


def detectable_with_discordance(
    discordance: float, n: float, *, power: float = 0.8, alpha: float = ALPHA, alternative: Alternative = "two-sided"
) -> float:
    """The smallest difference of two paired proportions that `n` questions show with that power.

    `discordance` ψ is the share of questions that only one of the two gets right. The δ that solves
    √n δ = z₁ √ψ + z₂ √(ψ − δ²), and 1/n more, half of the step in which such differences move, without which the power
    is 76 %. Source: Connor, Biometrics 43 (1987) 207–211. A difference cannot exceed the discordance; where it would, the
    discordance is taken to be as large as the difference, all one way. 1 at most.
    """
    level, reach = _critical(alpha, alternative), float(ndtri(power))
    root = n - level**2 + reach**2
    if root < 0:
        return 1.0
    found = math.sqrt(discordance) * (level * math.sqrt(n) + reach * math.sqrt(root)) / (n + reach**2)
    if not 0 < found <= discordance:
        found = math.sin(math.atan2(reach, math.sqrt(n)) + math.asin(level / math.sqrt(n + reach**2))) ** 2
    return min(found + 1 / n, 1.0)


def detectable_difference(
    differences: npt.ArrayLike,
    clusters: Clusters,
    *,
    binary: bool,
    power: float = 0.8,
    alpha: float = ALPHA,
    alternative: Alternative = "two-sided",
) -> float | None:
    """The smallest true difference that this many questions would show with that power, given the spread seen here.

    For 0/1 scores from the discordance, else from the standard deviation, both with the `effective_size`; in simulation
    the power is 76–88 % for the 80 % said, as the spread is only estimated and 0/1 scores move in steps. None for questions about fewer than two documents, or when nothing differs and so nothing shows the spread. Before a run, use
    `detectable_with_spread` or `detectable_with_discordance` with figures from another.
    """
    sample = _sample(differences, clusters)
    if sample.documents < 2:
        return None
    n = sample.effective(alpha)
    if binary:
        return detectable_with_discordance(float(np.mean(sample.scores != 0)), n, power=power, alpha=alpha, alternative=alternative)
    if np.ptp(sample.scores) <= ROUNDING:
        return None
    return detectable_with_spread(float(sample.scores.std(ddof=1)), n, power=power, alpha=alpha, alternative=alternative)


def smallest_drop_seen(
    differences: npt.ArrayLike, clusters: Clusters, *, binary: bool, power: float = 0.8, alpha: float = ALPHA
) -> float | None:
    """The smallest drop that a gate testing for drops alone (`alternative="less"`) would see with that power, as a positive number."""
    return detectable_difference(differences, clusters, binary=binary, power=power, alpha=alpha, alternative="less")


# Everything together


def compare(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters: Clusters,
    *,
    binary: bool,
    seed: int,
    resamples: int = RESAMPLES,
    alpha: float = ALPHA,
) -> Comparison:
    """Two configurations over the same questions, a minus b, on the questions defined for both.

    The interval is Newcombe's for 0/1 scores, with `effective_size` in place of n, else BCa; the p is that of `sign_flip`.
    The verdict is about a, at level `alpha`. The difference's bounds leave out questions that are defined for neither.
    Raises InvalidInput when the lists differ in length.
    """
    _reached(alpha, resamples)
    shares = comparable(a, b)
    (first, second), codes = _same_questions(a, b), _codes(clusters, shares.of)
    if binary:
        _zeros_and_ones(np.concatenate([first, second]))
    differences = first - second
    either = ~(np.isnan(first) & np.isnan(second))
    (low_a, high_a), (low_b, high_b) = bounds(first[either]), bounds(second[either])
    tested = sign_flip(differences, codes, seed=seed, resamples=resamples)
    verdict: Verdict = "not distinguishable"
    if not shares.comparable:
        verdict = "not comparable"
    elif shares.n < MIN_QUESTIONS:
        verdict = "too few"
    elif tested.p <= alpha:
        verdict = "better" if (tested.mean or 0) > 0 else "worse"
    return Comparison(
        difference=_difference(first, second, codes, binary=binary, seed=seed, resamples=resamples, alpha=alpha),
        p=tested.p,
        wins=tested.wins,
        ties=tested.ties,
        losses=tested.losses,
        shares=shares,
        bounds_a=bounds(first),
        bounds_b=bounds(second),
        bounds=(low_a - high_b, high_a - low_b),
        detectable=detectable_difference(differences, codes, binary=binary, alpha=alpha),
        verdict=verdict,
    )


def compare_all(
    scores: npt.ArrayLike,
    clusters: Clusters,
    *,
    binary: bool,
    seed: int,
    baseline: int | None = None,
    resamples: int = RESAMPLES,
    alpha: float = ALPHA,
) -> Leaderboard:
    """A leaderboard over `scores`, shape (questions, configurations): means, the tie set, and p against a named baseline.

    A configuration is comparable when its share of defined scores is within `MAX_GAP_POINTS` of the largest; the tie set
    is made of the comparable ones, on the questions that all of them define. Holm's adjustment covers every
    configuration but the baseline, those that are not comparable with it at p = 1. Raises InvalidInput for a
    baseline that is no column.
    """
    values = np.asarray(scores, float)
    if values.ndim != 2:
        raise InvalidInput(
            expected="scores of the shape (questions, configurations)", got=f"{values.shape}", remedy="Give one column each."
        )
    of, columns = values.shape
    if baseline is not None and not 0 <= baseline < columns:
        raise InvalidInput(expected=f"a baseline from 0 to {columns - 1}", got=f"{baseline}", remedy="Name one of the columns.")
    codes = _codes(clusters, of)
    fullest = values[:, int(np.argmax((~np.isnan(values)).sum(0)))] if columns else np.empty(of)
    shares = [comparable(column, fullest) for column in values.T]
    chosen = [column for column, each in enumerate(shares) if each.comparable]
    common = ~np.isnan(values[:, chosen]).any(1)
    n = int(common.sum()) if chosen else 0
    ties = None
    if n >= MIN_QUESTIONS:
        found = tie_set(values[np.ix_(common, chosen)], codes[common], seed=seed, permutations=resamples, alpha=alpha)
        ties = replace(found, best=chosen[found.best], tied=tuple(chosen[each] for each in found.tied))
    against = {
        column: compare(values[:, column], values[:, baseline], codes, binary=binary, seed=seed, resamples=resamples, alpha=alpha)
        for column in range(columns)
        if baseline is not None and column != baseline
    }
    adjusted = dict(zip(against, holm([each.p if each.shares.comparable else 1.0 for each in against.values()]), strict=True))
    standings = tuple(
        Standing(
            configuration=column,
            mean=interval(values[:, column], codes, binary=binary, seed=seed, resamples=resamples, alpha=alpha),
            bounds=bounds(values[:, column]),
            tied=ties is not None and column in ties.tied,
            comparable=shares[column].comparable,
            why_not=shares[column].why_not,
            against=against.get(column),
            p_adjusted=adjusted[column] if column in against and against[column].shares.comparable else None,
        )
        for column in range(columns)
    )
    note = "" if ties else f"too few for a tie set: {n} questions are defined for all, {MIN_QUESTIONS} are needed"
    return Leaderboard(standings, ties, n, baseline, note)


def _difference(a: Floats, b: Floats, codes: npt.NDArray[np.int64], *, binary: bool, seed: int, resamples: int, alpha: float) -> Interval:
    """The mean of a minus b on the questions defined for both, with the interval that `compare` gives it."""
    differences = a - b
    if not binary:
        return interval(differences, codes, binary=False, seed=seed, resamples=resamples, alpha=alpha)
    sample = _sample(differences, codes)
    lacking = _without_limits(sample)
    if lacking is not None:
        return lacking
    effective = sample.effective(alpha)
    return replace(newcombe_paired(paired_table(a, b), effective=effective, alpha=alpha), of=sample.of, note=_counts_as(sample, effective))


# Samples


def _vector(values: npt.ArrayLike) -> Floats:
    scores = np.asarray(values, float)
    if scores.ndim != 1 or np.isinf(scores).any():
        raise InvalidInput(expected="a list of finite scores", got=shown(values), remedy="Use NaN for a score that is not defined.")
    return scores


def _same_questions(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[Floats, Floats]:
    first, second = _vector(a), _vector(b)
    if len(first) != len(second):
        raise InvalidInput(
            expected="scores of the same questions",
            got=f"{len(first)} and {len(second)}",
            remedy="Use NaN for a score that is not defined.",
        )
    return first, second


def _zeros_and_ones(scores: Floats) -> Floats:
    odd = scores[~np.isin(scores, (0, 1)) & ~np.isnan(scores)]
    if odd.size:
        raise InvalidInput(expected="scores of 0 or 1", got=f"{odd[0]}", remedy="Say that they are not binary.")
    return scores


def _codes(clusters: Clusters, n: int) -> npt.NDArray[np.int64]:
    """Each question's cluster as a number from 0, in the order of appearance; None is a cluster of its own."""
    if clusters is None:
        return np.arange(n)
    if len(clusters) != n:
        raise InvalidInput(
            expected=f"{n} clusters, one per question", got=f"{len(clusters)}", remedy="Name every question's primary document."
        )
    if isinstance(clusters, np.ndarray) and clusters.dtype.kind == "i" and n and clusters.min() >= 0 and clusters.max() < n:
        # Tens of thousands, hundreds of times: written backwards, what is left of each number is where it stands first.
        first = np.full(int(clusters.max()) + 1, n)
        first[clusters[::-1]] = np.arange(n)[::-1]
        return np.asarray(np.argsort(np.argsort(first, kind="stable"))[clusters], np.int64)
    known: dict[Hashable, int] = {}
    keys = [object() if each is None else each for each in (clusters.tolist() if isinstance(clusters, np.ndarray) else clusters)]
    return np.array([known.setdefault(key, len(known)) for key in keys], np.int64)


@dataclass(frozen=True, slots=True)
class _Sample:
    """The defined ones of a list of scores, each one's cluster, and how many there would be."""

    scores: Floats
    codes: npt.NDArray[np.int64]
    of: int

    @property
    def n(self) -> int:
        return len(self.scores)

    @property
    def documents(self) -> int:
        return len(np.unique(self.codes))

    @property
    def mean(self) -> float | None:
        return float(self.scores.mean()) if self.n else None

    def effective(self, alpha: float) -> float:
        return float(effective_size(self.scores[:, None], self.codes, alpha=alpha)[0])


def _sample(values: npt.ArrayLike, clusters: Clusters) -> _Sample:
    scores = _vector(values)
    codes, there = _codes(clusters, len(scores)), ~np.isnan(scores)
    return _Sample(scores[there], codes[there], len(scores))


def _without_limits(sample: _Sample) -> Interval | None:
    """The mean without an interval, when too little is known for one."""
    if sample.n == 0:
        return replace(NOTHING, of=sample.of)
    bare = Interval(sample.mean, None, None, sample.n, sample.of, "too few")
    if sample.documents < 2:
        return replace(bare, method="undefined", note="all questions are about one document")
    if sample.n < MIN_QUESTIONS:
        return replace(bare, note=f"{sample.n} questions; {MIN_QUESTIONS} are needed")
    if sample.documents < MIN_DOCUMENTS:
        return replace(bare, note=f"{sample.documents} documents; {MIN_DOCUMENTS} are needed")
    return None


def _weakness(sample: _Sample) -> str:
    """The note of a BCa interval that rests on little."""
    different = sample.n - int(np.unique(sample.scores, return_counts=True)[1].max())
    if different < FEW_DIFFERENT:
        return f"only {different} scores differ from the rest" if different else "all equal, so no width could be estimated"
    return f"only {sample.documents} documents" if sample.documents < FEW_DOCUMENTS else ""


def _counts_as(sample: _Sample, effective: float) -> str:
    """The note of an interval whose questions move together."""
    return f"{sample.n} questions about {sample.documents} documents count as {effective:.0f}" if round(effective) < sample.n else ""


def _sums(values: Floats, codes: npt.NDArray[np.int64]) -> Floats:
    """The sum of each column within each cluster, shape (clusters, columns)."""
    if len(values) == 0:
        return np.zeros((0, values.shape[1]))
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    return np.asarray(np.add.reduceat(values[order], starts, axis=0), float)


# Levels and draws


def _reached(alpha: float, resamples: int) -> float:
    """The level, if a p of (0 + 1) / (B + 1) is no larger."""
    if alpha * (resamples + 1) < 1:
        raise InvalidInput(
            expected=f"more than {math.ceil(1 / alpha) - 2} resamples for a level of {alpha}", got=f"{resamples}", remedy="Draw more."
        )
    return alpha


def _normal(alpha: float) -> float:
    """The z that a standard normal exceeds either way with probability `alpha`."""
    return _critical(alpha, "two-sided")


def _critical(alpha: float, alternative: Alternative) -> float:
    if not 0 < alpha < 1:
        raise InvalidInput(expected="a level between 0 and 1", got=f"{alpha}", remedy="Use 0.05 for 95 % intervals.")
    return float(ndtri(1 - alpha / (2 if alternative == "two-sided" else 1)))


def _several(documents: int) -> int:
    if documents < 2:
        raise InvalidInput(
            expected="questions about two documents or more", got=f"{documents}", remedy="Report the mean without an interval."
        )
    return documents


def _chunks(rows: int, cells: int) -> Iterator[int]:
    """Numbers that add up to `rows`, such that as many rows of `cells` fit into memory at once."""
    size = max(CHUNK_CELLS // max(cells, 1), 1)
    yield from (min(size, rows - start) for start in range(0, rows, size))


def _draws(k: int, resamples: int, seed: int) -> Iterator[Floats]:
    """How often each of `k` clusters is in each bootstrap sample, in pieces of the shape (some, k)."""
    rng = np.random.default_rng(seed)
    for rows in _chunks(resamples, k):
        drawn = rng.integers(k, size=(rows, k)) + np.arange(rows)[:, None] * k
        yield np.bincount(drawn.ravel(), minlength=rows * k).reshape(rows, k).astype(float)


def _signs(k: int, resamples: int, seed: int) -> Iterator[Floats]:
    """Random signs, −1 or 1, in pieces of the shape (some, k)."""
    rng = np.random.default_rng(seed)
    for rows in _chunks(resamples, k):
        yield rng.integers(0, 2, size=(rows, k), dtype=np.int8).astype(np.float64) * 2 - 1


def _all_signs(k: int) -> Iterator[Floats]:
    """Every pattern of `k` signs, as one piece."""
    yield (np.arange(2**k)[:, None] >> np.arange(k) & 1).astype(np.float64) * 2 - 1


def _relabelled(sums: Floats, permutations: int, seed: int) -> Floats:
    """Max − min of the columns' sums, each row's entries permuted at random, once for each of `permutations`."""
    rng = np.random.default_rng(seed)
    ranges = []
    for rows in _chunks(permutations, sums.size):
        shuffled = np.repeat(sums[None], rows, axis=0)
        rng.permuted(shuffled, axis=2, out=shuffled)
        ranges.append(np.ptp(shuffled.sum(1), axis=1))
    return np.concatenate(ranges)
