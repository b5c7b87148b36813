"""An invented crowd's searches as events: when, in which session, and at which rank of the page.

The clicks of each user are those of `draw_clicks`; what is added has the structure of real logs.
Searches of one topic follow each other, and are reworded until something is clicked. Each topic has
its hours, weekdays and season, and some queries have their days.
"""

from dataclasses import dataclass, fields
from datetime import datetime

import numpy as np
from scipy.special import ndtri

from slogan.arrays import Flags, Floats, Ints
from slogan.generation.crowd import (
    DAY,
    DAYS,
    Crowd,
    Keys,
    Searches,
    chance,
    child_key,
    clicked,
    count_up,
    draw_searches,
    floor,
    geometric,
    reworded,
)

BEGINS = datetime(2006, 3, 1)  # noqa: DTZ001  (a log's local time, as AOL's)
"""When the period of a generated log begins, on a Wednesday."""
SESSION_GAP = 1_800
"""Seconds without a search after which a session ends."""

_HOUR = 3_600
_NEW_RUN = 0.6  # chance that the next search of a topic is made at another time ...
_NEW_SESSION = 0.8  # ... and that a change of topic begins a session
# Chance of one more search without a click before one with a click: more often if the first result
# that is clicked is not the highest.
_REWORDED, _OVERLOOKED, _MOST_OVERLOOKED = 0.26, 0.12, 3
_UNCHANGED = 0.4  # chance that it has the same words
_SEASONAL_TOPICS, _IN_SEASON, _SEASON = 0.3, 0.5, 9.0  # the last one in days
_TRENDING, _LINGERS = 0.2, 0.5
_ON_TREND, _FAMOUS_ON_TREND = 0.6, 0.25
_LEISURE = 0.5  # share of topics searched for in the evening and at weekends
_GAP, _SPREAD, _LONGEST_GAP = 3.9, 1.0, 1_200.0  # logarithm of seconds between two searches
_FIRST_CLICK, _NEXT_CLICK = 4, 18  # seconds
# How often a page has other results above: of a query that looks for a site hardly ever, and in one
# search in some only.
_LOWER_SITE, _LOWER_RESULT, _LOWER_AGAIN = 0.16, 0.42, 0.58
_MOVED, _SECOND_PAGE = 0.08, 0.03

_SATURDAY = 5
_WEEKDAYS: Floats = np.array([1.10, 1.08, 1.05, 1.02, 0.92, 0.86, 0.97])  # from Monday
_WORKING: Floats = np.array(
    [19, 11, 7, 5, 5, 8, 17, 30, 44, 54, 59, 60, 57, 58, 59, 59, 57, 53, 54, 59, 63, 61, 50, 33]
)  # from midnight
_RESTING: Floats = np.array(
    [31, 22, 15, 9, 6, 6, 9, 17, 31, 46, 56, 60, 61, 62, 62, 61, 60, 58, 59, 62, 64, 61, 51, 39]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """One row for each click and for each search without a click, by user and time."""

    user: Ints
    session: Ints
    """Of the user, from 0."""
    search: Ints
    """Of the user, from 0; its clicks are neighbours, from the top of the page."""
    query: Ints
    url: Ints
    """-1 without a click."""
    rank: Ints
    """From 1; 0 without a click."""
    searched: Ints
    """When, in seconds since the period began."""
    second: Ints
    """When it was clicked; without a click when it was searched."""

    def at(self, rows: Ints) -> "Events":
        """These rows, in this order."""
        return Events(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})


