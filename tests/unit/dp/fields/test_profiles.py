"""From noisy sums to shares."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from slogan.dp.fields.profiles import (
    Calendar,
    clear_of_noise,
    day_shares,
    lifts,
    rank_shares,
    spread_bins,
    unclicked_shares,
    week_shares,
)
from slogan.dp.fields.statistics import Kinds
from slogan.dp.fields.sums import LENGTHS, day_cells

ANY = st.floats(-1e6, 1e6, allow_nan=False)


def require_shares(found):
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(1)


@given(arrays.arrays(float, 168, elements=ANY), st.floats(0, 1e4))
def test_hours_of_the_week_have_shares_whatever_the_noise(noisy, deviation):
    require_shares(week_shares(noisy, deviation).ravel())


@given(st.integers(1, 400), st.integers(0, 9), st.floats(0, 1e3))
def test_days_have_shares_whatever_the_noise(days, seed, deviation):
    draw = np.random.default_rng(seed)
    noisy = draw.normal(10, 100, day_cells(days))
    found = day_shares(noisy, deviation, np.full(days, 1 / days), days)

    assert len(found) == days
    require_shares(found)


@given(arrays.arrays(float, len(LENGTHS), elements=ANY), st.floats(0, 1e4))
def test_bins_have_shares_whatever_the_noise(bins, deviation):
    found = spread_bins(bins, LENGTHS, 60, deviation)

    assert len(found) == 60
    require_shares(found)


def curve(hours):
    return np.exp(-(((hours - 20) / 6.0) ** 2)) + 0.2


def test_a_clear_profile_is_kept_and_noise_is_taken_away():
    exact = (curve(np.arange(24))[None, :] * np.linspace(1.2, 0.8, 7)[:, None]) * 100
    noise = np.random.default_rng(0).normal(0, 30, (7, 24))
    share = exact / exact.sum()

    kept = week_shares(exact.ravel(), 0.01)
    assert np.abs(kept - share).sum() < 1e-3
    found = week_shares((exact + noise).ravel(), 30)
    noisy = np.maximum(exact + noise, 0)
    assert np.abs(found - share).sum() < 0.6 * np.abs(noisy / noisy.sum() - share).sum()


def test_nothing_but_noise_becomes_flat():
    noise = np.random.default_rng(1).normal(0, 30, 168) + 20
    found = week_shares(noise, 30).sum(axis=0)

    assert np.abs(found * 24 - 1).max() < 0.5
    assert clear_of_noise(np.array([1.0, -1.0]), 5.0) == 0
    assert clear_of_noise(np.zeros(2), 0.0) == 0


def test_days_that_are_hidden_follow_their_weekday():
    expected = np.tile([0.2, 0.1], 15) / 4.5
    noisy = 100 * expected + np.random.default_rng(2).normal(0, 50, 30)

    assert day_shares(None, 0.0, expected, 30) is expected
    assert np.abs(day_shares(noisy, 50.0, expected, 30) - expected).sum() < 0.4


def test_seconds_are_drawn_by_the_share_of_their_hour():
    hour = np.zeros(48)
    hour[[5, 30]] = [1, 3]
    calendar = Calendar(days=2, weekday=0, hour=hour)
    drawn = calendar.drawn((np.arange(4_000) + 0.5) / 4_000)

    assert np.bincount(drawn // 3600, minlength=48).tolist() == (hour * 1_000).tolist()
    assert 5 * 3600 <= drawn.min() < 5 * 3600 + 4
    assert 31 * 3600 - 4 <= drawn.max() < 31 * 3600


def test_steps_that_are_clear_have_a_lift():
    table = np.array([[500.0, 100.0], [100.0, 500.0]])

    assert lifts(table, 0.1) == pytest.approx(table / 300, rel=0.01)
    assert lifts(table, 1e6) == pytest.approx(np.ones((2, 2)), abs=0.01)
    assert (lifts(-table, 10.0) > 0).all()


def test_searches_without_a_click_are_made_up_where_they_are_clear():
    kinds = Kinds.of(np.ones(3), np.zeros(3, dtype=np.int64), 1, least=9.0, most=1)

    assert unclicked_shares(None, kinds, 0.0).tolist() == [0]
    assert unclicked_shares(np.array([200.0, 50.0]), kinds, 1.0) == pytest.approx([0.25])
    assert unclicked_shares(np.array([200.0, 50.0]), kinds, 100.0).tolist() == [0]


def ranks_of(table, deviation, kinds):
    known = SimpleNamespace(
        values=lambda _: table.ravel(), deviation=lambda _: deviation, rank_kinds=kinds
    )
    return rank_shares(known)


@given(arrays.arrays(float, (4, 12), elements=ANY), st.floats(0, 1e4))
def test_ranks_have_shares_whatever_the_noise(table, deviation):
    kinds = Kinds.of(np.array([9.0, 1.0, 1.0]), np.array([0, 1, 2]), 3, least=5.0, most=9)

    for curve_of_class in ranks_of(table, deviation, kinds):
        require_shares(curve_of_class)


def test_ranks_of_a_pair_differ_from_others_where_that_is_clear():
    kinds = Kinds.of(np.array([9.0, 9.0, 1.0]), np.zeros(3, dtype=np.int64), 1, least=5.0, most=9)
    first, third = np.eye(12)[0] * 1_000, np.eye(12)[2] * 1_000
    noise = np.random.default_rng(3).normal(0, 20, (3, 12))
    found = ranks_of(np.array([first, third, first]) + noise, 20.0, kinds)

    assert found[0][0] > 0.95
    assert found[1][2] > 0.9
    assert found[2][0] > found[2][2]
    # the noise of a hundred pairs alone would move a tenth of the clicks
    many = Kinds.of(np.full(100, 9.0), np.zeros(100, dtype=np.int64), 1, least=5.0, most=100)
    noisy = np.random.default_rng(4).normal(0, 20, (101, 12)) + np.eye(12)[0] * 100
    assert ranks_of(noisy, 20.0, many)[-1][0] > 0.93
