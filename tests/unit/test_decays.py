"""Decay at its limits: what fits in 64 bits at the steepest slope and the farthest strip."""

from fractions import Fraction

import numpy as np
import pytest

from slogan.dp.decay import FALL_ERROR, STEEPEST_LINEAR, STEEPEST_SQUARE, STRIPS, Decay
from slogan.dp.strips import Strips
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


def test_power_is_what_is_lost_on_the_way():
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
