"""The private statistics of Theorem S, under one budget: the only input of a synthetic log.

`weight_needed`, `heaviest` and `too_few` show the curator how many users a release needs; their
results depend on the log and must not be released.
"""

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.budget import PrivacyBudget
from slogan.dp.accounting import (
    NOTHING,
    Account,
    CappedSampling,
    Cost,
    gaussian_room,
    normal_quantile,
    spendable,
    split,
)
from slogan.dp.fields.statistics import SHARES as FIELD_SHARES
from slogan.dp.fields.statistics import FieldStatistics, drowned, measure_fields
from slogan.dp.fields.sums import GAP
from slogan.dp.grouping import HEAD, INDEPENDENT, MOST_CATEGORIES, Groups
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._look import MANY
from slogan.dp.sums import (
    LARGEST,
    NORM,
    AnyHistogram,
    Association,
    Coverage,
    NoisySums,
    Sizes,
    noisy_association,
    noisy_counts,
    noisy_coverage,
    noisy_sizes,
)
from slogan.dp.sums import MOST_CLICKS as COUNTS_MOST
from slogan.dp.sums import MOST_COVERED as COVERAGE_MOST
from slogan.errors import TooFewUsersError
from slogan.histogram import Events, PairHistogram
from slogan.progress import Steps
from slogan.randomness import Randomness

SHARES = {
    "selection": Fraction("0.50"),
    "counts": Fraction("0.20"),
    "association": Fraction("0.23"),
    "sizes": Fraction("0.05"),
    "coverage": Fraction("0.02"),
}
"""Each stage's share of μ²: public constants."""

SELECTION_DELTA = Fraction(1, 2)
"""The share of δ, after sampling, set aside for releasing a pair that only one user holds."""

