"""exp_enclosure(): integers just below and just above 2^bits · e^−power, for a rational power."""

from __future__ import annotations

from fractions import Fraction

_GUARD = 32


def exp_enclosure(power: Fraction, bits: int) -> tuple[int, int]:
    """Integers low ≤ 2^bits · e^−power ≤ high for power ≥ 0, equal if power is 0.

    The series of e^y has positive terms only, so terms rounded down stay below it, and what they
    miss is counted. y = power / 2^h is below 1/2; the inverse is squared h times, each time
    rounded outwards. Proof: docs/proofs/noise.md.
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
