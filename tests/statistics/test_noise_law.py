"""Is noise distributed as claimed? And would the test notice a scale that is 5 % off?"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from slogan.dp import noise
from slogan.randomness import SeededRandomness, SystemRandomness

DRAWS = 1_000_000
# One false alarm in a million seeds. At 10^6 draws a scale that is 5 % off is 50 σ away.
ALPHA = 1e-6


@dataclass(frozen=True)
class Law:
    """A sampler and its distribution function P(K ≤ k), by separate formulas."""

    draw: object
    below: object


def floored_gaussian(deviation):
    return Law(
        lambda n, rng: noise.floored_gaussian(n, rng, variance=Fraction(deviation) ** 2),
        lambda k, scale: stats.norm.cdf((k + 1) / (float(deviation) * scale)),
    )


def discrete_laplace(width):
    def below(k, scale):
        t = float(width) * scale
        tail = np.exp(-np.abs(k + (k >= 0)) / t) / (1 + np.exp(-1 / t))
        return np.where(k >= 0, 1 - tail, tail)

    return Law(lambda n, rng: noise.discrete_laplace(n, rng, scale=width), below)


def poisson(rate):
    return Law(
        lambda n, rng: noise.poisson(n, rng, rate=rate),
        lambda k, scale: stats.poisson.cdf(k, float(rate) * scale),
    )


LAWS = {
    "floored Gaussian, less than a step": floored_gaussian(Fraction(2, 5)),
    "floored Gaussian, a few steps": floored_gaussian(Fraction(10, 3)),
    "floored Gaussian, on the grid 2^-20": floored_gaussian(Fraction(29 * 2**20, 10)),
    "discrete Laplace, less than a step": discrete_laplace(Fraction(1, 2)),
    "discrete Laplace, a few steps": discrete_laplace(Fraction(10, 3)),
    "discrete Laplace, two to a strip": discrete_laplace(Fraction(301)),
    "discrete Laplace, millions of steps": discrete_laplace(Fraction(10**7, 3)),
    "Poisson of a small rate": poisson(Fraction(1, 3)),
    "Poisson of a few": poisson(Fraction(22, 3)),
    "Poisson of many": poisson(Fraction(1_000)),
}


def p_value(law, drawn, scale=1.0):
    """Chi-square over up to 1,000 bins of similar mass, cut at quantiles of another sample.

    With some 3 bins to a strip, a strip or a place in it that is drawn too often would show.
    """
    other = np.sort(law.draw(20_000, SeededRandomness(7)))
    cuts = np.unique(other[10::20])
    cuts = cuts[law.below(cuts, 1.0) < 1 - 1e-4]
    expected = np.diff(np.concatenate([[0.0], law.below(cuts, scale), [1.0]]))
    observed = np.bincount(np.searchsorted(cuts, drawn), minlength=len(cuts) + 1)
    return stats.chisquare(observed, len(drawn) * expected).pvalue


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_noise_has_the_law_it_claims_and_no_other_scale(law):
    drawn = law.draw(DRAWS, SeededRandomness(2026))

    assert p_value(law, drawn) > ALPHA
    for wrong in (0.9, 0.95, 1.05, 1.1):
        assert p_value(law, drawn, wrong) < ALPHA


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_so_has_the_operating_systems_noise(law):
    assert p_value(law, law.draw(100_000, SystemRandomness())) > ALPHA


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_one_draw_says_nothing_about_the_next(law):
    drawn = law.draw(DRAWS, SeededRandomness(5))
    high = np.searchsorted(np.unique(np.quantile(drawn, [0.25, 0.5, 0.75])), drawn)
    table = np.zeros((high.max() + 1, high.max() + 1))
    np.add.at(table, (high[:-1:2], high[1::2]), 1)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]

    assert stats.chi2_contingency(table).pvalue > ALPHA


@pytest.mark.parametrize(
    "law", [law for name, law in LAWS.items() if "millions" in name or "grid" in name]
)
def test_the_last_digits_of_wide_noise_are_uniform(law):
    last = law.draw(DRAWS, SeededRandomness(11)) % 64

    assert stats.chisquare(np.bincount(last, minlength=64)).pvalue > ALPHA


@pytest.mark.parametrize(
    "law", [law for name, law in LAWS.items() if "Gaussian" in name or "Laplace" in name]
)
def test_both_signs_are_equally_likely(law):
    drawn = law.draw(DRAWS, SeededRandomness(13))
    above, under = int((drawn > 0).sum()), int((drawn < 0).sum())
    if law in (LAWS[name] for name in LAWS if "floored" in name):
        above = DRAWS - under  # ⌊N⌋ ≥ 0 as often as not

    assert stats.binomtest(above, above + under).pvalue > ALPHA


def test_the_rounded_gaussian_lies_half_a_step_below_zero():
    """The one bias there is, public and the same for every log: ⌊N⌋ has mean −1/2."""
    drawn = noise.floored_gaussian(DRAWS, SeededRandomness(17), variance=100)

    assert abs(drawn.mean() + 0.5) < 5 * 10 / DRAWS**0.5
