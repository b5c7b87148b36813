"""Only what at least k users did is published, as they did it [Adar, 2007]."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from bench.methods import Promise
from slogan.histogram import PairHistogram
from slogan.measures import queries_of
from slogan.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Rows whose query, or whose query-url pair, at least k different users have.

    Adar's rule looks at queries; a url that one user alone clicked is then published with a
    popular query. With `of="pair"` it is not.
    Promise: every published query (or pair) is one of at least k users. No differential privacy:
    whether a count is k or k − 1 shows, so that k − 1 accounts of an attacker and one guess tell
    whether a given user searched for it; and the users' rows stay together, so that three popular
    searches can single out a user.
    Schema: that of the log.
    """

    k: int
    of: Literal["query", "pair"] = "query"

    same_schema = True
    head_only = True

    @property
    def name(self) -> str:
        plural = {"query": "queries", "pair": "pairs"}[self.of]
        return f"k-anonymity, {plural} of {self.k} users"

    @property
    def promise(self) -> Promise:
        return Promise(
            kind=f"k = {self.k}",
            unit=None,
            meaning=f"every published {self.of} is one of at least {self.k} users",
            open="combinations of popular rows, attackers who open accounts, several releases",
        )

    def release(self, hist: PairHistogram, rng: Randomness) -> PairHistogram:  # noqa: ARG002 it draws nothing
        by_query = queries_of(hist).holders[hist.query]
        kept = ((by_query if self.of == "query" else hist.holders) >= self.k)[hist.pair]
        return replace(hist, user=hist.user[kept], pair=hist.pair[kept], count=hist.count[kept])
