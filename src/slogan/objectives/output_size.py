"""Release as many clicks as the budget allows (the paper's O-UMP)."""

from __future__ import annotations

from dataclasses import dataclass

from slogan.arrays import Ints
from slogan.constraints import PrivacyConstraints
from slogan.objectives import Largest
from slogan.program import Program


@dataclass(frozen=True)
class OutputSize:
    """Maximise the number of released clicks, |O| [Hong12, O-UMP]."""

    name = "output_size"

    def program(self, constraints: PrivacyConstraints, *, largest: Largest) -> Program:
        del largest
        return Program(constraints=constraints)

    def on_private_counts(self, counts: Ints, query: Ints) -> Ints:
        del query
        return counts


OBJECTIVE = OutputSize
