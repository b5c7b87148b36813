"""Planner: counts that passed the gate, exact or with the paper's noise; climb(): many budgets."""

import math
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget, readable
from slogan.errors import EmptyPlanError, NothingLeftError, OutputSizeError
from slogan.histogram import Output, PairHistogram, Remainder
from slogan.modes import LaplaceCounts
from slogan.planning import solvers
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.exposure import LeastExposure
from slogan.planning.laplace import Optimum, influential_users, with_noise
from slogan.planning.least_budget import LeastBudget, least_budget, packing_objective
from slogan.planning.mixture import Mixture
from slogan.planning.objectives import Objective, PackingObjective, program_of, refusal_of
from slogan.planning.pareto import Compromise, pareto
from slogan.planning.plan import Plan, plan
from slogan.planning.prices import Prices, prices
from slogan.planning.program import Program, Solution, Status, empty, gap, status
from slogan.planning.sampling import sample_users
from slogan.planning.solvers import Effort, Solver, quiet
from slogan.progress import Steps
from slogan.randomness import Randomness

_FOR_THE_REST = 0.25
"""The part of the time limit for the best counts once the least budget is known."""
_FOR_PRICES, _LEAST_FOR_PRICES = 0.25, 0.5
"""The time for prices, as a part of the run so far; and in seconds, at least."""
_NEARLY_ALL = 0.9
"""A search that took this part of its time limit was stopped by it."""
_LEAST_TIME = 0.05
"""Seconds for a joint problem, even if its parts took all the time."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Solved:
    """A program with its solution, and the part of the log it is about."""

    left: Remainder
    removed: Ints
    constraints: PrivacyConstraints
    program: Program
    solution: Solution


@dataclass(frozen=True, kw_only=True, repr=False)
class Planned(Solved):
    """A solved program with counts that passed the gate."""

    plan: Plan

    def sample(self, rng: Randomness) -> Output:
        """Draw a user for every released click, by the numbers of the whole log."""
        output = sample_users(self.constraints.hist, self.plan, rng)
        return replace(output, user=self.left.users[output.user], pair=self.left.pairs[output.pair])


@dataclass(frozen=True)
class Planner:
    """Plans counts for a histogram: the best utility under a budget, with a solver's effort."""

    objective: Objective
    budget: PrivacyBudget
    solver: Solver
    steps: Steps

    @property
    def effort(self) -> Effort:
        """When the solver may stop, and how it reports progress."""
        return replace(self.solver.effort, report=self._report)

    def _report(self, value: float, bound: float) -> None:
        percent = 100 * gap(value=value, bound=bound)
        self.steps.note(
            f"best {readable(value)}, at most {readable(bound)} possible, gap {percent:.1f} %"
        )

    def _report_budget(self, lower: float, upper: float) -> None:
        enough = "" if upper == math.inf else f", {upper:.6g} is enough"
        self.steps.note(f"a budget per user of at least {lower:.6g} is needed{enough}")

    def _report_exposure(self, exposed: float, bound: float) -> None:
        self.steps.note(
            f"{readable(exposed)} users exposed, at least {readable(bound)} are necessary"
        )

    def _count_users(self, done: int, users: int) -> None:
        self.steps.note(f"{done:,} of {users:,} users")

    def required(self, hist: PairHistogram, value: int) -> tuple[LeastBudget, Planned]:
        """The least budget for a value of the objective, and the best counts under it."""
        with self.steps.step("compile"):
            solvers.warm_up(self.solver.name)
        begin, limit = time.monotonic(), self.solver.time_limit
        with self.steps.step("budget"):
            effort = replace(
                self.solver.effort,
                time_limit=(1 - _FOR_THE_REST) * limit,
                report=self._report_budget,
            )
            least = least_budget(
                hist, self.objective, value, solver=self.solver.name, effort=effort
            )
        left = max(_FOR_THE_REST * limit, limit - (time.monotonic() - begin))
        solver = replace(self.solver, time_limit=left)
        last = replace(self, budget=least.budget, solver=solver)
        return least, last.exact(hist, start=least.counts)

    def exposing_few(self, hist: PairHistogram, value: int) -> tuple[LeastExposure, Planned]:
        """Counts of a value of the objective that are expected to expose the fewest users."""
        from slogan.planning.exposure import least  # noqa: PLC0415  loops that few runs need

        goal, constraints = packing_objective(self.objective, value), self.constrained(hist)
        with self.steps.step("compile"):
            solvers.warm_up(self.solver.name)
            least.warm_up()
        with self.steps.step("solve"):
            program = goal.program(constraints)
            effort = replace(self.solver.effort, report=self._report_exposure)
            found = least.least_exposure(
                program, value, utility=goal.utility, solver=self.solver.name, effort=effort
            )
        with self.steps.step("gate"):
            planned = plan(found.counts, constraints)
        if int(program.value(planned.counts)) < value:
            raise AssertionError("the gate lowered counts that it allows; please report this")
        solution = Solution(
            x=found.counts.astype(np.float64),
            bound=found.value_bound,
            status=found.status,
            solver=found.solver,
        )
        everything = Remainder(hist=hist, users=np.arange(hist.users), pairs=np.arange(hist.pairs))
        return found, Planned(
            left=everything,
            removed=np.zeros(0, dtype=np.int64),
            constraints=constraints,
            program=program,
            solution=solution,
            plan=planned,
        )

    def exact(self, hist: PairHistogram, start: Ints | None = None) -> Planned:
        """The optimal counts for the log as it is: [Hong12, Algorithm 1].

        Args:
            hist: Shared pairs only.
            start: Counts that the budget allows; nothing worse is returned.
        """
        constraints = self.constrained(hist)
        with self.steps.step("compile"):
            solvers.warm_up(self.solver.name)
        with self.steps.step("solve"):
            begin = time.monotonic()
            program = self._program(constraints)
            effort = replace(self.effort, start=start)
            if program.mixture is not None:  # its parts were solved within the same limit
                left = effort.time_limit - (time.monotonic() - begin)
                effort = replace(effort, time_limit=max(_LEAST_TIME, left))
            solution = solvers.load(self.solver.name)(program, effort)
        with self.steps.step("gate"):
            planned = plan(solution.x, constraints)
            if start is not None and _better(program, start, planned.counts):
                planned = plan(start, constraints)
        if planned.size == 0:
            raise empty(constraints)
        if program.mixture is not None and not program.mixture.meets(planned.counts):
            raise program.mixture.floor_error([planned.counts], impossible=False)
        everything = Remainder(hist=hist, users=np.arange(hist.users), pairs=np.arange(hist.pairs))
        return Planned(
            left=everything,
            removed=np.zeros(0, dtype=np.int64),
            constraints=constraints,
            program=program,
            solution=solution,
            plan=planned,
        )

    def compromises(self, hist: PairHistogram) -> tuple[Mixture, tuple[Compromise, ...]]:
        """Plans that trade the two parts of a joint objective for each other, and the parts."""
        constraints = self.constrained(hist)
        with self.steps.step("compile"):
            solvers.warm_up(self.solver.name)
        with self.steps.step("solve"):
            program = self._program(constraints)
            mixture = program.mixture
            if mixture is None:
                raise AssertionError("only a joint objective has parts to compare")
            effort = replace(self.solver.effort, report=quiet)
            return mixture, pareto(
                program,
                mixture,
                solver=self.solver.name,
                effort=effort,
                done=lambda done, of: self.steps.note(f"{done} of {of} problems"),
            )

    def prices(self, planned: Planned) -> Prices | None:
        """What limits a plan, and what a larger budget would give; None unless it is a packing.

        A search that its time limit stopped would find more under the same budget too, so a second
        one says nothing about a larger budget.
        """
        if not isinstance(self.objective, PackingObjective):
            return None
        spent = self.steps.seconds
        searched = spent.get("solve", 0.0) + spent.get("budget", 0.0)
        proven = planned.solution.status is Status.OPTIMAL
        time_limit = max(_LEAST_FOR_PRICES, _FOR_PRICES * sum(spent.values()))
        with self.steps.step("prices"):
            return prices(
                planned.program,
                planned.plan.counts,
                self.budget,
                solver=self.solver.name,
                effort=replace(self.solver.effort, time_limit=time_limit),
                again=proven or searched < _NEARLY_ALL * self.solver.time_limit,
            )

    def laplace(self, hist: PairHistogram, mode: LaplaceCounts, rng: Randomness) -> Planned:
        """Noisy counts for the log without influential users: [Hong12, 4.2], a heuristic."""
        solved = self.without_influential(hist, mode)
        with self.steps.step("gate"):
            planned = plan(with_noise(solved.solution.x, mode, rng), solved.constraints)
        if planned.size == 0:
            raise NothingLeftError(
                "no count is above 0 after the noise",
                hint="lower d/ε', or raise the budget; repeating the draw is not covered by it",
            )
        return Planned(**vars(solved), plan=planned)

    def without_influential(self, hist: PairHistogram, mode: LaplaceCounts) -> Solved:
        """The optimum of the relaxation, for the log without influential users."""
        whole = self.constrained(hist)
        with self.steps.step("solve"):
            question = self._program(whole)
        with self.steps.step("leave-one-out"):
            removed = influential_users(question, mode, self.effort, self._count_users)
        left = hist.without_users(removed)
        if left.hist.pairs == 0:
            raise NothingLeftError(
                f"{len(removed)} of {hist.users} users change some count by more than "
                f"{mode.bound} and are removed; the others share no pair",
                hint="raise --laplace-bound, or pool a longer period of logs",
            )
        constraints = self.constrained(left.hist)
        with self.steps.step("solve"):
            program = self._program(constraints)
            solution = Optimum(program, self.effort).solution
        return Solved(
            left=left, removed=removed, constraints=constraints, program=program, solution=solution
        )

    def constrained(self, hist: PairHistogram) -> PrivacyConstraints:
        """The constraints of a histogram under this budget."""
        with self.steps.step("constrain"):
            constraints = privacy_constraints(hist, self.budget)
            fitting, entries = np.count_nonzero(constraints.upper), constraints.cost.nnz
            self.steps.note(f"{fitting:,} of {hist.pairs:,} pairs fit, {entries:,} charges")
        return constraints

    def _program(self, constraints: PrivacyConstraints) -> Program:
        solve, full = solvers.load(self.solver.name), self.effort

        def solved(
            program: Program, *, goal: float = math.inf, share: float = 1.0
        ) -> tuple[Plan, float]:
            effort = replace(full, goal=goal, time_limit=share * full.time_limit)
            answer = solve(program, effort)
            return plan(answer.x, constraints), answer.bound

        return program_of(self.objective, constraints, solved)


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
        """The largest relative distance from the optimum."""
        return gap(value=self.value, bound=self.bound)


