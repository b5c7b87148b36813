"""Private releases of real rows, in two phases under one budget (Theorem R).

Phase 1 selects pairs and counts clicks and users, with noise. Phase 2 draws rows of real users, so
rarely that no user weighs more than a cap. It computes in integers: weights from private
statistics, everything after that from one user's own clicks. Proof: docs/proofs/capped_sampling.md.
"""

from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import intervals as enclosures
from slogan.dp.accounting import Account, spendable
from slogan.dp.intervals import DOWN, enclose, shortened
from slogan.dp.noise import poisson
from slogan.dp.selection import Selected
from slogan.dp.statistics import PrivateHistogram, Spending, spend
from slogan.dp.sums import noisy_counts, noisy_sizes
from slogan.errors import OptionError
from slogan.histogram import Output, PairHistogram
from slogan.randomness import Randomness, uniform_below

SHARES = {"selection": Fraction("0.70"), "counts": Fraction("0.25"), "sizes": Fraction("0.05")}
"""Which part of the μ² that sampling leaves each stage may spend: public constants."""

FULL = 1 << 32
"""The weight of a click that takes up its user's whole cap."""

_LARGEST = 1 << 62


def divide(budget: PrivacyBudget, sampling_share: Number) -> Spending:
    """Sampling takes its share of ε and δ; what it leaves goes to phase 1."""
    return spend(budget, SHARES, sampling_cap(budget, sampling_share))


def sampling_cap(budget: PrivacyBudget, share: Number) -> Fraction:
    """B, rounded down: sampling spends at most this share of ε, and at most this share of δ.

    B ≤ share·ε and 1 − e^−B ≤ share·δ, so B ≤ −log(1 − share·δ).
    """
    part = exact(share)
    if not 0 < part < 1:
        raise OptionError(
            f"the share of the budget for sampling must lie between 0 and 1, got {share}",
            hint="1/2 leaves as much for choosing and counting the pairs",
        )
    epsilon, delta = spendable(budget)
    logarithm = enclosures.log(enclose(1 - part * delta)).high
    # A minus sign would round to the digits of the current context, to either side. Where sixty
    # digits do not tell 1 − share·δ from 1, −log(1 − x) ≥ x does.
    spent = max(enclose(part * delta).low, logarithm.copy_negate())
    return min(part * epsilon, shortened(spent, DOWN))


def private_histogram(
    hist: PairHistogram, selected: Selected, spending: Spending, rng: Randomness
) -> PrivateHistogram:
    """h, all that phase 2 knows of other users: clicks on the selected pairs, and their holders."""
    pairs, parts = selected.pairs, spending.parts
    counts = noisy_counts(hist, pairs, mu_squared=parts["counts"], rng=rng)
    sizes = noisy_sizes(hist, pairs, mu_squared=parts["sizes"], rng=rng)
    stages = (*selected.stages, counts.stage, sizes.stage, spending.sampling)
    return PrivateHistogram(pairs=pairs, counts=counts, sizes=sizes, account=Account(stages))


def weights(expected: Floats, counts: Floats, *, cap: Fraction) -> Ints:
    """w_ij: a click of pair ij is drawn at rate B·w_ij/FULL = x_ij/max(1, c̃_ij), x as expected."""
    share = expected / np.maximum(counts, 1.0) / float(cap)
    return np.floor(np.clip(share, 0.0, 1.0) * FULL).astype(np.int64)


def capped_sample(
    hist: PairHistogram, pairs: Ints, weight: Ints, *, cap: Fraction, rng: Randomness
) -> Output:
    """Draw X_ijk ~ Poisson(l_ijk) for every user k and pair ij, independently, with Σ_ij l_ijk ≤ B.

    l_ijk = B · w_ij·c_ijk / max(FULL, Σ_ij w_ij·c_ijk). Each user of the log gets Poisson(B)
    points, each thrown on a line of that length; it draws the click it meets, or nothing.
    The pairs are sorted; they and their weights, at most FULL, come from private statistics.
    """
    held = hist.only(pairs)
    part = weighted_clicks(held, weight)
    first = np.searchsorted(held.user, np.arange(held.users + 1))
    # Sums over all users may wrap around; differences within a user, below 2^62, are right again.
    last = np.concatenate(([0], np.cumsum(part)))
    owner = np.repeat(np.arange(held.users), poisson(held.users, rng, rate=cap))
    total = last[first[owner + 1]] - last[first[owner]]
    point = uniform_below(np.maximum(total, FULL), rng)
    row = _row_at(point, last, first[owner], first[owner + 1])
    drawn = np.bincount(row[point < total], minlength=len(part))
    shown = np.flatnonzero(drawn)
    return Output(user=held.user[shown], pair=pairs[held.pair[shown]], count=drawn[shown])


def weighted_clicks(held: PairHistogram, weight: Ints) -> Ints:
    """w_ij·c_ijk for each row; where a user's sum could exceed 2^62, fewer clicks are counted.

    How many depends on the number of released pairs alone, never on what other users clicked.
    """
    most = _LARGEST // max(held.pairs, 1)
    w = weight[held.pair]
    return np.minimum(held.count, most // np.maximum(w, 1)) * w


def expected_exposed(hist: PairHistogram, pairs: Ints, weight: Ints, *, cap: Fraction) -> float:
    """Expected number of users of whom a row is drawn: Σ_k 1 − e^−L_k. For the curator alone."""
    held = hist.only(pairs)
    total = np.zeros(held.users, dtype=np.int64)
    np.add.at(total, held.user, weighted_clicks(held, weight))
    return float(-np.expm1(-float(cap) * np.minimum(total / FULL, 1.0)).sum())


def _row_at(point: Ints, last: Ints, begin: Ints, end: Ints) -> Ints:
    """For each point the row, from `begin` to `end`, whose part of the line holds it."""
    low, high = begin.copy(), end.copy()
    while (low < high).any():
        middle = (low + high) // 2
        # What is found already has low = high, and is left alone.
        seeking = low < high
        beyond = last[np.minimum(middle + 1, end)] - last[begin] <= point
        low = np.where(seeking & beyond, middle + 1, low)
        high = np.where(seeking & ~beyond, middle, high)
    return low
