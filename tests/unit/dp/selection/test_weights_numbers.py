"""The numbers of selection: coins as xxHash64 has them, roots and thresholds rounded up."""

from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import MPContext
from tests.strategies import histogram, histograms

from slogan.dp.accounting import normal_quantile
from slogan.dp.selection._weights import (
    GRID,
    MOST,
    capped,
    quantile,
    root_up,
    steps_up,
    threshold,
    tossed,
)
from slogan.randomness import SeededRandomness

WORD = 2**64
words = st.integers(0, WORD - 1)
high = MPContext()
high.dps = 50


def mp(number):
    return high.mpf(number.numerator) / number.denominator


# --- coins ---


def turned(word, bits):
    return (word << bits | word >> (64 - bits)) % WORD


def xxhash64(number, seed):
    """The hash of eight bytes, from the specification of xxHash, in Python's integers."""
    one, two, three, four, five = (
        11400714785074694791,
        14029467366897019727,
        1609587929392839161,
        9650029242287828579,
        2870177450012600261,
    )
    found = (seed + five + 8) % WORD
    found ^= turned(number * two % WORD, 31) * one % WORD
    found = (turned(found, 27) * one + four) % WORD
    found = (found ^ found >> 33) * two % WORD
    found = (found ^ found >> 29) * three % WORD
    return found ^ found >> 32


@given(st.lists(st.tuples(words, st.integers(0, 2**62)), min_size=1, max_size=9))
def test_random_numbers_are_those_of_spark(asked):
    own, nth = zip(*asked, strict=True)
    found = tossed(np.array(own, dtype=np.uint64), np.array(nth, dtype=np.int64))

    expected = [xxhash64(n, xxhash64(word, 42)) for word, n in asked]
    assert [int(coin) % WORD for coin in found] == expected
    assert found.dtype == np.int64


# --- contributions ---


@given(histograms(users=(1, 5), pairs=(1, 9)), st.integers(1, 4), st.integers(0, 99))
def test_the_pairs_with_the_smallest_random_numbers_are_kept(hist, most, seed):
    chosen = capped(hist, SeededRandomness(seed), most)
    held = [hist.pair[hist.user == user].tolist() for user in range(hist.users)]
    many = [user for user in range(hist.users) if len(held[user]) > most]
    own = dict(zip(many, SeededRandomness(seed).words(len(many)).tolist(), strict=True))

    assert (chosen.most, chosen.pairs) == (most, hist.pairs)
    for user, pairs in enumerate(held):
        expected = pairs
        if user in own:
            coins = tossed(np.full(len(pairs), own[user], np.uint64), np.arange(len(pairs)))
            expected = sorted(pairs[n] for n in np.argsort(coins, kind="stable")[:most])
        assert chosen.pair[chosen.start[user] : chosen.start[user + 1]].tolist() == expected
    speakers = [int((chosen.pair == pair).sum()) for pair in range(hist.pairs)]
    assert chosen.speakers.tolist() == speakers
    assert chosen.held.tolist() == [number > 0 for number in speakers]


def test_a_user_contributes_a_hundred_pairs():
    assert len(capped(histogram([[1] * 150]), SeededRandomness(0)).pair) == MOST == 100


# --- thresholds ---


@given(st.fractions("1/1000000", 1000))
def test_roots_and_steps_are_rounded_up(number):
    root = root_up(number)
    finest = Fraction(1, 2**40)

    assert (root / finest).denominator == 1
    assert (root - finest) ** 2 < number <= root**2
    assert (steps_up(number) - 1) * GRID < number <= steps_up(number) * GRID
    assert root_up(root**2) == root


def test_a_quantile_is_that_of_the_largest_of_several():
    for pairs in (1, 2, 100):
        assert quantile(Fraction(1, 1000), pairs) == normal_quantile(Fraction(1, 1000 * pairs))


@pytest.mark.parametrize("most", [1, 2, 7, 100])
@pytest.mark.parametrize(("variance", "extra"), [("4", "0"), ("4", "3"), ("1/10", "1/2")])
def test_a_threshold_is_enough_for_every_number_of_pairs(most, variance, extra):
    variance, extra, delta = Fraction(variance), Fraction(extra), Fraction("1e-5")
    found = threshold(most, variance=variance, delta=delta, extra=extra)
    needed = [
        1 / high.sqrt(t) + mp(extra) / t + high.sqrt(mp(variance)) * mp(quantile(delta, t))
        for t in range(1, most + 1)
    ]

    assert max(needed) <= mp(found * GRID)
    assert found <= ceil(max(needed) * 2**20) + 1
