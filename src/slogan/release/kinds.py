"""The kinds of releases: real rows under a plan, real rows drawn rarely, and synthetic users."""

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from slogan.arrays import Ints
from slogan.budget import exact
from slogan.dp.accounting import Cost, rounded_up
from slogan.dp.one_pair import OnePair, OnePairSpending
from slogan.dp.private_rows import expected_exposed
from slogan.dp.statistics import PrivateHistogram, Spending, Statistics
from slogan.engines.engine import PublicPairs
from slogan.histogram import MadeEvents
from slogan.logs.words import worded
from slogan.manifest.certificate import (
    BudgetPrices,
    ListedPairs,
    LogSizes,
    PartOfJoint,
    PrivateRowsSummary,
    SanitizedSummary,
    SyntheticSummary,
)
from slogan.manifest.manifest import (
    Claims,
    MeasuredFields,
    Outputs,
    PrivateRowsOutputs,
    Spent,
)
from slogan.manifest.promise import REQUIRE
from slogan.modes import ExactCounts, LaplaceCounts
from slogan.planning import objectives
from slogan.planning.constraints import PrivacyConstraints
from slogan.planning.exposure import LeastExposure
from slogan.planning.least_budget import LeastBudget
from slogan.planning.plan import Plan
from slogan.planning.prices import Prices
from slogan.planning.program import Program, Solution, Status, gap, status
from slogan.release.base import Release
from slogan.report import curator as charts
from slogan.report.prices import price_figures


