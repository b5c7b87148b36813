"""An attacker who plants users: what they see stays within the claimed (ε, δ), and a mistake shows.

Blocks of users who share nothing with each other are independent trials of one attack, so one run
of a selector is as good as thousands of runs.
"""

import math
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from bench.selectors import BudgetWithEpsilon
from scipy.stats import beta

from bench import selectors
from slogan.dp import sums
from slogan.dp.accounting import Account
from slogan.dp.selection import SelectionBudget, pooled, weighted_gaussian
from slogan.dp.selection._look import FEW
from slogan.dp.selection._weights import CLOSED, capped
from slogan.histogram import PairHistogram
from slogan.randomness import SystemRandomness

ALPHA = 1e-7
NOISY = SelectionBudget(mu_squared=Fraction(1, 16), delta=Fraction(1, 50))
CLEAR = BudgetWithEpsilon(mu_squared=Fraction(1), delta=Fraction(1, 50), epsilon=Fraction(1))
every_selector = pytest.mark.parametrize("name", selectors.names())


@pytest.fixture(autouse=True)
def _on_the_ladder(ladder):
    """Each test is an attack, on an honest mechanism or on a broken one."""
    ladder.count("attacks run")


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


def lonely(users, pairs_each, holders):
    """Each user holds pairs that no other user has, apart from the attacker's users."""
    pair = np.arange(users * pairs_each)
    user = pair // pairs_each
    planted = [user + users * number for number in range(holders)]
    return log(np.concatenate(planted), np.tile(pair, holders))


