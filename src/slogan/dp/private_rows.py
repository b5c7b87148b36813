"""Private releases of real rows, in two phases under one budget (Theorem R).

Phase 1 selects pairs and counts clicks and users, with noise. Phase 2 draws rows of real users, so
rarely that no user weighs more than a cap. It computes in integers: weights from private
statistics, everything after that from one user's own clicks. Proof: docs/proofs/capped_sampling.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import intervals as enclosures
from slogan.dp.accounting import Account, gaussian_room, spendable, split
from slogan.dp.intervals import DOWN, enclose, shortened
from slogan.dp.mechanisms import CappedSampling, Cost
from slogan.dp.noise import poisson
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.sums import NoisySums, Sizes, noisy_counts, noisy_sizes
from slogan.errors import OptionError
from slogan.histogram import Output, PairHistogram
from slogan.randomness import Randomness, uniform_below

SHARES = {
    "selection": Fraction("0.70"),
    "counts": Fraction("0.25"),
    "sizes": Fraction("0.05"),
}
"""Which part of the μ² that sampling leaves each stage may spend: public constants."""

SELECTION_DELTA = Fraction(1, 2)
"""Which part of the δ that sampling leaves is set aside for a pair that one user alone holds."""

FULL = 1 << 32
"""The weight of a click that takes up its user's whole cap."""

_LARGEST = 1 << 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Division:
    """How a budget is divided between the two phases, before the log is looked at."""

    sampling: CappedSampling
    selection: SelectionBudget
    parts: dict[str, Fraction]
    """μ² of the other stages of phase 1."""

    @property
    def cost(self) -> Cost:
        """What both phases may cost together."""
        first = self.selection.mu_squared + sum(self.parts.values())
        return self.sampling.cost + Cost(mu_squared=first, delta=self.selection.delta)


def divide(budget: PrivacyBudget, sampling_share: Number) -> Division:
    """Sampling takes its share of ε and δ; what it leaves goes to phase 1."""
    cap = sampling_cap(budget, sampling_share)
    sampling = CappedSampling(name="sampling", cap=cap)
    aside = (spendable(budget)[1] - sampling.cost.delta) * SELECTION_DELTA
    reserved = sampling.cost + Cost(delta=aside)
    parts = split(gaussian_room(budget, reserved), SHARES)
    selection = SelectionBudget(mu_squared=parts.pop("selection"), delta=aside)
    return Division(sampling=sampling, selection=selection, parts=parts)


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


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateHistogram:
    """h: everything that phase 2 knows of other users. All of it is private.

    Args:
        pairs: S, the pairs that may be released, as numbers of the histogram.
        counts: c̃, their clicks.
        sizes: How many users hold how many of them.
        account: What both phases cost.
    """

    pairs: Ints
    counts: NoisySums
    sizes: Sizes
    account: Account


def private_histogram(
    hist: PairHistogram, selected: Selected, division: Division, rng: Randomness
) -> PrivateHistogram:
    """Count the clicks on the selected pairs, and the users who hold some, with noise."""
    pairs, parts = selected.pairs, division.parts
    counts = noisy_counts(hist, pairs, mu_squared=parts["counts"], rng=rng)
    sizes = noisy_sizes(hist, pairs, mu_squared=parts["sizes"], rng=rng)
    stages = (*selected.stages, counts.stage, sizes.stage, division.sampling)
    return PrivateHistogram(pairs=pairs, counts=counts, sizes=sizes, account=Account(stages))


def weights(expected: Floats, counts: Floats, *, cap: Fraction) -> Ints:
    """w_ij, so that a click of pair ij is drawn at rate B·w_ij/FULL = x_ij/max(1, c̃_ij).

    Args:
        expected: x_ij, expected clicks of each pair, computed from private statistics.
        counts: c̃_ij, its private count.
        cap: B.
    """
    share = expected / np.maximum(counts, 1.0) / float(cap)
    return np.floor(np.clip(share, 0.0, 1.0) * FULL).astype(np.int64)


def capped_sample(
    hist: PairHistogram, pairs: Ints, weight: Ints, *, cap: Fraction, rng: Randomness
) -> Output:
    """Draw X_ijk ~ Poisson(l_ijk) for every user k and pair ij, independently, with Σ_ij l_ijk ≤ B.

    l_ijk = B · w_ij·c_ijk / max(FULL, Σ_ij w_ij·c_ijk). Each user of the log gets Poisson(B)
    points, each thrown on a line of that length; it draws the click it meets, or nothing.

    Args:
        hist: The clicks of every user of the log.
        pairs: The pairs S that may be released, sorted; computed from private statistics.
        weight: w_ij for each of them, at most FULL; computed from private statistics.
        cap: B, a public constant.
        rng: Where the draws come from.
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
