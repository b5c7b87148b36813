"""An invented crowd that searches and clicks, drawn as numbers: who, which query, which url.

Every draw is a hash of the seed, the user and what is drawn. So each user's clicks can be drawn
at any time, in any company, and come out the same.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from slogan.arrays import Flags, Floats, Ints
from slogan.generation import vocabulary
from slogan.generation.vocabulary import PERSONAL, SITE, TOPICAL

Keys: TypeAlias = NDArray[np.uint64]
Law: TypeAlias = tuple[float, float]
"""(flat, slope): the thing of rank k has a weight of (k + flat)^-slope (Zipf–Mandelbrot)."""

# What gives a log its shape, fitted to Table 3 of the paper, and to how many pairs its Table 5
# calls frequent.
_SPREAD = 1.75  # standard deviation of the logarithm of a user's activity ...
_MOST_ACTIVE = 2.9  # ... which is cut at this many standard deviations
_SITE_SHARE = 0.472  # of searches that look for a site by its name ...
_SHY_USERS = 0.275  # ... but this share of the users hardly ever does
_PERSONAL_SHARE = 0.08  # of searches about people that no other user searches for
_FAMOUS_SHARE = 0.45  # of site searches that look for a site everybody knows
_FAMOUS_LAW: Law = (2.2, 1.505)
_SITE_LAW: Law = (0.64, 1.0)
_FAVOURITE_LAW: Law = (0.40, 1.0)  # which of the user's own sites
_QUESTION_LAW: Law = (2750.0, 1.715)
_URL_LAW: Law = (7.4, 1.182)
_NEXT_RESULT = 0.496  # chance to click one more result of a page ...
_SKIP_RESULT = 0.118  # ... and to skip one before the first click
_AGAIN = 0.072  # chance to click the same result once more ...
_SITE_AGAIN = 0.307  # ... and to come back to a site at once

_RESULTS = 10
_FAVOURITES = 80
_SITES_OF_A_TOPIC = 600
_SHY_SHARE = 0.05
_GOLDEN_RATIO = 0.6180339887498949
# A search is about the user's first, second or third interest, or else about anything.
_INTERESTS: Floats = np.array([0.50, 0.80, 0.92])
_SPELLINGS: Floats = np.array([0.55, 0.75, 0.90])
_TOPICS: Floats = np.cumsum(1 / (np.arange(1, len(vocabulary.TOPICS)) + 10.0))

SEARCHES_PER_CHUNK = 1 << 17
"""Drawn at once, for a log of any size in bounded memory."""
DAYS = 92
"""Length of the period of a log."""
DAY = 86_400
"""In seconds."""
_LARGEST_ANON_ID = 24_999_999


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """The users, numbered from 0: how many searches each has, who seldom looks for sites."""

    seed: int
    searches: Ints
    shy: Flags

    def person(self, user: Ints) -> Keys:
        """The key from which all that a user does is drawn."""
        return _person(user, seed=self.seed)

    def chunks(self, searches: int) -> Iterator[tuple[int, int]]:
        """Ranges of users with at most this many searches, or one user with more."""
        total = np.cumsum(self.searches)
        first = 0
        while first < len(total):
            before = int(total[first - 1]) if first else 0
            last = max(first + 1, int(np.searchsorted(total, before + searches, side="right")))
            yield first, last
            first = last


@dataclass(frozen=True, slots=True, kw_only=True)
class Searches:
    """Searches that end in a click, user by user."""

    user: Ints
    key: Keys
    """From which all that is drawn of the search comes."""
    topic: Ints
    site: Ints
    """The site that is looked for; -1 where none is."""
    query: Ints

    def at(self, rows: Ints) -> "Searches":
        """These searches, in this order."""
        chosen = {column.name: getattr(self, column.name)[rows] for column in fields(self)}
        return Searches(**chosen)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clicks:
    """Rows (user, query, url, count, rank): a rank is the place of the url on the query's page."""

    user: Ints
    query: Ints
    url: Ints
    count: Ints
    rank: Ints

    def at(self, rows: Ints) -> "Clicks":
        """These rows, in this order."""
        return Clicks(**{column.name: getattr(self, column.name)[rows] for column in fields(self)})

    def one_by_one(self) -> "tuple[Clicks, Ints]":
        """One row for each click instead, and which click on its pair it is, from 0."""
        row = np.repeat(np.arange(len(self.user)), self.count)
        return replace(self.at(row), count=np.ones_like(row)), count_up(self.count)


