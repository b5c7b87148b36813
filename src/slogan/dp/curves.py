"""What a Gaussian guarantee means as (ε, δ), and back, rounded to be safe.

μ-GDP means: as hard to tell apart as N(0, 1) and N(μ, 1). All arguments and results are exact
rationals. ε and δ are rounded up, μ² down.
Proofs: docs/proofs/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from scipy.special import ndtri

from slogan.dp import intervals as enclosures
from slogan.dp.intervals import (
    DOWN,
    UP,
    Enclosure,
    add,
    divide,
    enclose,
    shortened,
    subtract,
)
from slogan.errors import BudgetError

TINIEST = Fraction(1, 10**300)
"""No δ below this one is told apart from it."""

_FAR = 40  # 1 − Φ(40) < 10^-340 < TINIEST
_BITS = 40


def gaussian_delta(epsilon: Fraction, mu_squared: Fraction) -> Fraction:
    """δ(ε; μ) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), rounded up; ε of any sign.

    With x = ε/μ − μ/2 and y = x + μ this is (1 − Φ(x)) − φ(x) · (1 − Φ(y))/φ(y), which needs
    no e^ε.
    """
    if epsilon < 0:
        return _reflected(epsilon, gaussian_delta(-epsilon, mu_squared))
    if mu_squared == 0:
        return Fraction(0)
    mu = enclosures.sqrt(enclose(mu_squared))
    ratio, half = divide(enclose(epsilon), mu), divide(mu, Enclosure(Decimal(2), Decimal(2)))
    x, y = subtract(ratio, half), add(ratio, half)
    if x.low > _FAR:
        return TINIEST
    if x.low < -_FAR:
        return Fraction(1)
    least_density = min(enclosures.density(x.low).low, enclosures.density(x.high).low)
    second = DOWN.multiply(least_density, enclosures.mills(y.high).low)
    return _probability(UP.subtract(enclosures.tail(x.low).high, second))


def gaussian_epsilon(delta: Fraction, mu_squared: Fraction) -> Fraction:
    """The smallest ε, rounded up, with δ(ε; μ) ≤ delta."""
    _need_probability(delta)
    return _least(lambda epsilon: gaussian_delta(epsilon, mu_squared) <= delta)


def gaussian_budget(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest μ², rounded down, with δ(ε; μ) ≤ delta."""
    _need_budget(epsilon, delta)
    return _greatest(lambda mu_squared: gaussian_delta(epsilon, mu_squared) <= delta)


def normal_quantile(probability: Fraction) -> Fraction:
    """A z ≥ 0, barely large enough, that a standard normal exceeds at most with this probability.

    The largest of t of them exceeds `normal_quantile(delta / t)` with probability at most delta.
    """
    _need_probability(probability)
    grid = Fraction(1, 1 << _BITS)
    z = max(Fraction(0), math.ceil(Fraction(-float(ndtri(float(probability)))) / grid) * grid)
    while enclosures.tail(enclose(z).low).high > enclose(probability).low:
        z, grid = z + grid, 2 * grid
    return z


def _reflected(epsilon: Fraction, delta: Fraction) -> Fraction:
    """δ(ε) = 1 − e^ε + e^ε δ(−ε) for a negative ε, where δ(−ε) holds in both directions."""
    power = enclosures.exp(enclose(epsilon))
    return _probability(
        UP.add(UP.subtract(1, power.low), UP.multiply(power.high, enclose(delta).high))
    )


def _least(fits: Callable[[Fraction], bool]) -> Fraction:
    """The smallest number from 0 on that fits, where larger ones fit too, rounded up."""
    if fits(Fraction(0)):
        return Fraction(0)
    high, finest = Fraction(1), Fraction(1, 1 << _BITS)
    while not fits(high):
        high *= 2
    while high > finest and fits(high / 2):
        high /= 2
    return _bisected(fits, good=high, bad=high / 2 if high > finest else Fraction(0))


def _greatest(fits: Callable[[Fraction], bool]) -> Fraction:
    """The largest positive number that fits, where smaller ones fit too, rounded down."""
    low = Fraction(1)
    while not fits(low):
        low /= 2
    while fits(2 * low):
        low *= 2
    return _bisected(fits, good=low, bad=2 * low)


def _bisected(fits: Callable[[Fraction], bool], *, good: Fraction, bad: Fraction) -> Fraction:
    for _ in range(_BITS):
        middle = (good + bad) / 2
        good, bad = (middle, bad) if fits(middle) else (good, middle)
    return good


def _probability(bound: Decimal) -> Fraction:
    return min(Fraction(1), max(TINIEST, shortened(bound, UP)))


def _need_probability(delta: Fraction) -> None:
    if not TINIEST <= delta < 1:
        raise BudgetError(
            f"delta must lie between 10^-300 and 1, got {float(delta):g}",
            hint="1e-6 is common; noise with normal tails cannot promise delta = 0",
        )


def _need_budget(epsilon: Fraction, delta: Fraction) -> None:
    _need_probability(delta)
    if epsilon <= 0:
        raise BudgetError(
            f"epsilon must be positive, got {float(epsilon):g}",
            hint="other stages have spent more than the budget holds",
        )
