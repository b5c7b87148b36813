"""The solvers compared: each public file is one peer, run in its own process, knowing no other."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from bench.problem import Array

PROBLEM = "problem.npz"
"""The file of a case that foreign solvers read."""


class UnsupportedError(Exception):
    """This peer, or this variant of it, has nothing to say about this problem."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """A peer's answer; nothing in it is believed before the referee has seen it."""

    x: Array
    """Counts over all pairs of the log."""
    bound: float | None
    """What the peer says no solution can beat, in the objective's own unit."""
    proven: bool
    """Whether the peer says it is done."""
    seconds: float
    trace: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """(seconds, value) of each better answer, where the peer tells."""


class Peer(Protocol):
    """What a file of this folder defines."""

    VARIANTS: tuple[str, ...]
    """Settings or models that are all tried; the best answer counts."""

    def solve(self, folder: Path, variant: str, seconds: float) -> Found:
        """Answer the case in this folder within the time."""
        ...


def names() -> tuple[str, ...]:
    """The peers there are, without importing them."""
    return tuple(sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")))
