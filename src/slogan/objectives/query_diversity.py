"""Release as many different queries as the budget allows (named in the paper's section 5.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.constraints import PrivacyConstraints
from slogan.objectives import Largest
from slogan.program import Program


@dataclass(frozen=True)
class QueryDiversity:
    """Maximise the number of different released queries [Hong12, section 5.3].

    One click of one url is enough to release a query, and more would only cost budget:
    at most one click among the pairs of a query.
    """

    name = "query_diversity"

    def program(self, constraints: PrivacyConstraints, *, largest: Largest) -> Program:
        del largest
        return Program(
            constraints=constraints,
            most=1,
            at_most_one=constraints.hist.query,
        )

    def on_private_counts(self, counts: Ints, query: Ints) -> Ints:
        heaviest = np.lexsort((-counts, query))
        first = heaviest[np.flatnonzero(np.diff(query[heaviest], prepend=-1))]
        kept = counts.copy()
        kept[first] = np.maximum(counts[first], 1)
        return kept


OBJECTIVE = QueryDiversity
