"""How a program is solved: each file here is one solver, named as its option."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType

from slogan.arrays import Ints
from slogan.errors import OptionError
from slogan.planning.program import Program, Solution
from slogan.registry import load_module, module_names

AUTO = "packing"
"""What `--solver auto` stands for."""
DISTRIBUTED = "distributed"
"""The solver that runs where Spark counts; it is the engine's, not a file here."""
PATIENCE = 15.0
"""Seconds: what a search has not found by then it rarely finds in the rest of a minute."""
Report = Callable[[float, float], None]
"""Told the best value so far and the proven bound, now and then."""


def quiet(_value: float, _bound: float) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """When a solver may stop, whom it tells how far it is, and what it may begin with."""

    time_limit: float = 60.0
    gap: float = 1e-4
    patience: float = math.inf
    """Seconds without a better value after which a solver stops, where it can."""
    goal: float = math.inf
    """A value that is good enough, whatever the bound."""
    report: Report = quiet
    start: Ints | None = field(default=None, compare=False)
    """Counts that the program allows. `packing` begins with them and answers nothing worse; other
    solvers need not look, and F-UMP has a start of its own among its targets."""


Solve = Callable[[Program, Effort], Solution]
"""Proposes counts for a program; `plan()` decides."""


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
                f"a time limit of {self.time_limit} s and a gap of {self.gap} are not possible",
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
        """The limits alone."""
        patience = math.inf if self.patience is None else self.patience
        return Effort(time_limit=self.time_limit, gap=self.gap, patience=patience)

    def parameters(self) -> dict[str, str | float]:
        """For the manifest."""
        limits = {"time_limit": self.time_limit, "gap": self.gap}
        waiting = {} if self.patience is None else {"patience": self.patience}
        return {"solver": self.name, **limits, **waiting}


def names() -> tuple[str, ...]:
    """The solvers there are."""
    return module_names(__name__)


def load(name: str) -> Solve:
    """The solver of that name."""
    return _module(name).solve


def warm_up(name: str) -> None:
    """Compile the loops of a solver, if it has any: its time limit counts from then on."""
    getattr(_module(name), "warm_up", lambda: None)()


def _module(name: str) -> ModuleType:
    if name == DISTRIBUTED:
        raise OptionError(
            "the distributed solver is for sanitize alone, where Spark counts",
            hint="leave --solver out",
        )
    return load_module(__name__, AUTO if name == "auto" else name)