def draw_events(crowd: Crowd, first: int, last: int) -> Events:
    """All that the users from `first` up to `last` search for and click."""
    searches, session = _in_sessions(draw_searches(crowd, first, last))
    clicks, of = clicked(searches)
    click, again = np.repeat(np.arange(len(of)), clicks.count), count_up(clicks.count)
    lower = _lower(searches)
    missed = _REWORDED + _OVERLOOKED * np.minimum(lower, _MOST_OVERLOOKED)
    idle = geometric(chance(searches.key, "idle"), missed)
    of_idle, before = np.repeat(np.arange(len(idle)), idle), -1 - count_up(idle)
    # A search with clicks may be made again; the searches without a click before it are -1, -2, ...
    parent, turn = np.concatenate((of[click], of_idle)), np.concatenate((again, before))
    query = np.concatenate((clicks.query[click], _reworded(searches, of_idle, before)))
    url = np.concatenate((clicks.url[click], np.full_like(of_idle, -1)))
    rank = np.concatenate((clicks.rank[click], np.zeros_like(of_idle)))
    rank = np.where(rank > 0, rank + lower[parent], 0)
    order = np.lexsort((rank, turn, parent))
    parent, turn = parent[order], turn[order]
    begins = _changes(parent, turn)
    search, size = np.cumsum(begins) - 1, np.diff(np.flatnonzero(begins), append=len(begins))
    one, nth = np.flatnonzero(begins), count_up(size)
    draw = child_key(searches.key[parent[one]], turn[one] + DAY)
    searched = _times(searches, session, parent[one], draw, size)[search]
    wait = _FIRST_CLICK + _NEXT_CLICK * nth + floor(chance(draw, "click")[search] * _NEXT_CLICK)
    return _by_time(
        Events(
            user=searches.user[parent],
            session=session[parent],
            search=search,
            query=query[order],
            url=url[order],
            rank=rank[order],
            searched=searched,
            second=searched + np.where(rank[order] > 0, wait, 0),
        )
    )


def _in_sessions(searches: Searches) -> tuple[Searches, Ints]:
    """The searches in the order of their sessions, and the session of each.

    Searches of one topic come in runs; a session is a run or a few.
    """
    order = np.lexsort((chance(searches.key, "order"), searches.topic, searches.user))
    drawn = searches.at(order)
    new_run = _changes(drawn.user, drawn.topic) | (chance(drawn.key, "run") < _NEW_RUN)
    run, lead = np.cumsum(new_run) - 1, drawn.at(np.flatnonzero(new_run))
    by_user = np.lexsort((chance(lead.key, "place"), lead.user))
    lead = lead.at(by_user)
    new_session = _changes(lead.user) | (chance(lead.key, "session") < _NEW_SESSION)
    place = np.empty_like(by_user)
    place[by_user] = np.arange(len(by_user))
    # Questions come first, and then the sites that may answer them.
    step = np.where(drawn.site >= 0, 0.6, 0.0) + chance(drawn.key, "step")
    final = np.lexsort((step, place[run]))
    return drawn.at(final), (np.cumsum(new_session) - 1)[place[run][final]]


def _reworded(searches: Searches, of: Ints, before: Ints) -> Ints:
    """The queries of searches without a click."""
    missed = searches.at(of)
    draw = child_key(missed.key, before + DAY)
    same = chance(draw, "unchanged") < _UNCHANGED
    return np.where(same, missed.query, reworded(missed, draw))


def _lower(searches: Searches) -> Ints:
    """How many other results the page of each search has above its own."""
    wants_site, known = searches.site >= 0, searches.topic == 0
    query = child_key(np.zeros(len(known), dtype=np.uint64), searches.query)
    few = 1 + geometric(chance(query, "few"), _LOWER_AGAIN)
    likely = np.where(wants_site, np.where(known, 0.0, _LOWER_SITE), _LOWER_RESULT)
    lower = np.where(chance(query, "lower") < likely, few, 0)
    moved = chance(searches.key, "moved") < _MOVED
    lower += np.where(moved, 1 + geometric(chance(searches.key, "how far"), _LOWER_AGAIN), 0)
    deep = ~wants_site & (chance(searches.key, "deep") < _SECOND_PAGE)
    return lower + np.where(deep, 10, 0)


def _times(searches: Searches, session: Ints, parent: Ints, draw: Keys, clicks: Ints) -> Ints:
    """When each search is made, in seconds since the period began."""
    new = _changes(session[parent])
    pause = np.exp(_GAP + _SPREAD * _normal(chance(draw, "gap")))
    # The pause after the search before, and its clicks.
    ahead = floor(np.clip(pause, 5.0, _LONGEST_GAP))
    ahead[1:] += _FIRST_CLICK + _NEXT_CLICK * clicks[:-1]
    passed, at = np.cumsum(ahead), np.cumsum(new) - 1
    passed -= passed[new][at]
    first = np.flatnonzero(_changes(session))
    begins = _begin(searches.at(first))
    ends = begins + np.maximum.reduceat(passed + _NEXT_CLICK * (1 + clicks), np.flatnonzero(new))
    return (begins - np.maximum(0, ends - DAYS * DAY + 1))[at] + passed


