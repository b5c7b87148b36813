"""Every rule of selection with noise that is known: what is looked at, kept, and paid for."""

from dataclasses import replace
from fractions import Fraction
from math import ceil

import numpy as np
import pytest
from bench.selectors import (
    BudgetWithEpsilon,
    adaptive_degree,
    gaussian_histogram,
    laplace_histogram,
    policy_gaussian,
    sips,
)
from tests.strategies import histogram

from bench import selectors
from slogan.dp.accounting import Approximate, Gaussian, variance
from slogan.dp.selection import (
    SelectionBudget,
    _weights,
    pooled,
    weighted_gaussian,
)
from slogan.dp.selection._look import FEW, SHARE
from slogan.dp.selection._weights import (
    CLOSED,
    GRID,
    MOST,
    capped,
    quantile,
    root_up,
    spread,
    threshold,
)
from slogan.dp.selection.pooled import schedule
from slogan.randomness import SeededRandomness

ONE = 2**20
NOTHING = Fraction(0)
BUDGET = SelectionBudget(mu_squared=Fraction(900), delta=Fraction(1, 30))
LOG = histogram(
    [
        # no user holds the pairs 2 and 6
        [1, 3, 0, 0, 0, 0, 0],
        [0, 9, 0, 0, 0, 0, 0],
        [0, 1, 0, 1, 0, 1, 0],
        [0, 1, 0, 1, 1, 1, 0],
        [0, 2, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 0, 1, 0],
        [0, 1, 0, 0, 0, 0, 0],
    ]
)
REST = SelectionBudget(mu_squared=BUDGET.mu_squared * (1 - SHARE), delta=BUDGET.delta)
HELD = [0, 1, 3, 4, 5]
SPOKEN = capped(LOG, SeededRandomness(0))


class Known:
    """Noise that is known beforehand, and what was asked for."""

    def __init__(self, monkeypatch, module, *noise, name="floored_gaussian"):
        self.noise, self.asked = [*noise], []
        monkeypatch.setattr(module, name, self.draw)

    def draw(self, n, rng, **scale):
        self.asked.append((n, *scale.values()))
        noise = self.noise.pop(0)
        assert len(noise) == n
        return np.array(noise, dtype=np.int64)


def at(level, weight, *, above):
    """Noise that puts these pairs one step above a level, and the other ones upon it."""
    return [level + (i in above) - int(weight[i]) for i in HELD]


def one_gaussian(square, norm_squared=1):
    return (
        Gaussian(name="selection", norm_squared=norm_squared, variance=square, slack=BUDGET.delta),
    )


SOME = [[], [1], [0, 3, 5], HELD]
some_are_above = pytest.mark.parametrize("above", SOME, ids=str)


@some_are_above
def test_weighted_gaussian_keeps_what_is_above_the_threshold(monkeypatch, above):
    square = variance(BUDGET.mu_squared, norm_squared=1)
    level = threshold(MOST, variance=square, delta=BUDGET.delta, extra=NOTHING)
    weight = spread(SPOKEN, np.zeros(LOG.pairs, dtype=np.int8))
    noise = Known(monkeypatch, weighted_gaussian, at(level, weight, above=above))
    found = weighted_gaussian.select(LOG, BUDGET, SeededRandomness(0))

    assert noise.asked == [(len(HELD), square, GRID)]
    assert found.pairs.tolist() == above
    assert found.stages == one_gaussian(square)


def test_gaussian_histogram_uses_pairs_of_two_users_and_adds_their_root(monkeypatch):
    most = gaussian_histogram.MOST
    square = variance(BUDGET.mu_squared, norm_squared=most)
    second = ceil((2 + root_up(square) * quantile(BUDGET.delta, most)) * ONE)
    # pair 0 has one user, 1 has six, 3 and 4 have two, 5 has three
    users = [6, 2, 2, 3]
    noise = [second + n - number * ONE for n, number in zip((1, 0, 1, 0), users, strict=True)]
    known = Known(monkeypatch, gaussian_histogram, noise)
    found = gaussian_histogram.select(LOG, BUDGET, SeededRandomness(0))

    assert known.asked == [(4, square, GRID)]
    assert found.pairs.tolist() == [1, 4]
    assert found.stages == one_gaussian(square, most)


def test_gaussian_histogram_bounds_contributions_and_pays_for_them(monkeypatch):
    most = gaussian_histogram.MOST
    hist = histogram([[1] * (most + 5)] * 2)
    spoken = capped(hist, SeededRandomness(3), most).speakers
    known = Known(monkeypatch, gaussian_histogram, [0] * int((spoken == 2).sum()))
    stage = gaussian_histogram.select(hist, BUDGET, SeededRandomness(3)).stages[0]

    assert spoken.sum() == 2 * most
    assert stage.norm_squared == most
    assert len(known.asked) == 1


