"""Sums over users about time, rank and session: tables whose cells are public.

Each user adds a number to each cell of a table: its rows of that hour, its sessions of that many
clicks. `clipped` scales them user by user, with the function that scales clicks. The user's other
rows decide which cell a row is in, other users' rows do not. Proof: docs/proofs/columns.md.
"""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Flags, Ints
from slogan.dp.sums import MOST_CLICKS, clipped_counts
from slogan.histogram import Events, PairHistogram

NORM = 1
"""The largest L2 norm of what one user adds to a table."""
GAP = 30 * 60
"""Rows of a user more than this many seconds apart are of two sessions, if the log has none."""
HOUR, DAY, WEEK = 3600, 24 * 3600, 7 * 24
MOST_DAYS = 100
"""A longer period is divided into at most this many parts of equally many days."""
SINGLE_RANKS, RANK_CELLS = 10, 12
"""Ranks 1 to 10 have a cell each, 11 to 20 one together, and those beyond one."""
COUNTED_SESSIONS = np.array([1, 2, 3, 4, 5, 6, 8, 11, 16, 26])
"""The least number of sessions of each cell; the last has no end."""
LENGTHS = np.array([1, 2, 3, 4, 5, 6, 7, 8, 9, 13])
"""The least number of clicks of each cell."""
UNCLICKED = 5
"""A session's searches without a click are counted up to four, and those with more together."""
AGAIN, SAME_QUERY, SAME_UNCLICKED, OTHER_UNCLICKED, STEPS = range(5)
"""The first cells of the steps: the same pair once more; another pair of the same query; a search
without a click beside the same query; the same beside another query. Then a table of classes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What can be in a release, known once the pairs are selected."""

    pairs: Ints
    """The released pairs, sorted."""
    queries: Ints
    """Their queries, each once, sorted."""

    @classmethod
    def of(cls, pairs: Ints, query: Ints) -> "Shown":
        """Of the released pairs and the query of each."""
        return cls(pairs=pairs, queries=np.unique(query))

    def pairs_of(self, events: Events) -> Ints:
        """The place of each row's pair among the released ones; −1 for other pairs and none."""
        return _places(self.pairs, events.pair)

    def queries_of(self, events: Events) -> Ints:
        """The place of each row's query among those of released pairs; −1 for others."""
        return _places(self.queries, events.query)


def _places(known: Ints, numbers: Ints) -> Ints:
    place = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return np.where(known[place] == numbers, place, -1)


def clipped(events: Events, user: Ints, cell: Ints, count: Ints, *, cells: int) -> Ints:
    """Σ over users of their numbers by cell, each user's scaled to L2 ≤ 1; in steps."""
    table = PairHistogram.of_rows(
        user=user,
        pair=cell,
        count=np.minimum(count, MOST_CLICKS),
        users=events.users,
        query=np.arange(cells),
    )
    return clipped_counts(table, np.arange(cells), norm=NORM)


def _seconds(events: Events) -> tuple[Ints, Ints]:
    """The rows with a time, and their times."""
    if events.second is None:
        raise ValueError("the log has no times")
    rows = np.flatnonzero(events.second >= 0)
    return rows, events.second[rows].astype(np.int64)


