"""The four laws as they are drawn: masses by their formulas, and strips as wide as they may be."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.dp import noise
from slogan.dp.noise import STEEPEST_LINEAR, STEEPEST_SQUARE
from slogan.errors import NoiseError
from slogan.randomness import SeededRandomness

DRAWS = 30_000
# One false alarm in 10^8 for a bin; the seed is fixed, so that none is repeated.
SIGMAS = 5.7


def normal(x, square):
    return math.erfc(-x / math.sqrt(2 * square)) / 2


def floored(k, square):
    return normal(k + 1, square) - normal(k, square)


def laplace(k, scale):
    return math.exp(-abs(k) / scale) * math.tanh(1 / (2 * scale))


def poisson(k, rate):
    return math.exp(k * math.log(rate) - rate - math.lgamma(k + 1)) if k >= 0 else 0.0


LAWS = {
    "floored_gaussian": (lambda n, r, s: noise.floored_gaussian(n, r, variance=s), floored),
    "discrete_laplace": (lambda n, r, s: noise.discrete_laplace(n, r, scale=s), laplace),
    "poisson": (lambda n, r, s: noise.poisson(n, r, rate=s), poisson),
}


def surprise(drawn, mass, size):
    """The largest distance of a frequency from its expectation, in standard deviations."""
    found = []
    for k in range(-12, 13):
        expected = mass(k, float(size)) * DRAWS
        here = int((drawn == k).sum())
        if expected == 0 < here:
            return math.inf
        if expected > 20:
            found.append(abs(here - expected) / math.sqrt(expected))
    return max(found)


@pytest.mark.parametrize("size", [Fraction(1, 3), Fraction(2), Fraction(19, 2)])
@pytest.mark.parametrize("law", LAWS)
def test_masses_are_those_of_the_formula_and_of_no_other_size(law, size):
    draw, mass = LAWS[law]
    drawn = draw(DRAWS, SeededRandomness(5), size)

    assert surprise(drawn, mass, size) < SIGMAS
    for wrong in (size * Fraction(4, 5), size * Fraction(5, 4)):
        assert surprise(drawn, mass, wrong) > SIGMAS


@pytest.mark.parametrize("scale", [2**12, 10**6 + 1, 2**30])
@pytest.mark.parametrize("law", ["floored_gaussian", "discrete_laplace"])
def test_wide_noise_has_the_shape_of_its_density(law, scale):
    """Bins of a tenth of the scale: what lattices and floors do to them is not seen there."""
    draw, _ = LAWS[law]
    drawn = draw(
        DRAWS, SeededRandomness(6), Fraction(scale if law == "discrete_laplace" else scale**2)
    )
    edges = np.arange(-30, 31) / 10
    found, _ = np.histogram(drawn / scale, bins=[-np.inf, *edges, np.inf])
    below = (
        np.where(edges < 0, np.exp(-abs(edges)) / 2, 1 - np.exp(-abs(edges)) / 2)
        if law == "discrete_laplace"
        else np.array([normal(edge, 1) for edge in edges])
    )
    expected = np.diff([0.0, *below, 1.0]) * DRAWS

    assert (abs(found - expected) < SIGMAS * np.sqrt(expected)).all()


@given(st.fractions(Fraction(1, 2**40), 2**40))
def test_strips_are_as_wide_as_their_steepest_slope_allows(square):
    strips = noise._gaussian(square)

    assert strips.decay.linear == 0
    assert strips.decay.square == Fraction(4) ** strips.shift / (2 * square)
    assert not strips.lattice
    assert STEEPEST_SQUARE / 4 < strips.decay.square <= STEEPEST_SQUARE
    strips = noise._laplace(square)
    assert strips.decay.square == 0
    assert strips.decay.linear == 2**strips.shift / square
    assert strips.lattice
    assert 2 * strips.decay.linear > STEEPEST_LINEAR
    assert strips.shift == 0 or strips.decay.linear <= STEEPEST_LINEAR


@given(st.fractions(Fraction(1, 2**80), 2**80))
def test_the_largest_power_of_two_below_a_number_is_found(number):
    power = noise._log2(number)

    assert Fraction(2) ** power <= number < Fraction(2) ** (power + 1)
    assert noise._log2(Fraction(2) ** power) == power


def test_parameters_at_the_limits_are_accepted_and_beyond_refused():
    largest = Fraction(2**96)
    for edge, beyond in ((largest, largest + 1), (1 / largest, 1 / (largest + 1))):
        noise._within_reach(edge, 2**96, "variance")
        with pytest.raises(NoiseError, match="must lie between"):
            noise._within_reach(beyond, 2**96, "variance")
    for law in ("floored_gaussian", "discrete_laplace"):
        draw, _ = LAWS[law]
        most = 2**48 if law == "discrete_laplace" else 2**96
        assert len(draw(1, SeededRandomness(0), most)) == 1
        assert len(draw(1, SeededRandomness(0), Fraction(1, most))) == 1
        for outside in (most + 1, Fraction(1, most + 1)):
            with pytest.raises(NoiseError, match="must lie between"):
                draw(1, SeededRandomness(0), outside)
    with pytest.raises(NoiseError, match="above"):
        noise.poisson(1, SeededRandomness(0), rate=noise._LARGEST_RATE + 1)


def test_a_grid_divides_the_deviation_and_not_the_variance():
    """Variance 50 on a grid of 5 is variance 2 on a grid of 1."""
    rng = SeededRandomness(9)
    drawn = noise.floored_gaussian(DRAWS, rng, variance=50, grid=5)

    assert surprise(drawn, floored, 2) < SIGMAS


def test_the_masses_of_the_formulas_sum_to_one():
    for _, mass in LAWS.values():
        assert sum(mass(k, 2.0) for k in range(-50, 51)) == pytest.approx(1)
