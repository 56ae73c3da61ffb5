"""Statistics by published figures and by their arithmetic; then by simulated truth, where what is claimed is known."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from evals.statistics import (
    Alternative,
    Interval,
    Method,
    bca,
    bca_limits,
    bounds,
    by_group,
    comparable,
    compare,
    compare_all,
    confirmation_level,
    detectable_difference,
    detectable_with_discordance,
    detectable_with_spread,
    effective_size,
    flip_p_values,
    holm,
    interval,
    newcombe_limits,
    newcombe_paired,
    paired_table,
    sign_flip,
    smallest_drop_seen,
    tie_set,
    wilson,
    wilson_limits,
)
from sitt_core.errors import InvalidInput

Floats = npt.NDArray[np.float64]
NAN = float("nan")
COUNTS = st.integers(0, 60)
SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=40)


def limits(found: Interval) -> tuple[float, float]:
    assert found.low is not None
    assert found.high is not None
    return found.low, found.high


def scores_of(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).random(shape)


class TestWilson:
    @pytest.mark.parametrize(
        ("successes", "n", "low", "high"),
        [
            pytest.param(81, 263, 0.2553, 0.3662, id="81 of 263"),
            pytest.param(15, 148, 0.0624, 0.1605, id="15 of 148"),
            pytest.param(0, 20, 0.0, 0.1611, id="none of 20"),
            pytest.param(1, 29, 0.0061, 0.1718, id="1 of 29"),
        ],
    )
    def test_published(self, successes: int, n: int, low: float, high: float) -> None:
        """The examples of Newcombe, Statistics in Medicine 17 (1998) 857–872, table I, method 3."""
        assert limits(wilson(successes, n)) == pytest.approx((low, high), abs=5e-5)

    @pytest.mark.parametrize("alpha", [0.1, 0.05, 0.0125])
    @pytest.mark.parametrize("n", [1, 20, 220])
    def test_equals_scipy(self, n: int, alpha: float) -> None:
        """At every count and level the interval is that of scipy's binomtest."""
        for successes in range(n + 1):
            reference = scipy.stats.binomtest(successes, n).proportion_ci(1 - alpha, method="wilson")
            assert limits(wilson(successes, n, alpha=alpha)) == pytest.approx((reference.low, reference.high), abs=1e-12)

    def test_nothing_and_nonsense(self) -> None:
        """The share of no questions is undefined; more successes than questions, or a level that is none, are refused."""
        assert wilson(0, 0) == Interval(None, None, None, 0, 0, "undefined", "no score is defined")
        with pytest.raises(InvalidInput, match="3 of 2"):
            wilson(3, 2)
        with pytest.raises(InvalidInput, match="between 0 and 1"):
            wilson(1, 2, alpha=1.5)

    def test_fewer_than_they_seem(self) -> None:
        """Questions that count as 50 get the interval of 50."""
        assert limits(wilson(80, 100, effective=50)) == limits(wilson(40, 50))


class TestNewcombe:
    @pytest.mark.parametrize(
        ("table", "low", "high"),
        [
            pytest.param((20, 12, 2, 16), 0.0562, 0.3292, id="Newcombe 1998"),
            pytest.param((1, 1, 7, 12), -0.507, -0.026, id="Bentur, in Fagerland, Lydersen and Laake 2014"),
            pytest.param((59, 6, 16, 80), -0.1186, -0.0046, id="Cavo, in Fagerland, Lydersen and Laake 2017"),
            pytest.param((8, 3, 1, 2), -0.1574, 0.4136, id="Tang 2010"),
            pytest.param((7, 25, 2, 68), 0.133, 0.318, id="Chang 2024"),
            pytest.param((1, 0, 0, 1), -0.5734, 0.5734, id="two questions, R package contingencytables"),
        ],
    )
    def test_published(self, table: tuple[int, int, int, int], low: float, high: float) -> None:
        """Method 10 gives the published limits, to the digits that were published."""
        assert limits(newcombe_paired(table)) == pytest.approx((low, high), abs=5e-4 if round(low, 3) == low else 5e-5)

    def test_by_arithmetic(self) -> None:
        """20 in both, 12 and 2 in one alone, 16 in neither: the Wilson limits, squared and added, less 2φ times their product."""
        p1, p2 = (20 + 12) / 50, (20 + 2) / 50
        (low1, high1), (low2, high2) = limits(wilson(32, 50)), limits(wilson(22, 50))
        phi = (20 * 16 - 12 * 2 - 50 / 2) / math.sqrt(32 * 18 * 22 * 28)
        below = math.sqrt((p1 - low1) ** 2 - 2 * phi * (p1 - low1) * (high2 - p2) + (high2 - p2) ** 2)
        above = math.sqrt((p2 - low2) ** 2 - 2 * phi * (p2 - low2) * (high1 - p1) + (high1 - p1) ** 2)
        found = newcombe_paired((20, 12, 2, 16))
        assert (found.mean, *limits(found)) == pytest.approx((10 / 50, 10 / 50 - below, 10 / 50 + above))

    @given(st.tuples(COUNTS, COUNTS, COUNTS, COUNTS).filter(any))
    def test_properties(self, table: tuple[int, int, int, int]) -> None:
        """The limits enclose the difference, stay within −1 and 1, and change places and signs when the two do."""
        found, swapped = newcombe_paired(table), newcombe_paired((table[0], table[2], table[1], table[3]))
        low, high = limits(found)
        assert found.mean is not None
        assert -1 - 1e-12 <= low <= found.mean + 1e-12
        assert found.mean - 1e-12 <= high <= 1 + 1e-12
        assert limits(swapped) == pytest.approx((-high, -low), abs=1e-12)

    def test_table(self) -> None:
        """Questions are counted by who got them right; those that either side lacks are left out."""
        assert paired_table([1, 1, 1, 0, 0, NAN, 1], [1, 0, 0, 1, 0, 1, NAN]) == (1, 2, 1, 1)
        with pytest.raises(InvalidInput, match=r"0\.5"):
            paired_table([1, 0.5], [1, 0])
        with pytest.raises(InvalidInput, match="same questions"):
            paired_table([1], [1, 0])

    def test_nothing_and_nonsense(self) -> None:
        """An empty table is undefined; negative counts are refused."""
        assert newcombe_paired((0, 0, 0, 0)).method == "undefined"
        with pytest.raises(InvalidInput, match="four counts"):
            newcombe_paired((1, -1, 0, 0))


