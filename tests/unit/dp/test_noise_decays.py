"""Decay at its limits: what fits in 64 bits at the steepest slope and the farthest strip."""

import math
from fractions import Fraction

import numpy as np
import pytest

from slogan.dp.intervals import exp_enclosure
from slogan.dp.noise import (
    _FARTHEST_STRIP,
    FALL_ERROR,
    STEEPEST_LINEAR,
    STEEPEST_SQUARE,
    STRIPS,
    Decay,
    Strips,
)
from slogan.randomness import SeededRandomness

WORD = 2**64
STEEPEST = [Decay(linear=STEEPEST_LINEAR), Decay(square=STEEPEST_SQUARE)]
PLACES = [0, 1, 2**32 - 1, 2**32, 2**45 - 1, 2**63, WORD - 2**32, WORD - 1]


@pytest.mark.parametrize("decay", STEEPEST)
@pytest.mark.parametrize("strip", [0, 1, STRIPS // 2, STRIPS - 1])
def test_the_fall_is_right_up_to_the_limits_that_are_claimed(decay, strip):
    for place in PLACES:
        fall = int(decay.fall(np.array([strip]), np.array([place], dtype=np.uint64))[0])
        nearest = 2**32 * decay.power(strip, Fraction(place, WORD))
        farthest = 2**32 * decay.power(strip, Fraction(place + 1, WORD))

        assert fall <= nearest < farthest < fall + FALL_ERROR


def test_power_is_the_difference_of_exponents():
    decay = Decay(linear=Fraction(1, 3), square=Fraction(1, 7))

    def lost(z):
        return z / 3 + z * z / 7

    for strip in (0, 1, 5):
        for x in (Fraction(0), Fraction(1, 5), Fraction(1)):
            assert decay.power(strip, x) == lost(strip + x) - lost(Fraction(strip))


@pytest.mark.parametrize("lattice", [True, False])
def test_beyond_the_last_strip_long_arithmetic_decides(lattice, monkeypatch):
    asked = []
    monkeypatch.setattr(Strips, "_settled", lambda _, strip, *rest: asked.append(strip) or True)
    strips = Strips(decay=STEEPEST[1], shift=20, lattice=lattice)
    strip = np.array([0, STRIPS - 1, STRIPS, STRIPS + 1])
    nought = np.zeros(4, dtype=np.uint64)
    kept = strips._kept(strip, nought, nought, SeededRandomness(0))

    assert asked == [STRIPS, STRIPS + 1]
    assert kept.all()


@pytest.mark.parametrize("shift", [1, 2, 20, 47])
@pytest.mark.parametrize("word", [0, 1, WORD - 1, 0xFEDCBA9876543210])
def test_a_place_in_a_strip_has_as_many_digits_as_the_strip_has_integers(shift, word):
    lattice, line = (
        Strips(decay=STEEPEST[1], shift=shift, lattice=lattice) for lattice in (True, False)
    )
    given = np.array([word], dtype=np.uint64)
    first = word >> (64 - shift)

    assert int(lattice._places(given)[0]) == first << (64 - shift)
    assert int(line._places(given)[0]) == word
    for strips in (lattice, line):
        for strip in (0, 5):
            found = strips._magnitude(np.array([strip]), strips._places(given))
            assert found.tolist() == [(strip << shift) + first]


@pytest.mark.parametrize(("shift", "found"), [(0, [0, 1, 9]), (-1, [0, 0, 4]), (-3, [0, 0, 1])])
def test_strips_narrower_than_an_integer_share_one(shift, found):
    strips = Strips(decay=STEEPEST[1], shift=shift, lattice=False)
    ones = np.full(3, WORD - 1, dtype=np.uint64)

    assert strips._magnitude(np.array([0, 1, 9]), ones).tolist() == found


@pytest.mark.parametrize("decay", STEEPEST)
@pytest.mark.parametrize("strip", [0, 900, STRIPS - 1])
def test_only_clear_cases_are_decided_in_64_bits(decay, strip, monkeypatch):
    """Every U near the edge, in steps of 2^−32: what is decided at once is decided rightly."""
    asked = []
    monkeypatch.setattr(Strips, "_settled", lambda *a: asked.append(a) or False)
    strips = Strips(decay=decay, shift=20, lattice=True)
    place = 2**63 + 2**62
    edge = float(np.exp(-float(decay.power(strip, Fraction(place, WORD)))))
    u = np.arange(max(int(edge * 2**32) - 60, 0), int(edge * 2**32) + 60, dtype=np.uint64)
    chance = u << np.uint64(32)
    kept = strips._kept(np.full(len(u), strip), np.full(len(u), place, np.uint64), chance, None)

    doubtful = {a[3] for a in asked}
    for number, decided in zip(chance.tolist(), kept.tolist(), strict=True):
        if number not in doubtful:
            clearly = number / WORD + 2**-32 <= edge if decided else number / WORD >= edge
            assert clearly
    # U = 0 and U = 1 are clear for any strip that is not flat
    ends = np.array([0, WORD - 1], dtype=np.uint64)
    two = strips._kept(np.full(2, strip), np.full(2, place, np.uint64), ends, None)
    assert two.tolist() == [True, False]


@pytest.mark.parametrize("lattice", [True, False])
def test_more_digits_move_no_integer_and_narrow_a_real_number(lattice, monkeypatch):
    strips = Strips(decay=Decay(square=Fraction(1)), shift=20, lattice=lattice)
    place = Fraction(3, 4)
    edge = exp_enclosure(strips.decay.power(0, place), 64)[0]
    asked, really = [], Decay.power
    monkeypatch.setattr(Decay, "power", lambda *told: asked.append(told[2]) or really(*told))
    strips._settled(0, int(place * WORD), edge, SeededRandomness(1))

    assert len(asked) > 2
    assert {*asked} == {place} or not lattice
    for farthest, nearest in zip(asked[::2], asked[1::2], strict=True):
        assert place <= nearest <= farthest <= place + Fraction(1, WORD)


def test_the_chance_of_extreme_noise_is_that_of_the_proof():
    """Beyond the farthest strip a law with the flattest slope has less than 10^-1700 left."""
    assert 1700 * math.log(10) <= _FARTHEST_STRIP * STEEPEST_LINEAR / 2