@pytest.mark.parametrize("epsilon", [None, Fraction(2, 7)])
def test_laplace_histogram_counts_every_user_once(monkeypatch, epsilon):
    budget = replace(BUDGET, mu_squared=Fraction(2))
    if epsilon:
        budget = BudgetWithEpsilon(mu_squared=Fraction(2), delta=BUDGET.delta, epsilon=epsilon)
    paid = epsilon or laplace_histogram.root_down(Fraction(2))
    spoken = capped(LOG, SeededRandomness(4), 1).speakers
    held = np.flatnonzero(spoken).tolist()
    level = laplace_histogram.level(1 / paid, BUDGET.delta)
    above = held[::2]
    noise = [level + (i in above) - int(spoken[i]) for i in held]
    known = Known(monkeypatch, laplace_histogram, noise, name="discrete_laplace")
    found = laplace_histogram.select(LOG, budget, SeededRandomness(4))

    assert spoken.sum() == LOG.users
    assert known.asked == [(len(held), 1 / paid)]
    assert found.pairs.tolist() == above
    assert found.stages == (Approximate(name="selection", epsilon=paid, delta=BUDGET.delta),)


def test_sips_closes_what_it_selects_and_spreads_the_rest(monkeypatch):
    halvings = np.zeros(LOG.pairs, dtype=np.int8)
    noise, asked, stages = [], [], []
    chosen = [[1], [0, 4], []]
    for number, (share, above) in enumerate(zip(sips.SHARES, chosen, strict=True), start=1):
        square, slack = variance(BUDGET.mu_squared * share, norm_squared=1), BUDGET.delta * share
        level = threshold(MOST, variance=square, delta=slack, extra=NOTHING)
        noise.append(at(level, spread(SPOKEN, halvings), above=above))
        asked.append((len(HELD), square, GRID))
        stages.append(
            Gaussian(name=f"selection {number}", norm_squared=1, variance=square, slack=slack)
        )
        halvings[above] = CLOSED
    known = Known(monkeypatch, sips, *noise)
    found = sips.select(LOG, BUDGET, SeededRandomness(0))

    assert known.asked == asked
    assert found.pairs.tolist() == [0, 1, 4]
    assert found.stages == tuple(stages)


class Words:
    """Randomness whose words for all users are known."""

    seed = None

    def words(self, n):
        return np.array([5, 3, 9, 1, 3, 8, 2][:n], dtype=np.uint64)


ORDER = [3, 6, 1, 4, 0, 5, 2]
STRAYED = (1 + Fraction(1, 2**10)) ** 2


@some_are_above
def test_policy_gaussian_fills_up_in_the_order_of_coins(monkeypatch, above):
    square = variance(BUDGET.mu_squared, norm_squared=STRAYED)
    level = threshold(MOST, variance=square, delta=BUDGET.delta, extra=NOTHING) * ONE
    cutoff = level + int(policy_gaussian._BEYOND * root_up(square) * 2**40)
    weight = policy_gaussian.filled(SPOKEN, np.array(ORDER), cutoff)
    assert (weight != policy_gaussian.filled(SPOKEN, np.arange(LOG.users), cutoff)).any()
    assert weight.max() == cutoff
    known = Known(monkeypatch, policy_gaussian, at(level, weight, above=above))
    found = policy_gaussian.select(LOG, BUDGET, Words())

    assert known.asked == [(len(HELD), square, Fraction(1, 2**40))]
    assert found.pairs.tolist() == above
    assert found.stages == one_gaussian(square, STRAYED)


@some_are_above
def test_adaptive_degree_gives_back_what_is_above_threshold_and_noise(monkeypatch, above):
    square = variance(BUDGET.mu_squared, norm_squared=STRAYED)
    level = threshold(MOST, variance=square, delta=BUDGET.delta, extra=Fraction(1, 7)) * GRID
    beyond = adaptive_degree._BEYOND * root_up(square)
    weight = adaptive_degree.adapted(SPOKEN, ceil((level + beyond) * adaptive_degree._WHOLE))
    without = adaptive_degree.adapted(SPOKEN, 10**9)
    assert (weight != without).any()
    units = adaptive_degree._UNITS
    known = Known(monkeypatch, adaptive_degree, at(int(level * units), weight, above=above))
    found = adaptive_degree.select(LOG, BUDGET, SeededRandomness(0))

    assert known.asked == [(len(HELD), square, Fraction(1, units))]
    assert found.pairs.tolist() == above
    assert found.stages == one_gaussian(square, STRAYED)


