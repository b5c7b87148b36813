"""One pair of each user: the guarantee by enumeration, published numbers included."""

from fractions import Fraction
from itertools import pairwise
from unittest.mock import patch

import mpmath
import numpy as np
import pytest
from scipy.stats import chi2
from tests.strategies import histogram

from slogan.budget import PrivacyBudget
from slogan.dp import one_pair
from slogan.dp.one_pair import (
    TruncatedGeometric,
    divide,
    measure_one,
    shown_alone,
    truncated_geometric,
)
from slogan.dp.selection import _weights
from slogan.randomness import SeededRandomness, SystemRandomness

BUDGETS = [("4", "1e-8"), ("1", "1e-6"), ("0.5", "1e-6"), ("0.3", "1e-5"), ("3", "0.3")]
HIDDEN = None


def law(epsilon, reach, often, users):
    """What is published of a pair of this many users, and the exact chance of each number."""
    chances = {HIDDEN: mpmath.mpf(0)}
    for most, share in ((reach, often), (reach - 1, 1 - often)):
        mass = {x: mpmath.exp(-epsilon * abs(x)) for x in range(-most, most + 1)}
        whole = mpmath.fsum(mass.values())
        for x, one in mass.items():
            told = users + x if users + x > most else HIDDEN
            chances[told] = chances.get(told, 0) + share * one / whole
    return chances


def delta_between(one, other, epsilon):
    """The least δ with P ≤ e^ε P' + δ for every set of outputs."""
    power = mpmath.exp(epsilon)
    more = (p - power * other.get(told, 0) for told, p in one.items())
    return mpmath.fsum(gap for gap in more if gap > 0)


def worst_delta(draw, *, at_epsilon, lower=0):
    """Over all numbers of users; `lower` is by how much too small the threshold is."""
    epsilon, often = mpmath.mpf(at_epsilon.numerator) / at_epsilon.denominator, draw.often
    often = mpmath.mpf(often.numerator) / often.denominator
    laws = []
    for users in range(3 * draw.reach + 3):
        if users == 0:
            laws.append({HIDDEN: mpmath.mpf(1)})
            continue
        laws.append(law(epsilon, draw.reach - lower, often, users))
    return max(
        max(delta_between(a, b, epsilon), delta_between(b, a, epsilon)) for a, b in pairwise(laws)
    )


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_no_published_number_tells_neighbours_apart_by_more_than_the_claim(epsilon, delta):
    """By enumeration, for every number of users; δ is used up, and one step less breaks it."""
    budget = PrivacyBudget(epsilon=epsilon, delta=delta)
    draw = divide(budget).draw

    with mpmath.workdps(60):
        worst = worst_delta(draw, at_epsilon=draw.epsilon)
        claim = mpmath.mpf(draw.cost.delta.numerator) / draw.cost.delta.denominator
        assert worst <= claim <= mpmath.mpf(delta)
        assert worst >= claim * (1 - mpmath.mpf(10) ** -9) >= mpmath.mpf(delta) * (1 - 1e-6)
        if draw.reach > 1:
            assert worst_delta(draw, at_epsilon=draw.epsilon, lower=1) > mpmath.mpf(delta)


def test_a_hundredth_less_noise_breaks_the_claim():
    draw = divide(PrivacyBudget(epsilon="1", delta="1e-6")).draw
    with mpmath.workdps(60):
        epsilon = mpmath.mpf(1) * 99 / 100
        quiet = [
            law(epsilon * mpmath.mpf("1.01"), draw.reach, mpmath.mpf(1), users)
            for users in (40, 41)
        ]
        assert delta_between(quiet[1], quiet[0], epsilon) > mpmath.mpf("1e-4")


@pytest.mark.parametrize("reach", [1, 2, 14, 400])
@pytest.mark.parametrize("epsilon", ["1/1000", "1/2", "1", "7"])
def test_the_chance_of_the_largest_noise_is_rounded_up(epsilon, reach):
    found = shown_alone(Fraction(epsilon), reach)
    with mpmath.workdps(80):
        rate = mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        mass = [mpmath.exp(-rate * abs(x)) for x in range(-reach, reach + 1)]
        exact = mass[0] / mpmath.fsum(mass)
        assert exact <= mpmath.mpf(found.numerator) / found.denominator <= exact * (1 + 1e-15)


