"""Clipped counts: exact rounding toward zero, a norm that no user exceeds, and noise on top."""

from fractions import Fraction
from math import isqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import histogram, histograms

from slogan.dp.sums import MOST_CLICKS, NORM, clipped_counts, noisy_counts, quotients, roots
from slogan.errors import OptionError
from slogan.randomness import SeededRandomness

ONE = 1 << 20


@given(
    st.lists(
        st.tuples(st.integers(0, 2**42), st.integers(1, 2**53 - 1)).filter(
            lambda r: r[0] <= 4096 * r[1]
        ),
        min_size=1,
    ),
    st.integers(0, 40),
)
def test_long_division_is_exact(ratios, bits):
    above, below = (np.array(side, dtype=np.int64) for side in zip(*ratios, strict=True))

    assert quotients(above, below, bits=bits).tolist() == [(a << bits) // b for a, b in ratios]


@given(st.lists(st.integers(0, 2**52 - 1), min_size=1), st.lists(st.integers(1, 2**26 - 1)))
def test_roots_are_exact(numbers, bases):
    around = [*numbers, *(b * b for b in bases), *(b * b - 1 for b in bases)]

    assert roots(np.array(around, dtype=np.int64)).tolist() == [isqrt(n) for n in around]


def expected(table, norm):
    """What the page of proofs says, in Python's integers."""
    total = [0] * len(table[0])
    for row in table:
        clicks = [min(c, MOST_CLICKS) for c in row]
        square = sum(c * c for c in clicks)
        for place, c in enumerate(clicks):
            scaled = isqrt(c * c * norm**2 * ONE**2 // square) if square > norm**2 else c * ONE
            total[place] += scaled
    return total


clicks = st.one_of(st.integers(0, 3), st.integers(0, 100), st.integers(0, 2**52))
tables = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(clicks, min_size=n, max_size=n), min_size=1, max_size=5)
)


@given(tables, st.integers(1, 63))
def test_every_part_is_rounded_toward_zero_and_added_exactly(table, norm):
    hist = histogram(table)

    assert clipped_counts(hist, np.arange(hist.pairs), norm=norm).tolist() == expected(table, norm)


@given(histograms(users=(2, 6), pairs=(1, 6), clicks=200), st.data())
def test_removing_a_user_moves_the_counts_by_the_norm_at_most(hist, data):
    user = data.draw(st.integers(0, hist.users - 1))
    pairs = np.array(sorted(data.draw(st.sets(st.integers(0, hist.pairs - 1)))), dtype=np.int64)
    moved = clipped_counts(hist, pairs) - clipped_counts(hist.without_user(user), pairs)

    assert sum(int(m) ** 2 for m in moved) <= NORM**2 * ONE**2


def test_clicks_within_the_norm_count_in_full():
    """Norms of √18, √20 and 6, where 6 are allowed, and one of 10."""
    hist = histogram([[3, 3], [2, 4], [6, 0], [6, 8]])
    scaled = [isqrt(c * c * 36 * ONE**2 // 100) for c in (6, 8)]

    found = clipped_counts(hist, np.arange(2), norm=6).tolist()

    assert found == [11 * ONE + scaled[0], 7 * ONE + scaled[1]]


def test_pairs_that_are_not_released_do_not_count():
    hist = histogram([[1, 900, 2], [0, 900, 1]])

    assert clipped_counts(hist, np.array([0, 2])).tolist() == [ONE, 3 * ONE]


def test_the_noise_is_the_one_that_is_accounted_for():
    hist = histogram([[1] * 4_000])
    found = noisy_counts(
        hist, np.arange(4_000), mu_squared=Fraction(1, 25), rng=SeededRandomness(1)
    )
    noise = found.values - clipped_counts(hist, np.arange(4_000)) / ONE

    assert found.stage.cost.mu_squared <= Fraction(1, 25)
    assert float(found.stage.variance) == pytest.approx(NORM**2 * 25, rel=1e-6)
    assert noise.std() == pytest.approx(NORM * 5, rel=0.06)


def test_a_norm_that_does_not_fit_is_refused():
    with pytest.raises(OptionError, match="64 bits"):
        clipped_counts(histogram([[1]]), np.array([0]), norm=64)
