"""The parts of selection: caps, weights, thresholds, sensitivities, and replay on neighbours."""

import inspect
import math
import os
import subprocess
import sys
from fractions import Fraction
from unittest.mock import patch

import numpy as np
import pytest
from bench.selectors import (
    adaptive_degree,
    gaussian_histogram,
    laplace_histogram,
    policy_gaussian,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, norm
from tests.strategies import histogram

from slogan.dp.selection import (
    SelectionBudget,
    _weights,
    pooled,
)
from slogan.dp.selection._look import FEW, MANY, look
from slogan.dp.selection._weights import (
    CLOSED,
    GRID,
    HALVINGS,
    MOST,
    UNIT,
    capped,
    root_up,
    spread,
    threshold,
    tossed,
)
from slogan.errors import OptionError
from slogan.randomness import SeededRandomness


def random_log(rng, *, users=12, pairs=9, density=0.4):
    return histogram((rng.random((users, pairs)) < density).astype(int).tolist())


def everything(hist):
    return capped(hist, SeededRandomness(0), most=max(1, hist.pairs))


# --- contributions ---


class Coins:
    """Random words that depend on the user only."""

    seed = None

    def __init__(self, hist, coins, most):
        degree = np.bincount(hist.user, minlength=hist.users)
        self._words = coins[degree > most]

    def words(self, n):
        assert n == len(self._words)
        return self._words


def sets(chosen):
    ends = zip(chosen.start[:-1], chosen.start[1:], strict=True)
    return [frozenset(chosen.pair[a:b].tolist()) for a, b in ends]


def popular_first(hist, rng, most):
    """A broken cap: it prefers the pairs that others have too."""
    keep = np.lexsort((-hist.holders[hist.pair], hist.user))
    rank = np.arange(len(keep)) - np.searchsorted(hist.user, hist.user)[keep]
    rows = np.sort(keep[rank < most])
    start = np.searchsorted(hist.user[rows], np.arange(hist.users + 1))
    return _weights.Contributions(start=start, pair=hist.pair[rows], pairs=hist.pairs, most=most)


def others_decide(cap):
    """Whether some user's choice changes when another user goes."""
    rng = np.random.default_rng(11)
    for _ in range(30):
        hist = random_log(rng, density=0.6)
        coins = rng.integers(0, 2**64, hist.users, dtype=np.uint64)
        whole = sets(cap(hist, Coins(hist, coins, 3), 3))
        for user in range(hist.users):
            less = hist.without_user(user)
            alone = sets(cap(less, Coins(less, coins, 3), 3))
            if alone[:user] + alone[user + 1 :] != whole[:user] + whole[user + 1 :]:
                return True
    return False


def test_a_users_contributions_do_not_depend_on_others():
    assert not others_decide(capped)
    assert others_decide(popular_first)


def numbers_decide(toss):
    """Whether some user's choice changes when others bring pairs, so that numbers move up."""
    rng = np.random.default_rng(12)
    for seed in range(30):
        hist = random_log(rng, density=0.6)
        table = np.zeros((hist.users, 3 * hist.pairs), dtype=np.int64)
        table[hist.user, 3 * hist.pair + 1] = 1
        with patch.object(_weights, "tossed", toss):
            one, other = (
                sets(capped(log, SeededRandomness(seed), 3))
                for log in (hist, histogram(table.tolist()))
            )
        if one != [frozenset((pair - 1) // 3 for pair in chosen) for chosen in other]:
            return True
    return False


def test_contributions_do_not_depend_on_the_numbers_of_pairs():
    def by_number(own, nth):
        """Broken: coins of pair numbers, which depend on what others clicked."""
        caller = inspect.currentframe().f_back.f_locals
        return tossed(own, caller["hist"].pair[caller["rows"]])

    assert not numbers_decide(tossed)
    assert numbers_decide(by_number)


def test_the_cap_keeps_every_pair_equally_often():
    """The first pairs, or the last, would make the order of the log matter."""
    users, pairs, most = 6_000, 8, 5
    hist = histogram([[1] * pairs] * users)
    kept = np.bincount(capped(hist, SeededRandomness(4), most).pair, minlength=pairs)
    in_order = users * np.array([1] * most + [0] * (pairs - most))

    def statistic(found):
        mean = users * most / pairs
        return float(
            ((found - mean) ** 2).sum() / (mean * (1 - most / pairs)) * (pairs - 1) / pairs
        )

    assert statistic(kept) < chi2.isf(1e-6, pairs - 1) < statistic(in_order)


# --- weights ---


@given(st.integers(0, 2**52))
def test_roots_are_exact(square):
    assert _weights._root(square) == math.isqrt(square)


@given(st.lists(st.integers(0, CLOSED), min_size=1, max_size=40))
def test_a_users_weights_are_the_rounded_ones_of_the_formula(halvings):
    hist = histogram([[1] * len(halvings)])
    found = spread(everything(hist), np.array(halvings, dtype=np.int8)).tolist()
    attention = [Fraction(1, 2**h) if h < CLOSED else Fraction(0) for h in halvings]
    square = sum(g * g for g in attention)

    exact = [math.isqrt(int(g * g * UNIT**2 / square)) if g else 0 for g in attention]
    assert found == exact
    assert sum(w * w for w in found) <= UNIT**2


@pytest.mark.parametrize("mu_squared", ["0.02", "1", "30"])
def test_thresholds_are_slightly_above_the_real_ones(mu_squared):
    square, delta = 1 / Fraction(mu_squared), Fraction(1, 10**6)
    sigma, t = float(square) ** 0.5, np.arange(1, MOST + 1)
    real = (t**-0.5 + sigma * norm.isf(1e-6 / t)).max()
    found = threshold(MOST, variance=square, delta=delta, extra=Fraction(0)) * float(GRID)

    assert real - 1e-9 <= found <= real + 1e-5


@pytest.mark.parametrize("regime", [FEW, MANY], ids=["few", "many"])
@pytest.mark.parametrize("mu_squared", ["0.02", "1", "30"])
def test_the_schedule_rarely_selects_pairs_of_one_user(mu_squared, regime):
    budget = SelectionBudget(mu_squared=Fraction(mu_squared), delta=Fraction(1, 10**6))
    public, most = pooled.schedule(budget, regime), regime.most
    heaviest, lengths = public.heaviest * float(GRID), [r.length for r in public.rounds]
    failing = []
    for so_far, this in zip(np.cumsum(lengths), public.rounds, strict=True):
        t = np.arange(1, most + 1) * -np.expm1(-float(public.rate) * heaviest[1:])
        room = this.threshold * float(GRID) - so_far * heaviest[1:]
        failing.append((t * norm.sf(room / (float(public.variance) * so_far) ** 0.5)).max())

    assert sum(failing) <= 1e-6 * (1 + 1e-9)
    assert sum(failing) >= 0.9e-6
    assert (np.diff(heaviest) <= 0).all()
    assert (heaviest[1:] >= np.arange(1, most + 1) ** -0.5 - 1e-6).all()


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(40)])
def test_the_laplace_level_is_the_least_that_is_enough(scale):
    delta = Fraction(1, 10**6)
    level, ratio = laplace_histogram.level(scale, delta), math.exp(-1 / scale)

    assert laplace_histogram.MOST * ratio**level / (1 + ratio) <= delta * (1 + 1e-12)
    assert laplace_histogram.MOST * ratio ** (level - 1) / (1 + ratio) > delta
    assert laplace_histogram.root_down(Fraction(2)) ** 2 <= 2


def test_roots_are_rounded_up():
    for square in (Fraction(1), Fraction(2), Fraction(1, 3), Fraction(10**9, 7)):
        assert square <= root_up(square) ** 2 < square * (1 + Fraction(1, 10**9))


def test_warming_up_leaves_nothing_to_compile():
    code = """
import numpy as np
from slogan.dp import selection
from slogan.dp.selection import _weights, pooled
from slogan.randomness import SeededRandomness
from tests.unit.dp.selection.test_selection import LOOSE, random_log
pooled.warm_up()
compiled = set(_weights._spread.signatures)
hist = random_log(np.random.default_rng(0), users=20, pairs=300, density=0.5)
for name in selection.names():
    selection.load(name)(hist, LOOSE, SeededRandomness(0))
assert compiled and set(_weights._spread.signatures) == compiled
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


# --- one user moves the sums by no more than is claimed ---

NEIGHBOURS = 2_000
LOOSE = SelectionBudget(mu_squared=Fraction(9), delta=Fraction(1, 10))


def even(chosen, rng):
    attention = np.random.default_rng(int(rng.words(1)[0])).integers(0, CLOSED + 1, chosen.pairs)
    return spread(chosen, attention.astype(np.int8))


def pooled_round(chosen, rng):
    attention = np.random.default_rng(int(rng.words(1)[0])).integers(0, CLOSED + 1, chosen.pairs)
    return spread(chosen, attention.astype(np.int8), pooled.schedule(LOOSE, MANY).heaviest)


def policy(chosen, rng):
    order = np.argsort(rng.words(len(chosen.start) - 1))
    return policy_gaussian.filled(chosen, order, 2 << policy_gaussian._FINE_BITS)


def adapted(chosen, rng):
    return adaptive_degree.adapted(chosen, 1 + int(rng.words(1)[0] % np.uint64(120)))


RULES = {
    "even": (even, UNIT),
    "pooled": (pooled_round, UNIT),
    "policy": (policy, (1 << policy_gaussian._FINE_BITS) * (1 + policy_gaussian._STRAY)),
    "adaptive": (adapted, adaptive_degree._UNITS * (1 + adaptive_degree._STRAY)),
}


def largest_move(rule, neighbours):
    """The largest squared distance between the sums of a log and of several neighbours."""
    rng, largest, seed = np.random.default_rng(17), 0, 0
    while neighbours > 0:
        users, pairs = rng.integers(2, 16), rng.integers(1, 8)
        hist = random_log(rng, users=users, pairs=pairs, density=rng.uniform(0.1, 0.9))
        whole = rule(everything(hist), SeededRandomness(seed))
        for user in range(hist.users):
            less = rule(everything(hist.without_user(user)), SeededRandomness(seed))
            move = (whole - less).tolist()
            largest = max(largest, sum(step * step for step in move))
        neighbours, seed = neighbours - hist.users, seed + 1
    return largest


@pytest.mark.parametrize("name", RULES)
def test_no_neighbour_moves_the_sums_further_than_claimed(name):
    rule, claim = RULES[name]

    assert largest_move(rule, NEIGHBOURS) <= claim**2
    # a weight that is a hundredth too large is noticed
    heavier = largest_move(lambda chosen, rng: rule(chosen, rng) * 101 // 100, NEIGHBOURS // 10)
    assert heavier > claim**2


def widest_count(most, weight, neighbours):
    """The largest squared move of counts to which each user adds a weight for `most` pairs."""
    rng, largest = np.random.default_rng(29), 0

    def counted(hist, coins):
        chosen = capped(hist, Coins(hist, coins, most), most)
        return weight * np.bincount(chosen.pair, minlength=hist.pairs)

    while neighbours > 0:
        hist = random_log(rng, users=10, pairs=30, density=rng.uniform(0.1, 1))
        coins = rng.integers(0, 2**64, hist.users, dtype=np.uint64)
        whole = counted(hist, coins)
        for user in range(hist.users):
            move = whole - counted(hist.without_user(user), coins)
            largest = max(largest, int((move**2).sum()))
        neighbours -= hist.users
    return largest


@pytest.mark.parametrize("most", [laplace_histogram.MOST, gaussian_histogram.MOST])
def test_no_neighbour_moves_a_histogram_further_than_the_cap_allows(most):
    assert widest_count(most, 100, NEIGHBOURS) <= 100**2 * most
    assert widest_count(most, 101, NEIGHBOURS // 10) > 100**2 * most


def test_policy_refuses_more_users_than_its_grid_is_made_for():
    hist = histogram([[1]])
    with patch.object(policy_gaussian, "_MOST_USERS", 0), pytest.raises(OptionError):
        policy_gaussian.select(hist, LOOSE, SeededRandomness(0))


# --- replay: with the same noisy sums, a neighbour's run goes the same way ---


class Tape:
    """The noisy sums of a run, and a run of a neighbour whose noise is chosen to repeat them."""

    def __init__(self):
        self.rounds = []  # (weights, halvings, noisy weights of open pairs)
        self.repeated = self.looked = None

    def run(self, hist, seed):
        real_spread, real_noise = pooled.spread, pooled.floored_gaussian
        runs = []

        def spread_and_note(chosen, halvings, heaviest):
            runs.append([real_spread(chosen, halvings, heaviest), halvings.copy(), None])
            return runs[-1][0].copy()

        def noise(n, rng, *, variance, grid):
            weight, halvings, _ = runs[-1]
            at = halvings < CLOSED
            if self.repeated is None:
                noisy = np.full(len(weight), np.iinfo(np.int64).min)
                noisy[at] = weight[at] + real_noise(n, rng, variance=variance, grid=grid)
            else:
                noisy = self.repeated[len(runs) - 1][2]
            runs[-1][2] = noisy
            return (noisy - weight)[at]

        if self.looked is None:
            self.looked = look(hist, mu_squared=LOOSE.mu_squared, rng=SeededRandomness(seed))
        with (
            patch.object(pooled, "look", lambda *_, **__: self.looked),
            patch.object(pooled, "spread", spread_and_note),
            patch.object(pooled, "floored_gaussian", noise),
        ):
            found = pooled.select(hist, LOOSE, SeededRandomness(seed)).pairs
        return set(found.tolist()), runs


def faults(hist, user, seed):
    """What the neighbour's run shows beside what is accounted for."""
    tape, less = Tape(), hist.without_user(user)
    selected, runs = tape.run(hist, seed)
    tape.repeated = runs
    others, replayed = tape.run(less, seed)
    shared = np.isin(np.arange(hist.pairs), less.pair)
    found = []
    for (weight, halvings, _), (weight_less, halvings_less, _) in zip(runs, replayed, strict=True):
        if (halvings[shared] != halvings_less[shared]).any():
            found.append("attention")
        move = (weight - weight_less).tolist()
        if sum(step * step for step in move) > UNIT**2:
            found.append("weights")
    if {i for i in selected if shared[i]} != others:
        found.append("selected")
    return found


def all_faults(logs=4):
    rng, found = np.random.default_rng(23), set()
    for seed in range(logs):
        hist = random_log(rng, users=10, pairs=8, density=0.35)
        for user in range(hist.users):
            found |= set(faults(hist, user, seed))
    return found


def test_replay_on_neighbours_shows_only_accounted_differences():
    assert all_faults(logs=25) == set()


def top_half(noisy, this):
    """Broken: attention for the upper half of the observed pairs."""
    return np.where(np.argsort(np.argsort(-noisy)) < len(noisy) / 2, 0, HALVINGS).astype(np.int8)


def dense_rank(noisy, this):
    """Broken: one halving less for each pair below."""
    return np.clip(HALVINGS - np.argsort(np.argsort(noisy)), 0, HALVINGS).astype(np.int8)


def above_mean(noisy, this):
    """Broken: a mean over the observed pairs."""
    return np.where(noisy * len(noisy) >= noisy.sum(), 0, HALVINGS).astype(np.int8)


def as_many_as_observed(noisy, this):
    """Broken: the number of observed pairs."""
    return np.full(len(noisy), len(noisy) % HALVINGS, dtype=np.int8)


@pytest.mark.parametrize("broken", [top_half, dense_rank, above_mean, as_many_as_observed])
def test_replay_catches_rules_over_the_observed_pairs(broken):
    with patch.object(pooled, "attention", broken):
        assert all_faults() & {"attention", "weights"}


def test_replay_detects_use_of_raw_counts():
    """Broken: pairs of fewer than two users are dropped before any noise."""

    def shared_only(hist, rng, most):
        rows = hist.holders[hist.pair] >= 2
        start = np.searchsorted(hist.user[rows], np.arange(hist.users + 1))
        return _weights.Contributions(
            start=start, pair=hist.pair[rows], pairs=hist.pairs, most=most
        )

    with patch.object(pooled, "capped", shared_only):
        assert all_faults()
