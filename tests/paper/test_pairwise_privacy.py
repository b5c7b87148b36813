"""Theorem 1 by exact enumeration: every output of the sampling step with its probability."""

import itertools
from collections import Counter
from fractions import Fraction
from math import factorial, prod

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.strategies import budgets, histogram, shared_histograms

from slogan.budget import PrivacyBudget, exact
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.plan import Plan, plan
from slogan.planning.sampling import sample_users


def multinomial(clicks, weights):
    """Every way to show `clicks` clicks among the weighted users, with its probability."""
    users = [user for user, weight in weights.items() if weight]
    total = sum(weights.values())
    for cut in itertools.combinations(range(clicks + len(users) - 1), len(users) - 1):
        edges = (-1, *cut, clicks + len(users) - 1)
        shown = [b - a - 1 for a, b in itertools.pairwise(edges)]
        ways = factorial(clicks) // prod(factorial(n) for n in shown)
        weight = prod(weights[u] ** n for u, n in zip(users, shown, strict=True))
        yield (
            tuple((u, n) for u, n in zip(users, shown, strict=True) if n),
            Fraction(ways * weight, total**clicks),
        )


def distribution(hist, counts):
    """Pr[R(D) = O] for every O [eq. 1]: independent over pairs."""
    outputs = {(): Fraction(1)}
    for pair in np.flatnonzero(counts):
        rows = np.flatnonzero(hist.pair == pair)
        weights = {int(hist.user[r]): int(hist.count[r]) for r in rows}
        choices = list(multinomial(int(counts[pair]), weights))
        outputs = {
            (*output, (int(pair), shown)): p * q
            for output, p in outputs.items()
            for shown, q in choices
        }
    return outputs


def shows(output, user):
    return any(user == shown for _, row in output for shown, _ in row)


def broken_promises(hist, counts, budget):
    """Users for whom the pairwise definition fails, by enumeration of both distributions."""
    exp_epsilon, delta = budget._exp_epsilon(), exact(budget.delta)
    with_all = distribution(hist, counts)
    broken = []
    for user in range(hist.users):
        without = distribution(hist.without_user(user), counts)
        exposed = sum((p for o, p in with_all.items() if shows(o, user)), Fraction(0))
        hidden = [o for o in with_all.keys() | without.keys() if not shows(o, user)]
        ratio_holds = all(
            with_all.get(o, 0) <= without.get(o, 0) <= exp_epsilon * with_all.get(o, 0)
            for o in hidden
        )
        if exposed > delta or not ratio_holds:
            broken.append(user)
    return broken


TINY = {"users": (2, 3), "pairs": (1, 3), "clicks": 4}


@settings(max_examples=150)
@given(hist=shared_histograms(**TINY), budget=budgets, data=st.data())
def test_every_plan_keeps_both_conditions_for_every_removed_user(hist, budget, data):
    proposal = data.draw(arrays(np.int64, hist.pairs, elements=st.integers(0, 3)))
    counts = plan(proposal, privacy_constraints(hist, budget)).counts

    assert sum(distribution(hist, counts).values()) == 1
    assert broken_promises(hist, counts, budget) == []


def test_a_loosened_gate_is_caught(monkeypatch):
    """With the limit doubled, the enumeration above must find a broken promise."""
    hist = histogram([[1, 1], [1, 1], [1, 1]])
    budget = PrivacyBudget(exp_epsilon="2.25", delta="0.6")
    proposal = np.array([2, 2])
    honest = plan(proposal, privacy_constraints(hist, budget)).counts
    assert broken_promises(hist, honest, budget) == []

    loose = PrivacyConstraints(hist=hist, allowance=budget.allowance**2, limit=2 * budget.per_user)

    assert broken_promises(hist, plan(proposal, loose).counts, budget) != []


def test_an_open_gate_is_caught():
    hist = histogram([[3], [1]])
    budget = PrivacyBudget(exp_epsilon=2, delta="0.5")

    assert broken_promises(hist, np.array([1]), budget) == [0]


class AllWords:
    """Deals the words it is given, to walk through every outcome of a sampling step."""

    seed = 0

    def __init__(self, words):
        self.left = list(words)

    def words(self, n):
        dealt, self.left = self.left[:n], self.left[n:]
        return np.array(dealt, dtype=np.uint64)


@pytest.mark.parametrize("counts", [[2, 0], [0, 2], [1, 2], [2, 1]])
def test_the_sampler_has_the_distribution_of_equation_1(counts):
    """Words 0..c_ij−1 are the sampler's elementary events: all combinations, equally likely."""
    hist = histogram([[1, 2], [2, 0], [0, 1]])
    planned = Plan(np.array(counts))
    draws = [range(int(hist.pair_total[p])) for p in range(2) for _ in range(counts[p])]
    seen = Counter()
    for words in itertools.product(*draws):
        output = sample_users(hist, planned, AllWords(words))
        rows = {p: [] for p in np.flatnonzero(planned.counts).tolist()}
        for user, pair, count in zip(output.user, output.pair, output.count, strict=True):
            rows[int(pair)].append((int(user), int(count)))
        seen[tuple((p, tuple(sorted(row))) for p, row in rows.items())] += 1
    events = prod(len(d) for d in draws)

    assert {o: Fraction(n, events) for o, n in seen.items()} == distribution(hist, planned.counts)
