"""Sums about time, rank and session: what one user can move them by, and what they count."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2
from tests.rows_in_time import any_rows, events, people, without

from slogan.dp.fields import sums as tables
from slogan.dp.fields.statistics import SHARES
from slogan.dp.fields.sums import NORM, Shown
from slogan.dp.sums import noisy_sums
from slogan.randomness import SeededRandomness

ONE = 1 << 20
NEIGHBOURS = 2_000
PAIRS, QUERIES = np.array([0, 1, 3, 5, 6, 7, 10]), 5
SHOWN = Shown.of(PAIRS, PAIRS % QUERIES)
OF_PAIR = np.array([0, 1, 1, 2, 0, 1, 2])
OF_QUERY = np.array([0, 1, 0, 1])
SUMS = {
    "hours": tables.hour_sums,
    "days": tables.day_sums,
    "ranks": lambda log: tables.rank_sums(log, SHOWN, OF_PAIR, 3),
    "searches": lambda log: tables.search_sums(log, SHOWN, OF_QUERY, 2),
    "sessions": lambda log: tables.session_sums(log, SHOWN),
    "lengths": lambda log: tables.length_sums(log, SHOWN),
    "steps": lambda log: tables.step_sums(log, SHOWN, OF_QUERY, 2),
}


def norm(moved):
    return sum(int(m) ** 2 for m in moved) ** 0.5 / ONE


def largest_move(sums, neighbours, *, session=False):
    """The largest move of the sums over many neighbours: each user of each log is removed."""
    largest, seed = 0.0, 0
    while neighbours > 0:
        log = any_rows(seed, session=session)
        whole = sums(log)
        for user in range(log.users):
            largest = max(largest, norm(whole - sums(without(log, user))))
        neighbours, seed = neighbours - log.users, seed + 1
    return largest


def test_every_stage_is_tested():
    assert set(SUMS) == set(SHARES)


@pytest.mark.parametrize("name", SUMS)
def test_no_user_moves_a_stage_by_more_than_its_norm(name):
    sums, claimed = SUMS[name], NORM

    assert largest_move(sums, NEIGHBOURS) <= claimed
    assert largest_move(sums, NEIGHBOURS // 10, session=True) <= claimed
    # a weight that is a hundredth too large is noticed
    assert largest_move(lambda log: sums(log) * 101 // 100, NEIGHBOURS // 10) > claimed


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("session", [False, True])
def test_a_stage_is_a_sum_over_users(name, session):
    for seed in range(25):
        log = any_rows(seed, session=session)
        alone = []
        for user in range(log.users):
            rest = log
            for other in set(range(log.users)) - {user}:
                rest = without(rest, other)
            alone.append(SUMS[name](rest))

        assert SUMS[name](log).tolist() == np.sum(alone, axis=0).tolist()


@pytest.mark.parametrize("name", SUMS)
def test_the_number_of_cells_does_not_depend_on_rows(name):
    nobody = events([], days=30)
    somebody = events([(0, 0, 0, 1, 5, 900, 0)], days=30)

    assert len(SUMS[name](nobody)) == len(SUMS[name](somebody))
    assert not SUMS[name](nobody).any()


def test_hours_and_days_are_those_of_the_period():
    log = events([(0, 0, 0, 1, 3600 * 25, 1, 0)], days=3, weekday=6)  # one in the night to Tuesday

    assert np.flatnonzero(tables.hour_sums(log)).tolist() == [1]  # day 1 after a Sunday is a Monday
    assert tables.day_sums(log).tolist() == [0, ONE, 0]


def test_long_periods_are_counted_in_parts_of_equal_length():
    log = events([(0, 0, 0, 1, 364 * 86400, 1, 0)], days=365)

    assert tables.day_cells(365) == len(tables.day_sums(log)) == 92
    assert np.flatnonzero(tables.day_sums(log)).tolist() == [91]
    assert tables.day_cells(100) == 100
    assert tables.day_cells(101) == 51


def test_ranks_are_counted_by_class_for_released_pairs_only():
    rows = [(0, 0, 0, 1, 0, 1, 0), (1, 3, 3, 2, 0, 11, 0), (2, 2, 2, 1, 0, 500, 0)]
    log = events([*rows, (3, 0, 0, 1, 0, 0, 0), (4, -1, 0, 1, 0, 3, 0), (5, 5, 0, 1, 0, 21, 0)])

    table = SUMS["ranks"](log).reshape(3, 12) / ONE
    assert np.argwhere(table).tolist() == [[0, 0], [1, 10], [2, 11]]
    assert (table[table > 0] == 1).all()


def test_sessions_end_after_half_an_hour_of_any_rows():
    def number(*rows):
        log = events([(0, pair, pair, 1, second, 1, 0) for pair, second in rows])
        return tables.sessions(log).tolist()

    assert number((0, 0), (0, 1800)) == [0, 0]
    assert number((0, 0), (0, 1801)) == [0, 1]
    assert number((0, 0), (4, 1500), (0, 3000)) == [0, 0, 0]
    assert number((0, -1), (0, 5))[0] == -1


def test_a_declared_session_is_one_whatever_its_times():
    rows = [(0, 0, 0, 1, 0, 1, 7), (0, 1, 1, 1, 9000, 1, 7), (0, 1, 1, 1, 100, 1, 3)]
    log = events([*rows, (0, 1, 1, 1, 100, 1, -1)], session=True)

    assert np.flatnonzero(tables.session_sums(log, SHOWN)).tolist() == [1]  # two of them
    lengths = tables.length_sums(log, SHOWN)[: len(tables.LENGTHS)]
    assert (lengths[:2] > 0).all()
    assert not lengths[2:].any()


def test_steps_are_counted_by_what_follows_what():
    def steps(*rows):
        log = events(
            [(0, pair, query, count, s, 1, 0) for s, (pair, query, count) in enumerate(rows)]
        )
        return np.rint(SUMS["steps"](log) / ONE).astype(int).tolist()

    assert steps((0, 0, 1), (0, 0, 1)) == [1, 0, 0, 0, 0, 0, 0, 0]
    assert steps((0, 0, 2)) == [1, 0, 0, 0, 0, 0, 0, 0]
    assert steps((0, 0, 1), (5, 0, 1)) == [0, 1, 0, 0, 0, 0, 0, 0]
    assert steps((-1, 0, 1), (0, 0, 1)) == [0, 0, 1, 0, 0, 0, 0, 0]
    # of queries 0 and 1, of classes 0 and 1
    assert steps((0, 0, 1), (1, 1, 1)) == [0, 0, 0, 0, 0, 1, 0, 0]
    assert steps((0, 0, 1), (-1, 1, 1)) == [0, 0, 0, 1, 0, 1, 0, 0]
    # rows of other pairs are not steps
    assert steps((0, 0, 1), (2, 2, 1), (0, 0, 1)) == [1, 0, 0, 0, 0, 0, 0, 0]


@pytest.mark.parametrize("name", SUMS)
def test_the_noise_of_a_stage_has_the_claimed_scale(name):
    _, log = people(300, pairs=12)
    exact, mu_squared = SUMS[name](log), Fraction(1, 50)
    rng = SeededRandomness(11)

    def squares(scale):
        """The sum of squared noise, in claimed variances, and how many numbers that are."""
        total = number = 0
        while number < 5_000:
            noisy = noisy_sums(
                exact,
                name=name,
                norm_squared=NORM**2,
                mu_squared=mu_squared * scale,
                rng=rng,
            )
            noise = (noisy.steps - exact) / ONE
            total += float((noise**2).sum()) * float(mu_squared) / NORM**2
            number += len(noise)
        return total, number

    def chance(total, number):
        return 2 * min(chi2.cdf(total, number), chi2.sf(total, number))

    assert chance(*squares(Fraction(1))) > 1e-6
    assert chance(*squares(Fraction(6, 5))) < 1e-6  # a fifth too little variance is noticed
