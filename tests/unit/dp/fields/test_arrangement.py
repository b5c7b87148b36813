"""Made-up rows in time: totals stay exact, times increase, and laws are those of the log."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.rows_in_time import people

from slogan.dp.fields.arrangement import (
    arrange,
    drawn_from,
    mean_sessions,
    sessions_by_clicks,
    sums_of,
    tilted,
)
from slogan.dp.fields.loops import draw_lengths
from slogan.dp.fields.statistics import SHARES, measure_fields
from slogan.dp.fields.sums import GAP, Shown, Visits
from slogan.dp.sums import noisy_counts
from slogan.dp.swaps import dice_of
from slogan.histogram import Events, Output
from slogan.randomness import SeededRandomness

PAIRS = np.arange(0, 40, 3)
CLEAR = Fraction(10_000)
"""A μ² at which noise is as good as none."""


def measured(log, hist, *, mu_squared=CLEAR, stages=SHARES, seed=1):
    rng = SeededRandomness(seed)
    counts = noisy_counts(hist, PAIRS, mu_squared=mu_squared, rng=rng)
    parts = dict.fromkeys(stages, mu_squared)
    return measure_fields(log, PAIRS, hist.query[PAIRS], counts, parts, {}, rng=rng)


def output_of(hist):
    """The clicks of the log on these pairs, as if they were made up."""
    rows = np.isin(hist.pair, PAIRS)
    return Output(user=hist.user[rows], pair=hist.pair[rows], count=hist.count[rows])


def made(output, known, *, sessions=False, seed=2):
    query = np.arange(40)[PAIRS] // 2
    return arrange(output, PAIRS, query, known, sessions=sessions, rng=SeededRandomness(seed))


def held(user, pair, count):
    table = np.zeros((int(user.max(initial=0)) + 1, 40), dtype=np.int64)
    np.add.at(table, (user, pair), count)
    return table


def require_sound(output, rows, log):
    """Clicks are those of the output, and times, ranks and queries are possible."""
    clicked = rows.pair >= 0
    ones = np.ones(int(clicked.sum()), dtype=np.int64)
    expected = held(output.user, output.pair, output.count)
    assert held(rows.user[clicked], rows.pair[clicked], ones).tolist() == expected.tolist()
    assert (np.diff(rows.user) >= 0).all()
    assert np.isin(rows.user, output.user).all()
    assert (rows.query[clicked] == rows.pair[clicked] // 2).all()
    assert np.isin(rows.query, PAIRS // 2).all()
    if rows.second is not None and len(rows.user):
        same = rows.user[1:] == rows.user[:-1]
        assert (np.diff(rows.second)[same] > 0).all()
        assert rows.second.min() >= 0
        assert rows.second.max() < log.days * 86400
    if rows.rank is not None:
        assert ((rows.rank > 0) == clicked).all()


HIST, LOG = people(3_000)
KNOWN = measured(LOG, HIST)


@given(
    st.lists(st.lists(st.integers(0, 40), min_size=14, max_size=14), min_size=1, max_size=5),
    st.integers(0, 99),
)
@settings(max_examples=60)
def test_any_output_keeps_its_users_and_clicks(table, seed):
    user, place = np.nonzero(np.array(table))
    output = Output(user=user, pair=PAIRS[place], count=np.array(table)[user, place])

    rows = made(output, KNOWN, seed=seed)

    assert (rows is None) == (len(user) == 0)
    if rows is not None:
        require_sound(output, rows, LOG)


@pytest.mark.parametrize("stages", [("hours",), ("hours", "days", "ranks"), ("ranks",), SHARES])
def test_columns_that_were_not_measured_stay_empty(stages):
    output = output_of(HIST)
    known = measured(LOG, HIST, stages=stages)
    rows = made(output, known, sessions=True)

    require_sound(output, rows, LOG)
    assert (rows.second is None) == ("hours" not in stages)
    assert (rows.rank is None) == ("ranks" not in stages)
    assert (rows.session is None) == ("lengths" not in stages)
    assert ((rows.pair < 0).any()) == ("searches" in stages)


def test_without_any_column_there_are_no_rows():
    assert made(output_of(HIST), measured(LOG, HIST, stages=("days",))) is None


def test_one_seed_makes_the_same_rows():
    one, same, other = (made(output_of(HIST), KNOWN, seed=seed) for seed in (5, 5, 6))

    assert one.second.tolist() == same.second.tolist()
    assert one.pair.tolist() == same.pair.tolist()
    assert one.second.tolist() != other.second.tolist()


@pytest.mark.parametrize("clicks", [1, 199, 200, 201, 5_000])
def test_a_period_of_a_day_has_room_for_any_user(clicks):
    output = Output(user=np.array([3]), pair=PAIRS[:1], count=np.array([clicks]))
    known = replace(measured(LOG, HIST, stages=("hours", "sessions", "lengths")), days=1)

    require_sound(output, made(output, known), replace(LOG, days=1))


def distance(one, other):
    return 0.5 * float(np.abs(one / one.sum() - other / other.sum()).sum())


def test_rows_look_like_those_of_the_log():
    rows = made(output_of(HIST), KNOWN)
    of_hour = [np.bincount(each // 3600 % 24, minlength=24) for each in (rows.second, LOG.second)]
    of_day = [np.bincount(each // 86400, minlength=28) for each in (rows.second, LOG.second)]
    shown = np.isin(LOG.pair, PAIRS)
    ranks = [np.bincount(r, minlength=30)[1:11] for r in (rows.rank, LOG.rank[shown])]

    assert distance(*of_hour) < 0.05
    assert distance(*of_day) < 0.06
    assert distance(*ranks) < 0.03


def test_sessions_are_as_many_and_as_long_as_in_the_log():
    rows = made(output_of(HIST), KNOWN)
    again = Events(
        user=rows.user,
        pair=rows.pair,
        query=rows.query,
        count=np.ones_like(rows.user),
        second=rows.second,
        rank=rows.rank,
        session=None,
        users=HIST.users,
        days=LOG.days,
        weekday=LOG.weekday,
    )
    shown = Shown.of(PAIRS, PAIRS // 2)
    lengths, unclicked = [], []
    for log in (LOG, again):
        visits = Visits.of(log, shown)
        clicks = np.bincount(visits.number, log.pair[visits.rows] >= 0)
        more = np.bincount(visits.number, log.pair[visits.rows] < 0)
        lengths.append(np.bincount(clicks[clicks > 0].astype(int), minlength=30)[:30])
        unclicked.append(more[clicks > 0].mean())

    assert distance(*lengths) < 0.03
    assert lengths[1].sum() == pytest.approx(lengths[0].sum(), rel=0.05)
    assert unclicked[1] == pytest.approx(unclicked[0], rel=0.25)


def test_sessions_of_a_user_are_apart():
    rows = made(output_of(HIST), KNOWN)
    same = rows.user[1:] == rows.user[:-1]
    pause = np.diff(rows.second)[same]

    assert ((pause <= 600) | (pause > GAP)).all()


def test_a_pair_keeps_its_rank_in_a_session_and_others_of_its_query_differ():
    rows = made(output_of(HIST), KNOWN, sessions=True)
    seen = {}
    for session, query, pair, rank in zip(
        rows.session.tolist(),
        rows.query.tolist(),
        rows.pair.tolist(),
        rows.rank.tolist(),
        strict=True,
    ):
        if pair >= 0:
            assert seen.setdefault((session, query, pair), rank) == rank
    ranks = [(session, query, rank) for (session, query, _), rank in seen.items()]
    assert len(set(ranks)) >= 0.999 * len(ranks)


def test_lengths_have_their_law_given_the_sum():
    length = np.array([0.0, 0.5, 0.3, 0.2])
    ways = sums_of(length, 6, 3)
    users = 20_000
    found = np.empty(2 * users, dtype=np.int64)
    draw_lengths(
        np.full(users, 4), np.full(users, 2), length, ways, found, dice_of(SeededRandomness(4))
    )
    first, second = found.reshape(-1, 2).T
    expected = np.array([0.5 * 0.2, 0.3 * 0.3, 0.2 * 0.5])

    assert (first + second == 4).all()
    assert distance(np.bincount(first, minlength=4)[1:], expected) < 0.02


def test_users_have_the_wanted_numbers_of_sessions_where_their_clicks_allow():
    length, wanted = np.array([0.0, 0.5, 0.3, 0.2]), np.array([0.6, 0.3, 0.1])
    clicks = np.repeat([1, 2, 3, 4, 5], [30, 20, 20, 20, 10])
    mean = float(wanted @ [1, 2, 3])
    law = sessions_by_clicks(clicks, wanted, sums_of(length, 5, 3), mean)
    now = law[clicks].mean(axis=0)

    assert law[1].tolist() == pytest.approx([1, 0, 0])
    assert now == pytest.approx(wanted, abs=0.01)


def test_numbers_are_drawn_from_their_own_row():
    laws = np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    row = np.repeat([0, 1], 4_000)
    found = drawn_from(laws, row, np.random.default_rng(3))

    assert set(found[row == 1].tolist()) == {0}
    assert np.bincount(found[row == 0], minlength=3)[0] == 0
    assert (found[row == 0] == 2).mean() == pytest.approx(0.75, abs=0.05)


def test_users_have_a_mean_number_of_sessions_if_any_numbers_have_it():
    length, wanted = np.array([0.0, 0.5, 0.3, 0.2]), np.array([0.6, 0.3, 0.1])
    clicks, ways = np.repeat([1, 2, 5], 20), sums_of(np.array([0.0, 0.5, 0.3, 0.2]), 5, 3)

    for mean, expected in ((1.7, 1.7), (1.5, 1.5), (1.0, 4 / 3)):
        law = sessions_by_clicks(clicks, wanted, ways, mean)[clicks]
        assert law.mean(axis=0) @ [1, 2, 3] == pytest.approx(expected, abs=0.05)
    # with half the clicks that the log's sessions ask for, there are a sixth fewer of them
    short = mean_sessions(np.array([1]), np.array([0.0, 1.0]), np.array([0.0, 1.0]))
    assert short == pytest.approx(2 * 0.5**0.25)
    assert mean_sessions(clicks, wanted, length) == pytest.approx(1.5)


@pytest.mark.parametrize("mean", [0.05, 0.5, 2.0, 3.9, 10.0])
def test_a_law_is_tilted_to_a_mean(mean):
    law = tilted(np.array([0.8, 0.1, 0.05, 0.03, 0.02]), mean)

    assert law.sum() == pytest.approx(1)
    assert law @ np.arange(5) == pytest.approx(min(mean, 4), rel=0.05)
