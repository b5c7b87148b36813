"""Why the paper's Laplace step (§4.2) is offered as a heuristic: each way it fails, computed."""

import math

import numpy as np
import pytest
from tests.strategies import histogram

from slogan.budget import PrivacyBudget
from slogan.modes import LaplaceCounts
from slogan.planning.constraints import privacy_constraints
from slogan.planning.laplace import Optimum, influential_users, with_noise
from slogan.planning.plan import plan
from slogan.planning.program import Program
from slogan.planning.solvers import Effort
from slogan.randomness import SystemRandomness

BUDGET = PrivacyBudget(exp_epsilon=2, delta="0.5")


def program(hist):
    return Program(constraints=privacy_constraints(hist, BUDGET))


def one_pair(users):
    """m users with one click each on the same pair."""
    return program(histogram([[1]] * users))


def random_log(seed, users=40, pairs=25):
    table = np.random.default_rng(seed).poisson(0.15, size=(users, pairs))
    return histogram(table.tolist()).without_unique_pairs()


def swaying(asked, bound):
    mode = LaplaceCounts(bound=bound, epsilon=1)
    return influential_users(asked, mode, Effort(), lambda done, users: None).tolist()


def optimum(users):
    """f(m) = b / log(m/(m−1))."""
    return math.log(2) / math.log(users / (users - 1))


@pytest.mark.parametrize("users", [3, 4, 5, 6, 100])
def test_the_optimal_count_of_one_pair_is_known(users):
    assert Optimum(one_pair(users), Effort()).x[0] == pytest.approx(optimum(users))


def test_removing_who_sways_the_counts_does_not_bound_the_sway():
    """With 10 users everybody is removed, with 11 no one: one user moves the count from 0 to f."""
    bound = (optimum(10) - optimum(9) + optimum(11) - optimum(10)) / 2

    assert swaying(one_pair(10), bound) == list(range(10))
    assert swaying(one_pair(11), bound) == []
    assert optimum(11) > 10 * bound


def test_one_user_moves_many_counts_and_the_noise_covers_one():
    """Lap(d/ε') on each count covers max |Δ|; privacy of all of them would need Σ |Δ|."""
    ratios = []
    for seed in range(3):
        asked = program(random_log(seed))
        best = Optimum(asked, Effort())
        for user in range(asked.constraints.hist.users):
            moved = np.abs(best.without_users(np.array([user])) - best.x)
            if moved.max() > 1e-6:
                ratios.append(moved.sum() / moved.max())

    assert max(ratios) > 3


def test_a_pair_of_two_users_has_a_noisy_count_on_one_side_only():
    hist = histogram([[1, 1], [1, 1], [1, 0]])
    neighbour = hist.without_users(np.array([1]))
    noisy = [
        with_noise(Optimum(program(hist), Effort()).x, LaplaceCounts(bound=1, epsilon=1), rng)[1]
        for rng in [SystemRandomness()] * 200
    ]

    assert neighbour.pairs.tolist() == [0]
    assert max(noisy) > 0  # an output that cannot come from the neighbour


@pytest.mark.parametrize(("scale", "least"), [("0.1", 0.05), ("1", 0.9)])
def test_noisy_counts_break_the_constraints_and_the_gate_repairs_them(scale, least):
    asked = program(random_log(1, users=60))
    constraints, x = asked.constraints, Optimum(asked, Effort()).x
    mode, rng, runs = LaplaceCounts(bound=scale, epsilon=1), SystemRandomness(), 1000
    broken = 0
    for _ in range(runs):
        noisy = np.maximum(with_noise(x, mode, rng), 0)
        broken += len(constraints.violated(noisy)) > 0
        assert constraints.allows(plan(noisy, constraints).counts)

    assert broken / runs >= least
