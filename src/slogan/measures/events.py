"""The rows of a log and of an output in time, rank and session, grouped into searches.

A search is a user's rows of one query, one after the other in a session: its clicks, or none.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from slogan.arrays import Flags, Floats, Ints, Narrow
from slogan.histogram import Events, PairHistogram
from slogan.measures.sampling import sampled
from slogan.randomness import Randomness

SESSION_GAP = 1_800
"""Seconds between two searches of different sessions, where a log does not name its sessions."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Both(Generic[T]):
    """The same of the log and of an output."""

    log: T
    output: T


@dataclass(frozen=True, slots=True, kw_only=True)
class Bases(Generic[T]):
    """The output beside all of the log, and beside what the log has of released pairs."""

    whole_log: T
    released_pairs: T | None
    """Clicks on pairs of the release, and searches without a click for its queries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Searches:
    """Searches by user, session and time; and their rows."""

    user: Ints
    session: Ints
    """Numbered from 0 over all users."""
    query: Ints
    """-1 for a query that no pair has."""
    size: Ints
    """How many rows each search has; those of the first come first, and so on."""
    row: Ints
    """The rows of `Events`, in the order of searches."""

    @property
    def of_row(self) -> Ints:
        """The search of each row."""
        return np.repeat(np.arange(len(self.size)), self.size)


@dataclass(frozen=True, kw_only=True, repr=False)
class ComparedEvents:
    """The events of the log and of one output, with the same numbering."""

    log: Events
    output: Events
    query: Ints
    """The query of each pair."""
    shared: Flags
    """Queries of two or more users of the log: of the rest other users say nothing."""
    same_users: bool
    """Whether a user number means the same person in both."""
    release: Events | None = None
    """The release, where the output is a random sample in its place."""

    @property
    def timed(self) -> Both[Events] | None:
        """The rows with a time, if both have any."""
        return self._filled(lambda events: None if events.second is None else events.second >= 0)

    @property
    def ranked(self) -> Both[Events] | None:
        """The clicks with a rank, if both have any."""
        return self._filled(
            lambda events: None if events.rank is None else (events.rank > 0) & (events.pair >= 0)
        )

    @cached_property
    def searches(self) -> Both[Searches] | None:
        """Searches in sessions: those the logs name, else those that half an hour ends."""
        if (named := self._filled(_has_session)) is not None:
            return Both(*(named_searches(events) for events in (named.log, named.output)))
        if (timed := self.timed) is not None:
            return Both(*(gap_searches(events) for events in (timed.log, timed.output)))
        return None

    @cached_property
    def of_released(self) -> "ComparedEvents":
        """Both without clicks on pairs that the release has not, and without other queries."""
        release = self.release or self.output
        held, searched = _flags_of(release.pair), _flags_of(release.query)

        def part(events: Events) -> Events:
            clicked, query = _within(events.pair, held), _within(events.query, searched)
            return events.at(np.where(events.pair >= 0, clicked, query))

        return replace(self, log=part(self.log), output=part(self.output))

    def by_basis(self, measure: "Callable[[ComparedEvents], T | None]") -> Bases[T] | None:
        """A measure on both bases; None if it says nothing of the whole log."""
        whole = measure(self)
        if whole is None:
            return None
        return Bases(whole_log=whole, released_pairs=measure(self.of_released))

    @cached_property
    def in_sessions(self) -> Both[Events] | None:
        """The events whose rows `searches` groups."""
        return self._filled(_has_session) or self.timed

    def trains(self, user: Ints) -> Flags:
        """Whether a user of the output may train a model: not if the user tests it."""
        return ~self.tests(user) if self.same_users else np.ones(len(user), dtype=np.bool_)

    def tests(self, user: Ints) -> Flags:
        """Every second user of the log tests the models; the others train the log's own."""
        return (user < self.log.users) & (user % 2 == 1)

    def sampled(self, rng: Randomness) -> "ComparedEvents":
        """A random sample in place of the output: as many clicks and searches without one."""
        count = sampled(self.log.count, int(self.output.count.sum()), rng)
        drawn = np.flatnonzero(count)
        sample = replace(self.log.at(drawn), count=count[drawn])
        return replace(self, output=sample, same_users=True, release=self.release or self.output)

    def _filled(self, wanted: Callable[[Events], Flags | None]) -> Both[Events] | None:
        flags = wanted(self.log), wanted(self.output)
        if flags[0] is None or flags[1] is None or not (flags[0].any() and flags[1].any()):
            return None
        return Both(self.log.at(flags[0]), self.output.at(flags[1]))

    def __repr__(self) -> str:
        return f"<ComparedEvents: {self.log}, {self.output}>"


