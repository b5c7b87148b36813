"""OpenDP as an oracle: its samplers draw our noise, and its maps ask no more than we pay."""

from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from bench.selectors import laplace_histogram
from scipy import stats

from slogan.dp import noise
from slogan.dp.accounting import Account, Approximate, Gaussian
from slogan.dp.selection import SelectionBudget, pooled
from slogan.dp.selection._look import MANY
from slogan.dp.selection._weights import BITS, GRID, MOST, threshold
from slogan.randomness import SystemRandomness

dp.enable_features("contrib")

ALPHA = 1e-6
THEIRS, OURS = 30_000, 200_000
# OpenDP computes in floats. Of one pair's probability it takes the power 1 − (1 − p)^pairs, which
# is off by some units in the last place of 1 for each pair.
ROUNDING, LAST_PLACE = 1e-9, 2.0**-52

INTEGERS = dp.vector_domain(dp.atom_domain(T=dp.i64))
COUNTS = dp.map_domain(dp.atom_domain(T=dp.i64), dp.atom_domain(T=dp.i64))


def their_laplace(scale):
    return dp.m.make_laplace(INTEGERS, dp.l1_distance(T=dp.i64), scale=float(scale))


def their_gaussian(deviation):
    return dp.m.make_gaussian(INTEGERS, dp.l2_distance(T=dp.f64), scale=float(deviation))


# --- the laws ---


def on_a_grid(n, rng, *, deviation):
    """On a fine grid rounding down is no more than half a step: theirs and ours are one law."""
    return noise.floored_gaussian(n, rng, variance=deviation**2 * GRID**2, grid=GRID)


LAWS = {
    "discrete Laplace": (
        their_laplace,
        lambda n, rng, scale: noise.discrete_laplace(n, rng, scale=scale),
        [Fraction(1, 2), Fraction(10, 3), Fraction(10**6, 7)],
    ),
    "floored Gaussian": (
        their_gaussian,
        lambda n, rng, scale: on_a_grid(n, rng, deviation=scale),
        [Fraction(29 * 2**BITS, 10)],
    ),
}
CASES = [(name, scale) for name, law in LAWS.items() for scale in law[2]]


def p_value(one, other):
    """Chi-square of homogeneity over bins of similar mass."""
    cuts = np.unique(np.quantile(other, np.linspace(0, 1, 21)[1:-1], method="lower"))
    table = [
        np.bincount(np.searchsorted(cuts, drawn), minlength=len(cuts) + 1) for drawn in (one, other)
    ]
    return stats.chi2_contingency(np.array(table)[:, np.sum(table, axis=0) > 0]).pvalue


@pytest.mark.parametrize(("name", "scale"), CASES, ids=str)
def test_opendp_draws_the_same_noise_and_none_of_another_scale(name, scale):
    theirs, ours, _ = LAWS[name]
    drawn = np.array(theirs(scale)([0] * THEIRS))

    assert p_value(drawn, ours(OURS, SystemRandomness(), scale)) > ALPHA
    for wrong in (Fraction(9, 10), Fraction(11, 10)):
        assert p_value(drawn, ours(OURS, SystemRandomness(), scale * wrong)) < ALPHA


# --- what noise costs ---


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(40)])
@pytest.mark.parametrize("moved", [1, 3])
def test_laplace_noise_has_the_epsilon_of_opendp(scale, moved):
    needed = their_laplace(scale).map(moved)
    claimed = Approximate(name="stage", epsilon=moved / scale).cost.epsilon

    assert float(claimed) == pytest.approx(needed, rel=ROUNDING)


@pytest.mark.parametrize("deviation", [Fraction(1, 2), Fraction(10, 3), Fraction(50)])
@pytest.mark.parametrize("norm", [1, 6])
def test_gaussian_noise_has_the_cost_of_opendp(deviation, norm):
    """OpenDP counts in ρ = μ²/2."""
    needed = their_gaussian(deviation).map(float(norm))
    cost = Gaussian(name="stage", norm_squared=norm**2, variance=deviation**2).cost

    assert float(cost.mu_squared / 2) == pytest.approx(needed, rel=ROUNDING)


