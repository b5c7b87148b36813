"""Pairs that are public knowledge: lower thresholds for them, and none for the others."""

from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import binom, poisson
from tests.strategies import histogram

from slogan.dp.selection import SelectionBudget, pooled
from slogan.dp.selection._look import FEW
from slogan.dp.selection._weights import CLOSED, capped, spread
from slogan.histogram import PairHistogram
from slogan.randomness import SeededRandomness, SystemRandomness

BUDGET = SelectionBudget(mu_squared=Fraction(1, 4), delta=Fraction(1, 10**6))
ONE = 2**20


def with_unheld(hist, number):
    """The same log with further pairs without a holder."""
    return PairHistogram(
        user=hist.user,
        pair=hist.pair,
        count=hist.count,
        users=hist.users,
        pairs=hist.pairs + number,
        query=np.concatenate([hist.query, hist.query.max() + 1 + np.arange(number)]),
    )


def alike(holders, pairs):
    """A log of this many holders of each pair, with one pair each, in turn."""
    rows = np.zeros((holders * pairs, pairs), dtype=int)
    rows[np.arange(holders * pairs), np.arange(holders * pairs) % pairs] = 1
    return histogram(rows.tolist())


def test_without_public_pairs_nothing_changes():
    hist = alike(40, 6)
    alone = pooled.select(hist, BUDGET, SeededRandomness(4))
    none = pooled.select(hist, BUDGET, SeededRandomness(4), listed=np.zeros(0, dtype=np.int64))

    assert alone.pairs.tolist() == none.pairs.tolist()
    assert alone.stages == none.stages


def test_public_pairs_need_fewer_users():
    """Five pairs with 9 deviations of the noise less than a pair that is not public needs."""
    hist, runs = alike(11, 10), 8
    budget = SelectionBudget(mu_squared=Fraction(1, 4), delta=Fraction(1, 10**12))
    first = np.arange(5)
    rng = SystemRandomness()
    found = [pooled.select(hist, budget, rng, listed=first).pairs for _ in range(runs)]
    public = sum(np.isin(pairs, first).sum() for pairs in found)

    assert public > 0.7 * 5 * runs
    assert sum(map(len, found)) - public < 0.2 * 5 * runs
    assert pooled.select(hist, budget, SystemRandomness(), listed=first).stages == (
        pooled.select(hist, budget, SystemRandomness()).stages
    )


@pytest.mark.parametrize("number", [400, 1_500])
def test_of_public_pairs_without_a_holder_one_in_all_is_selected_at_most(number):
    hist = with_unheld(alike(1, 1), number)
    listed, runs = 1 + np.arange(number), 50
    seen = sum(
        len(pooled.select(hist, BUDGET, SystemRandomness(), listed=listed).pairs)
        for _ in range(runs)
    )
    expected = runs * number / max(number, 1000)

    assert poisson.sf(seen, expected) > 1e-7
    assert poisson.cdf(seen, expected / 2) > 1e-7  # the last round alone has most of the chance


def levels(number):
    public = pooled.schedule(BUDGET, FEW)
    known = np.arange(number + 3) < number
    return public, pooled.listed_rounds(public, known)


def test_levels_are_multiples_of_the_noise_and_grow_with_the_list():
    """Each chance is that of a normal variable, exactly; together they are that of the list."""
    from scipy.stats import norm

    for number in (1, 1000, 50_000):
        public, rounds = levels(number)
        so_far = np.cumsum(pooled.LENGTHS)
        deviations = np.sqrt(float(public.variance) * so_far) * ONE
        chances = norm.sf(np.array([each.threshold for each in rounds]) / deviations)

        assert 0.99 < chances.sum() * max(number, 1000) <= 1
        assert chances[-1] > 0.89 * chances.sum()
        for mine, other in zip(rounds, public.rounds, strict=True):
            assert mine.threshold < other.threshold
            assert (mine.length, mine.variance) == (other.length, other.variance)


def largest_move(neighbours, times=1):
    """The largest squared norm by which one user moves the sums of a first or later round."""
    rng, largest = np.random.default_rng(5), 0
    for _ in range(neighbours // 20):
        rows = (rng.random((20, 30)) < rng.random((20, 1))).astype(int)
        rows[:, 0] = 1
        hist = histogram(rows.tolist())
        halvings = rng.integers(0, CLOSED + 1, hist.pairs).astype(np.int8)
        halvings[rng.random(hist.pairs) < 0.5] = 0  # public ones come first
        halvings[rng.random(hist.pairs) < 0.3] = pooled.LATER
        weights = pooled.schedule(BUDGET, FEW).heaviest
        coins = SeededRandomness(1)
        contributions = capped(hist, coins, 30)
        heaviest = np.concatenate([weights, np.full(14, weights[-1])])
        whole = spread(contributions, halvings, heaviest) * times
        for user in range(20):
            less = capped(hist.without_user(user), coins, 30)
            move = whole - spread(less, halvings, heaviest) * times
            largest = max(largest, sum(int(m) ** 2 for m in move))
    return largest


def test_one_user_moves_a_round_by_1_at_most_whatever_is_public():
    assert ONE**2 * Fraction(98, 100) < largest_move(2_000) <= ONE**2
    assert largest_move(200, Fraction(101, 100)) > ONE**2


def test_a_pair_of_one_user_that_is_not_public_stays_as_rare():
    """With a δ that can be seen, and public pairs beside: on which the user spends nothing."""
    delta, runs = Fraction(1, 5), 80
    budget = SelectionBudget(mu_squared=Fraction(16), delta=delta)
    hist = with_unheld(histogram([[1]]), 20)

    def shown(**options):
        return sum(
            bool((pooled.select(hist, budget, SystemRandomness(), **options).pairs == 0).any())
            for _ in range(runs)
        )

    assert binom.sf(shown(listed=1 + np.arange(20)) - 1, runs, float(delta)) > 1e-7
    # the guard: as if the user's own pair were public
    assert binom.sf(shown(listed=np.arange(1)) - 1, runs, float(delta)) < 1e-7


def test_noise_is_drawn_for_public_pairs_without_a_holder():
    """Else a user would be given away who is the only one of a public pair."""
    hist = with_unheld(alike(3, 2), 5)
    drawn = []
    real = pooled.floored_gaussian

    def noted(n, *given, **law):
        drawn.append(n)
        return real(n, *given, **law)

    with patch.object(pooled, "floored_gaussian", noted):
        pooled.select(hist, BUDGET, SystemRandomness(), listed=np.array([0, 2, 3, 4, 5, 6]))

    assert drawn[0] == 7
