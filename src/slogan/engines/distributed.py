"""Packer: what an engine can do besides, for programs that do not fit this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

from slogan.arrays import Ints
from slogan.engines.engine import Counted
from slogan.histogram import Remainder
from slogan.logs.searchlog import SearchLog
from slogan.planning.solvers import Effort


@dataclass(frozen=True, kw_only=True)
class Question:
    """A packing problem about a counted log: as many clicks as the limit of every user allows."""

    limit: float
    most: int | None
    """The most clicks of one pair."""
    one_of_query: bool
    """Whether at most one click is released among the pairs of a query."""
    forced: bool
    """Whether to solve it in the engine even if it fits this process."""
    folder: Path | None
    """Where to keep checkpoints; if not given, nowhere that outlives the run."""


Trace = tuple[tuple[int, float, float], ...]
"""How it converged: after so many steps, the value of fractional counts and the proven bound."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """What an engine says to a packing problem."""

    left: Remainder
    """The clicks on the pairs that are left, of all their holders."""
    x: Ints | None
    """Proposed counts of these pairs; None if they are for this process to choose."""
    bound: float | None
    """Proven of the whole problem; None if what is left is the whole."""
    trace: Trace = ()
    too_dear: int
    """Clicks on pairs that no solution can use."""
    cheapest: float = 0.0
    """If no pair is left, what one click of the cheapest would charge some user."""


@runtime_checkable
class Packer(Protocol):
    """What an engine can do besides: solve, where it counted, what does not fit this process."""

    def count_in_place(self, log: SearchLog, *, forced: bool) -> Counted:
        """Count a log without unique pairs; the clicks stay if they do not fit this process.

        Args:
            log: The log; an engine counts one.
            forced: Whether they stay in any case.
        """
        ...

    def pack(self, asked: Question, effort: Effort) -> Packed:
        """Solve a packing problem about the counted log."""
        ...