def test_stages_add_up_as_opendp_composes_them():
    parts = [Fraction(3), Fraction(7, 2), Fraction(11)]
    needed = dp.c.make_composition([their_gaussian(s) for s in parts]).map(1.0)
    stages = [Gaussian(name="stage", norm_squared=1, variance=s**2) for s in parts]

    assert float(Account(tuple(stages)).cost.mu_squared / 2) == pytest.approx(needed, rel=ROUNDING)


@pytest.mark.parametrize("deviation", [Fraction(1, 2), Fraction(10, 3), Fraction(50)])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6", "1e-10"])
def test_the_gaussian_curve_is_below_what_opendp_converts_rho_to(deviation, delta):
    theirs = dp.c.make_zCDP_to_approxDP(their_gaussian(deviation))
    needed, _ = dp.c.make_fix_delta(theirs, float(delta)).map(1.0)
    account = Account((Gaussian(name="stage", norm_squared=1, variance=deviation**2),))

    assert account.epsilon(delta) <= needed


# --- thresholds: a pair of one user alone ---

DELTAS = [Fraction(1, 50), Fraction(1, 10**6), Fraction(1, 10**9)]
VARIANCES = [Fraction(1, 4), Fraction(16)]


def their_delta(level, variance, pairs, weight):
    """Of pairs that one user brings, each of at most this weight, in steps of the grid."""
    distance = dp.l02inf_distance(dp.absolute_distance(T=dp.f64))
    scale = float(variance) ** 0.5 / float(GRID)
    keeps = dp.m.make_gaussian_threshold(COUNTS, distance, scale=scale, threshold=level)
    asked = keeps.map((pairs, float(pairs**0.5 * weight), float(weight)))[1]
    return asked - pairs * LAST_PLACE


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(40)])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_laplace_level_is_the_least_that_opendp_allows(scale, delta):
    distance = dp.l01inf_distance(dp.absolute_distance(T=dp.i64))

    def asked(level):
        keeps = dp.m.make_laplace_threshold(COUNTS, distance, scale=float(scale), threshold=level)
        return keeps.map((laplace_histogram.MOST, laplace_histogram.MOST, 1))[1]

    level = laplace_histogram.level(scale, delta)
    assert asked(level) <= delta < asked(level - 1)


@pytest.mark.parametrize("variance", VARIANCES)
@pytest.mark.parametrize("delta", DELTAS)
def test_the_gaussian_threshold_is_slightly_above_opendps(variance, delta):
    level = threshold(MOST, variance=variance, delta=delta, extra=Fraction(0))
    asked = [their_delta(level, variance, t, 2**BITS / t**0.5) for t in (1, 2, 5, 20, 50, 99, MOST)]
    lower = their_delta(level * 99 // 100, variance, MOST, 2**BITS / MOST**0.5)

    assert 0.98 * delta <= max(asked) <= delta
    assert max(lower, their_delta(level * 99 // 100, variance, 1, 2**BITS)) > delta


@pytest.mark.parametrize("mu_squared", ["0.02", "1", "30"])
@pytest.mark.parametrize("delta", DELTAS)
def test_the_rounds_of_pooled_selection_set_aside_the_delta_of_opendp(mu_squared, delta):
    budget = SelectionBudget(mu_squared=Fraction(mu_squared), delta=delta)
    public = pooled.schedule(budget, MANY)
    lengths = np.cumsum([this.length for this in public.rounds]).tolist()

    def asked(pairs, part):
        weight = int(public.heaviest[pairs])
        backed = pairs * float(pooled.backed(Fraction(weight, 2**BITS), public.rate))
        return backed * sum(
            their_delta(int(this.threshold * part), public.variance * units, 1, units * weight)
            for units, this in zip(lengths, public.rounds, strict=True)
        )

    sizes = (1, 2, 5, 20, 50, 100, MANY.most)
    assert 0.9 * delta <= max(asked(pairs, Fraction(1)) for pairs in sizes) <= delta
    assert max(asked(pairs, Fraction(99, 100)) for pairs in sizes) > delta
