"""CoOccurrence: which items users hold together, and how well that predicts a hidden one.

Items are pairs ("users who clicked this also clicked") or queries (suggestions).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Flags, Floats, Ints
from slogan.histogram import PairHistogram

HEAVIEST = 2_000
"""Items that co-occurrence is learnt of: those with most holders."""
LISTED = 10
"""Length of a list of recommendations."""
_TESTED_USERS = 1_000
_HIDDEN_PER_USER = 10
# Imagined users who hold two items together exactly as often as chance has it: few prove little.
_BY_CHANCE = 10.0


@dataclass(frozen=True, kw_only=True)
class CoOccurrence:
    """How many users of a log hold two items together, among its heaviest items."""

    log: PairHistogram
    items: Ints
    """Their numbers, ascending."""
    together: Floats
    """Users who hold both; on the diagonal those who hold the item."""

    @classmethod
    def learn(cls, log: PairHistogram) -> "CoOccurrence":
        """Count co-occurrence in a log."""
        order = np.argsort(-log.holders, kind="stable")[:HEAVIEST]
        items = np.sort(order[log.holders[order] > 0]).astype(np.int64)
        pairs = sp.csr_array(
            (np.ones(len(log.pair)), (log.user, log.pair)), shape=(log.users, log.pairs)
        )
        held = pairs[:, items]
        return cls(log=log, items=items, together=(held.T @ held).toarray())

    @cached_property
    def users(self) -> int:
        """Users with any click."""
        return len(np.unique(self.log.user))

    @cached_property
    def holders(self) -> Floats:
        """Users who hold each item."""
        return np.diagonal(self.together).copy()

    @cached_property
    def place(self) -> Ints:
        """Where each item of the log is among the heaviest; −1 if it is not."""
        place = np.full(self.log.pairs, -1, dtype=np.int64)
        place[self.items] = np.arange(len(self.items))
        return place

    @cached_property
    def own_hits(self) -> "HitRate":
        """What the log itself predicts of its users."""
        return hit_rate(self.log, self, same_users=True)

    def held_by(self, user: int) -> Ints:
        """The items of one user of the log."""
        begin, end = np.searchsorted(self.log.user, [user, user + 1])
        return self.log.pair[begin:end]

    def similar(self, item: int) -> Ints:
        """The items most alike by cosine of their holders, best first."""
        if (at := int(self.place[item])) < 0:
            return np.zeros(0, dtype=np.int64)
        alike = self.together[at] / np.sqrt(self.holders * self.holders[at])
        alike[at] = 0.0
        best = np.argsort(-alike, kind="stable")[:LISTED]
        return self.items[best[alike[best] > 0]]

    def log_lift(self, items: Ints) -> Floats:
        """How much oftener than by chance two items are held together, for all two of some items.

        Two items that were never seen say nothing: 0.
        """
        place = self.place[items]
        seen = place >= 0
        together = np.zeros((len(items), len(items)))
        together[np.ix_(seen, seen)] = self.together[np.ix_(place[seen], place[seen])]
        holders = np.diagonal(together)
        expected = np.outer(holders, holders) / max(1, self.users)
        return _log_lift(together, expected)[np.triu_indices(len(items), k=1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HitRate:
    """How often a hidden item is among the first ten recommended to its user."""

    hidden: int
    share: float | None
    """hit@10."""
    share_of_popularity: float | None
    """The same if everybody is recommended the most popular items."""


def hit_rate(original: PairHistogram, model: CoOccurrence, *, same_users: bool) -> HitRate:
    """Hide items of real users, one at a time, and recommend from the rest by naive Bayes.

    What the tested user contributed to the model is taken out of it first, where it is known.
    """
    shared = np.flatnonzero(original.holders[original.pair] >= 2)
    user, item = original.user[shared], original.pair[shared]
    held = np.bincount(user, minlength=original.users)
    tested = tested_users(original)
    first = np.searchsorted(user, tested)
    hidden = hits = popular = 0
    for who, begin in zip(tested.tolist(), first.tolist(), strict=True):
        items = item[begin : begin + int(held[who])]
        own = model.held_by(who) if same_users else items[:0]
        chosen = spread(len(items), _HIDDEN_PER_USER)
        more = _hits(model, items, own, chosen)
        hidden, hits, popular = hidden + len(chosen), hits + more[0], popular + more[1]
    share, share_of_popularity = (n / hidden if hidden else None for n in (hits, popular))
    return HitRate(hidden=hidden, share=share, share_of_popularity=share_of_popularity)


def tested_users(original: PairHistogram) -> Ints:
    """The users whose items are hidden: some of those with two items that others hold too."""
    shared = original.holders[original.pair] >= 2
    held = np.bincount(original.user[shared], minlength=original.users)
    candidates = np.flatnonzero(held >= 2)
    return candidates[spread(len(candidates), _TESTED_USERS)]


def _hits(model: CoOccurrence, items: Ints, own: Ints, chosen: Ints) -> tuple[int, int]:
    """How many of the chosen items of one user are found, and by popularity alone."""
    mine = np.zeros(len(model.items))
    mine[model.place[own][model.place[own] >= 0]] = 1.0
    holders = model.holders - mine
    popularity = holders / max(1, model.users - int(len(own) > 0))
    place = model.place[items]
    seen = place[place >= 0]
    # evidence: row i says how much likelier each item is for a holder of item i
    together = model.together[seen] - np.outer(mine[seen], mine)
    evidence = _log_lift(together, np.outer(holders[seen], popularity))
    prior = np.log(np.maximum(popularity, np.finfo(np.float64).tiny))
    score = prior + evidence.sum(axis=0)
    row = np.cumsum(place >= 0) - 1
    candidate = np.ones(len(mine), dtype=np.bool_)
    candidate[seen] = False
    hits = popular = 0
    for one in chosen.tolist():
        at = int(place[one])
        if at >= 0 and holders[at] > 0:
            hits += _rank(score - evidence[row[one]], at, candidate) < LISTED
            popular += _rank(prior, at, candidate) < LISTED
    return hits, popular


def _rank(score: Floats, at: int, candidate: Flags) -> int:
    """How many candidates come before the item; of equals the one that is first by its text."""
    ahead = np.count_nonzero(candidate & (score > score[at]))
    return int(ahead + np.count_nonzero(candidate[:at] & (score[:at] == score[at])))


def _log_lift(together: Floats, expected: Floats) -> Floats:
    return np.log((together + _BY_CHANCE) / (expected + _BY_CHANCE))


def spread(n: int, most: int) -> Ints:
    """At most `most` of the numbers below n, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))
