"""Slogan's own solvers, asked in the same way as the foreign ones."""

from __future__ import annotations

import time
from pathlib import Path

from bench.peers import Found, UnsupportedError
from slogan import solvers
from slogan.errors import UnsupportedProgramError
from slogan.outside import PROGRAM, load_program
from slogan.program import Status
from slogan.solvers import Effort


def ask(name: str, folder: Path, seconds: float) -> Found:
    """Read the program, solve it, and note when the best value was first reported."""
    program = load_program(folder / PROGRAM)
    solve = solvers.load(name)
    trace: list[tuple[float, float]] = []
    begin = time.monotonic()

    def report(value: float, bound: float) -> None:
        del bound
        if not trace or trace[-1][1] != value:
            trace.append((time.monotonic() - begin, value))

    try:
        solution = solve(program, Effort(time_limit=seconds, gap=0.0, report=report))
    except UnsupportedProgramError as reason:
        raise UnsupportedError(str(reason)) from reason
    return Found(
        x=solution.x,
        bound=solution.bound,
        proven=solution.status is Status.OPTIMAL,
        seconds=time.monotonic() - begin,
        trace=trace,
    )