@dataclass(frozen=True, kw_only=True, repr=False)
class SanitizedRelease(Release):
    """Real rows under a plan: the guarantee holds given the counts."""

    objective: str
    mode: ExactCounts | LaplaceCounts
    removed: Ints
    """Users removed beforehand, by their numbers in the histogram."""
    constraints: PrivacyConstraints
    program: Program
    solution: Solution
    plan: Plan
    least: LeastBudget | None = None
    """If a utility was required in place of a budget: what is proven about smaller ones."""
    prices: Prices | None = None
    """Which users' limits bind and what budget is worth; None if that is not computed."""
    exposure: LeastExposure | None = None
    """If a utility was required with few exposed users: what is proven about other plans."""

    @property
    def value(self) -> float:
        """The utility reached, in the objective's own unit."""
        return self.program.value(self.plan.counts)

    @property
    def bound(self) -> float:
        """The proven bound: no integer solution is better.

        The solver's bound on support distances holds for outputs of size |O|. If rounding or noise
        changed the number of clicks, the only proven bound is 0.
        """
        targets = self.program.targets
        of_other_size = targets is not None and self.plan.size != targets.output_size
        return 0.0 if of_other_size else float(self.solution.bound)

    @property
    def status(self) -> Status:
        """What is proven about the released counts, which may differ from the solver's."""
        if self.exposure is not None:
            return self.exposure.status
        allowed = float(self.parameters["gap"] or 0)
        return status(value=self.value, bound=self.bound, allowed=allowed)

    @property
    def summary(self) -> SanitizedSummary:
        counted, shared, least, few = self.counted, self.counted.shared, self.least, self.exposure
        return SanitizedSummary(
            **self._facts(),
            objective=self.objective,
            counts="laplace" if isinstance(self.mode, LaplaceCounts) else "exact",
            budget_per_user=self.budget.per_user,
            shared=LogSizes(users=shared.users, pairs=shared.pairs, clicks=shared.clicks),
            users_unconstrained=counted.users - shared.users,
            users_removed=len(self.removed),
            value=self.value,
            bound=self.bound,
            gap=gap(value=self.value, bound=self.bound) if few is None else few.gap,
            status=str(self.status),
            solver=self.solution.solver,
            required=int(self.parameters.get(REQUIRE) or 0) or None,
            minimized=None if few is None else "exposure",
            exposure_lower_bound=None if few is None else few.lower_bound,
            budget_needed=None if least is None else self.budget.per_user,
            budget_lower_bound=None if least is None else least.lower_bound,
            prices=self._prices,
            parts=self._parts,
            convergence=self.solution.trace,
            size_bound=self._size_bound,
            exposed_users_expected=self.constraints.expected_exposed(self.plan.counts),
        )

    @property
    def _prices(self) -> BudgetPrices | None:
        if self.prices is None:
            return None
        quality = gap(value=self.value, bound=self.bound)
        open_gap = 0.0 if self.status is Status.OPTIMAL else quality
        unit = objectives.load(self.objective).utility
        figures = price_figures(self.prices, self.budget, self.value, unit=unit, gap=open_gap)
        words = tuple(worded(text, self.log.items) for text in figures.words)
        return replace(figures, words=words)

    @property
    def _parts(self) -> tuple[PartOfJoint, ...]:
        mixture, counts = self.program.mixture, self.plan.counts
        return tuple(
            PartOfJoint(
                name=part.name,
                weight=float(part.weight),
                at_least=float(part.at_least) if part.at_least else None,
                value=float(mixture.amount(part, counts)),
                optimum=float(part.optimum),
                bound=part.bound,
                share=float(mixture.share(part, counts)),
            )
            for part in (mixture.parts if mixture else ())
            if mixture
        )

    def write_curators_tables(self, curator: Path) -> None:
        """Write the tables of real and new user-IDs, and of removed users."""
        super().write_curators_tables(curator)
        if isinstance(self.mode, LaplaceCounts):
            self.job.engine.write_users(self.removed, curator / "removed.parquet")

    @property
    def _size_bound(self) -> float:
        stayed = self.counted.stayed
        return stayed.users * self.constraints.limit if stayed else self.constraints.size_bound

    def chart_data(self) -> dict[str, Any]:
        counts, constraints = self.plan.counts, self.constraints
        shared, left = self.counted.shared, constraints.hist
        lost = {"unique_pairs": self.counted.clicks - shared.clicks}
        if isinstance(self.mode, LaplaceCounts):
            lost["removed_users"] = shared.clicks - left.clicks
        fate = charts.clicks_by_fate(left.pair_total, counts, constraints.upper)
        use = charts.budget_use(constraints.charge(counts), constraints.limit)
        drawn: dict[str, Any] = {}
        if self.counted.stayed:
            # Pairs that stayed in the engine are in no figure; their clicks are in two sums.
            fate["too_dear"] += shared.too_dear
            fate["not_chosen"] += shared.clicks - shared.too_dear - left.clicks
            use[0] += shared.users - left.users
        else:
            drawn["figures"] = asdict(charts.figures(*self.clicks_before_and_after()))
        return {**drawn, "clicks_by_fate": {**lost, **fate}, "budget_use": use}

    @property
    def cost(self) -> None:
        """None: no accounting covers a guarantee that holds given the counts."""

    def claims(self) -> Claims:
        return Claims(pseudonyms=self.job.pseudonyms)


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivateRowsRelease(Release):
    """Real rows drawn so rarely that the release is private end to end (Theorem R)."""

    objective: str
    division: Spending
    histogram: PrivateHistogram
    weight: Ints

    @property
    def cap(self) -> float:
        """B: the most clicks that any user is expected to show."""
        return float(exact(self.division.sampling.cap))

    @property
    def cost(self) -> Cost:
        return self.histogram.account.cost

    @property
    def noisy_users(self) -> int:
        return self.histogram.sizes.users

    @property
    def summary(self) -> PrivateRowsSummary:
        counted, cap = self.counted, exact(self.division.sampling.cap)
        return PrivateRowsSummary(
            **self._facts(),
            objective=self.objective,
            counts="private",
            budget_per_user=self.cap,
            pairs_selected=len(self.histogram.pairs),
            size_bound=counted.users * self.cap,
            exposed_users_expected=expected_exposed(
                counted.hist, self.histogram.pairs, self.weight, cap=cap
            ),
            exposed_users_at_most=counted.users * -math.expm1(-self.cap),
        )

    def chart_data(self) -> dict[str, Any]:
        before, after = self.clicks_before_and_after()
        return {
            "figures": asdict(charts.figures(before, after)),
            "clicks_by_fate": charts.clicks_by_draw(before, after, self.histogram.pairs),
        }

    def claims(self) -> Claims:
        return Claims(
            pseudonyms=self.job.pseudonyms,
            account=Spent.model_validate(self.histogram.account.summary(self.budget)),
            outputs=PrivateRowsOutputs(
                pairs_selected=len(self.histogram.pairs),
                users=self.histogram.sizes.users,
                users_by_pairs=tuple(self.histogram.sizes.bins.tolist()),
            ),
        )


