"""A made-up twin of a log: as many users and clicks, and nothing else in common with it.

It is a histogram in memory. Figures measured on it say nothing about the people of a real log.
"""

import math
from dataclasses import dataclass

import numpy as np

from slogan.arrays import Ints
from slogan.errors import InputError
from slogan.generation.crowd import SEARCHES_PER_CHUNK, draw_clicks, draw_crowd
from slogan.histogram import PairHistogram
from slogan.progress import Progress, silent

MOST_CLICKS = 1_500_000
"""A larger twin takes more than a few seconds; it gets fewer users instead."""
_MOST_USERS = 10**10


@dataclass(frozen=True, kw_only=True, repr=False)
class Twin:
    """Made-up clicks, and the site of each pair."""

    hist: PairHistogram
    site: Ints
    declared_users: int
    """The users of the log it stands for; the twin has fewer if that log is very large."""

    @property
    def smaller(self) -> bool:
        """Whether the twin has fewer users than the log it stands for."""
        return self.hist.users < self.declared_users

    def urls(self, pairs: Ints) -> list[str]:
        """A url for each pair; those of one site are equal."""
        return [f"www.site{number}.com" for number in self.site[pairs].tolist()]

    def __repr__(self) -> str:
        return f"<Twin: {self.hist.users:,} users, {self.hist.clicks:,} clicks, all made up>"


def twin_of(
    users: int,
    clicks_per_user: float,
    *,
    seed: int = 0,
    urls: bool = True,
    most_clicks: int = MOST_CLICKS,
    progress: Progress = silent,
) -> Twin:
    """Draw a twin for this many users, or as many as `most_clicks` allow.

    Without urls it stands for a log of queries: each query is one pair.
    """
    require_size(users, clicks_per_user)
    drawn = max(1, min(users, int(most_clicks / clicks_per_user)))
    crowd = draw_crowd(drawn, seed=seed, clicks_per_user=clicks_per_user)
    parts = list[np.ndarray[tuple[int, int], np.dtype[np.int64]]]()
    for first, last in crowd.chunks(SEARCHES_PER_CHUNK):
        clicks = draw_clicks(crowd, first, last)
        parts.append(np.stack((clicks.user, clicks.query, clicks.url, clicks.count)))
        progress("made-up log", f"{last:,} of {drawn:,} users", last / drawn)
    user, query, url, count = np.concatenate(parts, axis=1)
    if not urls:
        url = np.zeros_like(url)
    sites, site = np.unique(url, return_inverse=True)
    query = np.unique(query, return_inverse=True)[1]
    place, pair = np.unique(query * len(sites) + site, return_inverse=True)
    hist = PairHistogram.of_rows(
        user=user, pair=pair, count=count, users=drawn, query=place // len(sites)
    )
    return Twin(hist=hist, site=place % len(sites), declared_users=users)


def require_size(users: int, clicks_per_user: float) -> None:
    """Refuse numbers of users and clicks that no log has."""
    if not 1 <= users <= _MOST_USERS:
        raise InputError(
            f"a log needs at least one user, got {users}"
            if users < 1
            else f"{users:,} users are more than there are people",
            hint="give the number of users in the log, such as --users 60000",
        )
    if not (math.isfinite(clicks_per_user) and clicks_per_user >= 1):
        raise InputError(
            f"each user clicks at least once, got {clicks_per_user} clicks per user",
            hint="give the mean number of clicks of a user, such as --clicks-per-user 20",
        )
