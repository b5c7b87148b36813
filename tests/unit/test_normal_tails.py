"""The normal density and its tail lie within their enclosures, and those are narrow."""

from decimal import Decimal

import pytest
from mpmath import MPContext

from slogan.dp import _enclosures as enclosures

exact = MPContext()
exact.dps = 110
NARROW = exact.mpf("1e-44")
POINTS = [
    *(f"{n}.25" for n in range(40)),
    *("0", "1e-30", "0.5", "1", "3.9999999", "4", "4.0000001", "4.5", "39.999"),
]


def density(point):
    return exact.exp(-(point**2) / 2) / exact.sqrt(2 * exact.pi)


def tail(point):
    return exact.erfc(point / exact.sqrt(2)) / 2


def holds(found, true):
    low, high = exact.mpf(str(found.low)), exact.mpf(str(found.high))
    assert low <= true <= high
    assert high - low <= abs(true) * NARROW


@pytest.mark.parametrize("point", POINTS)
def test_the_true_value_is_enclosed_and_narrowly(point):
    number, true = Decimal(point), exact.mpf(point)

    holds(enclosures.density(number), density(true))
    holds(enclosures.tail(number), tail(true))
    holds(enclosures.tail(-number), tail(-true))
    holds(enclosures.mills(number), tail(true) / density(true))


@pytest.mark.parametrize("point", ["-0.25", "-3", "-5"])
def test_mills_ratio_grows_to_the_left(point):
    true = exact.mpf(point)

    holds(enclosures.mills(Decimal(point)), tail(true) / density(true))


@pytest.mark.parametrize("point", [point for point in POINTS if Decimal(point) >= 2])
def test_the_continued_fraction_is_mills_ratio(point):
    true = exact.mpf(point)

    holds(enclosures._fraction(Decimal(point)), tail(true) / density(true))
