"""Release as many different pairs as the budget allows (the paper's D-UMP)."""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.planning.objectives import CappedPairs, PackingObjective, PrivatePairs

# Of the factors between 1 and 4, 2 gave the most different pairs on generated logs.
_OVERSAMPLING = 2


@dataclass(frozen=True)
class Diversity(PackingObjective):
    """Maximise the number of different released pairs [Hong12, D-UMP].

    A second click of a pair costs budget and adds no diversity, so the counts are 0 or 1:
    the binary program has the same optimum as the mixed one [Hong12, Thm 2].
    """

    name = "diversity"
    utility = "different pairs"
    most = 1

    def on_private_counts(self, pairs: PrivatePairs) -> Ints:
        return np.maximum(pairs.counts, 1)

    def expected_clicks(self, pairs: CappedPairs) -> Floats:
        return drawn_alike(pairs)


def drawn_alike(pairs: CappedPairs) -> Floats:
    """The same expected clicks for all pairs, which maximises Σ 1 − e^−x.

    Users who hold rare pairs reach their cap and contribute less, so the total is oversampled.
    """
    return filled(pairs.cap * pairs.counts, _OVERSAMPLING * pairs.cap * pairs.users)


def filled(most: Floats, total: float) -> Floats:
    """The same amount for each, but none above its `most`, so that they sum to the total."""
    ascending = np.sort(most)
    left = total - (np.cumsum(ascending) - ascending)
    # the level at which the first n are full and the others share the rest
    level = left / np.arange(len(most), 0, -1)
    short = np.flatnonzero(level <= ascending)
    return np.minimum(most, level[short[0]]) if len(short) else most


OBJECTIVE = Diversity
