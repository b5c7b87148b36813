"""How many different pairs and queries of D are in O [Hong12, section 6.4]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Flags
from slogan.report.measures.totals import Totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """How many of how many."""

    kept: int
    of: int

    @property
    def share(self) -> float | None:
        """The retained share; None of nothing."""
        return self.kept / self.of if self.of else None


def retained_pairs(totals: Totals) -> Retained:
    """Pairs of D with a released click."""
    return _retained(totals.before > 0, totals.after > 0)


def retained_queries(totals: Totals) -> Retained:
    """Queries of D with a released click."""
    queries = int(totals.query.max(initial=-1)) + 1
    before = np.bincount(totals.query, weights=totals.before > 0, minlength=queries) > 0
    after = np.bincount(totals.query, weights=totals.after > 0, minlength=queries) > 0
    return _retained(before, after)


def _retained(before: Flags, after: Flags) -> Retained:
    return Retained(kept=int(np.count_nonzero(before & after)), of=int(np.count_nonzero(before)))
