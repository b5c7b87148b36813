"""Seeded logs of several shapes, as numbers: searches, one query per user, site visits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp.grouping import Grouping, by_domain, by_pair
from slogan.generation.crowd import draw_clicks, draw_crowd
from slogan.histogram import PairHistogram

CLICKS_PER_USER = 28
PAGES = 285
_SESSIONS_AT_ONCE = 1 << 17
_GROUPS, _SECOND, _ELSEWHERE = 15, 0.2, 0.2
"""Groups of pages, the share of visits to the second one of a user, and to any page at all."""
_LINKS, _FURTHER = 4, 0.65
"""How many pages a page is linked to, and how likely a visitor goes on."""


@dataclass(frozen=True, kw_only=True)
class Log:
    """A log, and the site of each pair where pairs of one site are of one kind."""

    hist: PairHistogram
    site: Ints | None = None

    def group(self, pairs: Ints, counts: Floats) -> list[Grouping]:
        """Released pairs each by itself, or by their sites."""
        if self.site is None:
            return [by_pair(counts)]
        sites = [f"site{n}.com" for n in self.site[pairs].tolist()]
        return [by_pair(counts), by_domain(sites, counts)]


def search(users: int, seed: int = 0, clicks_per_user: float = CLICKS_PER_USER) -> Log:
    """What `slogan generate` writes: heavy-tailed users, most pairs held by one of them alone."""
    crowd = draw_crowd(users, seed=seed, clicks_per_user=clicks_per_user)
    parts = [draw_clicks(crowd, *ends) for ends in crowd.chunks(_SESSIONS_AT_ONCE)]
    user, query, url, count = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("user", "query", "url", "count")
    )
    _, query = np.unique(query, return_inverse=True)
    _, url = np.unique(url, return_inverse=True)
    held, pair = np.unique(query * (1 + url.max()) + url, return_inverse=True)
    query, site = np.divmod(held, 1 + url.max())
    hist = PairHistogram.of_rows(user=user, pair=pair, count=count, users=users, query=query)
    return Log(hist=hist, site=site)


def single(users: int, seed: int = 0) -> Log:
    """A shop's search box: about one query of each user, Zipf with a long tail."""
    rng = np.random.default_rng([seed, users])
    user = np.repeat(np.arange(users), 1 + rng.poisson(0.1, users))
    pair = zipf(rng, len(user), slope=1.0, most=4 * users)
    return _numbered(user, pair, users)


def catalogue(users: int = 72_098, items: int = 2_428, entries: int = 88_318, seed: int = 0) -> Log:
    """A log of as many users, items and entries as a public set of the literature, by Zipf."""
    rng = np.random.default_rng([seed, users])
    item = np.concatenate([np.arange(items), zipf(rng, entries - items, slope=1.045, most=items)])
    user = np.concatenate([np.arange(users), rng.integers(0, users, entries - users)])
    user = rng.permutation(user)
    while len(again := _repeated(user, item)):
        other = rng.integers(0, entries, len(again))
        user[again], user[other] = user[other], user[again]
    return _numbered(user, item, users)


def _repeated(user: Ints, item: Ints) -> Ints:
    """The entries that say what an earlier one says."""
    first = np.unique(np.stack([user, item]), axis=1, return_index=True)[1]
    return np.setdiff1d(np.arange(len(user)), first)


def visits(users: int, seed: int = 0) -> Log:
    """A web site: few pages, several visited by each user, the popular ones by most."""
    rng = np.random.default_rng([seed, users])
    user = np.repeat(np.arange(users), 1 + rng.geometric(0.5, users))
    pair = zipf(rng, len(user), slope=1.4, most=PAGES)
    return _numbered(user, pair, users)


def interests(users: int, seed: int = 0) -> Log:
    """A web site of groups: each user visits pages of one or two groups, and a few at random."""
    rng = np.random.default_rng([seed, users])
    user = np.repeat(np.arange(users), 1 + rng.geometric(0.3, users))
    group = _favourites(rng, users, _GROUPS)[user, (rng.random(len(user)) < _SECOND).astype(int)]
    page = zipf(rng, len(user), slope=1.4, most=PAGES // _GROUPS) * _GROUPS + group
    elsewhere = rng.random(len(user)) < _ELSEWHERE
    page[elsewhere] = zipf(rng, int(elsewhere.sum()), slope=1.4, most=PAGES)
    return _numbered(user, page, users)


def sessions(users: int, seed: int = 0) -> Log:
    """A web site whose users come a few times, and walk from a page to one that is linked to it."""
    rng = np.random.default_rng([seed, users])
    links = zipf(rng, PAGES * _LINKS, slope=1.0, most=PAGES).reshape(PAGES, _LINKS)
    user = np.repeat(np.arange(users), rng.geometric(0.6, users))
    page = zipf(rng, len(user), slope=1.2, most=PAGES)
    walks = [(user, page)]
    while len(user):
        on = rng.random(len(user)) < _FURTHER
        user, page = user[on], links[page[on], zipf(rng, int(on.sum()), slope=1.0, most=_LINKS)]
        walks.append((user, page))
    user, page = (np.concatenate(part) for part in zip(*walks, strict=True))
    return _numbered(user, page, users)


def _favourites(rng: np.random.Generator, users: int, groups: int) -> Ints:
    """Two different groups of each user."""
    first = zipf(rng, users, slope=0.5, most=groups)
    second: Ints = (first + rng.integers(1, groups, users)) % groups
    return np.stack([first, second], axis=1)


SHAPES: dict[str, Callable[[int, int], Log]] = {
    "search": search,
    "single": single,
    "visits": visits,
    "interests": interests,
    "sessions": sessions,
}


def zipf(rng: np.random.Generator, n: int, *, slope: float, most: int) -> Ints:
    """Numbers below `most`, the n-th with a chance in proportion to n^-slope."""
    mass = np.cumsum(np.arange(1, most + 1) ** -slope)
    return np.searchsorted(mass, rng.random(n) * mass[-1]).astype(np.int64)


def _numbered(user: Ints, pair: Ints, users: int) -> Log:
    held, pair = np.unique(pair, return_inverse=True)
    hist = PairHistogram.of_rows(
        user=user, pair=pair, count=np.ones_like(pair), users=users, query=np.arange(len(held))
    )
    return Log(hist=hist)
