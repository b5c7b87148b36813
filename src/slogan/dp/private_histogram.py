"""Phase 1 of Theorem R: pairs that may be released, their counts and users, under one budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from slogan.arrays import Ints
from slogan.dp.accounting import Account, gaussian_room, spendable, split
from slogan.dp.capped_sampling import sampling_cap
from slogan.dp.counts import noisy_counts
from slogan.dp.mechanisms import CappedSampling, Cost
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.sizes import Sizes, noisy_sizes
from slogan.dp.sums import NoisySums
from slogan.histogram import PairHistogram
from slogan.privacy import Number, PrivacyBudget
from slogan.randomness import Randomness

SHARES = {
    "selection": Fraction("0.70"),
    "counts": Fraction("0.25"),
    "sizes": Fraction("0.05"),
}
"""Which part of the μ² that sampling leaves each stage may spend: public constants."""
SELECTION_DELTA = Fraction(1, 2)
"""Which part of the δ that sampling leaves is set aside for a pair that one user alone holds."""


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
    # The part of ρ is another way to count ε, which is counted already.
    reserved = Cost(epsilon=sampling.cost.epsilon, delta=sampling.cost.delta + aside)
    parts = split(gaussian_room(budget, reserved), SHARES)
    selection = SelectionBudget(mu_squared=parts.pop("selection"), delta=aside)
    return Division(sampling=sampling, selection=selection, parts=parts)


@dataclass(frozen=True, kw_only=True)
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
