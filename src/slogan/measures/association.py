"""What goes together: the lift of two pairs, and recommendations of a hidden pair or query."""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.measures import Headline, Measure, Task
from slogan.measures.cooccurrence import CoOccurrence, hit_rate

_COMPARED = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """How the lift of two heavy items compares with that in the log."""

    correlation: float | None
    average_difference: float | None
    """A difference of logarithms: 0.69 is a factor of 2."""


def lift_distance(original: CoOccurrence, model: CoOccurrence) -> Lift:
    """Compare the lift of every two of the hundred items with most holders in the log."""
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
    """How well recommendations learnt from an output work, and those learnt from the log."""

    hit_at_10: float | None
    hit_at_10_of_original: float | None
    hit_at_10_of_popularity: float | None
    """With the popularity of the output's items alone."""
    agreement_at_10: float | None


def association(original: CoOccurrence, model: CoOccurrence, *, same_users: bool) -> Association:
    """Compare the predictions of a model of an output with those of a model of the log."""
    hits = hit_rate(original.log, model, same_users=same_users)
    # For each heavy item: the share of its ten most similar items that the model lists too.
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


def _of_original(result: Association) -> float | None:
    """Hits as a share of those that the log itself gives."""
    hits, best = result.hit_at_10, result.hit_at_10_of_original
    return hits / best if hits is not None and best else None


LIFT = Measure[Lift](
    name="lift",
    order=90,
    take=lambda c: lift_distance(c.reference.pairs, c.pairs),
    headlines=(
        Headline(
            "Which pairs go together (1 = same)",
            lambda r: r.correlation,
            ".3f",
            "higher",
            "What goes together",
            Task(
                name="learning which pairs go together",
                good=0.8,
                poor=0.5,
                evidence="correlation {:.2f} with the log",
                value=lambda r: r.correlation,
            ),
        ),
    ),
)
ALSO_CLICKED = Measure[Association](
    name="also_clicked",
    order=100,
    take=lambda c: association(c.reference.pairs, c.pairs, same_users=c.same_users),
    headlines=(
        Headline(
            "Hidden pair among ten recommended",
            lambda r: r.hit_at_10,
            ".3f",
            "higher",
            "What goes together",
            Task(
                name="recommending pairs",
                good=0.8,
                poor=0.5,
                evidence="{:.0%} of the hits of recommendations from the log",
                value=_of_original,
            ),
            of_urls=True,
        ),
    ),
)
SUGGESTIONS = Measure[Association](
    name="suggestions",
    order=110,
    take=lambda c: association(c.reference.queries, c.queries, same_users=c.same_users),
    headlines=(
        Headline(
            "Hidden query among ten suggested",
            lambda r: r.hit_at_10,
            ".3f",
            "higher",
            "What goes together",
            Task(
                name="suggesting queries",
                good=0.8,
                poor=0.5,
                evidence="{:.0%} of the hits of suggestions from the log",
                value=_of_original,
            ),
        ),
    ),
)