def hour_sums(events: Events) -> Ints:
    """Rows by hour of the week, from Monday on. Not private yet."""
    rows, second = _seconds(events)
    cell = (second // HOUR + events.weekday * 24) % WEEK
    return clipped(events, events.user[rows], cell, events.count[rows], cells=WEEK)


def days_of_a_cell(days: int) -> int:
    """How many days of a period are counted together."""
    return -(-days // MOST_DAYS)


def day_cells(days: int) -> int:
    """The number of parts of a period."""
    return -(-days // days_of_a_cell(days))


def day_sums(events: Events) -> Ints:
    """Rows by day of the period, or by part of it. Not private yet."""
    rows, second = _seconds(events)
    cell = second // DAY // days_of_a_cell(events.days)
    return clipped(
        events,
        events.user[rows],
        cell,
        events.count[rows],
        cells=day_cells(events.days),
    )


def rank_cell(rank: Ints) -> Ints:
    """The cell of a rank from 1 on."""
    return np.where(
        rank <= SINGLE_RANKS, rank - 1, np.where(rank <= 20, SINGLE_RANKS, RANK_CELLS - 1)
    )


def rank_sums(events: Events, shown: Shown, kind: Ints, kinds: int) -> Ints:
    """Clicks on released pairs by class of the pair and by rank. Not private yet.

    `kind` has the class of each released pair.
    """
    if events.rank is None:
        raise ValueError("the log has no ranks")
    pair = shown.pairs_of(events)
    rows = np.flatnonzero((events.rank > 0) & (pair >= 0))
    cell = kind[pair[rows]] * RANK_CELLS + rank_cell(events.rank[rows].astype(np.int64))
    return clipped(events, events.user[rows], cell, events.count[rows], cells=kinds * RANK_CELLS)


def search_sums(events: Events, shown: Shown, kind: Ints, kinds: int) -> Ints:
    """By class of the query: clicks on released pairs, and searches without a click. Not private.

    `kind` has the class of each query of released pairs.
    """
    query = shown.queries_of(events)
    clicked = shown.pairs_of(events) >= 0
    rows = np.flatnonzero((query >= 0) & (clicked | (events.pair < 0)))
    cell = kind[query[rows]] * 2 + (events.pair[rows] < 0)
    return clipped(events, events.user[rows], cell, events.count[rows], cells=2 * kinds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Visits:
    """The rows that can be shown, session by session, each session of one user."""

    rows: Ints
    """In the order of users, sessions and times."""
    first: Flags
    """Whether a row is the first one of its session."""

    @classmethod
    def of(cls, events: Events, shown: Shown) -> "Visits":
        """By the log's own sessions, or by gaps between any two rows of a user."""
        session = sessions(events)
        order = np.arange(len(session))
        if events.session is not None:  # rows are in the order of times otherwise
            order = np.lexsort((order, session, events.user))
        can_show = (shown.pairs_of(events) >= 0) | (
            (events.pair < 0) & (shown.queries_of(events) >= 0)
        )
        rows = order[((session >= 0) & can_show)[order]]
        user, session = events.user[rows], session[rows]
        first = (np.diff(user, prepend=-1) != 0) | (np.diff(session, prepend=-1) != 0)
        return cls(rows=rows, first=first)

    @property
    def number(self) -> Ints:
        """The number of each row's session."""
        return np.cumsum(self.first) - 1


def sessions(events: Events) -> Ints:
    """The session of each row, different for each user; −1 for none."""
    if events.session is not None:
        return events.session.astype(np.int64)
    if events.second is None:
        return np.full(len(events.user), -1, dtype=np.int64)
    second = events.second.astype(np.int64)
    other = np.diff(events.user, prepend=-1) != 0
    later = np.diff(second, prepend=0) > GAP
    begins = other | later | (np.append(-1, second[:-1]) < 0)
    return np.where(second >= 0, np.cumsum(begins) - 1, -1)


def _clicks(events: Events, shown: Shown) -> tuple[Ints, Ints, Ints]:
    """User, clicks, and searches without a click, of each session with a click."""
    visits = Visits.of(events, shown)
    number, count = visits.number, np.minimum(events.count[visits.rows], MOST_CLICKS)
    is_click = events.pair[visits.rows] >= 0
    clicks, unclicked = (np.zeros(int(visits.first.sum()), dtype=np.int64) for _ in range(2))
    np.add.at(clicks, number[is_click], count[is_click])
    np.add.at(unclicked, number[~is_click], count[~is_click])
    some = clicks > 0
    return events.user[visits.rows[visits.first]][some], clicks[some], unclicked[some]


def session_sums(events: Events, shown: Shown) -> Ints:
    """Users by how many sessions have a click on a released pair. Not private yet."""
    user, sessions_of = np.unique(_clicks(events, shown)[0], return_counts=True)
    cell = np.searchsorted(COUNTED_SESSIONS, sessions_of, side="right") - 1
    size = len(COUNTED_SESSIONS)
    return clipped(events, user, cell, np.ones_like(cell), cells=size)


def length_sums(events: Events, shown: Shown) -> Ints:
    """Sessions with a click by their clicks, then by searches without one. Not private yet."""
    user, clicks, unclicked = _clicks(events, shown)
    by_clicks = np.searchsorted(LENGTHS, clicks, side="right") - 1
    by_searches = len(LENGTHS) + np.minimum(unclicked, UNCLICKED - 1)
    user, cell = np.concatenate([user, user]), np.concatenate([by_clicks, by_searches])
    size = len(LENGTHS) + UNCLICKED
    return clipped(events, user, cell, np.ones_like(cell), cells=size)


def step_sums(events: Events, shown: Shown, kind: Ints, kinds: int) -> Ints:
    """Steps from one row of a session to the next one, by classes of their queries. Not private.

    `kind` has the class of each query of released pairs. A row of several clicks has steps too.
    """
    visits = Visits.of(events, shown)
    rows = visits.rows
    pair, query = events.pair[rows], events.query[rows]
    of_query = kind[shown.queries_of(events)[rows]]
    later = np.flatnonzero(~visits.first)
    before = later - 1
    unclicked = (pair[later] < 0) | (pair[before] < 0)
    same = query[later] == query[before]
    cell = np.select(
        [same & unclicked, same & (pair[later] == pair[before]), same],
        [SAME_UNCLICKED, AGAIN, SAME_QUERY],
        STEPS + of_query[before] * kinds + of_query[later],
    ).astype(np.int64)
    beside = later[unclicked & ~same]
    many = np.flatnonzero((events.count[rows] > 1) & (pair >= 0))
    parts = [
        (later, cell, np.ones_like(later)),
        (beside, np.full(len(beside), OTHER_UNCLICKED), np.ones_like(beside)),
        (many, np.full(len(many), AGAIN), events.count[rows][many] - 1),
    ]
    place, cells, count = (np.concatenate(column) for column in zip(*parts, strict=True))
    return clipped(events, events.user[rows[place]], cells, count, cells=STEPS + kinds**2)