def exposed(name, budget, users, pairs_each):
    """A lower bound on the probability that a pair is released which needs its user for that.

    Where pairs of fewer holders are not looked at, the attacker plants the others.
    """
    hist = lonely(users, pairs_each, selectors.fewest(name))
    found = selectors.load(name)(hist, budget, SystemRandomness()).pairs
    return at_least(len(np.unique(found // pairs_each)), users)


@every_selector
@pytest.mark.parametrize("budget", [NOISY, CLEAR], ids=["noisy", "clear"])
@pytest.mark.parametrize(
    ("users", "pairs_each"), [(4_000, 1), (3_000, 4), (2_000, 20), (1_000, 100), (200, 300)]
)
def test_a_users_own_pairs_are_exposed_with_probability_delta_at_most(
    name, budget, users, pairs_each
):
    assert exposed(name, budget, users, pairs_each) <= budget.delta


@pytest.mark.long
@every_selector
@pytest.mark.parametrize(
    ("users", "pairs_each"), [(400_000, 1), (50_000, 20), (20_000, 100), (2_000, 1_000)]
)
def test_a_users_own_pairs_are_exposed_that_seldom_in_many_trials(name, users, pairs_each):
    for budget in (NOISY, CLEAR):
        assert exposed(name, budget, users, pairs_each) <= budget.delta


# Users as heavy as the cap allows, and users with many more pairs than that.
AT_THE_CAP = {"laplace_histogram": (20_000, 1), "gaussian_histogram": (2_000, 20)}
BEYOND_THE_CAP = {
    "laplace_histogram": (200, 100),
    "gaussian_histogram": (200, 400),
    "pooled": (200, 12_000),
}
LEVELS = {"laplace_histogram": "level", "gaussian_histogram": "quantile"}
"""What a selector computes its threshold by, if not by `threshold`."""


@pytest.fixture
def fresh_schedules():
    pooled.schedule.cache_clear()
    yield
    pooled.schedule.cache_clear()


@every_selector
@pytest.mark.usefixtures("fresh_schedules")
def test_a_lower_threshold_is_noticed(name):
    module, what = selectors.module(name), LEVELS.get(name, "threshold")
    if name == "pooled":
        module, what = pooled, "_threshold"
    real = getattr(module, what)

    def lower(*given, **law):
        return real(*given, **law) * 4 // 5

    with patch.object(module, what, lower):
        broken = exposed(name, NOISY, *AT_THE_CAP.get(name, (1_000, 100)))

    assert broken > NOISY.delta


@every_selector
def test_a_missing_cap_is_noticed(name):
    def uncapped(hist, rng, most=None):
        return capped(hist, rng, hist.pairs)

    users, pairs_each = BEYOND_THE_CAP.get(name, (100, 3_000))

    # what pooled allows one pair of a user at the cap, it then allows beyond it
    def longer(what):
        real = getattr(pooled, what)
        return patch.object(
            pooled,
            what,
            lambda *given: real(*given[:-1], np.pad(given[-1], (0, pairs_each), mode="edge")),
        )

    with (
        patch.object(selectors.module(name), "capped", uncapped),
        longer("spread"),
        longer("caps"),
    ):
        broken = exposed(name, NOISY, users, pairs_each)

    assert broken > NOISY.delta


def test_backing_that_never_fails_is_noticed():
    with patch.object(pooled, "backing", lambda n, *_, **__: np.zeros(n, dtype=np.int64)):
        assert exposed("pooled", NOISY, 3_000, FEW.most) > NOISY.delta


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
        assert exposed("pooled", NOISY, 2_000, 1) > NOISY.delta


def test_noise_drawn_again_is_noticed():
    real = pooled.floored_gaussian

    def better_of_two(n, rng, **law):
        return np.maximum(real(n, rng, **law), real(n, rng, **law))

    with patch.object(pooled, "floored_gaussian", better_of_two):
        assert exposed("pooled", NOISY, 2_000, 10) > NOISY.delta


# --- one user more or less among the holders of a pair ---


def contradicted(account, trials, hits, fewer):
    """Whether this many hits with a user, and `fewer` without, would break the account."""
    for epsilon in ("0.1", "0.5", "1", "2"):
        delta, ratio = float(account.delta(epsilon)), math.exp(float(epsilon))
        shown = at_least(hits, trials) > ratio * at_most(fewer, trials) + delta
        hidden = at_least(trials - fewer, trials) > ratio * at_most(trials - hits, trials) + delta
        if shown or hidden:
            return True
    return False


def blocks(n, holders):
    """In each block, `holders` users hold its pair and nothing else."""
    return log(np.arange(n * holders), np.repeat(np.arange(n), holders))


def leaks(select, budget, n, holders):
    """Whether the rates with and without one of the holders contradict the account."""
    more = select(blocks(n, holders + 1), budget, SystemRandomness())
    less = select(blocks(n, holders), budget, SystemRandomness())
    return contradicted(Account(more.stages), n, len(more.pairs), len(less.pairs))


@every_selector
def test_one_more_holder_shows_no_more_than_the_account_says(name):
    for holders in (1, 3, 5, 9):
        assert not leaks(selectors.load(name), CLEAR, 2_000, holders)


@pytest.mark.long
@every_selector
@pytest.mark.parametrize("holders", range(1, 12))
def test_one_more_holder_shows_no_more_in_many_trials(name, holders):
    assert not leaks(selectors.load(name), CLEAR, 60_000, holders)


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


# --- the sums of released pairs ---

PAIRS_EACH = 4
COST = Fraction(1)


def statistic(n, clicks):
    """In each block one user clicks that often on each pair: the sums of their noisy sums."""
    pairs = np.arange(n * PAIRS_EACH)
    held = pairs if clicks else pairs[:0]
    hist = PairHistogram(
        user=held // PAIRS_EACH,
        pair=held,
        count=np.full(len(held), clicks),
        users=n,
        pairs=len(pairs),
        query=pairs,
    )
    found = sums.noisy_counts(hist, pairs, mu_squared=COST, rng=SystemRandomness())
    return found.values.reshape(n, PAIRS_EACH).sum(axis=1), Account((found.stage,))


def counts_leak(n, clicks):
    """Whether some level of that sum tells logs with and without the user too well apart."""
    with_user, account = statistic(n, clicks)
    without, _ = statistic(n, 0)
    # the sum of a block without its user, in its own deviations
    unit = (PAIRS_EACH * float(account.stages[0].variance)) ** 0.5
    return any(
        contradicted(account, n, int((with_user > cut).sum()), int((without > cut).sum()))
        for cut in np.linspace(-1, 3, 9) * unit
    )


@pytest.mark.parametrize("clicks", [1, 3, 1_000])
def test_counts_show_of_a_user_no_more_than_the_account_says(clicks):
    assert not counts_leak(4_000, clicks)


@pytest.mark.long
@pytest.mark.parametrize("clicks", [1, 2, 3, 4, 1_000, 2**40])
def test_counts_show_of_a_user_no_more_in_many_trials(clicks):
    assert not counts_leak(250_000, clicks)


def test_clicks_that_are_not_clipped_are_noticed():
    real = sums.clipped_counts
    unclipped = patch.object(
        sums, "clipped_counts", lambda hist, pairs, *, norm: real(hist, pairs, norm=2 * norm)
    )
    with unclipped:
        assert counts_leak(4_000, 1_000)


def test_counts_with_weaker_noise_are_noticed():
    real = sums.floored_gaussian

    def weaker(n, rng, *, variance, grid):
        return real(n, rng, variance=variance / 4, grid=grid)

    with patch.object(sums, "floored_gaussian", weaker):
        assert counts_leak(4_000, 1_000)
