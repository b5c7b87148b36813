"""DryPlans: what sanitize() would give, measured on the raw log, and not released."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction

from slogan.climbing import Step, Steps, climb
from slogan.constraints import privacy_constraints
from slogan.histogram import PairHistogram
from slogan.objectives import Objective
from slogan.objectives.frequent_pairs import FrequentPairs
from slogan.objectives.output_size import OutputSize
from slogan.privacy import PrivacyBudget, exact
from slogan.report.measures.supports import frequent_pairs
from slogan.report.measures.totals import Totals
from slogan.solvers import Effort
from slogan.stages import Stages

_SUPPORT = Fraction(1, 500)


def support_of(objective: Objective) -> Fraction:
    """From which share of clicks on a pair is frequent: the paper's, unless the objective says."""
    return exact(objective.min_support) if isinstance(objective, FrequentPairs) else _SUPPORT


@dataclass(frozen=True, slots=True, kw_only=True)
class SanitizedPoint:
    """What sanitize() gives under one budget; nulls where F-UMP's output size is out of reach."""

    epsilon: float
    delta: float
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


@dataclass(frozen=True, kw_only=True)
class DryPlans:
    """What is tried: shared pairs, and how hard to solve."""

    hist: PairHistogram
    solver: str
    effort: Effort
    stages: Stages
    largest: Steps = field(default_factory=dict[Fraction, Step])
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
        with self.stages.stage("measure"):
            return tuple(self._point(b, steps.get(b.allowance), support) for b in budgets)

    def _climbed(self, objective: Objective, budgets: list[PrivacyBudget]) -> Steps:
        def noted(done: int, of: int) -> None:
            self.stages.note(f"{done} of {of} budgets")

        with self.stages.stage("solve"):
            return climb(
                self.hist,
                budgets,
                objective,
                solver=self.solver,
                effort=self.effort,
                largest=self.largest,
                done=noted,
            )

    def _point(self, budget: PrivacyBudget, step: Step | None, support: Fraction) -> SanitizedPoint:
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
