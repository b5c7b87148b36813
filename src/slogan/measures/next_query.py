"""The next query of a session: how often it is among ten suggested by the output's transitions."""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.measures import Headline, Measure, Task
from slogan.measures.cooccurrence import LISTED, spread
from slogan.measures.events import ComparedEvents, Searches, changes, nth
from slogan.measures.headlines import Group

_MOST_TESTED = 20_000
_GROUP: Group = "Time, ranks and sessions"


@dataclass(frozen=True, slots=True, kw_only=True)
class NextQuery:
    """How often the next query is among the first ten suggested."""

    tested: int
    """Pairs of searches in sessions of every second user; the others train the log's model."""
    hit_at_10: float
    hit_at_10_of_original: float
    hit_at_10_of_popularity: float
    """With the output's most frequent next queries, whatever the query."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transitions:
    """Which query follows which, and how often: by query, and the most frequent next one first."""

    query: Ints
    following: Ints
    popular: Ints
    """The queries that follow most often, whichever is before."""

    def suggested(self, query: int) -> list[int]:
        """Ten queries that follow, filled up with popular ones; never the query itself."""
        begin, end = np.searchsorted(self.query, [query, query + 1])
        own = self.following[begin:end][:LISTED].tolist()
        more = [n for n in self.popular.tolist() if n != query and n not in own]
        return [*own, *more][:LISTED]

    def suggested_to_all(self, query: int) -> list[int]:
        """Ten popular queries, but not the query itself."""
        return [n for n in self.popular.tolist() if n != query][:LISTED]


def steps(searches: Searches, known: Flags) -> tuple[Ints, Ints, Ints]:
    """User, query and next query, of neighbours in a session whose queries are both known."""
    query = searches.query
    usable = (query >= 0) & np.append(known, False)[query]
    same = ~changes(searches.user, searches.session)[1:]
    at = np.flatnonzero(same & usable[:-1] & usable[1:] & (query[1:] != query[:-1]))
    return searches.user[at], query[at], query[at + 1]


def transitions(query: Ints, following: Ints, queries: int) -> Transitions:
    """Count; of two that follow equally often the more popular comes first, then by number."""
    popularity = np.bincount(following, minlength=queries)
    key, count = np.unique(query * max(1, queries) + following, return_counts=True)
    before, after = np.divmod(key, max(1, queries))
    order = np.lexsort((after, -popularity[after], -count, before))
    before, after = before[order], after[order]
    listed = nth(before) < LISTED
    popular = np.argsort(-popularity, kind="stable")[: 2 * LISTED + 1]
    return Transitions(
        query=before[listed], following=after[listed], popular=popular[popularity[popular] > 0]
    )


def next_query(c: ComparedEvents) -> NextQuery | None:
    """Suggest by the output, by half of the log's users and by popularity, to the other half."""
    if c.searches is None or c.timed is None:
        return None
    queries = len(c.shared)
    user, query, following = steps(c.searches.log, c.shared)
    tests = c.tests(user)
    original = transitions(query[~tests], following[~tests], queries)
    user, before, after = steps(c.searches.output, c.shared)
    trains = c.trains(user)
    model = transitions(before[trains], after[trains], queries)
    tested = np.flatnonzero(tests)
    tested = tested[spread(len(tested), _MOST_TESTED)]
    if not len(tested):
        return None
    hits = np.zeros(3, dtype=np.int64)
    tested = tested[np.argsort(query[tested], kind="stable")]
    for rows in np.split(tested, np.flatnonzero(np.diff(query[tested])) + 1):
        one, wanted = int(query[rows[0]]), following[rows]
        lists = model.suggested(one), original.suggested(one), model.suggested_to_all(one)
        hits += [int(np.isin(wanted, suggested).sum()) for suggested in lists]
    share, of_original, of_popularity = (hits / len(tested)).tolist()
    return NextQuery(
        tested=len(tested),
        hit_at_10=share,
        hit_at_10_of_original=of_original,
        hit_at_10_of_popularity=of_popularity,
    )


def _of_original(result: NextQuery | None) -> float | None:
    best = result and result.hit_at_10_of_original
    return result.hit_at_10 / best if result and best else None


NEXT_QUERY = Measure[NextQuery | None](
    name="next_query",
    order=160,
    take=lambda c: c.events and next_query(c.events),
    headlines=(
        Headline(
            "Next query among ten suggested",
            lambda r: r and r.hit_at_10,
            ".3f",
            "higher",
            _GROUP,
            Task(
                name="suggesting the next query",
                good=0.8,
                poor=0.5,
                evidence="{:.0%} of the hits of suggestions from the log",
                value=_of_original,
            ),
        ),
    ),
)