Sweep = dict[Fraction, SweepPoint]
"""By the allowance of each budget."""


def climb(
    hist: PairHistogram,
    budgets: Iterable[PrivacyBudget],
    objective: Objective,
    *,
    solver: str = "auto",
    effort: Effort,
    largest: Mapping[Fraction, SweepPoint] | None = None,
    done: Callable[[int, int], None] = quiet,
) -> Sweep:
    """The best plans for increasing budgets, none worse than that of a smaller one.

    A plan that a smaller budget allows is allowed by a larger one, so it is kept until a better
    one is found; a bound for a larger budget holds for a smaller one. Budgets that cannot reach
    F-UMP's output size have no entry.

    Args:
        hist: Shared pairs only.
        budgets: In any order; those with equal allowance are solved once.
        objective: Its output size must be the same for every budget, or values do not compare.
        solver: A file of `solvers/`, or "auto".
        effort: For each problem.
        largest: Plans of O-UMP that are already known.
        done: Receives the number of budgets done, and of all.
    """
    rising = sorted({budget.allowance: budget for budget in budgets}.items())
    if objective.exact_only:
        raise refusal_of(objective, "several budgets", "compare releases under each budget")
    climber = _Climber(objective, solver, effort, dict(largest or {}))
    steps: Sweep = {}
    done(0, len(rising))
    for n, (allowance, budget) in enumerate(rising, start=1):
        constraints = privacy_constraints(hist, budget)
        step = climber.step(constraints, next(reversed(steps.values()), None))
        if step is not None:
            steps[allowance] = step
        done(n, len(rising))
    # A bound for a larger budget also bounds every smaller one.
    worst, bound = (min, np.inf) if objective.is_packing else (max, -np.inf)
    for allowance, step in reversed([*steps.items()]):
        bound = worst(bound, step.bound)
        reached = status(value=step.value, bound=bound, allowed=effort.gap)
        steps[allowance] = replace(step, bound=bound, status=reached)
    return steps


