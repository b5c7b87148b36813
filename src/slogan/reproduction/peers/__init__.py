"""Foreign solvers: each has a file here and runs in its own process.

OR-Tools, SCIP and highspy embed copies of the same libraries and cannot be loaded together. So a
peer's process imports numpy, scipy and its own solver, and nothing else of slogan.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

Array = NDArray[np.float64]
ANSWERS = "answers.json"
"""The file that a peer writes into the folder of the problem."""
_PROBLEM = "problem.npz"
"""The file that it reads there, with numpy only."""
_PARTS = ("data", "indices", "indptr")


class UnsupportedError(Exception):
    """This peer, or this variant of it, cannot solve this problem."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """The pruned integer program every peer is given.

    minimise cost·z, row_lower ≤ rows·z ≤ row_upper, 0 ≤ z ≤ upper, z[:integers] integer.
    The objective in its own unit is constant + sign·(cost·z), with sign −1 where it is maximised.
    """

    rows: sp.csr_array
    row_lower: Array
    row_upper: Array
    cost: Array
    upper: Array
    integers: int
    constant: float
    sign: float
    kept: NDArray[np.int64]
    """Which pairs of the log the integer columns are; all others are 0 in every solution."""
    pairs: int
    start: Array
    """A feasible z that every solver may begin with, or nothing."""

    @property
    def minimises(self) -> bool:
        """Whether a smaller value is better."""
        return self.sign > 0

    def value(self, objective: float) -> float:
        """The value, in the objective's own unit, of cost·z."""
        return self.constant + self.sign * objective

    def counts(self, z: Array) -> Array:
        """A solution's counts over all pairs of the log."""
        x = np.zeros(self.pairs)
        x[self.kept] = z[: self.integers]
        return x

    def save(self, folder: Path) -> None:
        """Write it into the folder."""
        fields = {name: field for name, field in vars(self).items() if name != "rows"}
        parts = {f"rows_{part}": getattr(self.rows, part) for part in _PARTS}
        np.savez(folder / _PROBLEM, **fields, **parts)

    @classmethod
    def load(cls, folder: Path) -> "Problem":
        """Read a problem that `save` wrote."""
        with np.load(folder / _PROBLEM) as file:
            fields: dict[str, Any] = {name: file[name] for name in file.files}
        parts = [fields.pop(f"rows_{part}") for part in _PARTS]
        shape = (len(fields["row_upper"]), len(fields["cost"]))
        return cls(
            rows=sp.csr_array(tuple(parts), shape=shape),
            **{name: field.item() if field.ndim == 0 else field for name, field in fields.items()},
        )


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
    proven_at: float | None = None
    """When the proof was complete, where the peer reports it; the end if it does not."""


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
