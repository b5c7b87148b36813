"""Selectors: one interface, exact weights and thresholds, and what they may not depend on."""

from fractions import Fraction

import numpy as np

from slogan.dp import selection
from slogan.dp.accounting import Account
from slogan.randomness import SeededRandomness
from strategies import histogram

BUDGET = selection.SelectionBudget(mu_squared=Fraction(1), delta=Fraction(1, 10**6))


def crowd(users=300):
    """Everybody holds pair 0, and each user a pair of its own."""
    counts = np.zeros((users, users + 1), dtype=np.int64)
    counts[:, 0] = counts[np.arange(users), 1 + np.arange(users)] = 1
    return histogram(counts.tolist())


def test_what_everybody_holds_is_selected_and_what_one_holds_is_not():
    for name in ["weighted_gaussian"]:
        found = selection.load(name)(crowd(), BUDGET, SeededRandomness(1))
        cost = Account(found.stages).cost

        assert found.pairs.tolist() == [0]
        assert cost.mu_squared <= BUDGET.mu_squared
        assert cost.delta <= BUDGET.delta
