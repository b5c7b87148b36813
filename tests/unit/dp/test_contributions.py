"""The private look that decides whether one pair of each user counts, or several."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from tests.strategies import histogram

from slogan.budget import PrivacyBudget
from slogan.dp import contributions
from slogan.dp.accounting import Account, Cost, delta_at
from slogan.dp.contributions import SHARE, holds_one, undecided, voices
from slogan.randomness import SeededRandomness, SystemRandomness

BUDGET = PrivacyBudget(epsilon="1", delta="1e-6")


def with_lengths(*lengths):
    """A log whose user u holds the first lengths[u] pairs."""
    rows = np.zeros((len(lengths), max(lengths)), dtype=int)
    for user, held in enumerate(lengths):
        rows[user, :held] = 1
    return histogram(rows.tolist())


def test_a_user_adds_a_number_by_how_many_pairs_it_holds():
    assert voices(with_lengths(1, 1, 2, 3, 40)) == -4 - 4 - 1 + 5 + 5
    assert voices(with_lengths(1, 2).without_user(0)) == -1


def largest_move(neighbours, times=1):
    rng, largest = np.random.default_rng(3), 0
    for _ in range(neighbours // 40):
        hist = with_lengths(*rng.integers(1, 6, 40))
        whole = voices(hist) * times
        moves = (abs(whole - voices(hist.without_user(u)) * times) for u in range(40))
        largest = max(largest, *moves)
    return largest


def test_one_user_moves_the_sum_by_5_at_most():
    assert largest_move(2_000) == 5
    assert largest_move(200, Fraction(101, 100)) > 5


@pytest.mark.parametrize(("noise", "one"), [(-3, True), (3, True), (4, False), (5, False)])
def test_one_pair_counts_if_the_noisy_sum_is_below_0(noise, one):
    hist = with_lengths(1)  # adds −4
    with patch.object(contributions, "discrete_laplace", lambda *_, **__: np.array([noise])):
        assert holds_one(hist, undecided(BUDGET, association=True).look, SeededRandomness(0)) == one


def test_the_noise_of_the_look_has_the_scale_that_is_paid_for():
    """The chance of each answer, where the sum is one deviation of the noise away from 0."""
    loose = PrivacyBudget(epsilon="100", delta="1e-6")  # a look of ε = 1: noise of scale 5
    look = undecided(loose, association=True).look
    hist = with_lengths(1)
    rng, runs = SystemRandomness(), 4_000
    found = sum(holds_one(hist, look, rng) for _ in range(runs))
    r = np.exp(-1 / 5)  # X ≤ 3 with chance 1 − r^4/(1 + r)
    chance = 1 - r**4 / (1 + r)

    assert abs(found - runs * chance) < 5.5 * np.sqrt(runs * chance * (1 - chance))


@pytest.mark.parametrize("epsilon", ["0.3", "1", "4"])
def test_both_ways_spend_what_the_look_leaves(epsilon):
    budget = PrivacyBudget(epsilon=epsilon, delta="1e-6")
    planned = undecided(budget, association=True)
    look, delta = planned.look.cost, Fraction(1, 10**6)
    one, several = look + planned.one.cost, look + planned.several.cost

    assert (
        SHARE * Fraction(epsilon) * Fraction(999, 1000) < look.epsilon < Fraction(epsilon) * SHARE
    )
    assert Fraction(epsilon) * Fraction(999_999, 10**6) < one.epsilon <= Fraction(epsilon)
    assert one.delta <= delta
    assert delta * Fraction(99, 100) < delta_at(Fraction(epsilon), several) <= delta
    assert planned.cost.covers(one)
    assert planned.cost.covers(several)
    assert planned.cost == Cost(
        mu_squared=several.mu_squared, epsilon=one.epsilon, delta=max(one.delta, several.delta)
    )
    Account((planned.look, planned.one.draw, planned.one.users)).require(budget)


def test_more_noise_is_not_left_out_of_the_account():
    """Without the look's ε, the stages of several pairs would exceed what is left of it."""
    planned = undecided(BUDGET, association=True)
    full = Cost(epsilon=planned.look.cost.epsilon * Fraction(101, 100)) + planned.several.cost

    assert delta_at(Fraction(1), full) > delta_at(
        Fraction(1), planned.look.cost + planned.several.cost
    )
