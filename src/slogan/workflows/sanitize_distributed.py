"""Distributing: a plan for a log whose histogram stays in its engine, which solves it there.

The gate stays here: it decides exactly, on the clicks of all holders of the pairs it is shown.
"""

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from slogan.engines.engine import Counted, Packed, Packer, Question
from slogan.errors import EmptyPlanError, OptionError
from slogan.logs.searchlog import SearchLog
from slogan.modes import Counts, ExactCounts
from slogan.planning import objectives, solvers
from slogan.planning.objectives import Objective, PackingObjective, refusal_of
from slogan.planning.plan import plan
from slogan.planning.planner import Planned, Planner
from slogan.planning.program import Program, Solution, empty, status
from slogan.planning.solvers import Effort, Solver
from slogan.release.job import Job
from slogan.storage import folders

_AT_LEAST = 1.0
"""Seconds for what is left to do here, however long the engine took."""


@dataclass(frozen=True)
class Distribution:
    """An engine that can solve what does not fit this process, and the question for it."""

    packer: Packer
    objective: PackingObjective
    question: Question

    def count(self, log: SearchLog) -> Counted:
        """Count a log; see `Packer.count_in_place`."""
        return self.packer.count_in_place(log, forced=self.question.forced)

    def plan(self, counted: Counted, planner: Planner) -> tuple[Planned, Counted]:
        """Counts that passed the gate, and what was counted with the part that they are about."""
        stayed, steps = counted.shared, planner.steps
        begin = time.monotonic()
        with steps.step("solve"):
            packed = self.packer.pack(self.question, planner.effort)
        if packed.left.hist.pairs == 0:
            raise EmptyPlanError(limit=self.question.limit, cheapest=packed.cheapest)
        constraints = planner.constrained(packed.left.hist)
        program = self.objective.program(constraints)
        with steps.step("solve"):
            left = planner.effort.time_limit - (time.monotonic() - begin)
            effort = replace(planner.effort, time_limit=max(_AT_LEAST, left))
            most = math.floor(stayed.users * self.question.limit + 1e-6)
            solution = _solution(program, packed, effort, most)
        with steps.step("gate"):
            planned = plan(solution.x, constraints)
        if planned.size == 0:
            raise empty(constraints)
        found = Planned(
            left=packed.left,
            removed=np.zeros(0, dtype=np.int64),
            constraints=constraints,
            program=program,
            solution=solution,
            plan=planned,
        )
        shared = replace(stayed, too_dear=packed.too_dear)
        return found, replace(counted, rows=packed.left.hist, stayed=shared)


def distribution(
    job: Job, objective: Objective, mode: Counts, solver: Solver
) -> Distribution | None:
    """How to solve a log in its engine, if that is asked for, or may become necessary."""
    forced, host, folder = solver.name == solvers.DISTRIBUTED, job.engine, job.destination.folder
    if not forced and solver.name != "auto":
        return None
    if (
        isinstance(host, Packer)
        and isinstance(mode, ExactCounts)
        and isinstance(objective, PackingObjective)
    ):
        question = Question(
            limit=job.budget.per_user,
            most=objective.most,
            one_of_query=objective.one_of_query,
            forced=forced,
            # Checkpoints outlive a run that is killed only beside a release that has a place.
            folder=None if folder is None else folders.place(Path(folder)),
        )
        return Distribution(host, objective, question)
    if forced:
        raise _refusal(objective, mode, packs=isinstance(host, Packer))
    return None


def _refusal(objective: Objective, mode: Counts, *, packs: bool) -> OptionError:
    if not packs:
        return OptionError(
            "the distributed solver runs where Spark counts",
            hint="give --engine spark, or leave --solver out",
        )
    if not isinstance(mode, ExactCounts):
        return OptionError(
            f"the distributed solver does not know counts of the kind {mode.kind.counts}",
            hint="leave --counts out, or --solver",
        )
    if objective.exact_only:
        return refusal_of(objective, "the distributed solver", "leave --solver out")
    packing = [name for name in objectives.names() if objectives.load(name).is_packing]
    return OptionError(
        f"the distributed solver packs, and {objective.name} is not a packing problem: its "
        "supports need every pair in one place",
        hint=f"leave --solver out, or choose one of: {', '.join(packing)}",
    )


def _solution(program: Program, packed: Packed, effort: Effort, most: int) -> Solution:
    """The engine's proposal and bound, with counts computed here where it left them open."""
    if packed.x is None:
        own = solvers.load("auto")(program, effort)
        if packed.bound is None:
            return own
        x = own.x
    else:
        x = packed.x.astype(np.float64)
    # Counts are integers, so the bound is one too.
    bound = float(min(math.floor(packed.bound or 0.0), most))
    value = program.value(np.floor(x).astype(np.int64))
    reached = status(value=value, bound=bound, allowed=effort.gap)
    return Solution(
        x=x, bound=bound, status=reached, solver=solvers.DISTRIBUTED, trace=packed.trace
    )
