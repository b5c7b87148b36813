"""Inversion with masses known badly: no digit to spare, and every edge where it must be."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.dp import noise
from slogan.dp.noise import Inversion, Window, _edges, poisson_window

WORD = 2**64


class Scripted:
    """A random source that returns given words."""

    def __init__(self, *script):
        self.left = list(script)

    def words(self, n):
        told, self.left = self.left[:n], self.left[n:]
        return np.array(told, dtype=np.uint64)


masses = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3)), min_size=1, max_size=6)


@given(masses, st.integers(0, 3), st.integers(0, 3), st.integers(1, 20))
def test_edges_hold_for_all_masses_that_a_window_allows(rough, before, after, digits):
    low, high = [1 + a for a, _ in rough], [1 + a + b for a, b in rough]
    window = Window(first=5, low=low, high=high, before=before, after=after)
    first, least, most = _edges(lambda _: window, digits)
    one = 2**digits

    assert first == 4
    assert len(least) == len(most) == len(rough) + 1
    for place in range(len(rough) + 1):
        # the smallest and the largest share that may lie up to here
        smallest = Fraction(sum(low[:place]), sum(high) + before + after)
        largest = Fraction(before + sum(high[:place]), sum(low))
        assert least[place] <= one * smallest < least[place] + 1
        assert most[place] == min(-(-one * largest.numerator // largest.denominator), one - 1)


def thirds(digits):
    """Three equal masses; so little is left out that no digit of an edge changes."""
    equal = [2 ** (digits + 9)] * 3
    return Window(first=0, low=equal, high=equal, before=0, after=1)


@pytest.mark.parametrize(
    ("further", "drawn"), [(WORD - 1, 1), (WORD // 4 * 3, 1), (WORD // 2, 0), (0, 0)]
)
@pytest.mark.parametrize("rounds", [1, 2])
def test_a_point_next_to_a_third_is_decided_by_the_digit_that_differs(further, drawn, rounds):
    """1/3 = 0.0101…: U agrees with it for 63 digits and one or two words, and then goes astray."""
    agreed = 2 ** (63 + 64 * (rounds - 1)) // 3
    words = [agreed >> 64 * n & WORD - 1 for n in range(rounds - 1)]
    first = agreed >> 64 * (rounds - 1)
    rng = Scripted(*reversed(words), further, WORD - 1 if drawn else 0)

    found = Inversion(thirds).draw(np.array([2 * first], dtype=np.uint64), rng)

    assert found.tolist() == [drawn]


def test_points_clear_of_the_edges_need_no_further_digits():
    words = np.array([0, 2**64 // 6, 2**64 // 2, 2**64 - 2**61], dtype=np.uint64)

    assert Inversion(thirds).draw(words, None).tolist() == [0, 0, 1, 2]


@pytest.mark.parametrize("rate", ["1/3", "1", "5/2", "7", "40"])
@pytest.mark.parametrize(("guard", "left_out"), [(0, 1), (3, 2), (8, 4)])
def test_a_poisson_window_holds_with_few_digits(monkeypatch, rate, guard, left_out):
    monkeypatch.setattr(noise, "_GUARD", guard)
    monkeypatch.setattr(noise, "_LEFT_OUT", left_out)
    rate, bits = Fraction(rate), 9
    window = poisson_window(rate, bits)
    mode = int(rate)
    true = {mode: Fraction(2 ** (bits + guard))}
    for k in range(mode + 1, mode + 200):
        true[k] = true[k - 1] * rate / k
    for k in range(mode, 0, -1):
        true[k - 1] = true[k] * k / rate
    last = window.first + len(window.low)

    assert window.first >= 0
    assert len(window.low) == len(window.high)
    for k, (low, high) in enumerate(zip(window.low, window.high, strict=True), window.first):
        assert low <= true[k] <= high
        assert high - low <= 2 * (abs(k - mode) + 1)
    assert sum(mass for k, mass in true.items() if k >= last) <= window.after
    assert sum(mass for k, mass in true.items() if k < window.first) <= window.before
    assert window.before == 0 or window.first > 0
    # what is left out is little
    assert window.after <= 2 ** (left_out + 1) * (1 + rate)
    assert window.before <= 2 ** (left_out + 1) * (1 + rate)


def test_a_poisson_window_with_all_its_digits_is_narrow():
    window = poisson_window(Fraction(7), 63)

    assert window.first == window.before == 0
    assert all(high - low <= 60 for low, high in zip(window.low, window.high, strict=True))
