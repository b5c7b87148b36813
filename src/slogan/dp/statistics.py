"""What Theorem S measures about a log, under one budget: all that a synthetic log is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from slogan.arrays import Floats, Ints
from slogan.dp.accounting import Account, gaussian_room, spendable, split
from slogan.dp.association import INDEPENDENT, Association, noisy_association
from slogan.dp.counts import MOST_CLICKS as COUNTS_MOST
from slogan.dp.counts import NORM, noisy_counts
from slogan.dp.coverage import MOST_CLICKS as COVERAGE_MOST
from slogan.dp.coverage import Coverage, noisy_coverage
from slogan.dp.grouping import HEAD, MOST_CATEGORIES, Grouping
from slogan.dp.mechanisms import Cost
from slogan.dp.remote import AnyHistogram
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.sizes import LARGEST, Sizes, noisy_sizes
from slogan.dp.sums import NoisySums
from slogan.privacy import PrivacyBudget
from slogan.randomness import Randomness
from slogan.stages import Stages

SHARES = {
    "selection": Fraction("0.50"),
    "counts": Fraction("0.20"),
    "association": Fraction("0.23"),
    "sizes": Fraction("0.05"),
    "coverage": Fraction("0.02"),
}
"""Which part of μ² each stage may spend: public constants."""
SELECTION_DELTA = Fraction(1, 2)
"""Which part of δ is set aside for the release of a pair that one user alone holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """How a budget is spread over the stages before the log is looked at."""

    shares: dict[str, Fraction]
    parts: dict[str, Fraction]
    """μ² of each stage."""
    selection: SelectionBudget

    @property
    def cost(self) -> Cost:
        """What all stages may cost together."""
        return Cost(mu_squared=sum(self.parts.values(), Fraction(0)), delta=self.selection.delta)


def spread(budget: PrivacyBudget, *, association: bool) -> Spending:
    """Spread a budget over the stages; without association, its part goes to the others."""
    kept = {name: part for name, part in SHARES.items() if association or name != "association"}
    shares = {name: part / sum(kept.values()) for name, part in kept.items()}
    aside = spendable(budget)[1] * SELECTION_DELTA
    parts = split(gaussian_room(budget, Cost(delta=aside)), shares)
    selection = SelectionBudget(mu_squared=parts["selection"], delta=aside)
    return Spending(shares=shares, parts=parts, selection=selection)


def constants(spending: Spending) -> dict[str, str | int | float | None]:
    """What the stages were told, for the manifest: none of it is chosen by a log."""
    shares = {f"share_{name}": str(part) for name, part in spending.shares.items()}
    return {
        **shares,
        "selection_delta": str(spending.selection.delta),
        "counts_norm": NORM,
        "counts_most_clicks": COUNTS_MOST,
        "sizes_largest": LARGEST,
        "coverage_most_clicks": COVERAGE_MOST,
        "association_head": HEAD,
        "association_most_categories": MOST_CATEGORIES,
    }


@dataclass(frozen=True, kw_only=True)
class Statistics:
    """Everything measured about a log. All of it is private; all that follows is computed from it.

    Args:
        pairs: The pairs that may be released, as numbers of the histogram.
        counts: Their clicks.
        sizes: How many users hold how many of them.
        coverage: Which share of all clicks is theirs.
        association: Which kinds of them the same users hold, if that was looked at.
        account: What all this cost.
    """

    pairs: Ints
    counts: NoisySums
    sizes: Sizes
    coverage: Coverage
    association: Association | None
    account: Account

    @property
    def kind(self) -> str:
        """What the synthetic users follow: a grouping of the pairs, or nothing."""
        return INDEPENDENT if self.association is None else self.association.kind


def measure(
    hist: AnyHistogram,
    selected: Selected,
    spending: Spending,
    group: Callable[[Ints, Floats], Grouping] | None,
    *,
    rng: Randomness,
    stages: Stages,
) -> Statistics:
    """Look at the log once for each stage, on the released pairs.

    Args:
        hist: The clicks of whole users.
        selected: The pairs that may be released.
        spending: What each stage may spend.
        group: Which released pairs are of one kind, by the pairs and their private counts.
        rng: Where the noise comes from.
        stages: Told what is measured.
    """
    pairs, parts = selected.pairs, spending.parts
    with stages.stage("counts"):
        counts = noisy_counts(hist, pairs, mu_squared=parts["counts"], rng=rng)
    with stages.stage("sizes"):
        sizes = noisy_sizes(hist, pairs, mu_squared=parts["sizes"], rng=rng)
    with stages.stage("coverage"):
        coverage = noisy_coverage(hist, pairs, mu_squared=parts["coverage"], rng=rng)
    association = None
    grouping = group(pairs, counts.values) if group else None
    if grouping is not None and grouping.categories:
        with stages.stage("association"):
            association = noisy_association(
                hist, pairs, grouping, mu_squared=parts["association"], rng=rng
            )
    measured = (counts.stage, sizes.stage, coverage.stage)
    last = () if association is None else (association.stage,)
    return Statistics(
        pairs=pairs,
        counts=counts,
        sizes=sizes,
        coverage=coverage,
        association=association,
        account=Account((*selected.stages, *measured, *last)),
    )
