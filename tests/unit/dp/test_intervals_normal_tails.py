"""The normal density and its tail lie within their enclosures, and those are narrow."""

from decimal import Context, Decimal

import pytest
from mpmath import MPContext

from slogan.dp import intervals as enclosures

exact = MPContext()
exact.dps = 150
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


@pytest.fixture
def more_digits(monkeypatch):
    """What is wrong by less than the last of sixty digits shows."""
    for name in ("DOWN", "UP"):
        rounding = getattr(enclosures, name).rounding
        monkeypatch.setattr(enclosures, name, Context(prec=120, rounding=rounding))


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


@pytest.mark.usefixtures("more_digits")
@pytest.mark.parametrize("point", [*range(33, 40), "33.5", "35.123456789"])
def test_the_continued_fraction_begins_with_what_encloses_the_rest(point):
    true = exact.mpf(point)

    holds(enclosures._fraction(Decimal(point)), tail(true) / density(true))


@pytest.mark.parametrize("point", ["-0.0001", "-0.5", "-1", "-3"])
def test_the_series_is_asked_for_points_that_its_bound_holds_for(point, monkeypatch):
    """What is left out of it is less than its last term if no term is negative."""
    really, asked = enclosures._series, []
    monkeypatch.setattr(enclosures, "_series", lambda at: asked.append(at) or really(at))
    enclosures.tail(Decimal(point))

    assert asked == [-Decimal(point)]
