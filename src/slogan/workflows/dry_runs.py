"""What sanitize() and synthesize() would give, measured on the raw log, and not released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from statistics import fmean

import numpy as np

from slogan.budget import PrivacyBudget, exact
from slogan.dp import selection
from slogan.dp.grouping import Kinds
from slogan.dp.statistics import spread
from slogan.engines.engine import Counted, Engine
from slogan.errors import TooFewUsersError
from slogan.histogram import PairHistogram
from slogan.measures import Totals
from slogan.measures.supports import frequent_pairs
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives import Objective
from slogan.planning.objectives.frequent_pairs import FrequentPairs
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.planner import Sweep, SweepPoint, climb
from slogan.planning.solvers import Effort
from slogan.progress import Steps
from slogan.randomness import SeededRandomness
from slogan.workflows.synthesize import make_users

_SUPPORT = Fraction(1, 500)


def support_of(objective: Objective) -> Fraction:
    """From which share of clicks on a pair is frequent: the paper's, unless the objective says."""
    return exact(objective.min_support) if isinstance(objective, FrequentPairs) else _SUPPORT


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """What one budget buys."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SanitizedPoint(FrontierPoint):
    """What sanitize() gives under one budget; None where F-UMP's output size is out of reach."""

    budget_per_user: float
    size_bound: float
    """m·b: no output is larger."""
    value: float | None = None
    bound: float | None = None
    gap: float | None = None
    status: str | None = None
    carried: bool = False
    clicks: int = 0
    pairs: int = 0
    recall: float | None = None
    precision: float | None = None
    sum_support_distance: float | None = None
    exposed_users_expected: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SynthesizedPoint(FrontierPoint):
    """What synthesize() would give, on average; None where nothing is frequent."""

    value: float
    """Different released pairs: of all values that never fall as a budget grows, the nearest."""
    average: float
    """Different released pairs, as the dry runs of this budget alone had them."""
    pairs_least: int
    pairs_most: int
    clicks: float
    coverage: float
    recall: float | None
    precision: float | None
    sum_support_distance: float


