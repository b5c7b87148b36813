"""exp_enclosure() without the digits that hide its mistakes."""

import math
from decimal import Context, Decimal
from fractions import Fraction

import pytest

from slogan.dp import intervals
from slogan.dp.intervals import exp_enclosure, quotient_up, shifted_up

PRECISE = Context(prec=80)


def truth(power, bits):
    number = PRECISE.divide(Decimal(-power.numerator), Decimal(power.denominator))
    return Fraction(PRECISE.multiply(PRECISE.exp(number), Decimal(2) ** bits))


@pytest.mark.parametrize("guard", [0, 1, 2])
@pytest.mark.parametrize("bits", [1, 4, 9, 16, 23])
def test_every_digit_is_right_if_none_is_spare(monkeypatch, bits, guard):
    """Powers of all sizes, most of them such that a unit of the last digit decides."""
    monkeypatch.setattr(intervals, "_GUARD", guard)
    for scale in (-bits - 1, -bits, -bits // 2 - 1, -bits // 2, -2, 0, 1, 2, 3, 4):
        for above in range(1, 40):
            power = Fraction(above, 29) * Fraction(2) ** scale
            low, high = exp_enclosure(power, bits)
            assert low <= truth(power, bits) <= high
            assert low < high or scale < -bits // 2


@pytest.mark.parametrize("above", range(1, 60))
def test_a_number_between_0_and_1_is_neither(monkeypatch, above):
    monkeypatch.setattr(intervals, "_GUARD", 0)
    for below in (1856, 1000, 64, 7):
        assert exp_enclosure(Fraction(above, below), 0) == (0, 1)


@pytest.mark.parametrize("bits", [9, 12, 15])
def test_a_value_slightly_below_an_integer_is_not_rounded_to_it(monkeypatch, bits):
    """A bound that counts too little of what its terms miss is found out here alone."""
    monkeypatch.setattr(intervals, "_GUARD", 0)
    for whole in range(1, 60):
        for missing in (1e-5, 1e-7):
            power = Fraction(math.log(2**bits / (whole - missing))).limit_denominator(10**12)
            low, high = exp_enclosure(power, bits)
            assert low <= truth(power, bits) <= high


def test_the_enclosure_is_as_narrow_as_its_guard_digits_allow():
    for above in range(1, 200):
        power = Fraction(above, 7)
        low, high = exp_enclosure(power, 64)
        assert high - low <= 1
        assert low <= truth(power, 64) <= high


def test_quotients_are_rounded_up():
    for above in range(-9, 10):
        for below in range(1, 5):
            assert (
                quotient_up(above, below) - 1 < Fraction(above, below) <= quotient_up(above, below)
            )
            found = shifted_up(above, below)
            assert found - 1 < Fraction(above, 2**below) <= found