def draw_crowd(users: int, *, seed: int, clicks_per_user: float) -> Crowd:
    """Users with log-normal activity.

    The quantiles are spread evenly, one user each, and so are the shy users over the quantiles:
    the clicks of the few most active users are a large part of all clicks.
    """
    person = _person(np.arange(users), seed=seed)
    quantile = np.empty(users)
    quantile[np.argsort(chance(person, "activity"), kind="stable")] = np.arange(users) + 0.5
    deviation = np.minimum(np.asarray(ndtri(quantile / users)), _MOST_ACTIVE)
    activity = np.exp(_SPREAD * deviation)
    site = _SITE_SHARE * (1 - (1 - _SHY_SHARE) * _SHY_USERS)
    results = sum(_NEXT_RESULT**n for n in range(_RESULTS))
    clicks_per_search = site / (1 - _SITE_AGAIN) + (1 - site) * results / (1 - _AGAIN)
    wanted = activity * (clicks_per_user / clicks_per_search / float(activity.mean()))
    searches = np.maximum(1, floor(wanted + chance(person, "rounding")))
    return Crowd(seed=seed, searches=searches, shy=quantile * _GOLDEN_RATIO % 1 < _SHY_USERS)


def draw_clicks(crowd: Crowd, first: int, last: int) -> Clicks:
    """All that the users from `first` up to `last` click, one row for each user and pair."""
    return _merged(clicked(draw_searches(crowd, first, last))[0])


def draw_searches(crowd: Crowd, first: int, last: int) -> Searches:
    """All that the users from `first` up to `last` search for."""
    user = np.repeat(np.arange(first, last), crowd.searches[first:last])
    nth = count_up(crowd.searches[first:last])
    person = crowd.person(user)
    key = child_key(person, nth)
    drawn, likely = chance(key, "kind"), np.where(crowd.shy[user], _SHY_SHARE, 1.0) * _SITE_SHARE
    other = np.where(drawn < likely + _PERSONAL_SHARE, PERSONAL, TOPICAL)
    kind = np.where(drawn < likely, SITE, other)
    # People return to the sites they know: the search chooses among the user's own choices.
    favourite = _rank(chance(key, "favourite"), _FAVOURITE_LAW, _FAVOURITES)
    choice = np.where(kind == SITE, child_key(person, len(_INTERESTS) + favourite), key)
    topic = _topic(person, choice)
    topic[(kind == SITE) & (chance(choice, "famous") < _FAMOUS_SHARE)] = 0
    site = np.where(
        topic == 0,
        _rank(chance(choice, "rank"), _FAMOUS_LAW, vocabulary.SITES),
        _rank(chance(choice, "rank"), _SITE_LAW, _SITES_OF_A_TOPIC),
    )
    habit = chance(child_key(person, site * len(vocabulary.TOPICS) + topic), "spelling")
    named = site * vocabulary.SPELLINGS + np.searchsorted(_SPELLINGS, habit)
    question = _rank(chance(choice, "rank"), _QUESTION_LAW, vocabulary.QUESTIONS)
    personal = floor(chance(person, "first personal") * vocabulary.PERSONALS) + nth
    rank = np.select(
        [kind == SITE, kind == TOPICAL], [named, question], personal % vocabulary.PERSONALS
    )
    home = np.where(kind == PERSONAL, floor(chance(person, "home") * vocabulary.TOWNS), 0)
    query = vocabulary.number(kind=kind, topic=topic, home=home, rank=rank)
    site = np.where(kind == SITE, site, -1)
    return Searches(user=user, key=key, topic=topic, site=site, query=query)


def reworded(searches: Searches, draw: Keys) -> Ints:
    """Another query for what is searched for: the same site spelt again, or a question near it."""
    question = _rank(chance(draw, "question"), _QUESTION_LAW, vocabulary.QUESTIONS)
    spelling = np.searchsorted(_SPELLINGS, chance(draw, "spelling"))
    wants_site = searches.site >= 0
    return vocabulary.number(
        kind=np.where(wants_site, SITE, TOPICAL),
        topic=searches.topic,
        rank=np.where(wants_site, searches.site * vocabulary.SPELLINGS + spelling, question),
    )


