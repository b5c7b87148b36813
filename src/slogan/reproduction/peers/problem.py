"""Problem: the pruned integer program every peer is given, as a file no library is needed for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from slogan.reproduction.peers import Array

_FILE = "problem.npz"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """minimise cost·z, row_lower ≤ rows·z ≤ row_upper, 0 ≤ z ≤ upper, z[:integers] integer.

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
        """Write everything to a file of the folder."""
        fields = {name: field for name, field in vars(self).items() if name != "rows"}
        parts = {f"rows_{part}": getattr(self.rows, part) for part in ("data", "indices", "indptr")}
        np.savez(folder / _FILE, **fields, **parts)

    @classmethod
    def load(cls, folder: Path) -> Problem:
        """Read a problem that `save` wrote."""
        with np.load(folder / _FILE) as file:
            fields: dict[str, Any] = {name: file[name] for name in file.files}
        parts = [fields.pop(f"rows_{part}") for part in ("data", "indices", "indptr")]
        shape = (len(fields["row_upper"]), len(fields["cost"]))
        return cls(
            rows=sp.csr_array(tuple(parts), shape=shape),
            **{name: field.item() if field.ndim == 0 else field for name, field in fields.items()},
        )