MOST_CONTRIBUTED = MANY.most
"""The largest number of pairs that a user contributes to selection."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """How a budget is divided among the stages, before the log is read."""

    shares: dict[str, Fraction]
    parts: dict[str, Fraction]
    """μ² of each stage."""
    selection: SelectionBudget
    sampling: CappedSampling
    """How real rows are sampled; with a cap of 0, none are."""

    def shared(self, *, association: bool, dropped: Collection[str] = ()) -> dict[str, Fraction]:
        """μ² of each stage; the counts have that of stages that are not measured."""
        rest = dict(self.parts)
        for name in (*dropped, *(() if association else ("association",))):
            rest["counts"] += rest.pop(name, Fraction(0))
        return rest

    @property
    def weight_needed(self) -> float:
        """The approximate weight that selects a pair."""
        return weight_needed(self.selection)

    @property
    def cost(self) -> Cost:
        """The largest total cost of all stages."""
        sums = Cost(mu_squared=sum(self.parts.values(), Fraction(0)), delta=self.selection.delta)
        return sums + self.sampling.cost


def spread(
    budget: PrivacyBudget,
    *,
    association: bool,
    before: Cost = NOTHING,
    fields: Collection[str] = (),
) -> Spending:
    """Divide what stages that come before leave of a budget among the stages.

    Without association, its share goes to the others. `fields` are stages of time, rank and
    session, whose shares all others give in proportion.
    """
    some = {name: part for name, part in SHARES.items() if association or name != "association"}
    more = {name: FIELD_SHARES[name] for name in fields}
    rest = 1 - sum(more.values())
    shares = {name: part / sum(some.values()) * rest for name, part in some.items()}
    return spend(budget, shares | more, before=before)


def spend(
    budget: PrivacyBudget,
    shares: dict[str, Fraction],
    cap: Fraction = Fraction(0),
    before: Cost = NOTHING,
) -> Spending:
    """Divide what sampling real rows under this cap leaves of a budget."""
    sampling = CappedSampling(name="sampling", cap=cap)
    aside = (spendable(budget)[1] - sampling.cost.delta) * SELECTION_DELTA
    parts = split(gaussian_room(budget, before + sampling.cost + Cost(delta=aside)), shares)
    selection = SelectionBudget(mu_squared=parts["selection"], delta=aside)
    return Spending(shares=shares, parts=parts, selection=selection, sampling=sampling)


def shares(of_stages: dict[str, Fraction]) -> dict[str, str | int | float | None]:
    """The share of each stage, for the manifest."""
    return {f"share_{name}": str(part) for name, part in of_stages.items()}


def constants(spending: Spending) -> dict[str, str | int | float | None]:
    """The parameters of the stages, for the manifest; none of them depends on the log."""
    return {
        **shares(spending.shares),
        "selection_delta": str(spending.selection.delta),
        "counts_norm": NORM,
        "counts_most_clicks": COUNTS_MOST,
        "sizes_largest": LARGEST,
        "coverage_most_clicks": COVERAGE_MOST,
        "association_head": HEAD,
        "association_most_categories": MOST_CATEGORIES,
        **({"session_gap": GAP} if "sessions" in spending.shares else {}),
    }


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateHistogram:
    """The released pairs, as numbers of the histogram, their clicks, and how many users hold them.

    All of it is private. The account has the cost of every stage of the release.
    """

    pairs: Ints
    counts: NoisySums
    sizes: Sizes
    account: Account
    most: int
    """The largest number of pairs that a user contributed to selection, by a private look."""

    @property
    def looked(self) -> dict[str, str | int | float | None]:
        """What the look decided, for the manifest."""
        return {"selection_most": self.most} if self.most else {}


@dataclass(frozen=True, kw_only=True, repr=False)
class Statistics(PrivateHistogram):
    """Everything measured about a log: the synthetic log is computed from it."""

    coverage: Coverage
    """The share of all clicks on the released pairs."""
    association: Association | None
    """Which categories the same users hold, if that was measured."""
    fields: FieldStatistics | None = None
    """What was measured about time, rank and session, if any of them was asked for."""
    kept: float = 0.0
    """How much of that the synthetic users show, from 0 to 1, once they are made."""

    @property
    def kind(self) -> str:
        """What the synthetic users follow: a grouping of the pairs, or nothing."""
        known = self.association is not None and self.kept > 0
        return self.association.grouping.name if self.association and known else INDEPENDENT

    @property
    def users(self) -> int:
        """The number of synthetic users."""
        return self.sizes.users

    @property
    def inside(self) -> float:
        """Clicks on the released pairs, as measured."""
        return self.coverage.inside

    @property
    def outside(self) -> float:
        """Clicks on other pairs, as measured."""
        return self.coverage.outside

    @property
    def counted(self) -> float:
        """The sum of the private counts, which estimates the same as `inside`."""
        return self.coverage.counted

    @property
    def share(self) -> float:
        """The share of all clicks on the released pairs."""
        return self.coverage.share

    @property
    def bins(self) -> Floats:
        """Users with 0, 1, … released pairs: up to 30, and up to all of them."""
        return self.sizes.bins


def measure(
    hist: AnyHistogram,
    selected: Selected,
    spending: Spending,
    group: Groups | None,
    events: Events | None = None,
    *,
    rng: Randomness,
    steps: Steps,
) -> Statistics:
    """Measure the released pairs, one stage after the other.

    `group` gives their categories in several ways, from the pairs and their private counts; the
    first of them whose table would be visible is used. If none is, its share goes to the counts,
    as do those of stages of time, rank and session that the noise would drown.
    """
    pairs, parts = selected.pairs, spending.parts
    with steps.step("sizes"):
        sizes = noisy_sizes(hist, pairs, mu_squared=parts["sizes"], rng=rng)
    many = group is not None and len(pairs) >= FEWEST_PAIRS
    groupings = group(pairs, np.zeros(len(pairs))) if group and many else []
    way = first_visible([each.categories for each in groupings], sizes, parts.get("association"))
    dropped = drowned(parts, sizes)
    parts = spending.shared(association=way is not None, dropped=dropped)
    with steps.step("counts"):
        counts = noisy_counts(hist, pairs, mu_squared=parts["counts"], rng=rng)
    with steps.step("coverage"):
        coverage = noisy_coverage(hist, pairs, counts, mu_squared=parts["coverage"], rng=rng)
    association = None
    if group and way is not None:
        grouping = group(pairs, counts.values)[way]
        with steps.step("association"):
            association = noisy_association(
                hist, pairs, grouping, mu_squared=parts["association"], rng=rng
            )
    found = None
    if events is not None:
        with steps.step("time, rank, session"):
            query = hist.query_of(pairs)
            found = measure_fields(events, pairs, query, counts, parts, dropped, rng=rng)
    sums = (counts, sizes, coverage, *([association] if association else []))
    stages = (*(each.stage for each in sums), *(found.stages if found else ()))
    return Statistics(
        pairs=pairs,
        counts=counts,
        sizes=sizes,
        coverage=coverage,
        association=association,
        account=Account((*selected.stages, *stages)),
        fields=found,
        most=selected.most,
    )


VISIBLE = 0.6
"""The least part of what users hold together that must be in cells above the noise."""


FEWEST_PAIRS = 12
"""Of fewer pairs than this, there is hardly a choice of what goes with what."""


def first_visible(categories: list[int], sizes: Sizes, mu_squared: Fraction | None) -> int | None:
    """The first table that is worth its cost, by its number of categories; None if none is.

    Decided before counts and association are measured, from the noisy sizes and the budget.
    """
    fit = (n for n, k in enumerate(categories) if visible(k, sizes, mu_squared) >= VISIBLE)
    return next(fit, None)


def visible(categories: int, sizes: Sizes, mu_squared: Fraction | None) -> float:
    """The part of what users hold together that lies in cells above the noise, as expected.

    A user of n pairs adds √(n(n − 1)/2) to the table. The n-th category is taken to have a share
    in proportion to 1/n, and users to hold categories independently.
    """
    if categories < 2 or not mu_squared:
        return 0.0
    size = np.arange(1, len(sizes.held) + 1)
    whole = float((sizes.held * np.sqrt(size * (size - 1) / 2)).sum())
    share = 1 / np.arange(1.0, categories + 1)
    cell = np.outer(share, share)[np.triu_indices(categories, 1)]
    cell *= whole / cell.sum()
    clear = cell[cell >= 1 / math.sqrt(mu_squared)].sum()
    return float(clear) / whole if whole else 0.0


def weight_needed(budget: SelectionBudget) -> float:
    """The approximate weight that selects a pair, 1 + z/μ; a user of n pairs adds 1/√n to each."""
    return 1 + float(normal_quantile(budget.delta)) / math.sqrt(budget.mu_squared)


def heaviest(hist: AnyHistogram) -> float:
    """The largest weight of a pair of the log. Not private: for the curator only."""
    if not isinstance(hist, PairHistogram):
        return hist.heaviest(MOST_CONTRIBUTED)
    held = np.minimum(np.bincount(hist.user, minlength=hist.users), MOST_CONTRIBUTED)
    each = 1 / np.sqrt(np.maximum(held, 1))
    return float(np.bincount(hist.pair, each[hist.user]).max(initial=0.0))


def too_few(hist: AnyHistogram, users: int, needed: float, spent: Account) -> TooFewUsersError:
    """The error for a run that selected no pair, with what the run cost."""
    heavy = heaviest(hist)
    return TooFewUsersError(users=users, share=heavy / needed, needed=needed, cost=spent.cost)
