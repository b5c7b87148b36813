"""Foreign solvers: each has a file here and runs in its own process.

OR-Tools, SCIP and highspy embed copies of the same libraries and cannot be loaded together. So a
peer's process imports numpy, scipy and its own solver, and nothing else of slogan.
"""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
ANSWERS = "answers.json"
"""What a peer writes into the folder of the problem."""


class UnsupportedError(Exception):
    """This peer, or this variant of it, cannot solve this problem."""


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """A peer's answer, not trusted before the gate has seen it."""

    x: Array
    """Counts over all pairs of the log."""
    bound: float | None
    """What no solution can beat, says the peer, in the objective's own unit."""
    proven: bool
    """Whether the peer calls it optimal."""
    seconds: float
    trace: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    """(seconds, value) of each better answer, where the peer reports them."""


class Adapter(Protocol):
    """What the file of a peer defines."""

    VARIANTS: tuple[str, ...]
    """Settings or models to try; the best answer counts."""

    def solve(self, folder: Path, variant: str, seconds: float) -> Proposal:
        """Solve the problem in this folder within the time."""
        ...


def write_answers(adapter: Adapter, variant: str, seconds: float, folder: Path) -> None:
    """Solve with one variant or "all"; write after each, so that answers survive a kill."""
    answers: dict[str, object] = {}
    for name in adapter.VARIANTS if variant == "all" else (variant,):
        try:
            before = time.process_time()
            proposal = adapter.solve(folder, name, seconds)
            pairs = np.flatnonzero(proposal.x)
            shown = {"pairs": pairs.tolist(), "x": proposal.x[pairs].tolist()}
            answers[name] = asdict(proposal) | shown | {"cpu": time.process_time() - before}
        except UnsupportedError as reason:
            answers[name] = {"unsupported": str(reason)}
        (folder / ANSWERS).write_text(json.dumps(answers), encoding="utf-8")
