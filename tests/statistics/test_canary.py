"""An attacker who plants users: what they see stays within the claimed (ε, δ), and a mistake shows.

Blocks of users who share nothing with each other are independent trials of one attack, so one run
of a selector is as good as thousands of runs.
"""

import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import beta

from slogan.dp import selection
from slogan.dp.accounting import Account
from slogan.dp.selection import SelectionBudget, _schedule, pooled, weighted_gaussian
from slogan.dp.selection._contributions import capped
from slogan.dp.selection._spreading import CLOSED
from slogan.histogram import PairHistogram
from slogan.randomness import SystemRandomness

ALPHA = 1e-7
NOISY = SelectionBudget(mu_squared=Fraction(1, 16), delta=Fraction(1, 50))
CLEAR = SelectionBudget(mu_squared=Fraction(1), delta=Fraction(1, 50), epsilon=Fraction(1))
every_selector = pytest.mark.parametrize("name", selection.names())


def at_least(hits, trials):
    """The lower end of the Clopper–Pearson interval."""
    return float(beta.ppf(ALPHA, hits, trials - hits + 1)) if hits else 0.0


def at_most(hits, trials):
    return float(beta.isf(ALPHA, hits + 1, trials - hits)) if hits < trials else 1.0


def log(user, pair):
    pairs, users = int(pair.max()) + 1, int(user.max()) + 1
    one = np.ones(len(user), dtype=np.int64)
    return PairHistogram.of_rows(
        user=user, pair=pair, count=one, users=users, query=np.arange(pairs)
    )


# --- pairs of one user alone ---


def lonely(users, pairs_each):
    return log(np.repeat(np.arange(users), pairs_each), np.arange(users * pairs_each))


def exposed(select, budget, users, pairs_each):
    """A lower bound on the probability that a user has a pair of its own released."""
    found = select(lonely(users, pairs_each), budget, SystemRandomness()).pairs
    return at_least(len(np.unique(found // pairs_each)), users)


@every_selector
@pytest.mark.parametrize("budget", [NOISY, CLEAR], ids=["noisy", "clear"])
@pytest.mark.parametrize(
    ("users", "pairs_each"), [(4_000, 1), (3_000, 4), (1_000, 100), (200, 300)]
)
def test_a_users_own_pairs_are_exposed_with_probability_delta_at_most(
    name, budget, users, pairs_each
):
    assert exposed(selection.load(name), budget, users, pairs_each) <= budget.delta


def test_a_lower_threshold_is_noticed():
    def lower(so_far, square, delta, heaviest):
        return real(so_far, square, delta, heaviest) * 9 // 10

    real = _schedule._threshold
    _schedule.schedule.cache_clear()
    with patch.object(_schedule, "_threshold", lower):
        broken = exposed(pooled.select, NOISY, 2_000, 100)
    _schedule.schedule.cache_clear()

    assert broken > NOISY.delta


def test_a_missing_cap_is_noticed():
    with patch.object(weighted_gaussian, "capped", lambda hist, rng: capped(hist, rng, 2_000)):
        broken = exposed(weighted_gaussian.select, NOISY, 200, 1_000)

    assert broken > NOISY.delta


def test_noise_shared_between_rounds_is_noticed():
    seen, first = [], []
    real_spread, real_noise = pooled.spread, pooled.floored_gaussian

    def spread_and_note(chosen, halvings, heaviest):
        seen.append(halvings < CLOSED)
        return real_spread(chosen, halvings, heaviest)

    def shared(n, rng, *, variance, grid):
        if not first:
            first.append((real_noise(n, rng, variance=variance, grid=grid), variance))
        noise, whole = first[0]
        return (noise * math.sqrt(variance / whole)).astype(np.int64)[seen[-1]]

    with (
        patch.object(pooled, "spread", spread_and_note),
        patch.object(pooled, "floored_gaussian", shared),
    ):
        assert exposed(pooled.select, NOISY, 2_000, 1) > NOISY.delta


def test_noise_drawn_again_is_noticed():
    real = pooled.floored_gaussian

    def better_of_two(n, rng, **law):
        return np.maximum(real(n, rng, **law), real(n, rng, **law))

    with patch.object(pooled, "floored_gaussian", better_of_two):
        assert exposed(pooled.select, NOISY, 2_000, 10) > NOISY.delta


# --- one user more or less among the holders of a pair ---


def blocks(n, holders):
    """In each block, so many users hold its pair and nothing else."""
    return log(np.arange(n * holders), np.repeat(np.arange(n), holders))


def leaks(select, budget, n, holders):
    """Whether the rates with and without one of the holders contradict the account."""
    more = select(blocks(n, holders + 1), budget, SystemRandomness())
    less = select(blocks(n, holders), budget, SystemRandomness())
    account, hits, fewer = Account(more.stages), len(more.pairs), len(less.pairs)
    for epsilon in ("0.1", "0.5", "1", "2"):
        delta, ratio = float(account.delta(epsilon)), math.exp(float(epsilon))
        shown = at_least(hits, n) > ratio * at_most(fewer, n) + delta
        hidden = at_least(n - fewer, n) > ratio * at_most(n - hits, n) + delta
        if shown or hidden:
            return True
    return False


@every_selector
def test_one_more_holder_shows_no_more_than_the_account_says(name):
    for holders in (1, 3, 5, 9):
        assert not leaks(selection.load(name), CLEAR, 2_000, holders)


@pytest.mark.long
@every_selector
def test_one_more_holder_shows_no_more_in_many_trials(name):
    for holders in range(1, 12):
        assert not leaks(selection.load(name), CLEAR, 60_000, holders)


@pytest.mark.long
@every_selector
@pytest.mark.parametrize(("users", "pairs_each"), [(400_000, 1), (20_000, 100), (2_000, 1_000)])
def test_a_users_own_pairs_are_exposed_that_seldom_in_many_trials(name, users, pairs_each):
    for budget in (NOISY, CLEAR):
        assert exposed(selection.load(name), budget, users, pairs_each) <= budget.delta


@pytest.mark.parametrize("name", ["pooled", "weighted_gaussian"])
def test_weights_above_the_claimed_norm_are_noticed(name):
    module = {"pooled": pooled, "weighted_gaussian": weighted_gaussian}[name]
    real = module.spread

    with patch.object(module, "spread", lambda *given: 2 * real(*given)):
        assert any(leaks(module.select, CLEAR, 2_000, holders) for holders in (1, 2, 3))


@pytest.mark.parametrize("name", ["pooled", "weighted_gaussian"])
def test_noise_below_the_claimed_scale_is_noticed(name):
    module = {"pooled": pooled, "weighted_gaussian": weighted_gaussian}[name]
    real = module.floored_gaussian

    def weaker(n, rng, *, variance, grid):
        return real(n, rng, variance=variance / 4, grid=grid)

    with patch.object(module, "floored_gaussian", weaker):
        assert any(leaks(module.select, CLEAR, 2_000, holders) for holders in (3, 4, 5))
