"""How a program is solved: each file here is one solver, named as its option."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from slogan.arrays import Ints
from slogan.errors import OptionError
from slogan.program import Program, Solution
from slogan.registry import load_module, module_names

AUTO = "packing"
"""What `--solver auto` stands for."""
DISTRIBUTED = "distributed"
"""The solver that runs where Spark counts; it is the engine's, not a file here."""


Report = Callable[[float, float], None]
"""Told the best value so far and the proven bound."""


def quiet(value: float, bound: float) -> None:
    """Tell nobody."""
    del value, bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """When a solver may stop, whom it tells how far it is, and what it may begin with."""

    time_limit: float = 60.0
    gap: float = 1e-4
    goal: float = math.inf
    """A value that is good enough, whatever the bound."""
    report: Report = quiet
    """Called now and then with the best value so far and the bound."""
    start: Ints | None = field(default=None, compare=False)
    """Counts that the program allows. `packing` begins with them and answers nothing worse; other
    solvers need not look, and F-UMP has a start of its own among its targets."""


def require_limits(time_limit: float, gap: float) -> None:
    """Refuse limits that stop no solver, or stop it before it begins."""
    if not (0 < time_limit < math.inf and 0 <= gap < math.inf):
        raise OptionError(
            f"a time limit of {time_limit} s and a gap of {gap} are not possible",
            hint="the time limit is above 0 seconds, the gap is 0 or more, and both are finite",
        )


class Solver(Protocol):
    """Proposes counts for a program; `plan()` decides."""

    def __call__(self, program: Program, effort: Effort) -> Solution: ...


def names() -> tuple[str, ...]:
    """The solvers there are."""
    return module_names(sys.modules[__name__])


def load(name: str) -> Solver:
    """The solver of that name."""
    if name == DISTRIBUTED:
        raise OptionError(
            "the distributed solver is for sanitize alone, where Spark counts",
            hint="leave --solver out",
        )
    return load_module(sys.modules[__name__], AUTO if name == "auto" else name).solve
