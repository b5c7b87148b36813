"""Π: what any method with the same guarantee can release."""

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from slogan.budget import PrivacyBudget
from slogan.dp.attainable import most_pairs, pairs_by_holders
from slogan.histogram import PairHistogram

BUDGETS = [("1", "1e-6"), ("0.05", "1e-8"), ("4", "0.001"), ("0.7", "0.4"), ("30", "1e-30")]


def log_with(*holders):
    """A log whose pair i is held by the first holders[i] users."""
    user = np.concatenate([np.arange(n) for n in holders])
    pair = np.repeat(np.arange(len(holders)), holders)
    return PairHistogram.of_rows(
        user=user,
        pair=pair,
        count=np.ones_like(pair),
        users=int(max(holders)),
        query=np.arange(len(holders)),
    )


def chances(budget, most):
    """π(0), …, π(most), as the function computes them."""
    return [most_pairs(log_with(n), budget) if n else Fraction(0) for n in range(most + 1)]


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_each_chance_is_the_formula_rounded_up(epsilon, delta):
    found = chances(PrivacyBudget(epsilon=epsilon, delta=delta), 60)

    with mpmath.workdps(400):
        power, slack, exact = mpmath.exp(mpmath.mpf(epsilon)), mpmath.mpf(delta), mpmath.mpf(0)
        for chance in found[1:]:
            exact = min(power * exact + slack, 1 - (1 - exact - slack) / power, mpmath.mpf(1))
            real = mpmath.mpf(chance.numerator) / chance.denominator
            assert exact <= real <= exact + mpmath.mpf(2) ** -100


@pytest.mark.parametrize(("exp_epsilon", "delta"), [("3", "0.001"), ("1.5", "1/50")])
def test_a_release_with_these_chances_is_private_and_no_more_probable_one_is(exp_epsilon, delta):
    """The chances are the largest, so the theorem cannot be sharpened for one pair per user."""
    budget = PrivacyBudget(exp_epsilon=exp_epsilon, delta=delta)
    ratio, slack, unit = Fraction(exp_epsilon), Fraction(delta), Fraction(1, 2**100)
    steps = list(pairwise(chances(budget, 40)))

    for fewer, more in steps:
        assert more <= ratio * fewer + slack + unit
        assert 1 - fewer <= ratio * (1 - more) + slack + unit
    for fewer, more in steps:
        higher = more * Fraction(101, 100)
        breaks = higher > ratio * fewer + slack or 1 - fewer > ratio * (1 - higher) + slack
        assert breaks or higher > 1


def test_the_bound_is_the_sum_over_pairs_and_never_rounded_down():
    budget = PrivacyBudget(epsilon="1", delta="1e-3")
    single = chances(budget, 9)

    assert most_pairs(log_with(9, 2, 2, 5, 1), budget) == (
        single[9] + 2 * single[2] + single[5] + single[1]
    )
    assert single[1] >= Fraction("1e-3")
    assert single[1] > Fraction("1e-3") - Fraction(1, 2**128)


def test_pairs_without_a_holder_are_not_counted():
    hist = log_with(3, 1).without_user(0)

    assert pairs_by_holders(hist).tolist() == [1, 0, 1]
    assert most_pairs(hist, PrivacyBudget(epsilon="1", delta="0.1")) < 1
