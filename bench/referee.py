"""The referee: every answer passes slogan's gate, and counts for what is left after it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slogan.arrays import Ints
from slogan.planning.plan import plan
from slogan.planning.program import Program


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """An answer that may be compared."""

    value: float
    counts: Ints
    repaired: int
    """Clicks the gate took away because the proposal broke a constraint."""


def judged(x: NDArray[np.float64], program: Program) -> Judged:
    """What may be released of a proposal, and its value."""
    # A solver's 2.9999999 is meant as 3; the gate would floor it to 2.
    near = np.abs(x - np.rint(x)) < 1e-6
    proposal = np.where(near, np.rint(x), np.floor(x))
    counts = plan(proposal, program.constraints).counts
    value = program.value(counts)
    if program.at_most_one is not None:
        value = float(len(np.unique(program.at_most_one[counts > 0])))
    return Judged(value=value, counts=counts, repaired=int(proposal.sum() - counts.sum()))


def provable(bound: float, program: Program) -> float:
    """A peer's bound as slogan states its own: whole where the objective is."""
    if program.minimises:
        return max(0.0, bound)
    most = min(bound, program.constraints.size_bound, float(program.upper.sum()))
    return float(np.floor(most + 1e-6))
