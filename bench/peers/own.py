"""Slogan's own solvers, run in the same way as the foreign ones, and their programs as files."""

from __future__ import annotations

import time
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from slogan.errors import UnsupportedProgramError
from slogan.histogram import PairHistogram
from slogan.planning import solvers
from slogan.planning.constraints import PrivacyConstraints
from slogan.planning.program import Program, Status, SupportTargets, status
from slogan.planning.solvers import Effort
from slogan.reproduction.peers import Proposal, UnsupportedError

_FILE = "program.npz"
_TARGETS = ("frequent", "support", "output_size", "infrequent", "start")


@dataclass(frozen=True)
class Own:
    """A solver by its name."""

    name: str
    VARIANTS = ("slogan",)

    def solve(self, folder: Path, variant: str, seconds: float) -> Proposal:
        """Read the program, solve it, and note when the best value was first reported."""
        del variant
        program = load_program(folder)
        trace: list[tuple[float, float]] = []
        # Loops are compiled once per installation; peers come compiled too.
        solvers.warm_up(self.name)
        begin = time.monotonic()

        proven_at: list[float] = []

        def report(value: float, bound: float) -> None:
            if not proven_at and status(value=value, bound=bound, allowed=0.0) is Status.OPTIMAL:
                proven_at.append(time.monotonic() - begin)
            if not trace or trace[-1][1] != value:
                trace.append((time.monotonic() - begin, value))

        effort = Effort(time_limit=seconds, gap=0.0, report=report)
        try:
            solution = solvers.load(self.name)(program, effort)
        except UnsupportedProgramError as reason:
            raise UnsupportedError(str(reason)) from reason
        report(program.value(np.floor(solution.x).astype(np.int64)), solution.bound)
        return Proposal(
            x=solution.x,
            bound=solution.bound,
            proven=solution.status is Status.OPTIMAL,
            seconds=time.monotonic() - begin,
            trace=trace,
            proven_at=proven_at[0] if proven_at else None,
        )


def save_program(program: Program, folder: Path) -> None:
    """Write a program to a file of the folder: the histogram, the allowance, and the objective."""
    hist, constraints, targets = program.constraints.hist, program.constraints, program.targets
    optional = {"most": program.most, "at_most_one": program.at_most_one}
    wanted = {} if targets is None else {name: getattr(targets, name) for name in _TARGETS}
    np.savez(
        folder / _FILE,
        **{name: getattr(hist, name) for name in ("user", "pair", "count", "query", "users")},
        allowance=str(constraints.allowance),
        limit=constraints.limit,
        **{name: value for name, value in optional.items() if value is not None},
        **wanted,
    )


def load_program(folder: Path) -> Program:
    """Read a program that `save_program` wrote."""
    with np.load(folder / _FILE) as file:
        fields: dict[str, Any] = {name: file[name] for name in file.files}
    hist = PairHistogram(
        **{name: fields[name] for name in ("user", "pair", "count", "query")},
        users=int(fields["users"]),
        pairs=len(fields["query"]),
    )
    targets = None
    if "frequent" in fields:
        wanted: dict[str, Any] = {name: fields[name] for name in _TARGETS}
        for name in ("output_size", "infrequent"):
            wanted[name] = int(fields[name])
        targets = SupportTargets(**wanted)
    return Program(
        constraints=PrivacyConstraints(
            hist=hist, allowance=Fraction(str(fields["allowance"])), limit=float(fields["limit"])
        ),
        most=int(fields["most"]) if "most" in fields else None,
        at_most_one=fields.get("at_most_one"),
        targets=targets,
    )
