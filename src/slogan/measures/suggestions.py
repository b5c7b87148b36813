"""Query suggestions: how well a hidden query is recommended."""

from __future__ import annotations

from slogan.measures import Comparison, Headline, Measure
from slogan.measures._cooccurrence import Association, association


def _take(comparison: Comparison) -> Association:
    reference = comparison.reference
    return association(
        reference.queries,
        comparison.queries,
        reference.query_hits,
        same_users=comparison.same_users,
    )


MEASURE = Measure[Association](
    name="suggestions",
    order=110,
    take=_take,
    headlines=(Headline("Query suggestions: hit@10", lambda r: r.hit_at_10, ".3f", "more"),),
)
