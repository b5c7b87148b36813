"""PairHistogram and Events: who clicked what, how often and when, as integers without any text."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from slogan.arrays import Flags, Ints, Narrow


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSize:
    """One column of the paper's Table 3."""

    clicks: int
    users: int
    queries: int
    urls: int
    pairs: int


@dataclass(frozen=True, kw_only=True, repr=False)
class PairHistogram:
    """The clicks c_ijk of a log: in row r, user[r] clicked pair[r] count[r] times.

    Users and pairs are numbers from 0; their texts stay in the engine.
    Rows are sorted by user, then pair, each combination once, every count positive.
    """

    user: Ints
    pair: Ints
    count: Ints
    users: int
    pairs: int
    query: Ints
    """The query of each pair, as a number: pairs of one query share it."""

    @classmethod
    def of_rows(
        cls, *, user: Ints, pair: Ints, count: Ints, users: int, query: Ints
    ) -> "PairHistogram":
        """Sort rows given in any order, and add up those of the same user and pair."""
        place = user * len(query) + pair
        order = np.argsort(place)
        place = place[order]
        first = np.flatnonzero(np.diff(place, prepend=-1))
        return cls(
            user=user[order[first]],
            pair=pair[order[first]],
            count=np.add.reduceat(count[order], first) if len(first) else count,
            users=users,
            pairs=len(query),
            query=query,
        )

    def __post_init__(self) -> None:
        rows = self.user * self.pairs + self.pair
        if not (len(self.user) == len(self.pair) == len(self.count)):
            raise ValueError("user, pair and count must have the same length")
        if len(self.query) != self.pairs:
            raise ValueError("every pair needs a query number")
        if len(rows) and (np.diff(rows) <= 0).any():
            raise ValueError("rows must be sorted by user, then pair, without repetition")
        if len(rows) and (self.count.min() <= 0 or self.user.min() < 0 or self.pair.min() < 0):
            raise ValueError("counts must be positive, users and pairs numbered from 0")
        if len(rows) and (self.user.max() >= self.users or self.pair.max() >= self.pairs):
            raise ValueError("a user or pair number is out of range")

    def __repr__(self) -> str:
        return f"<PairHistogram: {self.users} users, {self.pairs} pairs, {self.clicks} clicks>"

    @cached_property
    def pair_total(self) -> Ints:
        """c_ij: all clicks on each pair."""
        total = np.zeros(self.pairs, dtype=np.int64)
        np.add.at(total, self.pair, self.count)
        return total

    @cached_property
    def holders(self) -> Ints:
        """How many users clicked each pair."""
        return np.bincount(self.pair, minlength=self.pairs).astype(np.int64)

    def digest(self) -> str:
        """SHA-256 of the numbers: the same for all engines, machines and orders of rows."""
        whole = hashlib.sha256(f"{self.users} {self.pairs} {len(self.user)}\n".encode())
        for numbers in (self.user, self.pair, self.count, self.query):
            whole.update(numbers.astype("<i8").tobytes())
        return whole.hexdigest()

    @property
    def clicks(self) -> int:
        """|D|: all clicks of the histogram."""
        return int(self.count.sum())

    def query_of(self, pairs: Ints) -> Ints:
        """The queries of these pairs, as numbers."""
        return self.query[pairs]

    def holders_of(self, pairs: Ints) -> Ints:
        """How many users clicked each of these pairs."""
        return self.holders[pairs]

    def without_unique_pairs(self) -> "PairHistogram":
        """Drop pairs of a single user [Hong12, Thm 1, condition 1], and users without any other."""
        return self.without_users(np.zeros(0, dtype=np.int64)).hist

    def only(self, pairs: Ints) -> "PairHistogram":
        """The clicks on these sorted pairs, renumbered from 0; user numbers stay."""
        wanted = np.zeros(self.pairs, dtype=np.bool_)
        wanted[pairs] = True
        rows = np.flatnonzero(wanted[self.pair])
        return replace(
            self,
            user=self.user[rows],
            pair=np.searchsorted(pairs, self.pair[rows]),
            count=self.count[rows],
            pairs=len(pairs),
            query=self.query[pairs],
        )

    def without_user(self, user: int) -> "PairHistogram":
        """The neighbouring log D − A_k without the user's rows; user numbers stay."""
        rows = self.user != user
        return replace(self, user=self.user[rows], pair=self.pair[rows], count=self.count[rows])

    def without_users(self, gone: Ints) -> "Remainder":
        """The log without these users: shared pairs only, and only users who hold one."""
        staying = np.ones(self.users, dtype=np.bool_)
        staying[gone] = False
        rows = staying[self.user]
        shared = np.bincount(self.pair[rows], minlength=self.pairs) >= 2
        rows &= shared[self.pair]
        seen = np.bincount(self.user[rows], minlength=self.users) > 0
        hist = PairHistogram(
            user=(np.cumsum(seen) - 1)[self.user[rows]],
            pair=(np.cumsum(shared) - 1)[self.pair[rows]],
            count=self.count[rows],
            users=int(seen.sum()),
            pairs=int(shared.sum()),
            query=self.query[shared],
        )
        return Remainder(hist=hist, users=np.flatnonzero(seen), pairs=np.flatnonzero(shared))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Remainder:
    """A part of a histogram, renumbered, and the former numbers of its users and pairs."""

    hist: PairHistogram
    users: Ints
    pairs: Ints


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Events:
    """The rows of a log in their columns of time, rank and session.

    Row r: user[r] searched for query[r], and clicked pair[r] if it is not negative, count[r] times.
    Searches without a click are rows too. Rows are sorted by user, second, pair, rank, session,
    query and count, so their order in the log is moot.
    """

    user: Ints
    """As in the histogram; users without any click come after its users."""
    pair: Ints
    """As in the histogram; −1 if nothing was clicked."""
    query: Ints
    """The query, by its number in `PairHistogram.query`; −1 if no pair has this query."""
    count: Ints
    second: Narrow | None
    """Local time in seconds since the first midnight of the period, clamped into the period; −1 for
    a row without a time. None if time was not asked for, and so are the next two."""
    rank: Narrow | None
    """From 1; 0 for a row without a rank."""
    session: Narrow | None
    """The log's own sessions, each of one user, numbered from 0 by user; −1 for none."""
    users: int
    """All users: those of the histogram, and those who only searched."""
    days: int
    """The declared length of the period; 0 without time."""
    weekday: int
    """Of the first day of the period; 0 is Monday."""

    def sorted(self) -> "Events":
        """The same rows in their order."""
        keys = (self.second, self.pair, self.rank, self.session, self.query, self.count)
        return self.at(np.lexsort([key for key in (self.user, *keys) if key is not None][::-1]))

    def at(self, rows: Ints | Flags) -> "Events":
        """These rows of all columns, with all numbers unchanged."""
        names = ("user", "pair", "query", "count", "second", "rank", "session")
        columns = {name: getattr(self, name) for name in names}
        return replace(self, **{n: c[rows] for n, c in columns.items() if c is not None})

    def __repr__(self) -> str:
        return f"<Events: {len(self.user)} rows of {self.users} users, {self.days} days>"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class MadeEvents:
    """The rows of made-up users, one for each click and each search without a click.

    The clicks add up to an `Output`, which has the same users.
    """

    user: Ints
    pair: Ints
    """−1 if nothing was clicked."""
    query: Ints
    """As in `Events`, never negative: the query of the pair, or the one searched for."""
    second: Narrow | None
    """As in `Events`; None leaves the column empty, and so with the next two."""
    rank: Narrow | None
    """As in `Events`."""
    session: Narrow | None
    """Any number; rows of one user with the same number are one session; −1 for none."""

    def __repr__(self) -> str:
        return f"<MadeEvents: {len(self.user)} rows>"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Output:
    """The output log O as numbers: in row r, user[r] has count[r] clicks of pair[r]."""

    user: Ints
    pair: Ints
    count: Ints

    def __repr__(self) -> str:
        return f"<Output: {self.users} users, {self.pairs} pairs, {self.clicks} clicks>"

    @property
    def clicks(self) -> int:
        """|O|."""
        return int(self.count.sum())

    @property
    def users(self) -> int:
        """The number of released users."""
        return len(np.unique(self.user))

    @property
    def pairs(self) -> int:
        """The number of released pairs."""
        return len(np.unique(self.pair))