@dataclass(frozen=True, kw_only=True)
class DryPlans:
    """What is tried: shared pairs, and how hard to solve."""

    hist: PairHistogram
    solver: str
    effort: Effort
    steps: Steps
    largest: Sweep = field(default_factory=dict[Fraction, SweepPoint])
    """Plans of O-UMP, once F-UMP has asked for them."""

    def comparable(self, objective: Objective, budgets: list[PrivacyBudget]) -> Objective:
        """F-UMP's values compare at one output size: half of the largest λ if none is named."""
        if not isinstance(objective, FrequentPairs):
            return objective
        self.largest.update(self._climbed(OutputSize(), budgets))
        most = max(step.plan.size for step in self.largest.values())
        return replace(objective, output_size=objective.output_size or max(1, most // 2))

    def over(
        self, budgets: list[PrivacyBudget], objective: Objective
    ) -> tuple[SanitizedPoint, ...]:
        """A point for every budget, none worse than that of a smaller one."""
        steps = self._climbed(objective, budgets)
        support = support_of(objective)
        with self.steps.step("measure"):
            return tuple(self._point(b, steps.get(b.allowance), support) for b in budgets)

    def _climbed(self, objective: Objective, budgets: list[PrivacyBudget]) -> Sweep:
        def noted(done: int, of: int) -> None:
            self.steps.note(f"{done} of {of} budgets")

        with self.steps.step("solve"):
            return climb(
                self.hist,
                budgets,
                objective,
                solver=self.solver,
                effort=self.effort,
                largest=self.largest,
                done=noted,
            )

    def _point(
        self, budget: PrivacyBudget, step: SweepPoint | None, support: Fraction
    ) -> SanitizedPoint:
        constraints = privacy_constraints(self.hist, budget)
        point = SanitizedPoint(
            epsilon=budget.epsilon_value,
            delta=budget.delta_value,
            budget_per_user=constraints.limit,
            size_bound=constraints.size_bound,
        )
        if step is None:
            return point
        counts = step.plan.counts
        totals = Totals(before=self.hist.pair_total, after=counts, query=self.hist.query)
        kept = frequent_pairs(totals, support)
        return replace(
            point,
            value=step.value,
            bound=step.bound,
            gap=step.gap,
            status=str(step.status),
            carried=step.carried,
            clicks=step.plan.size,
            pairs=step.plan.pairs,
            recall=kept.recall,
            precision=kept.precision,
            sum_support_distance=kept.sum_support_distance,
            exposed_users_expected=constraints.expected_exposed(counts),
        )


@dataclass(frozen=True, kw_only=True)
class DryRuns:
    """What is tried: a log, counted whole, and everything of the method but the budget."""

    counted: Counted
    engine: Engine
    objective: Objective
    kinds: Kinds
    selector: str
    min_support: Fraction
    runs: int
    seed: int
    steps: Steps

    def over(self, budgets: list[PrivacyBudget]) -> tuple[SynthesizedPoint, ...]:
        """A point for every budget, none below that of a smaller one."""
        points: list[SynthesizedPoint] = []
        for n, budget in enumerate(budgets):
            self.steps.note(f"{n} of {len(budgets)} budgets")
            points.append(self.under(budget))
        return running_maximum(points)

    def under(self, budget: PrivacyBudget) -> SynthesizedPoint:
        """Average over runs. Every budget meets the same seeds, so that points compare."""
        found = [self._run(budget, self.seed + n) for n in range(self.runs)]
        pairs = [one.pairs for one in found]
        return SynthesizedPoint(
            epsilon=budget.epsilon_value,
            delta=budget.delta_value,
            value=fmean(pairs),
            average=fmean(pairs),
            pairs_least=min(pairs),
            pairs_most=max(pairs),
            clicks=fmean(one.clicks for one in found),
            coverage=fmean(one.coverage for one in found),
            recall=_mean([one.recall for one in found]),
            precision=_mean([one.precision for one in found]),
            sum_support_distance=fmean(one.sum_support_distance for one in found),
        )

    def _run(self, budget: PrivacyBudget, seed: int) -> _Run:
        hist = self.counted.hist
        after, coverage = np.zeros(hist.pairs, dtype=np.int64), Fraction(0)
        try:
            made = make_users(
                self.counted,
                budget,
                spread(budget, association=self.kinds.looks),
                selection.load(self.selector),
                objective=self.objective,
                group=self.kinds.grouping(self.engine.urls),
                rng=SeededRandomness(seed),
                steps=self.steps,
            )
        except TooFewUsersError:
            pass  # nothing would be released, and that is an answer
        else:
            np.add.at(after, made.output.pair, made.output.count)
            coverage = exact(made.statistics.coverage.share)
        totals = Totals(before=hist.pair_total, after=after, query=hist.query, coverage=coverage)
        kept = frequent_pairs(totals, self.min_support)
        return _Run(
            pairs=int(np.count_nonzero(after)),
            clicks=int(after.sum()),
            coverage=float(coverage),
            recall=kept.recall,
            precision=kept.precision,
            sum_support_distance=kept.sum_support_distance,
        )


def running_maximum(points: Sequence[SynthesizedPoint]) -> tuple[SynthesizedPoint, ...]:
    """The points with the best average that this budget or a smaller one reaches as their value.

    A release under a smaller budget keeps the promise of a larger one, so it can always be had.
    """
    return tuple(
        replace(
            point,
            value=max(
                other.average
                for other in points
                if other.epsilon <= point.epsilon and other.delta <= point.delta
            ),
        )
        for point in points
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    pairs: int
    clicks: int
    coverage: float
    recall: float | None
    precision: float | None
    sum_support_distance: float


def _mean(shares: list[float | None]) -> float | None:
    known = [share for share in shares if share is not None]
    return fmean(known) if known else None
