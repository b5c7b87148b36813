"""Release as many different pairs as the budget allows (the paper's D-UMP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.constraints import PrivacyConstraints
from slogan.objectives import Largest
from slogan.program import Program


@dataclass(frozen=True)
class Diversity:
    """Maximise the number of different released pairs [Hong12, D-UMP].

    A second click of a pair costs budget and adds no diversity, so the counts are 0 or 1:
    the binary program has the same optimum as the mixed one [Hong12, Thm 2].
    """

    name = "diversity"

    def program(self, constraints: PrivacyConstraints, *, largest: Largest) -> Program:
        del largest
        return Program(constraints=constraints, most=1)

    def on_private_counts(self, counts: Ints, query: Ints) -> Ints:
        del query
        return np.maximum(counts, 1)


OBJECTIVE = Diversity
