"""Whether pairs that users hold together in the log are held together in the release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.measures import Comparison, Headline, Measure
from slogan.measures._cooccurrence import CoOccurrence, heaviest


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """How the lift of two heavy items compares with that in the log."""

    correlation: float | None
    average_difference: float | None
    """Of logarithms: 0.69 is a factor of 2."""


def lift_distance(original: CoOccurrence, model: CoOccurrence) -> Lift:
    """Over all two of the hundred items with most holders in the log."""
    items = heaviest(original)
    before, after = original.log_lift(items), model.log_lift(items)
    if not len(before):
        return Lift(correlation=None, average_difference=None)
    varies = min(float(np.ptp(before)), float(np.ptp(after))) > 0
    return Lift(
        correlation=float(np.corrcoef(before, after)[0, 1]) if varies else None,
        average_difference=float(np.abs(after - before).mean()),
    )


def _take(comparison: Comparison) -> Lift:
    return lift_distance(comparison.reference.pairs, comparison.pairs)


MEASURE = Measure[Lift](
    name="lift",
    order=90,
    take=_take,
    headlines=(Headline("Lift of two pairs: correlation", lambda r: r.correlation, ".3f", "more"),),
)