def _begin(lead: Searches) -> Ints:
    """When each session begins, by its first search."""
    topic = child_key(np.zeros(len(lead.key), dtype=np.uint64), lead.topic)
    query = child_key(topic, lead.query)
    leisure = chance(topic, "leisure") < _LEISURE
    day = _drawn(chance(lead.key, "day"), _day_shares(), leisure.astype(np.int64))
    season = floor(chance(topic, "season") * DAYS)
    season += floor(_SEASON * _normal(chance(lead.key, "near")))
    seasonal = (chance(topic, "seasonal") < _SEASONAL_TOPICS) & (lead.topic > 0)
    day = np.where(seasonal & (chance(lead.key, "in season") < _IN_SEASON), season % DAYS, day)
    peak = floor(chance(query, "peak") * DAYS) + geometric(chance(lead.key, "lingers"), _LINGERS)
    share = np.where(lead.topic > 0, _ON_TREND, _FAMOUS_ON_TREND)
    trending = (chance(query, "trending") < _TRENDING) & (chance(lead.key, "trend") < share)
    day = np.where(trending, peak % DAYS, day)
    weekend = (BEGINS.weekday() + day) % 7 >= _SATURDAY
    hour = _drawn(chance(lead.key, "hour"), _hour_shares(), 2 * leisure.astype(np.int64) + weekend)
    second = hour * _HOUR + floor(chance(lead.key, "second") * _HOUR)
    return np.minimum(day * DAY + second, DAYS * DAY - 1)


def _day_shares() -> Floats:
    """Of topics for work and for leisure: searches by day; weeks differ, and use grows."""
    days = np.arange(DAYS)
    weekday = (BEGINS.weekday() + days) % 7
    growing = 1 + 0.15 * days / DAYS + 0.05 * np.sin(days / 9)
    work, rest = (0.75, 1.3)
    return np.stack(
        [
            _WEEKDAYS[weekday] * growing * np.where(weekday >= _SATURDAY, favour, 1.0)
            for favour in (work, rest)
        ]
    )


def _hour_shares() -> Floats:
    """Of topics for work, at weekends too, and of those for leisure: searches by hour."""
    hours = np.arange(24)
    office = np.where((hours >= 9) & (hours < 18), 1.4, 1.0)
    evening = np.where(hours >= 18, 1.4, 1.0)
    return np.stack([_WORKING * office, _RESTING, _WORKING * evening, _RESTING * evening])


def _drawn(chances: Floats, shares: Floats, law: Ints) -> Ints:
    """The columns that chances in [0, 1) choose, each by one row of the shares."""
    total = np.cumsum(shares, axis=1) / shares.sum(axis=1, keepdims=True)
    total += np.arange(len(shares))[:, None]
    found = np.searchsorted(total.ravel(), chances + law, side="right")
    return np.minimum(found - law * shares.shape[1], shares.shape[1] - 1)


def _normal(drawn: Floats) -> Floats:
    return np.asarray(ndtri(np.maximum(drawn, 2.0**-53)))


def _by_time(events: Events) -> Events:
    """Each user's events by time; sessions end by the gap, and one without it goes on."""
    events = events.at(np.lexsort((events.second, events.search, events.searched, events.user)))
    other_user = _changes(events.user)
    apart = np.diff(events.searched, prepend=0) > SESSION_GAP
    session = np.cumsum(other_user | apart)
    search = np.cumsum(_changes(events.user, events.search))
    user = np.cumsum(other_user) - 1
    return Events(
        user=events.user,
        session=session - session[other_user][user],
        search=search - search[other_user][user],
        query=events.query,
        url=events.url,
        rank=events.rank,
        searched=events.searched,
        second=events.second,
    )


def _changes(*columns: Ints) -> Flags:
    """Where a row differs from the one before, the first one included."""
    changed = np.zeros(len(columns[0]), dtype=np.bool_)
    changed[:1] = True
    for column in columns:
        changed[1:] |= column[1:] != column[:-1]
    return changed