def level_of_reach(k: int) -> float:
    """The confidence at which scipy's BCa uses the z that ours uses for 95 % of `k` clusters."""
    return float(2 * scipy.stats.norm.cdf(math.sqrt(k / (k - 1)) * scipy.stats.t.ppf(0.975, k - 1)) - 1)


class TestBca:
    @pytest.mark.parametrize("n", [20, 80])
    def test_equals_scipy(self, n: int) -> None:
        """When every question stands alone, the limits are those of scipy's BCa with the same draws."""
        values = scores_of(n, n) ** 3
        reference = scipy.stats.bootstrap(
            (values,), np.mean, n_resamples=2000, confidence_level=level_of_reach(n), rng=np.random.default_rng(1)
        ).confidence_interval
        assert limits(bca(values, None, seed=1, resamples=2000)) == pytest.approx((reference.low, reference.high), abs=1e-9)

    def test_equals_scipy_by_cluster(self) -> None:
        """With clusters, they are scipy's for the ratio of the clusters' sums and sizes, drawn in pairs."""
        clusters = np.repeat(np.arange(30), np.resize([1, 2, 3, 4, 2], 30))
        values = scores_of(3, len(clusters)) ** 2 + scores_of(4, 30)[clusters]
        sums, sizes = np.bincount(clusters, values), np.bincount(clusters).astype(float)
        reference = scipy.stats.bootstrap(
            (sums, sizes),
            lambda top, bottom, axis: top.sum(axis) / bottom.sum(axis),
            paired=True,
            n_resamples=2000,
            confidence_level=level_of_reach(30),
            rng=np.random.default_rng(1),
        ).confidence_interval
        found = bca(values, clusters, seed=1, resamples=2000)
        assert found.mean == pytest.approx(values.mean())
        assert limits(found) == pytest.approx((reference.low, reference.high), abs=1e-9)

    def test_columns_are_alike(self) -> None:
        """Each column of a table gets the limits that it gets alone."""
        values, clusters = scores_of(5, 40, 3), [f"document {each % 15}" for each in range(40)]
        low, high = bca_limits(values, clusters, seed=2, resamples=500)
        for column in range(3):
            alone = bca(values[:, column], clusters, seed=2, resamples=500)
            assert limits(alone) == pytest.approx((low[column], high[column]))

    @pytest.mark.parametrize(
        ("values", "clusters", "expected"),
        [
            pytest.param([0.3] * 25, None, (0.3, 0.3, 0.3, "BCa", "all equal, so no width could be estimated"), id="all equal"),
            pytest.param([0.0] * 25, None, (0.0, 0.0, 0.0, "BCa", "all equal, so no width could be estimated"), id="all zero"),
            pytest.param(
                [0.1, 0.2], ["d", "d"], (0.15, None, None, "undefined", "all questions are about one document"), id="one document"
            ),
            pytest.param([0.4], None, (0.4, None, None, "undefined", "all questions are about one document"), id="one question"),
            pytest.param([NAN, NAN], None, (None, None, None, "undefined", "no score is defined"), id="nothing defined"),
            pytest.param([], [], (None, None, None, "undefined", "no score is defined"), id="nothing asked"),
        ],
    )
    def test_edges(self, values: list[float], clusters: list[str] | None, expected: tuple[object, ...]) -> None:
        """No spread gives no width, and no warning; one document, or nothing, gives no interval."""
        found = bca(values, clusters, seed=0, resamples=200)
        assert (found.mean, found.low, found.high, found.method, found.note) == (*map(pytest.approx, expected[:3]), *expected[3:])

    @given(SCORES, st.integers(0, 5))
    def test_properties(self, values: list[float], seed: int) -> None:
        """The limits are in order, within the values, and the same for the same seed."""
        found = bca(values, None, seed=seed, resamples=200)
        low, high = limits(found)
        assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
        assert bca(values, None, seed=seed, resamples=200) == found

    def test_memory_is_bounded(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Drawing in smaller pieces changes no figure."""
        values, clusters = scores_of(6, 60), [each // 3 for each in range(60)]
        whole = bca(values, clusters, seed=3, resamples=1000), sign_flip(values - 0.45, clusters, seed=3, resamples=1000)
        monkeypatch.setattr("evals.statistics.CHUNK_CELLS", 20 * 64)
        assert bca(values, clusters, seed=3, resamples=1000) == whole[0]
        assert sign_flip(values - 0.45, clusters, seed=3, resamples=1000) == whole[1]

    def test_one_document_has_no_limits(self) -> None:
        """Limits of questions about a single document are refused."""
        with pytest.raises(InvalidInput, match="two documents"):
            bca_limits(scores_of(1, 5, 1), ["d"] * 5, seed=0)
        with pytest.raises(InvalidInput, match="two documents"):
            effective_size(scores_of(1, 5, 1), ["d"] * 5)


class TestEffectiveSize:
    def test_by_arithmetic(self) -> None:
        """Four documents with two equal questions each count as few: deff is 2 · (4/3) / (8/7), and t counts documents."""
        values = np.array([1, 1, 0, 0, 1, 1, 0, 0.0])[:, None]
        deff = (4 * (2 * 0.5) ** 2) / (8 * 0.5**2) * (4 / 3) / (8 / 7)
        t = scipy.stats.t.ppf(0.975, 7) / scipy.stats.t.ppf(0.975, 3)
        assert effective_size(values, [0, 0, 1, 1, 2, 2, 3, 3]) == pytest.approx(8 / deff * t**2)

    def test_never_more_than_there_are(self) -> None:
        """Questions that stand alone count fully, and no arrangement makes them count more."""
        values = scores_of(1, 30, 4)
        assert effective_size(values, None) == pytest.approx([30] * 4)
        assert effective_size(values, list(range(30))) == pytest.approx([30] * 4)
        assert (effective_size(values, [each // 2 for each in range(30)]) <= 30).all()

    def test_documents_may_be_missing(self) -> None:
        """None is a question without a primary document: it stands alone."""
        values = scores_of(2, 6, 1)
        assert effective_size(values, ["a", None, "a", None, "b", "b"]) == pytest.approx(
            effective_size(values, ["a", "c", "a", "d", "b", "b"])
        )


class TestInterval:
    def test_zero_or_one_gets_wilson(self) -> None:
        """0/1 scores of questions that stand alone get Wilson's interval, and say how many of how many are defined."""
        found = interval([1] * 15 + [0] * 10 + [NAN] * 5, None, binary=True, seed=0)
        assert (found.mean, found.n, found.of, found.method, found.note) == (0.6, 25, 30, "Wilson", "")
        assert limits(found) == limits(wilson(15, 25))

    def test_together_counts_as_fewer(self) -> None:
        """Questions that succeed and fail by document get the interval of fewer, and a note."""
        values, clusters = [each // 4 % 2 for each in range(80)], [each // 4 for each in range(80)]
        found = interval(values, clusters, binary=True, seed=0)
        effective = float(effective_size(np.array(values, float)[:, None], clusters)[0])
        assert limits(found) == limits(wilson(40, 80, effective=effective))
        assert found.note == f"80 questions about 20 documents count as {effective:.0f}"
        assert effective < 20

    def test_other_scores_get_bca(self) -> None:
        """Other scores get a BCa interval over documents."""
        values, clusters = scores_of(1, 60), [each // 2 for each in range(60)]
        assert interval(values, clusters, binary=False, seed=4, resamples=500) == bca(values, clusters, seed=4, resamples=500)

    @pytest.mark.parametrize("binary", [True, False])
    @pytest.mark.parametrize(
        ("n", "documents", "method", "note"),
        [
            pytest.param(19, 19, "too few", "19 questions; 20 are needed", id="19 questions"),
            pytest.param(40, 4, "too few", "4 documents; 5 are needed", id="4 documents"),
            pytest.param(40, 1, "undefined", "all questions are about one document", id="one document"),
            pytest.param(0, 0, "undefined", "no score is defined", id="no questions"),
        ],
    )
    def test_too_few(self, n: int, documents: int, method: Method, note: str, binary: bool) -> None:
        """Below 20 questions or 5 documents there is a mean, no interval, and the reason."""
        found = interval([1] * n + [NAN] * 3, [each % max(documents, 1) for each in range(n + 3)], binary=binary, seed=0)
        assert found == Interval(1.0 if n else None, None, None, n, n + 3, method, note)

    def test_few_different_scores_are_noted(self) -> None:
        """An interval whose scores are nearly all the same says how few are not."""
        found = interval([1.0] * 30 + [0.2, 0.5, 0.7, 0.9], None, binary=False, seed=0, resamples=200)
        assert found.note == "only 4 scores differ from the rest"

    def test_few_documents_are_noted(self) -> None:
        """An interval over 5 to 9 documents says how few they are."""
        assert interval(scores_of(1, 40), [each % 9 for each in range(40)], binary=False, seed=0, resamples=200).note == "only 9 documents"

    def test_nonsense(self) -> None:
        """What is not 0 or 1 is not binary; scores are finite; every question has a cluster."""
        with pytest.raises(InvalidInput, match="0 or 1"):
            interval([0.5] * 30, None, binary=True, seed=0)
        with pytest.raises(InvalidInput, match="finite"):
            interval([math.inf] * 30, None, binary=False, seed=0)
        with pytest.raises(InvalidInput, match="30 clusters"):
            interval([0.5] * 30, ["d"] * 29, binary=False, seed=0)

    def test_by_group(self) -> None:
        """Each kind has the interval of its own questions, in the order of appearance; a small one is too few."""
        values, kinds = [*scores_of(1, 45)], ["named"] * 20 + ["described"] * 20 + ["rare"] * 5
        clusters = [f"document {each % 25}" for each in range(45)]
        found = by_group(values, kinds, clusters, binary=False, seed=7, resamples=300)
        assert list(found) == ["named", "described", "rare"]
        assert found["described"] == interval(values[20:40], clusters[20:40], binary=False, seed=7, resamples=300)
        assert found["rare"].method == "too few"
        with pytest.raises(InvalidInput, match="45 groups"):
            by_group(values, kinds[:-1], clusters, binary=False, seed=7)


class TestSignFlip:
    def test_by_arithmetic(self) -> None:
        """Of the 8 sign patterns of .1, .2 and .4, both all-plus and all-minus give as large a mean; one gives as high a one."""
        found = sign_flip([0.1, 0.2, 0.4], None, seed=0)
        assert found.mean == pytest.approx((0.1 + 0.2 + 0.4) / 3)
        assert found.p == 2 / 8
        assert sign_flip([0.1, 0.2, 0.4], None, seed=0, alternative="greater").p == 1 / 8
        assert sign_flip([0.1, 0.2, 0.4], None, seed=0, alternative="less").p == 8 / 8

    def test_signs_are_drawn_by_document(self) -> None:
        """Six questions about two documents have 4 sign patterns, not 64."""
        assert sign_flip([0.1] * 6, None, seed=0).p == 2 / 64
        assert sign_flip([0.1] * 6, ["a", "a", "a", "b", "b", "b"], seed=0).p == 2 / 4
        assert sign_flip([0.1] * 6, ["a"] * 6, seed=0).p == 2 / 2

    @pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
    def test_equals_scipy(self, alternative: Alternative) -> None:
        """All patterns enumerated give the p of scipy's permutation_test; drawn ones come close and never give 0."""
        differences = np.round(scores_of(2, 12) - 0.3, 2)
        reference = scipy.stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf, alternative=alternative
        ).pvalue
        two_sided = np.mean([abs(differences @ signs) >= abs(differences.sum()) - 1e-9 for signs in itertools.product([-1, 1], repeat=12)])
        expected = two_sided if alternative == "two-sided" else reference
        assert reference == pytest.approx(expected)
        assert sign_flip(differences, None, seed=0, alternative=alternative).p == pytest.approx(expected)
        drawn = sign_flip(differences, None, seed=0, alternative=alternative, resamples=4095).p
        assert drawn == pytest.approx(expected, abs=4 * math.sqrt(expected * (1 - expected) / 4095) + 1e-3)

    def test_no_p_is_zero(self) -> None:
        """With B = 10,000 the least p is 1 / 10,001."""
        assert sign_flip([1.0] * 200, None, seed=0).p == 1 / 10_001

    def test_counts(self) -> None:
        """Wins, ties and losses are questions; rounding errors tie, and what is not defined for both is no question."""
        found = sign_flip([0.5, 0.1, -0.2, 0.0, 0.1 + 0.2 - 0.3, NAN], None, seed=0)
        assert (found.wins, found.ties, found.losses) == (2, 2, 1)

    @pytest.mark.parametrize("differences", [[], [NAN], [0.0] * 30], ids=["none", "undefined", "all ties"])
    def test_nothing_to_tell(self, differences: list[float]) -> None:
        """Without any difference the p is 1."""
        assert sign_flip(differences, None, seed=0).p == 1

    @given(SCORES, st.sampled_from([2, 1000]))
    def test_sides(self, values: list[float], size: int) -> None:
        """Swapping the sides swaps wins and losses and the one-sided tests, and leaves the two-sided p."""
        differences = [round(each - 0.5, 3) for each in values]
        clusters = [each // size for each in range(len(values))]
        forth = sign_flip(differences, clusters, seed=1, resamples=200)
        back = sign_flip([-each for each in differences], clusters, seed=1, resamples=200)
        assert (forth.p, forth.wins, forth.losses) == (back.p, back.losses, back.wins)
        one = sign_flip(differences, clusters, seed=1, resamples=2**12, alternative="less").p
        other = sign_flip([-each for each in differences], clusters, seed=1, resamples=2**12, alternative="greater").p
        assert one == other or len(values) > 12 * size


class TestHolm:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            pytest.param([0.01, 0.04, 0.03, 0.005], [3 * 0.01, 2 * 0.03, 2 * 0.03, 4 * 0.005], id="in the order given"),
            pytest.param([0.02, 0.02, 0.02], [0.06, 0.06, 0.06], id="equal"),
            pytest.param([0.5, 0.9], [1.0, 1.0], id="never above 1"),
            pytest.param([0.03], [0.03], id="one alone"),
            pytest.param([], [], id="none"),
        ],
    )
    def test_by_arithmetic(self, given: list[float], expected: list[float]) -> None:
        """The smallest p counts m times, the next m − 1 times, never less than the one before."""
        assert holm(given) == pytest.approx(expected)


class TestTieSet:
    def test_two_configurations_are_a_sign_flip(self) -> None:
        """With two configurations the yardstick is the quantile of |mean| over random signs, corrected for few questions."""
        values = scores_of(1, 40, 2)
        differences = values[:, 0] - values[:, 1]
        signs = np.random.default_rng(9).integers(0, 2, (4000, 40)) * 2 - 1
        quantile = float(np.quantile(np.abs(signs @ differences) / 40, 0.95))
        found = tie_set(values, None, seed=0, permutations=4000)
        assert quantile * 0.97 < found.yardstick < quantile * math.sqrt(40 / 39) * 2.023 / 1.96 * 1.03

    def test_exclusion_is_p_at_most_alpha(self) -> None:
        """With 19 permutations and α = .05 only a difference above all 19 is left out: p = (0 + 1) / (19 + 1)."""
        values = np.array([[1.0, 0.0]] * 30)
        found = tie_set(values, None, seed=0, permutations=19)
        assert (found.best, found.tied, found.means) == (0, (0,), (1.0, 0.0))
        with pytest.raises(InvalidInput, match="more than 18 resamples"):
            tie_set(values, None, seed=0, permutations=18)

    def test_duplicates_share_their_fate(self) -> None:
        """Columns with the same scores are all in or all out; so are constant ones."""
        one, other = scores_of(1, 60), scores_of(2, 60) * 0.3
        found = tie_set(np.stack([one, other, one, other, one], axis=1), None, seed=0, permutations=500)
        assert (found.best, found.tied) == (0, (0, 2, 4))
        constant = tie_set(np.full((30, 5), 0.7), None, seed=0, permutations=100)
        assert (constant.tied, constant.yardstick) == ((0, 1, 2, 3, 4), 0)
        mixed = tie_set(np.stack([np.full(60, 0.9), one, one], axis=1), None, seed=0, permutations=500)
        assert mixed.tied == (0,)

    def test_one_alone(self) -> None:
        """One configuration is the best; about one document, none can be told apart."""
        assert tie_set(scores_of(1, 30, 1), None, seed=0, permutations=100).tied == (0,)
        assert tie_set(np.array([[1.0, 0.0, 0.5]] * 30), ["d"] * 30, seed=0, permutations=100).tied == (0, 1, 2)

    def test_same_seed_same_set(self) -> None:
        """The same seed gives the same yardstick, another nearly the same, in whatever order the configurations stand."""
        values, clusters = scores_of(1, 60, 6), [each // 2 for each in range(60)]
        found = tie_set(values, clusters, seed=1, permutations=2000)
        assert tie_set(values, clusters, seed=1, permutations=2000) == found
        assert tie_set(values, clusters, seed=2, permutations=2000).yardstick == pytest.approx(found.yardstick, rel=0.05)
        assert tie_set(values[:, ::-1], clusters, seed=1, permutations=2000).yardstick == pytest.approx(found.yardstick, rel=0.05)

    def test_missing_scores_are_refused(self) -> None:
        """What is not defined for all is left out by the caller, or by compare_all."""
        with pytest.raises(InvalidInput, match="1 not defined"):
            tie_set([[1.0, NAN], [0.0, 1.0]], None, seed=0)
        with pytest.raises(InvalidInput, match="shape"):
            tie_set([1.0, 0.0], None, seed=0)


class TestMissing:
    def test_defined_for_both(self) -> None:
        """Shares are of all questions, n of those that both define."""
        found = comparable([1, 0, NAN, 1] * 25, [1, NAN, 0, 1] * 25)
        assert (found.n, found.of, found.share_a, found.share_b, found.comparable) == (50, 100, 0.75, 0.75, True)

    @pytest.mark.parametrize(("missing", "is_comparable"), [(5, True), (6, False)])
    def test_five_points(self, missing: int, is_comparable: bool) -> None:
        """Five points apart is comparable, more is not, and the reason has the counts."""
        found = comparable([NAN] * missing + [1] * (100 - missing), [1] * 100)
        assert found.comparable is is_comparable
        assert found.why_not == ("" if is_comparable else "defined for 94 and 100 of 100 questions, more than 5 points apart")

    def test_nothing_in_common(self) -> None:
        """Without a question that both define, nothing is comparable."""
        assert comparable([1, NAN], [NAN, 1]).why_not == "no question is defined for both"
        assert not comparable([], []).comparable
        with pytest.raises(InvalidInput, match="1 and 2"):
            comparable([1], [1, 0])

    def test_bounds(self) -> None:
        """Two of five missing: (.5 + 1 + 0) / 5 if both were 0, and 2 / 5 more if both were 1."""
        assert bounds([0.5, NAN, 1, NAN, 0]) == pytest.approx(((0.5 + 1 + 0) / 5, (0.5 + 1 + 0 + 2) / 5))
        assert bounds([]) == (0, 1)


class TestDetectable:
    def test_by_arithmetic(self) -> None:
        """(1.960 + .842) · .3 / √220 two-sided; 1.645 in place of 1.960 one-sided."""
        assert detectable_with_spread(0.3, 220) == pytest.approx((1.95996 + 0.84162) * 0.3 / math.sqrt(220), rel=1e-5)
        assert detectable_with_spread(0.3, 220, alternative="less") == pytest.approx((1.64485 + 0.84162) * 0.3 / math.sqrt(220), rel=1e-5)

    @given(st.floats(0.0, 1), st.integers(20, 2000), st.sampled_from([0.5, 0.8, 0.9]))
    def test_solves_connor(self, discordance: float, n: int, power: float) -> None:
        """The difference less 1/n, put into Connor's formula, needs n questions: (z₁ √ψ + z₂ √(ψ − δ²))² / δ², ψ at least δ."""
        found = detectable_with_discordance(discordance, n, power=power) - 1 / n
        psi = max(discordance, found)
        needed = (ndtri(0.975) * math.sqrt(psi) + ndtri(power) * math.sqrt(psi - found**2)) ** 2 / found**2
        assert needed == pytest.approx(n, rel=1e-6)

    def test_too_few_questions_show_nothing(self) -> None:
        """Three questions cannot show even a difference of 1."""
        assert detectable_with_discordance(0.5, 3) == 1

    def test_from_differences(self) -> None:
        """Spread and discordance are those of the differences, the size is the effective one; a gate sees a little more."""
        differences, clusters = np.round(scores_of(1, 60) - 0.5, 2), [each // 2 for each in range(60)]
        n = float(effective_size(differences[:, None], clusters)[0])
        two_sided = detectable_difference(differences, clusters, binary=False)
        drop = smallest_drop_seen(differences, clusters, binary=False)
        assert two_sided == pytest.approx(detectable_with_spread(float(np.std(differences, ddof=1)), n))
        assert drop == pytest.approx(detectable_with_spread(float(np.std(differences, ddof=1)), n, alternative="less"))
        flips = [1] * 8 + [-1] * 4 + [0] * 48
        assert detectable_difference(flips, None, binary=True) == pytest.approx(detectable_with_discordance(12 / 60, 60))

    def test_cannot_be_estimated(self) -> None:
        """Without spread nothing can be said of other scores; 0/1 scores then need as many discordant questions as differ."""
        assert detectable_difference([0.0] * 50, None, binary=False) is None
        assert detectable_difference([1, 0, 1], ["d"] * 3, binary=True) is None
        assert detectable_difference([], None, binary=True) is None
        assert detectable_difference([0] * 220, None, binary=True) == pytest.approx(8.85 / 220, rel=0.03)


class TestCompare:
    def test_zero_or_one(self) -> None:
        """Head to head of 0/1 scores: Newcombe's interval, the sign-flip's p, counts, shares, bounds, and a verdict about a."""
        a, b = [1] * 60 + [0] * 20, [1] * 40 + [0] * 20 + [1] * 5 + [0] * 15
        found = compare(a, b, None, binary=True, seed=0)
        assert limits(found.difference) == limits(newcombe_paired((40, 20, 5, 15)))
        assert (found.difference.mean, found.wins, found.ties, found.losses) == (15 / 80, 20, 55, 5)
        assert found.p == sign_flip(np.subtract(a, b), None, seed=0).p < 0.01
        assert (found.bounds_a, found.bounds_b) == ((60 / 80, 60 / 80), (45 / 80, 45 / 80))
        assert found.bounds == pytest.approx((15 / 80, 15 / 80))
        assert found.detectable == pytest.approx(detectable_with_discordance(25 / 80, 80))
        assert found.verdict == "better"
        assert compare(b, a, None, binary=True, seed=0).verdict == "worse"

    def test_other_scores(self) -> None:
        """Head to head of other scores: the BCa interval of the differences, over documents."""
        a, b, clusters = scores_of(1, 60), scores_of(2, 60), [each // 2 for each in range(60)]
        found = compare(a, b, clusters, binary=False, seed=3, resamples=500)
        assert found.difference == bca(a - b, clusters, seed=3, resamples=500)
        assert found.verdict == "not distinguishable"

    def test_together_counts_as_fewer(self) -> None:
        """0/1 scores that differ by document get the wider interval of fewer questions."""
        a, b = [each // 4 % 2 for each in range(80)], [each // 8 % 2 for each in range(80)]
        alone, together = (compare(a, b, clusters, binary=True, seed=0) for clusters in (None, [each // 4 for each in range(80)]))
        assert np.ptp(limits(together.difference)) > 1.5 * np.ptp(limits(alone.difference))
        assert together.difference.note.startswith("80 questions about 20 documents count as")
        assert alone.difference.note == ""

    def test_missing(self) -> None:
        """Only questions defined for both are compared; bounds leave out those defined for neither; refusing is not winning."""
        a = [NAN] * 10 + [1] * 30 + [NAN] * 10
        b = [0] * 10 + [1] * 30 + [NAN] * 10
        found = compare(a, b, None, binary=True, seed=0)
        assert (found.difference.n, found.difference.of, found.difference.mean) == (30, 50, 0)
        assert (found.bounds_a, found.bounds_b) == ((30 / 50, 50 / 50), (30 / 50, 40 / 50))
        assert found.bounds == pytest.approx((30 / 40 - 30 / 40, 40 / 40 - 30 / 40))
        assert (found.verdict, found.shares.comparable) == ("not comparable", False)

    def test_too_few(self) -> None:
        """19 questions have no verdict, however one-sided."""
        found = compare([1] * 19, [0] * 19, None, binary=True, seed=0)
        assert (found.verdict, found.difference.method) == ("too few", "too few")

    @pytest.mark.parametrize("binary", [True, False])
    def test_the_same_twice(self, binary: bool) -> None:
        """A configuration against itself is a tie on every question."""
        a = scores_of(1, 40).round() if binary else scores_of(1, 40)
        found = compare(a, a, None, binary=binary, seed=0)
        assert (found.p, found.wins, found.ties, found.losses, found.verdict) == (1, 0, 40, 0, "not distinguishable")

    def test_the_level_must_be_reachable(self) -> None:
        """A level that no p can reach with so few resamples is refused rather than never met."""
        assert compare([1] * 40, [0] * 40, None, binary=True, seed=0, alpha=confirmation_level(8)).verdict == "better"
        with pytest.raises(InvalidInput, match="resamples"):
            compare([1] * 40, [0] * 40, None, binary=True, seed=0, alpha=confirmation_level(9))


class TestCompareAll:
    CLUSTERS = tuple(each // 2 for each in range(80))

    def scores(self) -> Floats:
        """Five configurations of 80 questions: two alike, one far below, one with gaps, one that lacks a tenth."""
        values = scores_of(1, 80, 1) * 0.8 + scores_of(2, 80, 5) * 0.2
        values[:, 2] *= 0.5
        values[:3, 3] = NAN
        values[:8, 4] = NAN
        return values

    def test_agrees_with_its_parts(self) -> None:
        """Means are intervals of the columns, comparisons are head to head, the tie set is that of the common questions."""
        values = self.scores()
        found = compare_all(values, self.CLUSTERS, binary=False, seed=5, baseline=1, resamples=1000)
        for standing in found.standings:
            column = values[:, standing.configuration]
            assert standing.mean == interval(column, self.CLUSTERS, binary=False, seed=5, resamples=1000)
            assert standing.bounds == bounds(column)
            if standing.configuration != 1:
                assert standing.against == compare(column, values[:, 1], self.CLUSTERS, binary=False, seed=5, resamples=1000)
        ties = tie_set(values[3:, :4], self.CLUSTERS[3:], seed=5, permutations=1000)
        assert (found.ties, found.n, found.baseline) == (ties, 77, 1)
        assert [each.tied for each in found.standings] == [column in ties.tied for column in range(5)]
        assert 2 not in ties.tied

    def test_adjusted_over_all_that_were_planned(self) -> None:
        """Holm counts the configuration that is not comparable as one with p = 1, and gives it no p."""
        found = compare_all(self.scores(), self.CLUSTERS, binary=False, seed=5, baseline=1, resamples=1000)
        against = [each.against for each in found.standings]
        assert against[1] is None
        expected = holm([each.p for each in (against[0], against[2], against[3]) if each is not None] + [1.0])
        assert [each.p_adjusted for each in found.standings] == [expected[0], None, *expected[1:3], None]
        assert found.standings[4].why_not == "defined for 72 and 80 of 80 questions, more than 5 points apart"

    def test_columns_keep_their_numbers(self) -> None:
        """The tie set is in columns of the leaderboard, also when one before it is not comparable."""
        values = self.scores()[:, ::-1]
        found = compare_all(values, self.CLUSTERS, binary=False, seed=5, resamples=1000)
        assert found.ties is not None
        assert set(found.ties.tied) <= {1, 3, 4}
        assert found.ties.best in (1, 3, 4)
        assert all(each.against is None and each.p_adjusted is None for each in found.standings)

    def test_zero_or_one(self) -> None:
        """0/1 scores get Wilson's intervals and Newcombe's differences."""
        found = compare_all((self.scores()[:, :3] > 0.4).astype(float), self.CLUSTERS, binary=True, seed=5, baseline=0, resamples=1000)
        assert [each.mean.method for each in found.standings] == ["Wilson"] * 3
        assert found.standings[2].against is not None
        assert found.standings[2].against.difference.method == "Newcombe"

    def test_too_few(self) -> None:
        """With fewer than 20 questions in common nothing is said of ties."""
        found = compare_all(scores_of(1, 19, 3), None, binary=False, seed=0)
        assert (found.ties, found.n) == (None, 19)
        assert found.note == "too few for a tie set: 19 questions are defined for all, 20 are needed"
        nothing = compare_all(np.full((30, 2), NAN), None, binary=False, seed=0)
        assert (nothing.ties, nothing.n, [each.tied for each in nothing.standings]) == (None, 0, [False, False])

    def test_nonsense(self) -> None:
        """A baseline is a column; scores are a table."""
        with pytest.raises(InvalidInput, match="baseline from 0 to 2"):
            compare_all(scores_of(1, 30, 3), None, binary=False, seed=0, baseline=3)
        with pytest.raises(InvalidInput, match="shape"):
            compare_all(scores_of(1, 30), None, binary=False, seed=0)


def test_confirmation_level() -> None:
    """.025, .0125, …: all uses together stay below .05."""
    assert [confirmation_level(use) for use in (1, 2, 3)] == [0.05 / 2, 0.05 / 4, 0.05 / 8]
    assert sum(confirmation_level(use) for use in range(1, 40)) <= 0.05
    with pytest.raises(InvalidInput, match="1 or more"):
        confirmation_level(0)


# Simulated truth: what is claimed is known, and drawn many times. Observed shares are judged by their exact 99 % interval.

ALONE, TOGETHER, CLOSE = 0.0, 0.4, 0.75
"""How the latent scores of one document's questions correlate: not, since each has its own document; much; very much."""


class World:
    """Draws latent scores, standard normal, of `n` questions with 2.4 per document on average, or one each when `alike` is 0."""

    def __init__(self, seed: int, n: int, alike: float) -> None:
        self.rng, self.alike = np.random.default_rng(seed), alike
        self.documents = np.repeat(np.arange(n), np.resize([1, 2, 3, 4, 2], n))[:n] if alike else np.arange(n)

    def latent(self, *columns: int) -> Floats:
        """Independent columns, shape (questions, *columns)."""
        documents = self.rng.standard_normal((int(self.documents.max()) + 1, *columns))[self.documents]
        questions = self.rng.standard_normal((len(self.documents), *columns))
        return math.sqrt(self.alike) * documents + math.sqrt(1 - self.alike) * questions

    def paired(self, *columns: int) -> tuple[Floats, Floats]:
        """Two configurations over the same questions, whose latent scores correlate .7."""
        difficulty = math.sqrt(0.7) * self.latent(*columns)
        return difficulty + math.sqrt(0.3) * self.latent(*columns), difficulty + math.sqrt(0.3) * self.latent(*columns)


def graded(latent: Floats) -> Floats:
    """Scores as nDCG has them: an eighth at 0, half at 1, the rest between, in steps of .01."""
    return np.asarray(np.round(np.clip(latent / 1.2 + 1, 0, 1), 2), float)


def hit(latent: Floats, share: float) -> Floats:
    """Scores of 0 or 1 with that share of ones."""
    return np.where(latent < ndtri(share), 1.0, 0.0)


def surely(outcomes: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The exact 99 % interval of the share of true ones."""
    found = scipy.stats.binomtest(int(outcomes.sum()), outcomes.size).proportion_ci(0.99)
    return float(found.low), float(found.high)


def covers(low: Floats, high: Floats, truth: float) -> npt.NDArray[np.bool_]:
    return (low <= truth + 1e-9) & (truth - 1e-9 <= high)


def in_pieces(compute: Callable[[Floats, int], Floats], columns: Floats, size: int) -> Floats:
    """What `compute` says of `size` columns at a time, each piece with a seed of its own, side by side."""
    starts = range(0, columns.shape[1], size)
    return np.concatenate([compute(columns[:, start : start + size], start) for start in starts], axis=-1)


WILSON_WEAK = {(0.5, 20, CLOSE): 0.94, (0.9, 80, CLOSE): 0.93, (0.98, 220, CLOSE): 0.93}
"""Share, questions, likeness: from 9 documents, or from 4 to 8 failures, it can hardly be seen how much questions move together."""

BCA_WEAK = {
    ("normal", 20, TOGETHER): 0.94,
    ("normal", 20, CLOSE): 0.93,
    ("normal", 80, CLOSE): 0.94,
    ("differences", 20, ALONE): 0.92,
    ("differences", 20, TOGETHER): 0.91,
    ("differences", 20, CLOSE): 0.89,
    ("differences", 80, TOGETHER): 0.93,
    ("differences", 80, CLOSE): 0.92,
    ("differences", 220, CLOSE): 0.93,
}
"""A bootstrap of 9 documents is too narrow; so is one of differences most of which are 0, whose tails it seldom sees."""


@pytest.mark.parametrize("alike", [ALONE, TOGETHER, CLOSE], ids=["alone", "together", "close"])
@pytest.mark.parametrize("n", [20, 80, 220])
class TestCoverage:
    """Intervals of 95 % cover the truth in 95 % of all repetitions, as far as 2,000 can tell, but for the weaknesses named."""

    @pytest.mark.parametrize("share", [0.5, 0.9, 0.98])
    def test_wilson(self, share: float, n: int, alike: float) -> None:
        """Wilson's interval with the effective size covers the true share."""
        world = World(1, n, alike)
        scores = hit(world.latent(2000), share)
        low, high = wilson_limits(scores.mean(0), effective_size(scores, world.documents))
        assert surely(covers(low, high, share))[1] >= WILSON_WEAK.get((share, n, alike), 0.95)

    @pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (0.5, 0.6), (0.9, 0.9), (0.9, 0.8), (0.98, 0.98), (0.98, 0.9)])
    def test_newcombe(self, first: float, second: float, n: int, alike: float) -> None:
        """Newcombe's interval with the effective size covers the true difference (nearly always, where few questions differ)."""
        world = World(2, n, alike)
        latent = world.paired(2000)
        a, b = hit(latent[0], first), hit(latent[1], second)
        table = np.stack([(a * b).sum(0), (a * (1 - b)).sum(0), ((1 - a) * b).sum(0), ((1 - a) * (1 - b)).sum(0)])
        low, high = newcombe_limits(table * effective_size(a - b, world.documents) / n)
        assert surely(covers(low, high, first - second))[1] >= 0.95

    @pytest.mark.parametrize("kind", ["normal", "graded", "differences"])
    def test_bca(self, kind: str, n: int, alike: float) -> None:
        """The BCa interval over documents covers the true mean."""
        world = World(3, n, alike)
        truth = 0.0 if kind != "graded" else float(graded(ndtri(np.arange(0.5, 10**6) / 10**6)).mean())
        first, second = world.paired(1000)
        scores = {"normal": first, "graded": graded(first), "differences": graded(first) - graded(second)}[kind]
        low, high = in_pieces(lambda some, seed: np.stack(bca_limits(some, world.documents, seed=seed, resamples=1000)), scores, 250)
        assert surely(covers(low, high, truth))[1] >= BCA_WEAK.get((kind, n, alike), 0.95)


def test_wilson_near_the_ceiling() -> None:
    """The known weakness, exactly: 20 questions with a true share of .98 are covered in 94 % of all samples, not 95 %."""
    counts = np.arange(21)
    low, high = wilson_limits(counts / 20, 20)
    assert scipy.stats.binom.pmf(counts, 20, 0.98)[covers(low, high, 0.98)].sum() == pytest.approx(0.9401, abs=5e-5)


def test_bca_near_the_ceiling() -> None:
    """The known weakness: 20 graded scores of which a tenth are not 1 are covered in 70 to 80 %, and noted for it."""
    world = World(4, 20, ALONE)
    scores = graded(world.latent(1000) + 1.3)
    truth = float(graded(World(5, 1000, ALONE).latent(2000) + 1.3).mean())
    low, high = in_pieces(lambda some, seed: np.stack(bca_limits(some, None, seed=seed, resamples=1000)), scores, 250)
    assert 0.7 < covers(low, high, truth).mean() < 0.8
    assert np.mean((scores < 1).sum(0) < 5) > 0.9


@pytest.mark.parametrize(("documents", "floor", "ceiling"), [(2, 0.0, 0.55), (5, 0.92, 0.95), (9, 0.94, 0.95)])
def test_few_documents(documents: int, floor: float, ceiling: float) -> None:
    """Why fewer than 5 documents get no BCa interval: 2 cover half of the time, 5 cover 91 %, 9 cover 93 %."""
    world = World(6, 40, ALONE)
    world.documents, world.alike = np.arange(40) % documents, TOGETHER
    low, high = in_pieces(
        lambda some, seed: np.stack(bca_limits(some, world.documents, seed=seed, resamples=1000)), world.latent(1000), 250
    )
    share = surely(covers(low, high, 0.0))
    assert share[1] >= floor
    assert share[0] < ceiling


@pytest.mark.parametrize("alike", [TOGETHER, CLOSE], ids=["together", "close"])
def test_why_the_size_is_the_effective_one(alike: float) -> None:
    """Where the questions of a document move together, Wilson's and Newcombe's intervals of n questions cover less than 92 %."""
    world = World(7, 220, alike)
    latent = world.paired(2000)
    a, b = hit(latent[0], 0.5), hit(latent[1], 0.5)
    table = np.stack([(a * b).sum(0), (a * (1 - b)).sum(0), ((1 - a) * b).sum(0), ((1 - a) * (1 - b)).sum(0)])
    assert surely(covers(*wilson_limits(a.mean(0), 220), 0.5))[1] < 0.92
    assert surely(covers(*newcombe_limits(table), 0.0))[1] < 0.94


KINDS = ["graded", "two unlike", "zero or one"]


class TestLevel:
    """What is equal is called different in 5 % of all repetitions at most."""

    @pytest.mark.parametrize("alike", [ALONE, TOGETHER, CLOSE], ids=["alone", "together", "close"])
    @pytest.mark.parametrize("binary", [True, False], ids=["zero or one", "graded"])
    def test_sign_flip(self, binary: bool, alike: float) -> None:
        """Signs by document keep the level; signs by question do not, where the questions of a document move together."""
        world = World(8, 220, alike)
        a, b = (hit(each, 0.7) if binary else graded(each) for each in world.paired(2000))
        by_document = in_pieces(lambda some, seed: flip_p_values(some, world.documents, seed=seed, resamples=999), a - b, 250) <= 0.05
        by_question = in_pieces(lambda some, seed: flip_p_values(some, None, seed=seed, resamples=999), a - b, 250) <= 0.05
        assert surely(by_document)[0] <= 0.05
        assert (surely(by_question)[0] > 0.05) == bool(alike and (not binary or alike == CLOSE))

    @staticmethod
    def latent_configurations(world: World, repetitions: int, *, unlike: int = 0) -> Floats:
        """24 equal configurations, shape (questions, repetitions, 24), the last `unlike` of them of another kind."""
        kinds = world.latent(repetitions, 2)[..., [0] * (24 - unlike) + [1] * unlike] if unlike else 0
        own = world.latent(repetitions, 24)
        mixed = math.sqrt(0.35) * kinds + math.sqrt(0.05) * own if unlike else math.sqrt(0.4) * own
        return math.sqrt(0.6) * world.latent(repetitions, 1) + mixed

    @classmethod
    def configurations(cls, world: World, repetitions: int, kind: str) -> Floats:
        """Scores of 24 equal configurations: graded, graded with two unlike the rest, or 0 and 1 (nine in ten are 1)."""
        latent = cls.latent_configurations(world, repetitions, unlike=2 if kind == "two unlike" else 0)
        return hit(latent, 0.9) if kind == "zero or one" else graded(latent)

    @pytest.mark.parametrize("kind", KINDS)
    def test_holm(self, kind: str) -> None:
        """Of 23 configurations equal to the baseline, none is called different in 95 % of all repetitions."""
        world = World(9, 100, TOGETHER)
        scores = self.configurations(world, 1000, kind)
        differences = (scores[..., 1:] - scores[..., :1]).reshape(100, -1)
        p = in_pieces(lambda some, seed: flip_p_values(some, world.documents, seed=seed, resamples=1999), differences, 23 * 20)
        wrong = np.array([min(holm(each.tolist())) <= 0.05 for each in p.reshape(1000, 23)])
        assert surely(wrong)[0] <= 0.05

    @pytest.mark.parametrize("kind", KINDS)
    def test_tie_set(self, kind: str) -> None:
        """Of 24 equal configurations, all are in the tie set in 95 % of all repetitions, also when two are unlike the rest."""
        world = World(10, 60, TOGETHER)
        scores = self.configurations(world, 1000, kind)
        wrong = np.array(
            [len(tie_set(scores[:, each], world.documents, seed=each, permutations=199).tied) < 24 for each in range(scores.shape[1])]
        )
        assert surely(wrong)[0] <= 0.05

    def test_why_labels_are_permuted_by_document(self) -> None:
        """Labels permuted by question leave out an equal configuration far more often than in 5 % of all repetitions."""
        scores = self.configurations(World(11, 60, TOGETHER), 150, "graded")
        wrong = np.array([len(tie_set(scores[:, each], None, seed=each, permutations=199).tied) < 24 for each in range(150)])
        assert surely(wrong)[0] > 0.1


class TestPower:
    """A difference of the size called detectable, planted, is found in about 80 % of all repetitions."""

    @pytest.mark.parametrize("n", [80, 220])
    @pytest.mark.parametrize("alternative", ["two-sided", "less"])
    def test_other_scores(self, n: int, alternative: Alternative) -> None:
        """Graded scores: the spread of one sample says what another will show; some are too small, which costs 2 to 4 points."""
        world = World(12, n, TOGETHER)
        a, b = (graded(each) for each in world.paired(2000))
        differences = a - b - (a - b).mean()
        said = [detectable_difference(each, world.documents, binary=False, alternative=alternative) or 0 for each in differences.T]
        planted = np.roll(differences, 1, axis=1) - said
        p = in_pieces(
            lambda some, seed: flip_p_values(some, world.documents, seed=seed, resamples=999, alternative=alternative), planted, 250
        )
        assert 0.75 <= np.mean(p <= 0.05) <= 0.85

    @pytest.mark.parametrize(("n", "discordance"), [(80, 0.2), (220, 0.1), (220, 0.4)])
    @pytest.mark.parametrize("alternative", ["two-sided", "less"])
    def test_zero_or_one(self, n: int, discordance: float, alternative: Alternative) -> None:
        """0/1 scores: with that discordance, so many more questions lost than won are seen."""
        said = detectable_with_discordance(discordance, n, alternative=alternative)
        assert said < discordance
        drawn = np.random.default_rng(13).random((n, 2000))
        planted = np.where(drawn < (discordance - said) / 2, 1.0, np.where(drawn < discordance, -1.0, 0.0))
        p = in_pieces(lambda some, seed: flip_p_values(some, None, seed=seed, resamples=999, alternative=alternative), planted, 250)
        assert surely(p <= 0.05)[1] >= 0.8

    def test_the_best_is_found(self) -> None:
        """A configuration better than its 23 equals by well over the yardstick is alone in the tie set."""
        scores = TestLevel.configurations(World(14, 100, TOGETHER), 20, "graded")
        scores[..., 5] += 0.5
        assert all(
            tie_set(scores[:, each], World(14, 100, TOGETHER).documents, seed=each, permutations=199).tied == (5,) for each in range(20)
        )
