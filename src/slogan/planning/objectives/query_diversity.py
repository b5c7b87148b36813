"""Release as many different queries as the budget allows (named in the paper's section 5.3)."""

from dataclasses import dataclass, replace

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.planning.objectives import CappedPairs, PackingObjective, PrivatePairs
from slogan.planning.objectives.diversity import drawn_alike


@dataclass(frozen=True)
class QueryDiversity(PackingObjective):
    """Maximise the number of different released queries [Hong12, section 5.3].

    One click of one url is enough to release a query, and more would only cost budget:
    at most one click among the pairs of a query.
    """

    name = "query_diversity"
    utility = "different queries"
    most = 1
    one_of_query = True

    def on_private_counts(self, pairs: PrivatePairs) -> Ints:
        heaviest = _heaviest(pairs.counts, pairs.query)
        counts = pairs.counts.copy()
        counts[heaviest] = np.maximum(counts[heaviest], 1)
        return counts

    def expected_clicks(self, pairs: CappedPairs) -> Floats:
        # One pair of each query, its heaviest; these are drawn alike.
        heaviest = _heaviest(pairs.counts, pairs.query)
        expected = np.zeros_like(pairs.counts)
        expected[heaviest] = drawn_alike(replace(pairs, counts=pairs.counts[heaviest]))
        return expected


def _heaviest(counts: Ints | Floats, query: Ints) -> Ints:
    """The pair of each query with the largest count; of equals the first."""
    order = np.lexsort((-counts, query))
    return order[np.flatnonzero(np.diff(query[order], prepend=-1))]


OBJECTIVE = QueryDiversity
