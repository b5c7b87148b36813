"""Searches for a budget end at a number that fits, next to one that does not."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest

from slogan.dp.accounting import (
    TINIEST,
    _greatest,
    _least,
    _probability,
    gaussian_budget,
    gaussian_delta,
    gaussian_epsilon,
    normal_quantile,
)
from slogan.dp.intervals import enclose, tail

FINE = Fraction(1, 1 << 40)
NUMBERS = [Fraction(n, 7) * 2**k for n in range(7, 15) for k in (-20, -1, 0, 1, 3, 20)]
GRID = Fraction(1, 1 << 40)
HAIR = Fraction(1, 10**65)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_least_that_fits_is_found_from_above(number):
    found = _least(lambda tried: tried >= number)

    assert number <= found < number * (1 + FINE)


@pytest.mark.parametrize("number", NUMBERS)
def test_the_greatest_that_fits_is_found_from_below(number):
    found = _greatest(lambda tried: tried <= number)

    assert number * (1 - FINE) < found <= number


def test_zero_is_the_least_if_it_fits():
    assert _least(lambda _: True) == 0


@pytest.mark.parametrize("power", [39, 40, 41, 50, 60])
def test_a_tiny_least_is_distinguished_from_zero(power):
    number = Fraction(1, 3 << power)
    found = _least(lambda tried: tried >= number)

    assert number <= found < number + FINE**2


@pytest.mark.parametrize("n", range(1, 40))
@pytest.mark.parametrize("side", ["low", "slightly below high"])
def test_a_quantile_is_exceeded_at_most_with_its_probability(n, side):
    """Where the last of sixty digits decides, it decides against the smaller quantile."""
    z = math.floor(Fraction(n, 2) / GRID + Fraction(1, 3)) * GRID
    there = tail(enclose(z).low)
    probability = Fraction(there.low) if side == "low" else Fraction(there.high) * (1 - HAIR)
    found = normal_quantile(probability)

    assert Fraction(tail(enclose(found).high).high) <= probability
    assert found <= z + 3 * GRID


def test_a_bound_on_a_probability_is_a_probability():
    assert _probability(Decimal("1.5")) == 1
    assert _probability(Decimal(0)) == _probability(Decimal(-1)) == TINIEST
    third = _probability(Decimal(1) / 3)
    assert 0 < third - Fraction(Decimal(1) / 3) < Fraction(1, 10**20)


@pytest.mark.parametrize("power", [122, 124, 130, 200])
def test_an_uncertain_loss_does_not_make_delta_small(power):
    """ε/μ − μ/2 is 0 here, and known to a million only: δ is about a half, and not 10^-300."""
    epsilon = Fraction(10) ** power

    assert gaussian_delta(epsilon, 2 * epsilon) >= Fraction(49, 100)


def test_searches_end_at_the_smallest_delta_there_is():
    assert gaussian_budget(Fraction(1), TINIEST) > 0
    assert gaussian_epsilon(TINIEST, Fraction(1, 100)) > 0
