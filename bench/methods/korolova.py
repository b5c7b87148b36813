"""Queries above a noisy threshold, and noisy counts of the clicks on their results.

[Korolova, Kenthapadi, Mishra, Ntoulas: Releasing Search Queries and Clicks Privately, WWW 2009]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from bench.methods import CROWD, USER, Promise, counts_alone
from bench.selectors.laplace_histogram import level
from slogan.arrays import Flags, Ints
from slogan.dp.noise import discrete_laplace
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

SELECTION, QUERY_COUNTS, CLICKS = Fraction(1, 2), Fraction(1, 10), Fraction(2, 5)
"""How ε is shared: which queries, how often each, which results were clicked."""
RESULTS = 10


@dataclass(frozen=True, kw_only=True)
class Korolova:
    """d searches and d_c clicks of each user; queries first, then clicks on their result pages.

    The log has clicks alone, so that each click counts as one search for its query. Users' rows
    have no order in the log's counts: which d are kept is drawn.
    Promise: (ε, δ)-differential privacy for a user added or removed. A user moves the counts of
    searches by d in all and those of clicks by d_c, so that ε = d/b + d/b_q + d_c/b_c for noise of
    scales b (threshold), b_q (published counts of queries) and b_c (of clicks). The threshold K is
    so large that any of the d searches that a user alone made is published with probability at
    most δ, even if all are for one query.
    The ten results of a query must be public, as they are for the owner of a search engine.
    The harness has none: it takes the ten urls with most clicks in the log, which favours this
    method, since no noise falls on results without clicks.
    Schema: counts of queries and of pairs. Who did what together is lost. The counts of queries
    are published by the method, and paid for, but measures of pairs do not use them.
    """

    epsilon: Fraction
    delta: Fraction
    d: int
    d_c: int

    same_schema = False
    head_only = True

    @property
    def name(self) -> str:
        return f"Korolova et al., d = {self.d}, d_c = {self.d_c}"

    @property
    def promise(self) -> Promise:
        return Promise(
            kind="end to end",
            unit=USER,
            meaning="(ε, δ)-differential privacy",
            open=f"{CROWD}; result pages, which must be public",
            epsilon=self.epsilon,
            delta=self.delta,
        )

    @property
    def threshold_scale(self) -> Fraction:
        """The scale b of the noise that decides about queries."""
        return self.d / (SELECTION * self.epsilon)

    @property
    def click_scale(self) -> Fraction:
        """The scale b_c of the noise on clicks."""
        return self.d_c / (CLICKS * self.epsilon)

    @property
    def threshold(self) -> int:
        """K: a query is published if its noisy count is larger."""
        return self.d - 1 + level(self.threshold_scale, self.delta / self.d)

    def release(self, hist: PairHistogram, rng: Randomness) -> PairHistogram:
        place = _place_among_own(hist, rng)
        searches, clicks = (self._limited(hist, place, most) for most in (self.d, self.d_c))
        asked = np.zeros(int(hist.query.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(asked, hist.query, searches)
        known = np.flatnonzero(asked)
        noisy = asked[known] + discrete_laplace(len(known), rng, scale=self.threshold_scale)
        published = np.zeros(len(asked), dtype=np.bool_)
        published[known[noisy > self.threshold]] = True
        shown = np.flatnonzero(published[hist.query] & result_pages(hist))
        released = np.zeros(hist.pairs, dtype=np.int64)
        noise = discrete_laplace(len(shown), rng, scale=self.click_scale)
        released[shown] = np.maximum(0, clicks[shown] + noise)
        return counts_alone(released, hist.query)

    @staticmethod
    def _limited(hist: PairHistogram, place: Ints, most: int) -> Ints:
        """Clicks of each pair, counting a limited number of each user."""
        row = np.repeat(np.arange(len(hist.count)), hist.count)
        return np.bincount(hist.pair[row[place < most]], minlength=hist.pairs).astype(np.int64)


def _place_among_own(hist: PairHistogram, rng: Randomness) -> Ints:
    """For each click of the log its place in a random order of its user's clicks."""
    user = np.repeat(hist.user, hist.count)
    order = np.lexsort((rng.words(len(user)), user))
    start = np.searchsorted(user, np.arange(hist.users))
    place = np.empty(len(user), dtype=np.int64)
    place[order] = np.arange(len(user)) - start[user[order]]
    return place


def result_pages(hist: PairHistogram) -> Flags:
    """The ten pairs of each query with most clicks, in place of the search engine's results."""
    order = np.lexsort((-hist.pair_total, hist.query))
    query = hist.query[order]
    place = np.arange(len(query)) - np.searchsorted(query, query)
    shown = np.zeros(hist.pairs, dtype=np.bool_)
    shown[order[place < RESULTS]] = True
    return shown
