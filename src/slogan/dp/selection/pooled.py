"""pooled: rounds of the weighted Gaussian whose noisy sums are added up, with adaptive weights.

In each round a user spreads one unit of L2 norm over its pairs, most of it on pairs whose sums so
far are on course for the last threshold. The weight of a pair depends only on its own noisy sum
and public numbers. Proof: docs/proofs/selection.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from statistics import NormalDist

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.dp import intervals
from slogan.dp.accounting import Gaussian, variance
from slogan.dp.intervals import enclose
from slogan.dp.noise import discrete_laplace, floored_gaussian
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._look import SHARE, Regime, look
from slogan.dp.selection._weights import (
    CLOSED,
    GRID,
    UNIT,
    Halvings,
    capped,
    caps,
    quantile,
    root_up,
    spread,
    steps_up,
)
from slogan.dp.sums import AnyHistogram
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness, SystemRandomness

# How the schedule follows from a budget (μ², δ) and the regime. All numbers are public; proof and
# notation are in docs/proofs/selection.md, step 6 of the argument. What chose them is in
# bench/results/constants.md.
#
# Noise. Round r has length ℓ_r and noise of variance V/ℓ_r. A user moves the weights of a round by
# norm ≤ 1, so all rounds together cost Σ ℓ_r/V = L/V with L = Σ ℓ_r: V = L/μ², rounded up.
#
# Pooled sums. P_r(i) = Σ_{q≤r} ℓ_q·(w_q(i) + N_q(i)). With c_r = ℓ_1 + … + ℓ_r, the noise in P_r(i)
# has variance Σ ℓ_q²·V/ℓ_q = V·c_r.
#
# Backing. A user of n pairs gives each at most κ(n) per round. K_i, the sum of κ(n) over the users
# of pair i, is compared with a number G_i of the pair's own, Pr[G_i ≥ x] = e^−θx: pair i is backed,
# and may be released, if G_i < K_i. A pair of many users practically always is. A user alone backs
# each of its pairs with probability p(n) = 1 − e^−θκ(n), so about n·p(n) of them.
#
# Thresholds. Suppose that only one user backs the pairs of a set T. If no other user holds them,
# P_r(i) ≤ c_r·κ(n) + √(V·c_r)·Z_i with independent standard normal Z_i. z(δ) is the point that Z_i
# exceeds with probability δ. Therefore
#
#     ρ_r = max over 1 ≤ n ≤ L0 of  c_r·κ(n) + √(V·c_r)·z(δ_r/(n·p(n)))
#
# selects a pair of T in round r with probability ≤ δ_r, and Σ δ_r = δ. The last round has nearly
# all of δ, because most pairs are selected there. If others hold a pair too, its sum is larger, and
# that they all fail to back it is rarer: with θ as in `_rate` the second outweighs the first.
#
# Heaviest weights. Any κ that does not increase keeps this true. A user of few pairs has lower
# noise tails than one with L0, and κ(n) fills that gap up to the last threshold of n = L0 with
# κ = `heaviest`. It is at least 1/√n, the weight of an even spread, and at most 1.
#
# Maxima are taken over blocks of numbers n. In a block κ is constant: it has n·p(n) of the last
# number and 1/√n of the first. That needs a tenth of the quantiles, and the threshold is enough for
# every n, as z grows with n.
#
# Rounding. Sums are integers on a grid. Weights and noise are rounded down (`spread`,
# `floored_gaussian`); V, roots, p, z, θ and thresholds are rounded up (`variance`, `root_up`,
# `quantile`, `steps_up`). Each direction makes it rarer that a pair of T is selected. κ is public
# and the same everywhere, so floating point may choose it.

FEWEST_LISTED = 1000
"""A listed pair without a holder is selected with a chance of one in this, or in all listed."""

LATER = 3
"""The halvings of the first weight of other pairs, where some are listed."""

LENGTHS = (2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11)
"""The budget of each round: one of length n counts as much as n of length 1."""

_FINE = 1 << 10
"""Weights and rates are multiples of one in this many."""

EARLY = Fraction(1, 10)
"""The share of delta that all rounds before the last have together."""

# A pair's sum is compared with its share so far of the last threshold, the pace, and with the
# standard deviation σ of its noise so far:
FULL = Fraction(7, 10)
"""From this part of the pace the weight is full."""
LACKING = tuple(map(Fraction, ("0", "0.64", "1.11", "1.50", "1.84", "2.15", "2.43")))
"""Below that it is halved at each of these many σ that are missing; at the last it is 0 for good.

