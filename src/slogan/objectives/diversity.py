"""Release as many different pairs as the budget allows (the paper's D-UMP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.constraints import PrivacyConstraints
from slogan.objectives import Largest
from slogan.program import Program

# Between 1 and 4 times what can be shown, 2 gave the most different pairs on generated logs.
_ASKED_FOR = 2


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

    def expected_clicks(self, counts: Floats, query: Ints, *, cap: float, users: float) -> Floats:
        del query
        return drawn_alike(counts, cap=cap, users=users)


def drawn_alike(counts: Floats, *, cap: float, users: float) -> Floats:
    """The most different pairs, Σ 1 − e^−x, are expected where all are drawn equally often.

    Users who hold rare pairs reach their cap and show less than that, so more is asked for.
    """
    return filled(cap * counts, _ASKED_FOR * cap * users)


def filled(most: Floats, total: float) -> Floats:
    """The same amount for each, but none above its `most`, so that they sum to the total."""
    ascending = np.sort(most)
    left = total - (np.cumsum(ascending) - ascending)
    # the level at which the first n are full and the others share what is left
    level = left / np.arange(len(most), 0, -1)
    short = np.flatnonzero(level <= ascending)
    return np.minimum(most, level[short[0]]) if len(short) else most


OBJECTIVE = Diversity
