"""Distributing: a plan for a log whose histogram stays in its engine, which solves it there.

The gate stays here: it decides exactly, on the clicks of all holders of the pairs it is shown.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NoReturn

import numpy as np

from slogan import solvers
from slogan.constraints import privacy_constraints
from slogan.engines import Counted, Engine, Packed, Packer, Question
from slogan.errors import EmptyPlanError, OptionError, SloganError
from slogan.histogram import PairHistogram
from slogan.modes import Counts, Exact
from slogan.objectives import Objective
from slogan.plan import plan
from slogan.planning import Planned, Planning, empty
from slogan.privacy import PrivacyBudget
from slogan.program import Program, Solution, status
from slogan.randomness import Randomness
from slogan.sampling import Output
from slogan.searchlog import SearchLog
from slogan.solvers import Effort

_AT_LEAST = 1.0
"""Seconds for what is left to do here, however long the engine took."""


class _NotPackingError(Exception):
    """The objective asks for more than to pack."""


@dataclass(frozen=True)
class Distribution:
    """An engine that can solve what does not fit this process, and what it is asked."""

    packer: Packer
    asked: Question

    def count(self, log: SearchLog) -> Counted:
        """Count a log; see `Packer.count_in_place`."""
        return self.packer.count_in_place(log, forced=self.asked.forced)

    def plan(self, counted: Counted, planning: Planning) -> tuple[Planned, Counted]:
        """Counts that passed the gate, and what was counted with the part that they are about."""
        stayed, stages = counted.shared, planning.stages
        begin = time.monotonic()
        with stages.stage("solve"):
            packed = self.packer.pack(self.asked, planning.effort)
        if packed.left.hist.pairs == 0:
            raise EmptyPlanError(limit=self.asked.limit, cheapest=packed.cheapest)
        constraints = planning.constrained(packed.left.hist)
        program = planning.objective.program(constraints, largest=_largest)
        with stages.stage("solve"):
            left = planning.effort.time_limit - (time.monotonic() - begin)
            effort = replace(planning.effort, time_limit=max(_AT_LEAST, left))
            most = math.floor(stayed.users * self.asked.limit + 1e-6)
            solution = _solution(program, packed, effort, most)
        with stages.stage("gate"):
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

    def sample(self, found: Planned, rng: Randomness) -> Output:
        """Users for the planned clicks, drawn where the clicks stayed, by the engine's numbers."""
        output = self.packer.draw(found.left.pairs, found.plan.counts, rng)
        if not _as_planned(output, found):
            raise SloganError(
                "the engine drew other clicks than were planned, or users who do not hold them",
                hint="try again, and see that nobody changes the log while it is being sanitized",
            )
        return output


def distribution(
    host: Engine,
    objective: Objective,
    mode: Counts,
    budget: PrivacyBudget,
    *,
    solver: str,
    folder: Path | None,
) -> Distribution | None:
    """How to solve a log in its engine, if that is asked for, or may become necessary.

    Args:
        host: The engine.
        objective: What utility means.
        mode: Where the counts come from.
        budget: ε and δ.
        solver: As the user named it.
        folder: Where to keep checkpoints, if they are to outlive a run that is killed.
    """
    forced = solver == solvers.DISTRIBUTED
    if not forced and solver != "auto":
        return None
    asked = _packing(objective, budget) if isinstance(mode, Exact) else None
    if asked is None or not isinstance(host, Packer):
        if forced:
            raise _refusal(objective, mode, packs=isinstance(host, Packer))
        return None
    question = Question(
        limit=budget.per_user,
        most=asked.most,
        one_of_query=asked.at_most_one is not None,
        forced=forced,
        folder=folder,
    )
    return Distribution(host, question)


def _as_planned(output: Output, found: Planned) -> bool:
    """Whether an output has the planned clicks of each pair, and shows holders of it alone."""
    users, pairs, hist = found.left.users, found.left.pairs, found.left.hist
    known = np.isin(output.user, users).all() and np.isin(output.pair, pairs).all()
    if not known or (output.count <= 0).any():
        return False
    user, pair = np.searchsorted(users, output.user), np.searchsorted(pairs, output.pair)
    shown = np.zeros(hist.pairs, dtype=np.int64)
    np.add.at(shown, pair, output.count)
    held = np.isin(user * hist.pairs + pair, hist.user * hist.pairs + hist.pair)
    return bool(held.all() and (shown == found.plan.counts).all())


def _packing(objective: Objective, budget: PrivacyBudget) -> Program | None:
    """What an objective asks for, apart from any log; None if it is no packing problem."""
    nothing = np.zeros(0, dtype=np.int64)
    hist = PairHistogram(user=nothing, pair=nothing, count=nothing, users=0, pairs=0, query=nothing)
    try:
        program = objective.program(privacy_constraints(hist, budget), largest=_largest)
    except _NotPackingError:
        return None
    return program if program.targets is None else None


def _largest() -> NoReturn:
    raise _NotPackingError


def _refusal(objective: Objective, mode: Counts, *, packs: bool) -> OptionError:
    if not packs:
        return OptionError(
            "the distributed solver runs where Spark counts",
            hint="give --engine spark, or leave --solver out",
        )
    if not isinstance(mode, Exact):
        return OptionError(
            f"the distributed solver does not know counts of the kind {mode.name}",
            hint="leave --counts out, or --solver",
        )
    return OptionError(
        f"the distributed solver packs, and {objective.name} is no packing problem: its supports "
        "need every pair in one place",
        hint="leave --solver out, or choose output_size, diversity or query_diversity",
    )


def _solution(program: Program, packed: Packed, effort: Effort, most: int) -> Solution:
    """The engine's proposal and bound, with counts of our own where it left them to us."""
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
