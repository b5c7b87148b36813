"""The private look at how many pairs users hold, which decides how many count."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from tests.strategies import histogram

from slogan.dp import sums
from slogan.dp.accounting import Gaussian, variance
from slogan.dp.selection import SelectionBudget, pooled
from slogan.dp.selection._look import FEW, MANY, SHARE, length_sums, look
from slogan.histogram import PairHistogram
from slogan.randomness import SeededRandomness, SystemRandomness

ONE = 2**20
PART = Fraction(1, 50)


def with_lengths(*lengths):
    """A log whose user u holds the first lengths[u] pairs."""
    rows = np.zeros((len(lengths), max(lengths)), dtype=int)
    for user, held in enumerate(lengths):
        rows[user, :held] = 1
    return histogram(rows.tolist())


def largest_move(neighbours, times=1):
    """The largest squared distance between the sums of logs and of their neighbours."""
    rng, largest = np.random.default_rng(3), 0
    while neighbours > 0:
        hist = with_lengths(*rng.integers(1, 30, 40))
        whole = length_sums(hist, 16) * times
        for user in range(40):
            move = whole - length_sums(hist.without_user(user), 16) * times
            largest = max(largest, int((move**2).sum()))
        neighbours -= 40
    return largest


def test_a_user_is_counted_once_by_how_many_pairs_it_holds():
    assert length_sums(with_lengths(1, 16, 17, 40), 16).tolist() == [2 * ONE, 2 * ONE]
    assert length_sums(with_lengths(1, 16, 17).without_user(0), 16).tolist() == [ONE, ONE]


def test_one_user_moves_the_two_numbers_by_1():
    assert largest_move(2_000) == ONE**2
    assert largest_move(200, Fraction(101, 100)) > ONE**2


def chosen(*noisy):
    """The regime for these noisy numbers of users."""
    hist = with_lengths(1)
    noise = np.array(noisy) * ONE - length_sums(hist, FEW.most)
    with patch.object(sums, "floored_gaussian", lambda *_, **__: noise):
        return look(hist, mu_squared=PART, rng=SeededRandomness(0))[0]


@pytest.mark.parametrize(
    ("noisy", "regime"),
    [((90, 10), FEW), ((89, 10), MANY), ((90, 11), MANY), ((50, -3), FEW), ((-40, 20), MANY)],
)
def test_few_is_for_logs_in_which_a_tenth_of_the_users_at_most_seem_to_hold_more(noisy, regime):
    assert chosen(*noisy) == regime


def test_the_look_pays_for_its_noise():
    hist = with_lengths(*[3] * 50, *[30] * 50)
    seen = [look(hist, mu_squared=PART, rng=SystemRandomness())[1] for _ in range(2)]
    stage = Gaussian(name="look", norm_squared=1, variance=variance(PART, norm_squared=1))

    assert seen == [stage, stage]
    assert stage.cost.mu_squared <= PART


def test_the_numbers_that_decide_are_noisy():
    """With as many long users as the rule allows, noise decides: either answer appears."""
    hist = with_lengths(*[1] * 90, *[FEW.most + 1] * 10)
    found = {look(hist, mu_squared=PART, rng=SeededRandomness(n))[0].most for n in range(30)}

    assert found == {FEW.most, MANY.most}


@pytest.mark.parametrize("regime", [FEW, MANY], ids=["few", "many"])
def test_users_contribute_as_many_pairs_as_the_look_decides(regime):
    hist, budget = with_lengths(*[1000] * 5), SelectionBudget(mu_squared=4, delta=Fraction(1, 100))
    stage = Gaussian(name="look", norm_squared=1, variance=50)
    seen = []
    real = pooled.capped

    def noted(*given):
        seen.append(real(*given))
        return seen[-1]

    with (
        patch.object(pooled, "look", lambda *_, **__: (regime, stage)),
        patch.object(pooled, "capped", noted),
    ):
        found = pooled.select(hist, budget, SeededRandomness(1))

    assert np.diff(seen[0].start).tolist() == [regime.most] * 5
    assert found.most == regime.most
    assert found.stages[0] is stage


def test_look_and_rounds_share_the_budget():
    budget = SelectionBudget(mu_squared=Fraction(2), delta=Fraction(1, 10**6))
    stages = pooled.select(with_lengths(*[2] * 300), budget, SeededRandomness(0)).stages
    spent = [stage.cost.mu_squared for stage in stages]

    assert [stage.name for stage in stages] == ["look", "selection"]
    assert budget.mu_squared * Fraction(99, 100) <= sum(spent) <= budget.mu_squared
    assert spent[0] <= budget.mu_squared * SHARE


def test_empty_logs_have_no_users_of_any_length():
    nothing = np.zeros(0, dtype=np.int64)
    hist = PairHistogram(user=nothing, pair=nothing, count=nothing, users=3, pairs=0, query=nothing)

    assert length_sums(hist, 16).tolist() == [0, 0]
