"""Planning: counts for a histogram that passed the gate, exact or with the paper's noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan import solvers
from slogan.arrays import Ints
from slogan.constraints import PrivacyConstraints, privacy_constraints
from slogan.errors import EmptyPlanError, NothingLeftError
from slogan.histogram import PairHistogram, Remainder
from slogan.laplace import relaxed_solution, swaying_users, with_noise
from slogan.modes import Laplace
from slogan.objectives import Objective
from slogan.objectives.output_size import OutputSize
from slogan.plan import Plan, plan
from slogan.privacy import PrivacyBudget
from slogan.program import Program, Solution
from slogan.randomness import Randomness
from slogan.solvers import Effort
from slogan.stages import Stages


@dataclass(frozen=True, kw_only=True)
class Solved:
    """The answer to a question, and what of the log it was about."""

    left: Remainder
    removed: Ints
    constraints: PrivacyConstraints
    program: Program
    solution: Solution


@dataclass(frozen=True, kw_only=True)
class Planned(Solved):
    """And counts that passed the gate."""

    plan: Plan


@dataclass(frozen=True)
class Planning:
    """What is asked of a histogram: a utility, under a budget, with some effort."""

    objective: Objective
    budget: PrivacyBudget
    solver: str
    effort: Effort
    stages: Stages

    def exact(self, hist: PairHistogram) -> Planned:
        """The optimal counts for the log as it is: [Hong12, Algorithm 1]."""
        constraints = self.constrained(hist)
        with self.stages.stage("solve"):
            program = self._program(constraints)
            solution = solvers.load(self.solver)(program, self.effort)
        with self.stages.stage("gate"):
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

    def laplace(self, hist: PairHistogram, mode: Laplace, rng: Randomness) -> Planned:
        """Noisy counts for the log without the users who sway them: [Hong12, 4.2], a heuristic."""
        found = self.without_swaying(hist, mode)
        with self.stages.stage("gate"):
            planned = plan(with_noise(found.solution.x, mode, rng), found.constraints)
        if planned.size == 0:
            raise NothingLeftError(
                "no count is above 0 after the noise",
                hint="lower d/ε', or raise the budget; drawing until it pleases is not covered",
            )
        return Planned(**vars(found), plan=planned)

    def without_swaying(self, hist: PairHistogram, mode: Laplace) -> Solved:
        """The optimum of the relaxation, for the log without the users who sway it."""
        whole = self.constrained(hist)
        with self.stages.stage("solve"):
            question = self._program(whole)
        with self.stages.stage("leave-one-out"):
            removed = swaying_users(
                question,
                mode,
                self.effort,
                lambda done, users: self.stages.note(f"{done:,} of {users:,} users"),
            )
        left = hist.without_users(removed)
        if left.hist.pairs == 0:
            raise NothingLeftError(
                f"of {hist.users} users {len(removed)} move some count by more than "
                f"{mode.bound} and are removed; the others share no pair",
                hint="raise --laplace-bound, or pool a longer period of logs",
            )
        constraints = self.constrained(left.hist)
        with self.stages.stage("solve"):
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
        with self.stages.stage("constrain"):
            constraints = privacy_constraints(hist, self.budget)
            fitting, entries = np.count_nonzero(constraints.upper), constraints.cost.nnz
            self.stages.note(f"{fitting:,} of {hist.pairs:,} pairs fit, {entries:,} charges")
        return constraints

    def _program(self, constraints: PrivacyConstraints) -> Program:
        solve = solvers.load(self.solver)

        def largest() -> tuple[Plan, float]:
            answer = solve(OutputSize().program(constraints, largest=largest), self.effort)
            return plan(answer.x, constraints), answer.bound

        return self.objective.program(constraints, largest=largest)


def empty(constraints: PrivacyConstraints) -> EmptyPlanError:
    """Why nothing is released, with the number."""
    cheapest = float(constraints.cost_of_rows(constraints.dearest).min())
    return EmptyPlanError(limit=constraints.limit, cheapest=cheapest)
