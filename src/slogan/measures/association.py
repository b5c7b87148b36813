"""What goes together: lift of two pairs, and how well a hidden pair or query is recommended."""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.measures import Headline, Measure
from slogan.measures.cooccurrence import CoOccurrence, hit_rate

_COMPARED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """How the lift of two heavy items compares with that in the log."""

    correlation: float | None
    average_difference: float | None
    """Of logarithms: 0.69 is a factor of 2."""


def lift_distance(original: CoOccurrence, model: CoOccurrence) -> Lift:
    """Over all two of the hundred items with most holders in the log."""
    items = _heaviest(original)
    before, after = original.log_lift(items), model.log_lift(items)
    if not len(before):
        return Lift(correlation=None, average_difference=None)
    varies = min(float(np.ptp(before)), float(np.ptp(after))) > 0
    return Lift(
        correlation=float(np.corrcoef(before, after)[0, 1]) if varies else None,
        average_difference=float(np.abs(after - before).mean()),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """What is learnt from an output about items that go together, beside what the log teaches."""

    hit_at_10: float | None
    hit_at_10_of_original: float | None
    hit_at_10_of_popularity: float | None
    """With the popularity of the output's items alone."""
    agreement_at_10: float | None


def association(original: CoOccurrence, model: CoOccurrence, *, same_users: bool) -> Association:
    """Compare what a model of an output predicts with what that of the log does."""
    hits = hit_rate(original.log, model, same_users=same_users)
    # Of the ten items most alike to each heavy item, those that the model lists as well.
    agreement = [
        len(np.intersect1d(wanted, model.similar(item))) / len(wanted)
        for item in _heaviest(original).tolist()
        if len(wanted := original.similar(item))
    ]
    return Association(
        hit_at_10=hits.share,
        hit_at_10_of_original=original.own_hits.share,
        hit_at_10_of_popularity=hits.share_of_popularity,
        agreement_at_10=float(np.mean(agreement)) if agreement else None,
    )


def _heaviest(model: CoOccurrence) -> Ints:
    """The hundred items with most holders."""
    return model.items[np.argsort(-model.holders, kind="stable")[:_COMPARED]]


LIFT = Measure[Lift](
    name="lift",
    order=90,
    take=lambda c: lift_distance(c.reference.pairs, c.pairs),
    headlines=(Headline("Lift of two pairs: correlation", lambda r: r.correlation, ".3f", "more"),),
)
ALSO_CLICKED = Measure[Association](
    name="also_clicked",
    order=100,
    take=lambda c: association(c.reference.pairs, c.pairs, same_users=c.same_users),
    headlines=(Headline("Users also clicked: hit@10", lambda r: r.hit_at_10, ".3f", "more"),),
)
SUGGESTIONS = Measure[Association](
    name="suggestions",
    order=110,
    take=lambda c: association(c.reference.queries, c.queries, same_users=c.same_users),
    headlines=(Headline("Query suggestions: hit@10", lambda r: r.hit_at_10, ".3f", "more"),),
)