@dataclass
class _Climber:
    objective: Objective
    solver: str
    effort: Effort
    largest: Sweep

    def step(self, constraints: PrivacyConstraints, before: SweepPoint | None) -> SweepPoint | None:
        try:
            program = program_of(self.objective, constraints, self._solve_part)
        except (OutputSizeError, EmptyPlanError):
            return None
        if program.targets is not None and before is not None:
            # F-UMP's solvers start from given counts: the better of the two.
            start = min(program.targets.start, before.plan.counts, key=program.value)
            program = replace(program, targets=replace(program.targets, start=start))
        return self._solved(program, before)

    def _solve_part(
        self, program: Program, *, goal: float = math.inf, share: float = 1.0
    ) -> tuple[Plan, float]:
        """O-UMP, the only part here; any goal and share of the time: the plan is used again."""
        del goal, share
        return self._largest(program.constraints)

    def _largest(self, constraints: PrivacyConstraints) -> tuple[Plan, float]:
        """λ and its bound; budgets increase, so the last known plan is a start."""
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
        best = plan(answer.x, program.constraints)
        carried = start is not None and not _better(program, best.counts, start)
        if start is not None and carried:
            best = plan(start, program.constraints)
        value = program.value(best.counts)
        return SweepPoint(
            plan=best,
            value=value,
            bound=answer.bound,
            status=status(value=value, bound=answer.bound, allowed=self.effort.gap),
            carried=carried,
        )


def _better(program: Program, counts: Ints, known: Ints) -> bool:
    new, old = program.value(counts), program.value(known)
    if program.targets is None:
        return new > old
    return int(counts.sum()) == program.targets.output_size and new < old