def suspicions(public: PublicPairs) -> tuple[str, ...]:
    """What suggests that a list of public pairs was made from the log. For the curator only."""
    if not public.of_one_user or 2 * public.in_log < public.listed:
        return ()
    return (
        f"{public.in_log:,} of {public.listed:,} public pairs are in the log, and "
        f"{public.of_one_user:,} of them were searched by one user only. Was the list made from "
        "this log? Then the guarantee does not hold: do not publish.",
    )


@dataclass(frozen=True, kw_only=True, repr=False)
class SyntheticRelease(Release):
    """Made-up users who fit private statistics: private end to end (Theorem S)."""

    statistics: Statistics | OnePair
    spending: Spending | OnePairSpending
    pairs_possible: Fraction
    """Π, from the raw log: for the curator only."""
    public_pairs: PublicPairs | None = None
    """Where pairs are public knowledge: how they and the log go together, for the curator only."""
    made: MadeEvents | None = None
    """The rows with times, ranks and sessions, if any of them is filled."""
    with_events: bool = False
    """Whether times, ranks and sessions were measured, as far as the log asks for them."""

    @property
    def cost(self) -> Cost:
        return self.statistics.account.cost

    @property
    def noisy_users(self) -> int:
        return self.statistics.users

    @property
    def filled(self) -> tuple[str, ...] | None:
        """Which of time, rank and session have values; None if none was asked for."""
        made = self.made
        if made is None:
            return () if self.with_events else None
        values = {"time": made.second, "rank": made.rank, "session": made.session}
        return tuple(role for role, given in values.items() if given is not None)

    def _write(self, file: Path) -> None:
        """Write the released log, if need be with a row for each event."""
        self.job.engine.write(self.output, self.pseudonyms, file, self.made)

    @property
    def summary(self) -> SyntheticSummary:
        public = self.public_pairs
        facts = self._facts()
        facts["warnings"] += () if public is None else suspicions(public)
        return SyntheticSummary(
            **facts,
            public_pairs=None if public is None else ListedPairs(**asdict(public)),
            coverage=self.statistics.share,
            association=self.statistics.kind,
            association_kept=self.statistics.kept,
            contributions="one" if isinstance(self.statistics, OnePair) else "several",
            weight_needed=self.spending.weight_needed,
            pairs_possible=rounded_up(self.pairs_possible),
            budget_shares={name: float(part) for name, part in self.spending.shares.items()},
        )

    def chart_data(self) -> dict[str, Any]:
        before, after = self.clicks_before_and_after()
        share = self.statistics.share
        return {
            "figures": asdict(charts.figures(before, after, coverage=share)),
            "clicks_by_fate": charts.clicks_by_selection(before, after),
        }

    def write_curators_tables(self, curator: Path) -> None:
        """Write nothing: made-up users have no real IDs."""

    def claims(self) -> Claims:
        statistics = self.statistics
        return Claims(
            pseudonyms="synthetic",
            account=Spent.model_validate(statistics.account.summary(self.budget)),
            outputs=Outputs(
                pairs_selected=len(statistics.pairs),
                coverage=statistics.share,
                clicks_released=statistics.inside,
                clicks_other=statistics.outside,
                clicks_counted=statistics.counted,
                association=statistics.kind,
                association_kept=statistics.kept,
                users=statistics.users,
                users_by_pairs=tuple(statistics.bins.tolist()),
                fields=_measured_fields(statistics),
            ),
        )


def _measured_fields(statistics: Statistics | OnePair) -> MeasuredFields | None:
    known = statistics.fields if isinstance(statistics, Statistics) else None
    if known is None:
        return None
    sums = {name: tuple(noisy.values.tolist()) for name, noisy in known.noisy.items()}
    return MeasuredFields(sums=sums, dropped=known.dropped)
