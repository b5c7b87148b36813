"""Release as many clicks as the budget allows (the paper's O-UMP)."""

from dataclasses import dataclass

from slogan.arrays import Floats
from slogan.planning.objectives import CappedPairs, PackingObjective


@dataclass(frozen=True)
class OutputSize(PackingObjective):
    """Maximise the number of released clicks, |O| [Hong12, O-UMP]."""

    name = "output_size"
    utility = "released clicks"

    def expected_clicks(self, pairs: CappedPairs) -> Floats:
        # One click uses its user's whole cap, so that each user is sampled as often as allowed.
        return pairs.cap * pairs.counts


OBJECTIVE = OutputSize
