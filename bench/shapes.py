"""Seeded logs of three shapes, as numbers: a search log, one query per user, site visits."""

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


@dataclass(frozen=True, kw_only=True)
class Log:
    """A log, and the site of each pair where pairs of one site are of one kind."""

    hist: PairHistogram
    site: Ints | None = None

    def group(self, pairs: Ints, counts: Floats) -> Grouping:
        """Released pairs by their sites, or else each of the heaviest by itself."""
        if self.site is None:
            return by_pair(counts)
        return by_domain([f"site{n}.com" for n in self.site[pairs].tolist()], counts)


def search(users: int, seed: int = 0) -> Log:
    """What `slogan generate` writes: heavy-tailed users, most pairs held by one of them alone."""
    crowd = draw_crowd(users, seed=seed, clicks_per_user=CLICKS_PER_USER)
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


def visits(users: int, seed: int = 0) -> Log:
    """A web site: few pages, several visited by each user, the popular ones by most."""
    rng = np.random.default_rng([seed, users])
    user = np.repeat(np.arange(users), 1 + rng.geometric(0.5, users))
    pair = zipf(rng, len(user), slope=1.4, most=PAGES)
    return _numbered(user, pair, users)


SHAPES: dict[str, Callable[[int, int], Log]] = {
    "search": search,
    "single": single,
    "visits": visits,
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