def _flags_of(numbers: Ints) -> Flags:
    """Whether each number from 0 is there."""
    return np.bincount(numbers[numbers >= 0], minlength=1) > 0


def _within(numbers: Ints, wanted: Flags) -> Flags:
    """Whether each is one of those wanted; not if negative."""
    return (numbers >= 0) & wanted[np.clip(numbers, 0, len(wanted) - 1)] & (numbers < len(wanted))


def _has_session(events: Events) -> Flags | None:
    return None if events.session is None else events.session >= 0


def named_searches(events: Events) -> Searches:
    """Searches in the sessions that the log names."""
    session = present(events.session)
    second = np.zeros_like(session) if events.second is None else events.second
    order = np.lexsort((second, session, events.user))
    begins = changes(events.user[order], session[order])
    return _searches(events, order, begins)


def gap_searches(events: Events) -> Searches:
    """Searches in sessions that end after half an hour without a row."""
    order = np.arange(len(events.user))
    apart = np.diff(present(events.second), prepend=0) > SESSION_GAP
    return _searches(events, order, changes(events.user) | apart)


def _searches(events: Events, order: Ints, begins: Flags) -> Searches:
    query = events.query[order]
    # Two rows of unknown queries are two searches: their words may differ.
    first = begins | changes(query) | (query < 0)
    start = np.flatnonzero(first)
    return Searches(
        user=events.user[order][start],
        session=(np.cumsum(begins) - 1)[start],
        query=query[start],
        size=np.diff(start, append=len(order)),
        row=order,
    )


def present(column: Narrow | None) -> Narrow:
    """A column that the log has."""
    if column is None:
        raise ValueError("the column was not asked for")
    return column


def changes(*columns: Ints | Narrow) -> Flags:
    """Where a row differs from the one before, the first one included."""
    changed = np.zeros(len(columns[0]), dtype=np.bool_)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed


def shared_queries(log: PairHistogram) -> Flags:
    """Which queries two or more users of the log have clicked for."""
    queries = int(log.query.max(initial=-1)) + 1
    held = np.unique(log.user * max(1, queries) + log.query[log.pair])
    return np.bincount(held % max(1, queries), minlength=queries) >= 2


def group(*columns: Ints) -> Ints:
    """The group of each row, from 0, where equals are neighbours."""
    return np.cumsum(changes(*columns)) - 1


def nth(*columns: Ints) -> Ints:
    """The place of each row in its group, from 0, where equals are neighbours."""
    first = np.flatnonzero(changes(*columns))
    return np.arange(len(columns[0])) - first[group(*columns)]


def counted(values: Ints | Narrow, counts: Ints, length: int) -> Ints:
    """How many clicks and searches have each value below the length; the last takes all above."""
    places = np.minimum(values, length - 1)
    return np.bincount(places, weights=counts, minlength=length).astype(np.int64)


def variation(before: Ints, after: Ints) -> float | None:
    """Half the sum of differences of two distributions: the share that would have to move."""
    if not (before.any() and after.any()):
        return None
    shares: tuple[Floats, Floats] = before / before.sum(), after / after.sum()
    return float(np.abs(shares[0] - shares[1]).sum() / 2)
