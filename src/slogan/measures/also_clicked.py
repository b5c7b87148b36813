"""What 'users who clicked this also clicked' is worth: how well a hidden pair is found."""

from __future__ import annotations

from slogan.measures import Comparison, Headline, Measure
from slogan.measures._cooccurrence import Association, association


def _take(comparison: Comparison) -> Association:
    reference = comparison.reference
    return association(
        reference.pairs, comparison.pairs, reference.pair_hits, same_users=comparison.same_users
    )


MEASURE = Measure[Association](
    name="also_clicked",
    order=100,
    take=_take,
    headlines=(Headline("Users also clicked: hit@10", lambda r: r.hit_at_10, ".3f", "more"),),
)