def _topic(person: Keys, choice: Keys) -> Ints:
    which = np.searchsorted(_INTERESTS, chance(choice, "interest"))
    source = np.where(which < len(_INTERESTS), child_key(person, which), choice)
    return np.searchsorted(_TOPICS, chance(source, "topic") * float(_TOPICS[-1])) + 1


def clicked(searches: Searches) -> tuple[Clicks, Ints]:
    """What is clicked on the page of each search, from above, and the search of each row."""
    key, query, site = searches.key, searches.query, searches.site
    wants_site = site >= 0
    more = np.minimum(geometric(chance(key, "more"), _NEXT_RESULT), _RESULTS - 1)
    skipped = geometric(chance(key, "skipped"), _SKIP_RESULT)
    results = np.where(wants_site, 1, 1 + more)
    nth = count_up(results)
    row = np.repeat(np.arange(len(results)), results)
    rank = np.where(wants_site[row], 1, 1 + skipped[row] + nth)
    page = child_key(child_key(np.zeros(len(row), dtype=np.uint64), query[row]), rank)
    result = _rank(chance(page, "url"), _URL_LAW, vocabulary.URLS)
    url = np.where(wants_site[row], site[row], result)
    again = np.where(wants_site, _SITE_AGAIN, _AGAIN)[row]
    clicks = Clicks(
        user=searches.user[row],
        query=query[row],
        url=vocabulary.number(topic=searches.topic[row], rank=url),
        count=1 + geometric(chance(child_key(key[row], nth), "again"), again),
        rank=rank,
    )
    return clicks, row


def _merged(clicks: Clicks) -> Clicks:
    clicks = clicks.at(np.lexsort((clicks.url, clicks.query, clicks.user)))
    same = [np.diff(column, prepend=-1) == 0 for column in (clicks.user, clicks.query, clicks.url)]
    start = np.flatnonzero(~np.all(same, axis=0))
    return replace(clicks.at(start), count=np.add.reduceat(clicks.count, start))


def seconds(crowd: Crowd, clicks: Clicks, *, nth: Ints) -> Ints:
    """When each pair is clicked for the n-th time, in seconds since the log began."""
    visit = child_key(child_key(crowd.person(clicks.user), clicks.query), nth)
    # The mean of two draws, shifted: quiet nights, and busiest at three in the afternoon.
    hour = (chance(visit, "morning") + chance(visit, "evening")) / 2 + 0.125
    time = floor(chance(visit, "day") * DAYS) * DAY + floor(hour % 1 * DAY)
    return np.minimum(time + 20 * clicks.rank, DAYS * DAY - 1)


def chance(key: Keys, purpose: str) -> Floats:
    """A number in [0, 1) for each key; those of two purposes are independent."""
    drawn = child_key(key ^ np.uint64(zlib.crc32(purpose.encode())), np.zeros(1, dtype=np.int64))
    return np.asarray(drawn >> np.uint64(11), dtype=np.float64) * 2.0**-53


def floor(x: Floats) -> Ints:
    """The integers below."""
    return np.floor(x).astype(np.int64)


def _person(user: Ints, *, seed: int) -> Keys:
    return child_key(np.full(len(user), seed % 2**64, dtype=np.uint64), user)


def child_key(parent: Keys, child: Ints) -> Keys:
    """A key for each child of each parent, as good as random (SplitMix64)."""
    x = parent + (child.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _rank(drawn: Floats, law: Law, size: int) -> Ints:
    """Ranks below `size`, by the inverse of the law's distribution function."""
    flat, slope = law
    if slope == 1:
        ratio = (1 + size / flat) ** drawn
    else:
        within = 1 - (1 + size / flat) ** (1 - slope)
        ratio = (1 - drawn * within) ** (1 / (1 - slope))
    return np.minimum(floor(flat * (ratio - 1)), size - 1)


def geometric(drawn: Floats, again: float | Floats) -> Ints:
    """How often it happens again, by a draw and the chance of each time."""
    return floor(np.log1p(-drawn) / np.log(again))


def count_up(lengths: Ints) -> Ints:
    """0, 1, … for each length in turn."""
    return np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def anon_id(crowd: Crowd, user: Ints) -> Ints:
    """User-IDs that look like AOL's."""
    step = max(1, _LARGEST_ANON_ID // len(crowd.searches))
    return 1 + user * step + floor(chance(crowd.person(user), "anon_id") * step)
