"""Bounds on exp, log, sqrt and the normal tail: the true value lies between low and high.

In decimals for the account, and in integers for the samplers (`exp_enclosure`).
"""

from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cache
from typing import NamedTuple

_DIGITS = 60
DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR, Emin=MIN_EMIN, Emax=MAX_EMAX)
UP = Context(prec=_DIGITS, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)

_PI_LOW = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781")
_PI_HIGH = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230782")
_SERIES_END, _SERIES_TERMS = Decimal(4), 120
_NARROW, _DEEPEST = Decimal("1e-45"), 1 << 16


class Enclosure(NamedTuple):
    """Two decimals with the true value between them."""

    low: Decimal
    high: Decimal


def enclose(number: Fraction) -> Enclosure:
    """The decimals around a rational."""
    above, below = Decimal(number.numerator), Decimal(number.denominator)
    return Enclosure(DOWN.divide(above, below), UP.divide(above, below))


def shortened(number: Decimal, towards: Context) -> Fraction:
    """The number with 20 digits, so that exact arithmetic on it stays short."""
    short = Context(prec=20, rounding=towards.rounding, Emin=MIN_EMIN, Emax=MAX_EMAX)
    return Fraction(short.plus(number))


def exp(power: Enclosure) -> Enclosure:
    """e^power. `Decimal.exp` rounds half-even in any context: one step outwards encloses."""
    return Enclosure(DOWN.next_minus(DOWN.exp(power.low)), UP.next_plus(UP.exp(power.high)))


def log(number: Enclosure) -> Enclosure:
    """The natural logarithm of a positive number."""
    return Enclosure(DOWN.next_minus(DOWN.ln(number.low)), UP.next_plus(UP.ln(number.high)))


def sqrt(number: Enclosure) -> Enclosure:
    """The square root of a positive number."""
    return Enclosure(DOWN.next_minus(DOWN.sqrt(number.low)), UP.next_plus(UP.sqrt(number.high)))


def add(left: Enclosure, right: Enclosure) -> Enclosure:
    """The sum."""
    return Enclosure(DOWN.add(left.low, right.low), UP.add(left.high, right.high))


def subtract(left: Enclosure, right: Enclosure) -> Enclosure:
    """The difference."""
    return Enclosure(DOWN.subtract(left.low, right.high), UP.subtract(left.high, right.low))


def multiply(left: Enclosure, right: Enclosure) -> Enclosure:
    """The product, whatever the signs."""
    corners = [(a, b) for a in left for b in right]
    return Enclosure(
        min(DOWN.multiply(a, b) for a, b in corners), max(UP.multiply(a, b) for a, b in corners)
    )


def divide(left: Enclosure, right: Enclosure) -> Enclosure:
    """The quotient; the divisor is positive."""
    corners = [(a, b) for a in left for b in right]
    return Enclosure(
        min(DOWN.divide(a, b) for a, b in corners), max(UP.divide(a, b) for a, b in corners)
    )


@cache
def _root_of_two_pi() -> Enclosure:
    return sqrt(Enclosure(DOWN.multiply(2, _PI_LOW), UP.multiply(2, _PI_HIGH)))


def density(point: Decimal) -> Enclosure:
    """φ(point), the standard normal density."""
    half_square = Enclosure(
        DOWN.divide(DOWN.multiply(point, point), 2), UP.divide(UP.multiply(point, point), 2)
    )
    power = Enclosure(half_square.high.copy_negate(), half_square.low.copy_negate())
    return divide(exp(power), _root_of_two_pi())


def tail(point: Decimal) -> Enclosure:
    """1 − Φ(point), the probability that a standard normal variable exceeds the point."""
    if point < 0:
        other = tail(point.copy_negate())
        return Enclosure(DOWN.subtract(1, other.high), UP.subtract(1, other.low))
    if point <= _SERIES_END:
        middle = multiply(density(point), _series(point))
        return subtract(Enclosure(Decimal("0.5"), Decimal("0.5")), middle)
    return multiply(density(point), _fraction(point))


def mills(point: Decimal) -> Enclosure:
    """(1 − Φ(point)) / φ(point), Mills' ratio: it decreases as the point grows."""
    if point <= _SERIES_END:
        return divide(tail(point), density(point))
    return _fraction(point)


def _series(point: Decimal) -> Enclosure:
    # (Φ(x) − ½)/φ(x) = x + x³/3 + x⁵/(3·5) + …; for x ≤ 4 and from the 16th term on, each term is
    # less than half of the one before, so the omitted terms sum to less than the last one.
    term = total = Enclosure(point, point)
    square = multiply(term, term)
    for n in range(1, _SERIES_TERMS):
        odd = 2 * n + 1
        term = Enclosure(
            DOWN.divide(DOWN.multiply(term.low, square.low), odd),
            UP.divide(UP.multiply(term.high, square.high), odd),
        )
        total = add(total, term)
    return Enclosure(total.low, UP.add(total.high, term.high))


def _fraction(point: Decimal) -> Enclosure:
    # 1/(y + 1/(y + 2/(y + 3/(y + …)))): the part from n on lies between y and y + n/y, and every
    # step back encloses the next part. The depth doubles until the enclosure is narrow.
    depth = 32
    while True:
        low, high = point, UP.add(point, UP.divide(depth, point))
        for n in range(depth - 1, 0, -1):
            low, high = DOWN.add(point, DOWN.divide(n, high)), UP.add(point, UP.divide(n, low))
        if UP.subtract(high, low) <= UP.multiply(low, _NARROW) or depth >= _DEEPEST:
            return Enclosure(DOWN.divide(1, high), UP.divide(1, low))
        depth *= 2


_GUARD = 32


def exp_enclosure(power: Fraction, bits: int) -> tuple[int, int]:
    """Integers low ≤ 2^bits · e^−power ≤ high for power ≥ 0, equal if power is 0.

    The series of e^y has positive terms only, so terms rounded down stay below it; the rounding
    error is added for the upper bound. y = power / 2^h is below 1/2; the inverse is squared h
    times, each time rounded outwards. Proof: docs/proofs/noise.md.
    """
    if power == 0:
        return 1 << bits, 1 << bits
    above, below = power.numerator, power.denominator
    halvings = max(0, above.bit_length() - below.bit_length() + 2)
    work = bits + halvings + _GUARD
    y = (above << (work - halvings)) // below
    total = term = 1 << work
    terms = 0
    while term:
        terms += 1
        term = term * y // (terms << work)
        total += term
    low = (1 << 2 * work) // (total + 4 * terms + 4)
    high = quotient_up(1 << 2 * work, total)
    for _ in range(halvings):
        low, high = low * low >> work, shifted_up(high * high, work)
    return low >> (work - bits), shifted_up(high, work - bits)


def quotient_up(above: int, below: int) -> int:
    """The quotient above / below, below > 0, rounded up."""
    return -(-above // below)


def shifted_up(number: int, bits: int) -> int:
    """The quotient number / 2^bits, rounded up."""
    return -(-number >> bits)