def play(hist, noise_of, rng):
    """All rounds of pooled, pair by pair; what was asked for, and in which round each was kept."""
    public, chosen = schedule(REST, FEW), capped(hist, rng, FEW.most)
    halvings = {i: 0 if chosen.held[i] else CLOSED for i in range(hist.pairs)}
    pooled_sums, kept, asked, drawn = dict.fromkeys(halvings, 0), {}, [], []
    for number, this in enumerate(public.rounds):
        weight = spread(chosen, np.array([*halvings.values()], dtype=np.int8), public.heaviest)
        tried = [i for i, times in halvings.items() if times < CLOSED]
        asked.append((len(tried), this.variance, GRID))
        drawn.append([noise_of(number, i, this, int(weight[i]), pooled_sums[i]) for i in tried])
        for i, noise in zip(tried, drawn[-1], strict=True):
            pooled_sums[i] += this.length * (int(weight[i]) + noise)
            if pooled_sums[i] > this.threshold:
                kept[i] = number
            halvings[i] = int(pooled.attention(np.array([pooled_sums[i]]), this)[0])
    return kept, asked, drawn


def follows(monkeypatch, noise_of):
    """That pooled does the same with the same noise; in which round each pair was kept."""
    kept, asked, drawn = play(LOG, noise_of, SeededRandomness(0))
    known = Known(monkeypatch, pooled, *drawn)
    looked = Gaussian(name="look", norm_squared=1, variance=2)
    monkeypatch.setattr(pooled, "look", lambda *_, **__: (FEW, looked))
    found = pooled.select(LOG, BUDGET, SeededRandomness(0))
    public = schedule(REST, FEW)

    assert known.asked == asked
    assert found.pairs.tolist() == sorted(kept)
    units = sum(this.length for this in public.rounds)
    assert found.stages == (looked, *one_gaussian(public.variance, units))
    assert found.most == FEW.most
    return kept


def test_pooled_adds_up_the_rounds_and_closes_what_it_selects(monkeypatch):
    """Pair 1 is kept in the first round, upon whose threshold 3 is; then 3, 5 and 4 in others."""
    later = {3: 1, 5: 4, 4: 11}

    def noise_of(number, i, this, weight, so_far):
        if number == 0 and i in (1, 3):
            return this.threshold // this.length - weight + (i == 1)
        if later.get(i) == number:
            return (this.threshold - so_far) // this.length + 1 - weight
        # neither selected nor given up
        return -((so_far - int(this.lacking[-1])) // this.length) - weight

    assert follows(monkeypatch, noise_of) == {1: 0, **later}


@pytest.mark.parametrize("seed", range(5))
def test_pooled_follows_its_rounds_whatever_the_noise(monkeypatch, seed):
    rng = np.random.default_rng(seed)

    def noise_of(number, i, this, weight, so_far):
        return int(rng.normal(0, 2 * float(this.variance) ** 0.5) * ONE)

    follows(monkeypatch, noise_of)


def test_warming_up_runs_the_loop_over_users_on_arrays_as_selection_has_them(monkeypatch):
    """Otherwise it would be compiled again for others."""
    kinds = set()

    def noted(*arrays):
        kinds.add(tuple((a.dtype.str, a.ndim, a.flags.c_contiguous) for a in arrays))

    monkeypatch.setattr(_weights, "_spread", noted)
    pooled.warm_up()
    warmed = {*kinds}
    pooled.select(LOG, BUDGET, SeededRandomness(0))

    assert kinds == warmed
    assert len(warmed) == 1


@pytest.mark.parametrize("name", selectors.names())
def test_the_stated_number_of_users_is_the_fewest_that_selects_a_pair(name):
    """At a large δ some of what may be selected is."""
    fewest, n = selectors.fewest(name), 200
    # the first pairs are held by one user less than that, the others by as many
    held = np.concatenate(
        [np.repeat(np.arange(n), fewest - 1), np.repeat(n + np.arange(n), fewest)]
    )
    rows = np.zeros((len(held), 2 * n), dtype=int)
    rows[np.arange(len(held)), held] = 1
    budget = SelectionBudget(mu_squared=Fraction(1), delta=Fraction(1, 2))

    found = selectors.load(name)(histogram(rows.tolist()), budget, SeededRandomness(4)).pairs
    assert (found >= n).all()
    assert len(found) > 0
