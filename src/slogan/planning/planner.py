"""Planner: counts for a histogram that passed the gate, exact or with the paper's noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget
from slogan.errors import EmptyPlanError, NothingLeftError
from slogan.histogram import Output, PairHistogram, Remainder
from slogan.modes import LaplaceCounts
from slogan.planning import solvers
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.laplace import relaxed_solution, swaying_users, with_noise
from slogan.planning.objectives import Objective, program_of
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.plan import Plan, plan
from slogan.planning.program import Program, Solution, gap
from slogan.planning.sampling import sample_users
from slogan.planning.solvers import Effort, Solver
from slogan.progress import Steps
from slogan.randomness import Randomness


@dataclass(frozen=True, kw_only=True, repr=False)
class Solved:
    """The answer to a question, and what of the log it was about."""

    left: Remainder
    removed: Ints
    constraints: PrivacyConstraints
    program: Program
    solution: Solution


@dataclass(frozen=True, kw_only=True, repr=False)
class Planned(Solved):
    """And counts that passed the gate."""

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
        """When the solver may stop, and how it shows how far it is."""
        return replace(self.solver.effort, report=self._report)

    def _report(self, value: float, bound: float) -> None:
        reached = f"value {value:,.6g}, bound {bound:,.6g}"
        self.steps.note(f"{reached}, gap {100 * gap(value=value, bound=bound):.1f} %")

    def exact(self, hist: PairHistogram) -> Planned:
        """The optimal counts for the log as it is: [Hong12, Algorithm 1]."""
        constraints = self.constrained(hist)
        with self.steps.step("compile"):
            solvers.warm_up(self.solver.name)
        with self.steps.step("solve"):
            program = self._program(constraints)
            solution = solvers.load(self.solver.name)(program, self.effort)
        with self.steps.step("gate"):
            planned = plan(solution.x, constraints)
        if planned.size == 0:
            raise empty(constraints)
        everything = Remainder(hist=hist, users=np.arange(hist.users), pairs=np.arange(hist.pairs))
        return Planned(
            left=everything,
            removed=np.zeros(0, dtype=np.int64),
            constraints=constraints,
            program=program,
            solution=solution,
            plan=planned,
        )

    def laplace(self, hist: PairHistogram, mode: LaplaceCounts, rng: Randomness) -> Planned:
        """Noisy counts for the log without the users who sway them: [Hong12, 4.2], a heuristic."""
        found = self.without_swaying(hist, mode)
        with self.steps.step("gate"):
            planned = plan(with_noise(found.solution.x, mode, rng), found.constraints)
        if planned.size == 0:
            raise NothingLeftError(
                "no count is above 0 after the noise",
                hint="lower d/ε', or raise the budget; drawing until it pleases is not covered",
            )
        return Planned(**vars(found), plan=planned)

    def without_swaying(self, hist: PairHistogram, mode: LaplaceCounts) -> Solved:
        """The optimum of the relaxation, for the log without the users who sway it."""
        whole = self.constrained(hist)
        with self.steps.step("solve"):
            question = self._program(whole)
        with self.steps.step("leave-one-out"):
            removed = swaying_users(
                question,
                mode,
                self.effort,
                lambda done, users: self.steps.note(f"{done:,} of {users:,} users"),
            )
        left = hist.without_users(removed)
        if left.hist.pairs == 0:
            raise NothingLeftError(
                f"of {hist.users} users {len(removed)} move some count by more than "
                f"{mode.bound} and are removed; the others share no pair",
                hint="raise --laplace-bound, or pool a longer period of logs",
            )
        constraints = self.constrained(left.hist)
        with self.steps.step("solve"):
            program = self._program(constraints)
            solution = relaxed_solution(program, self.effort)
        return Solved(
            left=left,
            removed=removed,
            constraints=constraints,
            program=program,
            solution=solution,
        )

    def constrained(self, hist: PairHistogram) -> PrivacyConstraints:
        """The constraints of a histogram under this budget."""
        with self.steps.step("constrain"):
            constraints = privacy_constraints(hist, self.budget)
            fitting, entries = np.count_nonzero(constraints.upper), constraints.cost.nnz
            self.steps.note(f"{fitting:,} of {hist.pairs:,} pairs fit, {entries:,} charges")
        return constraints

    def _program(self, constraints: PrivacyConstraints) -> Program:
        solve = solvers.load(self.solver.name)

        def largest() -> tuple[Plan, float]:
            answer = solve(OutputSize().program(constraints), self.effort)
            return plan(answer.x, constraints), answer.bound

        return program_of(self.objective, constraints, largest)


def empty(constraints: PrivacyConstraints) -> EmptyPlanError:
    """Why nothing is released, with the number."""
    cheapest = float(constraints.cost_of_rows(constraints.dearest).min())
    return EmptyPlanError(limit=constraints.limit, cheapest=cheapest)
