"""Logs of awkward shapes whose optimum is known from a formula."""

from fractions import Fraction

import numpy as np
import pytest

from slogan.budget import PrivacyBudget
from slogan.histogram import PairHistogram
from slogan.planning.constraints import privacy_constraints
from slogan.planning.program import Program, Status
from slogan.planning.solvers import Effort, packing

TWO = PrivacyBudget(exp_epsilon=2, delta="0.5")


def log(user, pair, count=None):
    user, pair = np.asarray(user), np.asarray(pair)
    return PairHistogram.of_rows(
        user=user,
        pair=pair,
        count=np.ones_like(user) if count is None else np.asarray(count),
        users=int(user.max()) + 1,
        query=np.arange(int(pair.max()) + 1),
    )


def most_clicks(ratio):
    """The most clicks x with ratio^x ≤ 2."""
    clicks = 0
    while ratio ** (clicks + 1) <= 2:
        clicks += 1
    return clicks


def cycles(*lengths):
    """Users in a ring, each sharing a pair with the next."""
    user, pair, before = [], [], 0
    for n in lengths:
        here = np.arange(n)
        user += [before + here, before + (here + 1) % n]
        pair += [before + here, before + here]
        before += n
    return log(np.concatenate(user), np.concatenate(pair))


def solved(hist, budget=TWO):
    program = Program(constraints=privacy_constraints(hist, budget))
    answer = packing.solve(program, Effort(time_limit=20.0))
    assert program.allows(answer.x.astype(np.int64))
    return int(answer.x.sum()), answer


def test_of_a_ring_every_second_pair_is_released():
    """Two holders of equal counts: a click costs each its whole limit, so this is a matching."""
    lengths = (3, 5, 7, 9, 31, 101, 4, 200)

    size, answer = solved(cycles(*lengths))

    assert size == answer.bound == sum(n // 2 for n in lengths)
    assert answer.status is Status.OPTIMAL


@pytest.mark.parametrize("users", [2, 3, 7, 50])
def test_identical_users_share_one_limit(users):
    """Every click costs every user log(m/(m−1)): as many fit as (m/(m−1))^x ≤ 2 allows."""
    user, pair = (part.ravel() for part in np.indices((users, 8)))

    size, answer = solved(log(user, pair))

    assert size == answer.bound == most_clicks(Fraction(users, users - 1))


def test_a_user_with_most_clicks_of_every_pair_leaves_nothing_to_release():
    user, pair = (part.ravel() for part in np.indices((6, 20)))
    count = np.where(user == 0, 10**6, 1 + pair % 3)

    size, answer = solved(log(user, pair, count))

    assert size == answer.bound == 0


@pytest.mark.parametrize(
    ("budget", "fits"),
    [
        (TWO, 1),
        (PrivacyBudget(exp_epsilon="1.999999999999", delta="0.5"), 0),
        (PrivacyBudget(exp_epsilon="2.000000000001", delta="0.5"), 1),
        (PrivacyBudget(exp_epsilon=2, delta="0.499999999999"), 0),
    ],
)
def test_a_budget_at_the_threshold_is_decided_exactly(budget, fits):
    """A pair of two equal halves needs e^b = 2; one click more on one side needs more."""
    equal, unequal = log([0, 1], [0, 0], [50_000, 50_000]), log([0, 1], [0, 0], [50_000, 50_001])

    assert solved(equal, budget)[0] == fits
    assert solved(unequal, budget)[0] == 0


def test_thousands_of_parts_add_up():
    """Each part: three users of whom any two share a pair, and one pair of all three."""
    parts = 1_500
    user, pair = np.array([0, 1, 1, 2, 2, 0, 0, 1, 2]), np.array([0, 0, 1, 1, 2, 2, 3, 3, 3])
    every = np.arange(parts)[:, None]

    size, answer = solved(log((3 * every + user).ravel(), (4 * every + pair).ravel()))

    assert size == answer.bound == parts
    assert answer.status is Status.OPTIMAL


@pytest.mark.parametrize("pairs", [8, 12, 13])
def test_where_any_two_pairs_share_a_user_their_counts_share_its_limit(pairs):
    """x_i + x_j ≤ n for all i ≠ j: all get half of n, and if n is odd, one of them one more."""
    one, other = np.triu_indices(pairs, 1)
    user = np.arange(len(one))
    n = most_clicks(Fraction(pairs - 1, pairs - 2))

    size, answer = solved(log(np.concatenate([user, user]), np.concatenate([one, other])))

    assert size == answer.bound == pairs * (n // 2) + n % 2
