"""What a Gaussian or a concentrated guarantee means as (ε, δ), and back, rounded to be safe.

All arguments and results are exact rationals. ε and δ are rounded up, μ² and ρ down.
Proofs: docs/proofs/accounting.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from scipy.optimize import minimize_scalar
from scipy.special import ndtri

from slogan.dp import _enclosures as enclosures
from slogan.dp._enclosures import (
    DOWN,
    UP,
    Enclosure,
    add,
    divide,
    enclose,
    multiply,
    shortened,
    subtract,
)
from slogan.errors import BudgetError

TINIEST = Fraction(1, 10**300)
"""No δ below this one is told apart from it."""

_FAR = 40  # 1 − Φ(40) < 10^-340 < TINIEST
_DEEP = -700  # e^-700 < TINIEST
_BITS = 40
_MARGIN = Fraction(1, 1 << 36)
_ONE = Enclosure(Decimal(1), Decimal(1))


# --- Gaussian differential privacy: as far apart as N(0, 1) and N(μ, 1) ---


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


# --- Zero-concentrated differential privacy: Rényi divergence at most ρα for every α > 1 ---


def zcdp_delta(epsilon: Fraction, rho: Fraction) -> Fraction:
    """The infimum over α > 1 of e^((α−1)(αρ−ε)) (1−1/α)^α / (α−1), rounded up; ε of any sign.

    Every α gives a valid δ: floating point chooses one, and the bound is evaluated there.
    """
    if epsilon < 0:
        return _reflected(epsilon, zcdp_delta(-epsilon, rho))
    if rho == 0:
        return Fraction(0)

    def exponent(alpha: float) -> float:
        return (alpha - 1) * (alpha * float(rho) - float(epsilon)) + _log_factor(alpha)

    alpha = enclose(_best_order(exponent))
    more = subtract(alpha, _ONE)
    slope = subtract(multiply(alpha, enclose(rho)), enclose(epsilon))
    log_alpha, log_more = enclosures.log(alpha), enclosures.log(more)
    # α log(1 − 1/α) − log(α − 1) = (α − 1) log(α − 1) − α log α
    factor = subtract(multiply(more, log_more), multiply(alpha, log_alpha))
    power = add(multiply(more, slope), factor).high
    if power < _DEEP:
        return TINIEST
    return _probability(enclosures.exp(Enclosure(power, power)).high) if power < 0 else Fraction(1)


def zcdp_epsilon(delta: Fraction, rho: Fraction) -> Fraction:
    """The infimum over α > 1 of αρ + log(1−1/α) + log(1/(δα))/(α−1), rounded up; at least 0."""
    _need_probability(delta)
    if rho == 0:
        return Fraction(0)
    log_delta = _log(delta)

    def epsilon(alpha: float) -> float:
        return alpha * float(rho) + (_log_factor(alpha) - log_delta) / (alpha - 1)

    alpha = _best_order(epsilon)
    found = add(multiply(enclose(alpha), enclose(rho)), _penalty(alpha, delta))
    answer = max(Fraction(0), shortened(found.high, UP))
    return _nudged(answer, Fraction(1), lambda power: zcdp_delta(power, rho) <= delta)


def zcdp_budget(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The supremum over α > 1 of (ε − log(1−1/α) − log(1/(δα))/(α−1)) / α, rounded down."""
    _need_budget(epsilon, delta)
    log_delta = _log(delta)

    def loss(alpha: float) -> float:
        return ((_log_factor(alpha) - log_delta) / (alpha - 1) - float(epsilon)) / alpha

    alpha = _best_order(loss)
    found = divide(subtract(enclose(epsilon), _penalty(alpha, delta)), enclose(alpha))
    if (rho := shortened(found.low, DOWN)) <= 0:
        raise BudgetError(
            f"no concentrated guarantee found for epsilon = {float(epsilon):g}, delta = "
            f"{float(delta):g}",
            hint="raise epsilon, or use the Gaussian noise, whose curve is exact",
        )
    return _nudged(rho * (1 - _MARGIN), -rho, lambda rho: zcdp_delta(epsilon, rho) <= delta)


def _log_factor(alpha: float) -> float:
    return (alpha - 1) * math.log1p(-1 / alpha) - math.log(alpha)


def _penalty(alpha: Fraction, delta: Fraction) -> Enclosure:
    """log(1−1/α) + log(1/(δα))/(α−1)."""
    first = enclosures.log(enclose(1 - 1 / alpha))
    return subtract(first, divide(enclosures.log(enclose(delta * alpha)), enclose(alpha - 1)))


def _nudged(start: Fraction, unit: Fraction, fits: Callable[[Fraction], bool]) -> Fraction:
    """The start, or a little further: `zcdp_delta` may choose another α and has to agree."""
    step = _MARGIN * unit
    while not fits(start):
        start, step = start + step, 2 * step
    return start


def _best_order(loss: Callable[[float], float]) -> Fraction:
    """An α > 1 that nearly minimises the loss, which falls and then rises; any α is sound."""
    found = minimize_scalar(
        lambda t: loss(1 + math.exp(t)), bounds=(-20, 80), method="bounded", options={"xatol": 1e-9}
    )
    return Fraction(1 + math.exp(float(found.x)))


# --- Shared ---


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


def _log(delta: Fraction) -> float:
    return float(enclosures.log(enclose(delta)).low)


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