The steps d follow from 1.25·d + d²/2 = 0, 1, …, 6."""
AHEAD, EASE, EASED = Fraction(3, 4), Fraction(13, 10), 6
"""Above the pace + AHEAD·σ it is halved too, again at each factor EASE, EASED times at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round: its noise, and the decisions from a pair's sum after it, in steps of the grid."""

    length: int
    variance: Fraction
    """Of the noise; a round of length n has an n-th of that of length 1, and counts n times."""
    threshold: int
    """Pairs with a larger sum are selected."""
    lacking: Ints
    """The next weight is halved for each of these that the sum is below; it is 0 below all."""
    eased: Ints
    """The weight is halved for each of these that the sum reaches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """All rounds, and the largest weight that a user may give to one pair."""

    rounds: tuple[Round, ...]
    variance: Fraction
    """Of the noise of a round of length 1."""
    heaviest: Ints
    """The largest weight that a user with n pairs may give to one of them."""
    rate: Fraction
    """θ: a pair is not backed with probability e^−θK, K being the sum of those weights."""


def select(
    hist: AnyHistogram, budget: SelectionBudget, rng: Randomness, listed: Ints | None = None
) -> Selected:
    """Pool noisy weights over the rounds; select pairs above a round's threshold.

    `listed` are public pairs, held or not: their thresholds are multiples of the noise alone.
    """
    regime, looked = look(hist, mu_squared=budget.mu_squared * SHARE, rng=rng)
    rest = SelectionBudget(mu_squared=budget.mu_squared * (1 - SHARE), delta=budget.delta)
    public = schedule(rest, regime)
    known = np.zeros(hist.pairs, dtype=np.bool_)
    known[listed if listed is not None else []] = True
    contributions = capped(hist, rng, regime.most)
    later = LATER if known.any() else 0
    halvings = np.where(contributions.held, later, CLOSED).astype(np.int8)
    halvings[known] = 0
    pooled = np.zeros(hist.pairs, dtype=np.int64)
    selected: list[Ints] = []
    for this, of_listed in zip(public.rounds, listed_rounds(public, known), strict=True):
        weight = spread(contributions, halvings, public.heaviest)
        # A closed pair is not used again, so its noise need not be drawn.
        tried = np.flatnonzero(halvings < CLOSED)
        noise = floored_gaussian(len(tried), rng, variance=this.variance, grid=GRID)
        pooled[tried] += this.length * (weight[tried] + noise)
        for rule, which in ((this, ~known), (of_listed, known)):
            pairs = tried[which[tried]]
            selected.append(pairs[pooled[pairs] > rule.threshold])
            halvings[pairs] = attention(pooled[pairs], rule)
    pairs = np.sort(np.concatenate(selected))
    needed = backing(len(pairs), rng, rate=public.rate)
    pairs = pairs[known[pairs] | (needed < caps(contributions, public.heaviest)[pairs])]
    units = sum(this.length for this in public.rounds)
    stage = Gaussian(
        name="selection", norm_squared=units, variance=public.variance, slack=budget.delta
    )
    return Selected(pairs=pairs, stages=(looked, stage), most=regime.most)


def backing(n: int, rng: Randomness, *, rate: Fraction) -> Ints:
    """Draw n independent integers G ≥ 0, in steps of the grid, with Pr[G ≥ x] = e^(−rate·x).

    A positive number with the law of discrete Laplace noise has that law once 1 is subtracted.
    """
    scale = 1 / (rate * GRID)
    drawn = discrete_laplace(n, rng, scale=scale)
    while len(low := np.flatnonzero(drawn <= 0)):
        drawn[low] = discrete_laplace(len(low), rng, scale=scale)
    return drawn - 1


def attention(noisy: Ints, this: Round) -> Halvings:
    """The halvings of each pair's weight in the next round, from its own sum only."""
    lacking = len(this.lacking) - np.searchsorted(this.lacking, noisy, side="right")
    halvings = lacking + np.searchsorted(this.eased, noisy, side="right")
    return np.where(noisy > this.threshold, CLOSED, halvings).astype(np.int8)


@cache
def schedule(budget: SelectionBudget, regime: Regime) -> Schedule:
    """The rounds for a budget; nothing else depends on the log."""
    square = variance(budget.mu_squared, norm_squared=sum(LENGTHS))
    last = budget.delta * (1 - EARLY)
    early = budget.delta * EARLY / (len(LENGTHS) - 1)
    deltas = [early] * (len(LENGTHS) - 1) + [last]
    rate = _rate(budget.mu_squared, early, regime.most)
    heaviest = _heaviest(budget.mu_squared, last, regime, rate)
    levels = [
        _threshold(so_far, square, delta, heaviest, rate)
        for so_far, delta in zip(accumulate(LENGTHS), deltas, strict=True)
    ]
    pace = levels[-1] * GRID / sum(LENGTHS)
    rounds = [
        _round(length, square, level, so_far, pace)
        for length, so_far, level in zip(LENGTHS, accumulate(LENGTHS), levels, strict=True)
    ]
    return Schedule(rounds=tuple(rounds), variance=square, heaviest=heaviest, rate=rate)


