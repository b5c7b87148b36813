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
        # One click takes up its user's cap, so that everybody is drawn as often as may be.
        return pairs.cap * pairs.counts


OBJECTIVE = OutputSize
