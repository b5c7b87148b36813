"""Solvers: each file here is one solver, named as its option."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

from slogan.arrays import Ints
from slogan.errors import OptionError, UnsupportedProgramError
from slogan.planning.program import Program, Solution
from slogan.registry import load_module, module_names

AUTO = "packing"
"""The solver of `--solver auto`."""
DISTRIBUTED = "distributed"
"""The solver that runs inside Spark; it belongs to the engine, not to a file here."""
PATIENCE = 15.0
"""Seconds: what a search has not found by then it rarely finds in the rest of a minute."""
Report = Callable[[float, float], None]
"""Receives the best value so far and the proven bound, from time to time."""


def quiet(_value: float, _bound: float) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """When a solver may stop, how it reports progress, and what it may start from."""

    time_limit: float = 60.0
    gap: float = 1e-4
    patience: float = math.inf
    """Seconds without a better value after which a solver stops, where it can."""
    goal: float = math.inf
    """A value that is good enough for any bound."""
    least: float = -math.inf
    """A bound below it ends the search: what is asked for is impossible."""
    report: Report = quiet
    start: Ints | None = field(default=None, compare=False)
    """Feasible counts. `packing` starts from them and returns nothing worse; other solvers may
    ignore them, and F-UMP has its own start among its targets."""


Solve = Callable[[Program, Effort], Solution]
"""Proposes counts for a program, which `plan()` then checks."""


@dataclass(frozen=True, slots=True)
class Solver:
    """Which solver is used, and when it may stop.

    Args:
        name: A file of `planning/solvers/`, "distributed" for the engine's own, or "auto".
        time_limit: Seconds for each problem.
        gap: Relative distance from the proven bound at which the solver may stop.
        patience: Seconds without a better value after which it stops; None to use all the time.
    """

    name: str = "auto"
    time_limit: float = field(default=60.0, kw_only=True)
    gap: float = field(default=1e-4, kw_only=True)
    patience: float | None = field(default=PATIENCE, kw_only=True)

    def __post_init__(self) -> None:
        if not (0 < self.time_limit < math.inf and 0 <= self.gap < math.inf):
            raise OptionError(
                f"invalid time limit ({self.time_limit} s) or gap ({self.gap})",
                hint="the time limit is above 0 seconds, the gap is 0 or more, and both are finite",
            )
        if self.patience is not None and not 0 < self.patience < math.inf:
            raise OptionError(
                f"a patience of {self.patience} s is not possible",
                hint="give more than 0 seconds, such as --patience 15",
            )
        if self.name not in ("auto", DISTRIBUTED, *names()):
            load(self.name)

    @property
    def effort(self) -> Effort:
        """The limits only."""
        patience = math.inf if self.patience is None else self.patience
        return Effort(time_limit=self.time_limit, gap=self.gap, patience=patience)

    def parameters(self) -> dict[str, str | float]:
        """For the manifest."""
        limits = {"time_limit": self.time_limit, "gap": self.gap}
        waiting = {} if self.patience is None else {"patience": self.patience}
        return {"solver": self.name, **limits, **waiting}


def no_mixture(solver: str) -> UnsupportedProgramError:
    """The error of a solver that does not know joint objectives."""
    return UnsupportedProgramError(
        f"{solver} cannot weigh several objectives",
        hint="leave --solver out, or use --solver exact with --objective joint",
    )


def names() -> tuple[str, ...]:
    """The solvers there are."""
    return module_names(__name__)


def load(name: str) -> Solve:
    """The solver of that name."""
    return _module(name).solve


def warm_up(name: str) -> None:
    """Compile the loops of a solver, if it has any, before its time limit starts."""
    getattr(_module(name), "warm_up", lambda: None)()


def _module(name: str) -> ModuleType:
    if name == DISTRIBUTED:
        raise OptionError(
            "the distributed solver works only with sanitize and --engine spark",
            hint="leave out --solver",
        )
    return load_module(__name__, AUTO if name == "auto" else name)
