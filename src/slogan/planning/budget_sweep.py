"""climb(): the best plans for ever larger budgets, none worse than that of a smaller one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from slogan.budget import PrivacyBudget
from slogan.errors import EmptyPlanError, OutputSizeError
from slogan.histogram import PairHistogram
from slogan.planning import solvers
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.objectives import Objective, program_of
from slogan.planning.plan import Plan, plan
from slogan.planning.program import Program, Status, gap, status
from slogan.planning.solvers import Effort

Sweep = dict[Fraction, "SweepPoint"]
"""By what each user may be charged, as the allowance of a budget."""
Done = Callable[[int, int], None]
"""Told how many budgets are done, and of how many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoint:
    """The best plan found for one budget, and what is proven about it."""

    plan: Plan
    value: float
    bound: float
    """Proven: no plan under this budget has a better value."""
    status: Status
    carried: bool = False
    """The plan was found under a smaller budget, and nothing better under this one."""

    @property
    def gap(self) -> float:
        """How far from the best it may be."""
        return gap(value=self.value, bound=self.bound)


def nobody_waits(done: int, of: int) -> None:
    """Tell nobody."""
    del done, of


def climb(
    hist: PairHistogram,
    budgets: Iterable[PrivacyBudget],
    objective: Objective,
    *,
    solver: str = "auto",
    effort: Effort,
    largest: Mapping[Fraction, SweepPoint] | None = None,
    done: Done = nobody_waits,
) -> Sweep:
    """Solve one problem for many budgets, of which only the allowances count.

    A plan that a smaller budget allows is allowed by a larger one, so it is kept until something
    better is found; a bound for a larger budget holds for a smaller one. Where F-UMP's output size
    is out of reach there is no step.

    Args:
        hist: Shared pairs only.
        budgets: In any order; those that charge alike are solved once.
        objective: The same output size must be asked for at every budget, or values do not compare.
        solver: A file of `solvers/`, or "auto".
        effort: For each problem.
        largest: Plans of O-UMP, where they are known already.
        done: Told how far it is.
    """
    rising = sorted({budget.allowance: budget for budget in budgets}.items())
    ask = _Asked(objective, solver, effort, dict(largest or {}))
    steps: Sweep = {}
    done(0, len(rising))
    for n, (allowance, budget) in enumerate(rising, start=1):
        constraints = privacy_constraints(hist, budget)
        step = ask.step(constraints, next(reversed(steps.values()), None))
        if step is not None:
            steps[allowance] = step
        done(n, len(rising))
    return _tightened(steps, effort.gap, minimises=ask.minimises)


@dataclass
class _Asked:
    objective: Objective
    solver: str
    effort: Effort
    largest: Sweep
    minimises: bool = False

    def step(self, constraints: PrivacyConstraints, before: SweepPoint | None) -> SweepPoint | None:
        try:
            program = program_of(self.objective, constraints, lambda: self._largest(constraints))
        except (OutputSizeError, EmptyPlanError):
            return None
        self.minimises = program.minimises
        return self._solved(_begun(program, before), before)

    def _largest(self, constraints: PrivacyConstraints) -> tuple[Plan, float]:
        """λ and its bound; as budgets come in rising order the last known plan is a start."""
        known = self.largest.get(constraints.allowance)
        if known is None:
            smaller = [a for a in self.largest if a < constraints.allowance]
            before = self.largest[max(smaller)] if smaller else None
            known = self._solved(Program(constraints=constraints), before)
            self.largest[constraints.allowance] = known
        return known.plan, known.bound

    def _solved(self, program: Program, before: SweepPoint | None) -> SweepPoint:
        start = None if before is None else before.plan.counts
        answer = solvers.load(self.solver)(program, replace(self.effort, start=start))
        found = plan(answer.x, program.constraints)
        carried = before is not None and not _better(program, found, before.plan)
        if before is not None and carried:
            found = plan(before.plan.counts, program.constraints)
        value = program.value(found.counts)
        return SweepPoint(
            plan=found,
            value=value,
            bound=answer.bound,
            status=status(value=value, bound=answer.bound, allowed=self.effort.gap),
            carried=carried,
        )


def _better(program: Program, found: Plan, known: Plan) -> bool:
    new, old = program.value(found.counts), program.value(known.counts)
    if program.targets is not None and found.size != program.targets.output_size:
        return False
    return new < old if program.minimises else new > old


def _begun(program: Program, before: SweepPoint | None) -> Program:
    """F-UMP's solvers begin with given counts: the better of those there are."""
    targets = program.targets
    if targets is None or before is None:
        return program
    start = min(targets.start, before.plan.counts, key=program.value)
    return replace(program, targets=replace(targets, start=start))


def _tightened(steps: Sweep, allowed: float, *, minimises: bool) -> Sweep:
    """Whatever a larger budget cannot do, a smaller one cannot do either."""
    tight: Sweep = {}
    bound: float | None = None
    for allowance, step in reversed(steps.items()):
        better = max if minimises else min
        bound = step.bound if bound is None else better(step.bound, bound)
        reached = status(value=step.value, bound=bound, allowed=allowed)
        tight[allowance] = replace(step, bound=bound, status=reached)
    return dict(reversed(tight.items()))
