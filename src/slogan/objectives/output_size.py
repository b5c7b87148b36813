"""Release as many clicks as the budget allows (the paper's O-UMP)."""

from __future__ import annotations

from dataclasses import dataclass

from slogan.arrays import Floats, Ints
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

    def expected_clicks(self, counts: Floats, query: Ints, *, cap: float, users: float) -> Floats:
        # One click takes up its user's cap, so that everybody is drawn as often as may be.
        del query, users
        return cap * counts


OBJECTIVE = OutputSize
