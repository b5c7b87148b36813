"""Sessions: how many a user has, how many searches and clicks each of them has."""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import Events
from slogan.measures import Headline, Measure
from slogan.measures.events import Bases, Both, ComparedEvents, Searches, counted, variation
from slogan.measures.headlines import Group

_GROUP: Group = "Time, ranks and sessions"
_LONGEST = 10
"""Longer sessions are counted together, and so are sessions with more clicks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """Sessions of the output beside those of the log."""

    per_user: float
    """The mean, over users with a session."""
    per_user_of_original: float
    searches: float
    """The mean of a session."""
    searches_of_original: float
    clicks: float
    clicks_of_original: float
    length_variation: float | None
    """Total variation of searches per session: 1, 2, ..., 9, and more."""
    click_variation: float | None
    """Total variation of clicks per session: none, 1, ..., 9, and more."""

    @property
    def change(self) -> float:
        """How much the mean number of a user's sessions changed, as a share."""
        return abs(self.per_user / self.per_user_of_original - 1)


@dataclass(frozen=True, slots=True)
class _Counts:
    per_user: float
    searches: Ints
    clicks: Ints


def sessions(events: Both[Events], searches: Both[Searches]) -> Sessions:
    """Compare sessions; `searches` are those of `events`."""
    log, output = (
        _counts(rows, found)
        for rows, found in ((events.log, searches.log), (events.output, searches.output))
    )
    return Sessions(
        per_user=output.per_user,
        per_user_of_original=log.per_user,
        searches=float(output.searches.mean()),
        searches_of_original=float(log.searches.mean()),
        clicks=float(output.clicks.mean()),
        clicks_of_original=float(log.clicks.mean()),
        length_variation=variation(_lengths(log.searches), _lengths(output.searches)),
        click_variation=variation(_lengths(log.clicks), _lengths(output.clicks)),
    )


def _counts(events: Events, searches: Searches) -> _Counts:
    clicks = np.where(events.pair >= 0, events.count, 0)[searches.row]
    session = searches.session
    return _Counts(
        per_user=(int(session[-1]) + 1) / len(np.unique(searches.user)),
        searches=np.bincount(session).astype(np.int64),
        clicks=np.bincount(session[searches.of_row], weights=clicks).astype(np.int64),
    )


def _lengths(sizes: Ints) -> Ints:
    return counted(sizes, np.ones_like(sizes), _LONGEST + 1)


def _sessions(c: ComparedEvents) -> Sessions | None:
    if c.searches is None or c.in_sessions is None:
        return None
    return sessions(c.in_sessions, c.searches)


def _released(result: Bases[Sessions] | None) -> Sessions | None:
    return result and result.released_pairs


SESSIONS = Measure[Bases[Sessions] | None](
    name="sessions",
    order=140,
    take=lambda c: c.events and c.events.by_basis(_sessions),
    headlines=(
        Headline(
            "Sessions per user", lambda r: (s := _released(r)) and s.per_user, ".2f", "", _GROUP
        ),
        Headline(
            "Sessions per user, change",
            lambda r: (s := _released(r)) and s.change,
            ".1%",
            "lower",
            _GROUP,
        ),
        Headline(
            "Searches per session (0 = same)",
            lambda r: (s := _released(r)) and s.length_variation,
            ".3f",
            "lower",
            _GROUP,
        ),
        Headline(
            "Clicks per session (0 = same)",
            lambda r: (s := _released(r)) and s.click_variation,
            ".3f",
            "lower",
            _GROUP,
        ),
    ),
)
