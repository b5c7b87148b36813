"""Private releases of real rows, in two phases under one budget (Theorem R).

Phase 1 selects pairs and counts clicks and users, with noise. Phase 2 samples rows of real users,
with at most `cap` expected draws per user. It computes in integers: weights from private
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
"""Each stage's share of the μ² that sampling leaves: public constants."""

FULL = 1 << 32
"""The weight of a click that uses its user's whole cap."""

_LARGEST = 1 << 62


def divide(budget: PrivacyBudget, sampling_share: Number) -> Spending:
    """Divide a budget: sampling gets its share of ε and δ, phase 1 the rest."""
    return spend(budget, SHARES, sampling_cap(budget, sampling_share))


def sampling_cap(budget: PrivacyBudget, share: Number) -> Fraction:
    """B, rounded down: sampling spends at most this share of ε, and at most this share of δ.

    B ≤ share·ε and 1 − e^−B ≤ share·δ, so B ≤ −log(1 − share·δ).
    """
    part = exact(share)
    if not 0 < part < 1:
        raise OptionError(
            f"the share of the budget for sampling must lie between 0 and 1, got {share}",
            hint="1/2 leaves as much for selecting and counting the pairs",
        )
    epsilon, delta = spendable(budget)
    logarithm = enclosures.log(enclose(1 - part * delta)).high
    # A minus sign would round to the digits of the current context, to either side. Where
    # 1 − share·δ rounds to 1 in sixty digits, use −log(1 − x) ≥ x.
    spent = max(enclose(part * delta).low, logarithm.copy_negate())
    return min(part * epsilon, shortened(spent, DOWN))


def private_histogram(
    hist: PairHistogram, selected: Selected, spending: Spending, rng: Randomness
) -> PrivateHistogram:
    """h, all that phase 2 uses of other users: clicks on the selected pairs, and their holders."""
    pairs, parts = selected.pairs, spending.parts
    counts = noisy_counts(hist, pairs, mu_squared=parts["counts"], rng=rng)
    sizes = noisy_sizes(hist, pairs, mu_squared=parts["sizes"], rng=rng)
    stages = (*selected.stages, counts.stage, sizes.stage, spending.sampling)
    return PrivateHistogram(
        pairs=pairs, counts=counts, sizes=sizes, account=Account(stages), most=selected.most
    )


def weights(expected: Floats, counts: Floats, *, cap: Fraction) -> Ints:
    """w_ij: a click of pair ij is drawn at rate B·w_ij/FULL = x_ij/max(1, c̃_ij), x as expected."""
    share = expected / np.maximum(counts, 1.0) / float(cap)
    return np.floor(np.clip(share, 0.0, 1.0) * FULL).astype(np.int64)


def capped_sample(
    hist: PairHistogram, pairs: Ints, weight: Ints, *, cap: Fraction, rng: Randomness
) -> Output:
    """Draw X_ijk ~ Poisson(l_ijk) for every user k and pair ij, independently, with Σ_ij l_ijk ≤ B.

    l_ijk = B · w_ij·c_ijk / max(FULL, Σ_ij w_ij·c_ijk). Each user of the log gets Poisson(B)
    uniform points on a line of that length; each point draws the click at its place, if any.
    The pairs are sorted; they and their weights, at most FULL, are private statistics.
    """
    held = hist.only(pairs)
    part = weighted_clicks(held, weight)
    first = np.searchsorted(held.user, np.arange(held.users + 1))
    # Sums over all users may overflow; differences within a user, below 2^62, are still correct.
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

    How many depends only on the number of released pairs, never on the clicks of other users.
    """
    most = _LARGEST // max(held.pairs, 1)
    w = weight[held.pair]
    return np.minimum(held.count, most // np.maximum(w, 1)) * w


def expected_exposed(hist: PairHistogram, pairs: Ints, weight: Ints, *, cap: Fraction) -> float:
    """Expected number of users with a drawn row: Σ_k 1 − e^−L_k. For the curator only."""
    held = hist.only(pairs)
    total = np.zeros(held.users, dtype=np.int64)
    np.add.at(total, held.user, weighted_clicks(held, weight))
    return float(-np.expm1(-float(cap) * np.minimum(total / FULL, 1.0)).sum())


def _row_at(point: Ints, last: Ints, begin: Ints, end: Ints) -> Ints:
    """For each point the row, from `begin` to `end`, whose part of the line contains it."""
    low, high = begin.copy(), end.copy()
    while (low < high).any():
        middle = (low + high) // 2
        # A row that is found has low = high, and stays.
        seeking = low < high
        beyond = last[np.minimum(middle + 1, end)] - last[begin] <= point
        low = np.where(seeking & beyond, middle + 1, low)
        high = np.where(seeking & ~beyond, middle, high)
    return low