@pytest.mark.parametrize(("epsilon", "delta"), BUDGETS)
def test_the_budget_is_spent_and_not_exceeded(epsilon, delta):
    spending = divide(PrivacyBudget(epsilon=epsilon, delta=delta))

    assert Fraction(epsilon) * (1 - Fraction(2, 10**9)) <= spending.cost.epsilon
    assert spending.cost.epsilon < Fraction(epsilon)
    assert spending.cost.delta <= Fraction(delta)
    assert spending.cost.mu_squared == 0


def test_noise_has_its_law():
    """Chi-square of 20,000 draws: an honest sampler fails once in a million runs."""
    reach, epsilon, n = 4, Fraction(1, 2), 20_000
    drawn = truncated_geometric(np.full(n, reach), SystemRandomness(), epsilon=epsilon)
    mass = np.exp(-0.5 * np.abs(np.arange(-reach, reach + 1)))
    expected = n * mass / mass.sum()
    seen = np.bincount(drawn + reach, minlength=2 * reach + 1)

    assert len(seen) == 2 * reach + 1
    assert ((seen - expected) ** 2 / expected).sum() < chi2.isf(1e-6, 2 * reach)


def test_each_pair_has_its_own_reach():
    drawn = truncated_geometric(
        np.array([0, 1, 2, 50] * 500), SeededRandomness(3), epsilon=Fraction(1, 100)
    )

    assert np.abs(drawn.reshape(-1, 4)).max(axis=0).tolist()[:3] == [0, 1, 2]


def measured(hist, noise, seed=0, epsilon="1"):
    """A run in which every pair has this noise, and the number of users none."""
    spending = divide(PrivacyBudget(epsilon=epsilon, delta="1e-6"))
    sure = TruncatedGeometric(name="draw", epsilon=1, reach=14, often=1)
    with (
        patch.object(one_pair, "truncated_geometric", lambda reach, *_, **__: noise(len(reach))),
        patch.object(one_pair, "discrete_laplace", lambda n, *_, **__: np.zeros(n, np.int64)),
    ):
        return measure_one(
            hist, one_pair.OnePairSpending(draw=sure, users=spending.users), SeededRandomness(seed)
        )


def crowd(*holders):
    """A log of users with one pair each: pair i has holders[i]."""
    pair = np.repeat(np.arange(len(holders)), holders)
    rows = np.zeros((len(pair), len(holders)), dtype=int)
    rows[np.arange(len(pair)), pair] = 1
    return histogram(rows.tolist())


@pytest.mark.parametrize(("noise", "kept"), [(0, [15, 16]), (14, [15, 28, 29, 30]), (-1, [15])])
def test_a_pair_is_published_with_its_noisy_number_above_the_reach(noise, kept):
    found = measured(crowd(1, 14, 15, 16), lambda n: np.full(n, noise))

    assert found.clicks.tolist() == [n for n in kept if n > 14]
    assert found.everyone == 46
    assert (found.inside, found.outside) == (found.users, 46 - found.users)
    assert found.bins.tolist()[:2] == [found.outside, found.inside]
    assert not found.bins[2:].any()


def test_one_user_moves_one_number_by_1_whatever_it_holds():
    rng, largest = np.random.default_rng(1), 0
    for seed in range(50):
        hist = histogram((rng.random((40, 6)) < 0.4).astype(int).tolist())

        def speakers(hist, seed=seed):
            words = np.random.default_rng(seed).integers(0, 2**64, 40, dtype=np.uint64)

            class Words:
                seed = None

                def words(self, n):
                    many = np.bincount(hist.user, minlength=40) > 1
                    return words[many][:n]

            return _weights.capped(hist, Words(), 1).speakers

        whole = speakers(hist)
        for user in range(40):
            move = whole - speakers(hist.without_user(user))
            assert (move >= 0).all()
            largest = max(largest, int(move.sum()))
    assert largest == 1


def test_runs_differ_and_never_show_what_one_user_holds():
    hist = crowd(200, *[1] * 300)
    spending = divide(PrivacyBudget(epsilon="1", delta="1e-6"))
    runs = [measure_one(hist, spending, SystemRandomness()) for _ in range(6)]

    assert {tuple(run.pairs) for run in runs} == {(0,)}
    assert len({(int(run.clicks[0]), run.everyone) for run in runs}) > 1