def listed_rounds(public: Schedule, known: Flags) -> tuple[Round, ...]:
    """The same rounds with the thresholds of public pairs; how many there are is public too."""
    number = int(np.count_nonzero(known))
    if not number:
        return public.rounds
    chance, square = Fraction(1, max(number, FEWEST_LISTED)), public.variance
    chances = [chance * EARLY / (len(LENGTHS) - 1)] * (len(LENGTHS) - 1) + [chance * (1 - EARLY)]
    levels = [
        steps_up(root_up(square * so_far) * quantile(each, 1))
        for so_far, each in zip(accumulate(LENGTHS), chances, strict=True)
    ]
    pace = levels[-1] * GRID / sum(LENGTHS)
    return tuple(
        _round(length, square, level, so_far, pace)
        for length, level, so_far in zip(LENGTHS, levels, accumulate(LENGTHS), strict=True)
    )


def _round(length: int, square: Fraction, threshold: int, so_far: int, pace: Fraction) -> Round:
    sigma, level = root_up(square * so_far), pace * so_far
    lacking = [steps_up(FULL * level - missing * sigma) for missing in reversed(LACKING)]
    eased = [steps_up((level + AHEAD * sigma) * EASE**n) for n in range(EASED)]
    return Round(
        length=length,
        variance=square / length,
        threshold=threshold,
        lacking=np.array(lacking, dtype=np.int64),
        eased=np.array(eased, dtype=np.int64),
    )


def _rate(mu_squared: Fraction, delta: Fraction, most: int) -> Fraction:
    """θ ≥ h(ζ)·μ for every normal point ζ that a threshold can be at, h being the hazard rate.

    ζ ≤ μ + z(δ/L0), apart from roundings, because no weight exceeds 1 and the noise of no sum,
    per unit, has a deviation below 1/μ. And h grows, with h(ζ) < ζ + 1/ζ.
    """
    slope = root_up(mu_squared)
    point = slope + quantile(delta, most) + Fraction(1, _FINE)
    return Fraction(math.ceil(slope * (point + 1 / point) * _FINE), _FINE)


def _threshold(
    so_far: int, square: Fraction, delta: Fraction, heaviest: Ints, rate: Fraction
) -> int:
    """A level that pairs which only one user backs exceed with probability ≤ delta."""
    scale = root_up(square * so_far)
    return max(
        so_far * weight + steps_up(scale * quantile(delta, last * backed(weight * GRID, rate)))
        for weight, last in ((int(heaviest[last]), last) for _, last in _blocks(len(heaviest) - 1))
    )


def backed(weight: Fraction, rate: Fraction) -> Fraction:
    """p: the chance that a user alone backs a pair by this weight, rounded up."""
    short = 1 - intervals.exp(enclose(-rate * weight)).low
    return Fraction(math.ceil(short * UNIT), UNIT)


def _heaviest(mu_squared: Fraction, delta: Fraction, regime: Regime, rate: Fraction) -> Ints:
    """κ(n) of the derivation above for n = 0, …, L0, in steps of the grid; it never increases."""
    deviation, theta, chance = 1 / math.sqrt(mu_squared), float(rate), float(delta)
    normal = NormalDist()

    def level(pairs: int, weight: float) -> float:
        tail = chance / (pairs * -math.expm1(-theta * weight))
        return weight - deviation * normal.inv_cdf(min(tail, 0.5))

    highest = level(regime.most, float(regime.heaviest))
    weights = [UNIT]
    for first, last in _blocks(regime.most):
        low, high = 0, _FINE
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (
                (middle, high) if level(last, middle / _FINE) <= highest else (low, middle - 1)
            )
        room = max(Fraction(low, _FINE), root_up(Fraction(1, first)))
        weights += [min(weights[-1], steps_up(room))] * (last - first + 1)
    return np.array(weights, dtype=np.int64)


def _blocks(most: int) -> list[tuple[int, int]]:
    """The numbers 1, …, most in blocks (first, last), each about an eighth of the way to 0 long."""
    blocks = [(1, 1)]
    while (last := blocks[-1][1]) < most:
        blocks.append((last + 1, min(most, last + max(1, last // 8))))
    return blocks


def warm_up() -> None:
    """Compile the loop over users, once per installation, before the first run."""
    nought = np.zeros(1, dtype=np.int64)
    hist = PairHistogram(user=nought, pair=nought, count=nought + 1, users=1, pairs=1, query=nought)
    select(hist, SelectionBudget(mu_squared=Fraction(1), delta=Fraction(1, 2)), SystemRandomness())
