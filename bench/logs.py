"""Seeded logs of many shapes for the planning problem, as histograms of shared pairs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np

import slogan
from bench.shapes import search, zipf
from slogan import engines
from slogan.arrays import Floats, Ints
from slogan.histogram import PairHistogram

USERS = 2_500
_SEED = 2012


@cache
def histogram(log: str) -> PairHistogram:
    """The log of that name, without pairs that one user alone holds."""
    return (LOGS | LARGE)[log]()


def has_several_pairs_of_a_query(log: str) -> bool:
    """Whether queries and pairs differ, so that their diversities do too."""
    hist = histogram(log)
    return len(np.unique(hist.query)) < hist.pairs


def generated(seed: int) -> PairHistogram:
    """What `slogan generate` writes: heavy-tailed users, most pairs held by one of them alone."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log.parquet")
        slogan.generate(log, users=USERS, seed=seed)
        host = engines.resolve("duckdb").start()
        try:
            return host.count(slogan.read(log)).hist
        finally:
            host.close()


def generated_in_memory(users: int) -> PairHistogram:
    """The same of many users, without a file."""
    return search(users).hist.without_unique_pairs()


def flat(users: int = USERS) -> PairHistogram:
    """A search log with a flatter head: no query is much more frequent than the next."""
    rng = np.random.default_rng(_SEED)
    user = _repeated(np.ceil(rng.lognormal(2.6, 1.0, users)))
    return _shared(user, zipf(rng, len(user), slope=0.75, most=8 * users))


def visits() -> PairHistogram:
    """A web site of 285 pages: every page has thousands of visitors."""
    rng = np.random.default_rng(_SEED)
    user = _repeated(1 + rng.geometric(0.33, 32_711))
    return _shared(user, zipf(rng, len(user), slope=1.1, most=285))


def dense() -> PairHistogram:
    """An intranet: few pages, each opened many times by the same users."""
    rng = np.random.default_rng(_SEED)
    user = _repeated(1 + rng.geometric(0.1, 2_000))
    return _shared(user, zipf(rng, len(user), slope=1.0, most=100), rng.geometric(0.02, len(user)))


def listening() -> PairHistogram:
    """Fifty artists of each user, with counts from a few plays to 10^5."""
    rng = np.random.default_rng(_SEED)
    user = _repeated(np.full(1_892, 49))
    plays = np.minimum(np.ceil(rng.lognormal(5.0, 1.5, len(user))), 1e5)
    return _shared(user, zipf(rng, len(user), slope=0.9, most=17_632), plays)


def tags() -> PairHistogram:
    """Users with hundreds of pairs, pairs with few users."""
    rng = np.random.default_rng(_SEED)
    user = _repeated(np.clip(np.ceil(rng.lognormal(4.0, 1.2, 1_892)), 1, 2_000))
    return _shared(user, zipf(rng, len(user), slope=0.8, most=40_000))


def single() -> PairHistogram:
    """A shop's search box: about one query of each user."""
    rng = np.random.default_rng(_SEED)
    user = _repeated(1 + rng.poisson(0.1, 20_000))
    return _shared(user, zipf(rng, len(user), slope=1.0, most=80_000))


def hotels() -> PairHistogram:
    """Travellers who look at several hotels of one or two towns: many pairs of one query."""
    rng = np.random.default_rng(_SEED)
    search = _repeated(1 + rng.poisson(0.5, 6_000))
    town = zipf(rng, len(search), slope=1.0, most=400)
    looked = 1 + rng.geometric(0.3, len(search))
    user, town = np.repeat(search, looked), np.repeat(town, looked)
    hotel = zipf(rng, len(user), slope=0.9, most=60)
    return _shared(user, town * 60 + hotel, query=lambda pair: pair // 60)


def tiny() -> PairHistogram:
    """A club: a dozen users and twenty pairs."""
    rng = np.random.default_rng(_SEED)
    user = _repeated(np.full(12, 10))
    return _shared(user, rng.integers(20, size=len(user)), rng.geometric(0.4, len(user)))


def hub() -> PairHistogram:
    """Hard: a crawler holds every pair, so one row is a knapsack of all of them."""
    rng = np.random.default_rng(_SEED)
    user = 1 + _repeated(np.full(3_000, 6))
    pair = zipf(rng, len(user), slope=0.6, most=3_000)
    everything = np.arange(3_000)
    user = np.concatenate([np.zeros_like(everything), user])
    return _shared(user, np.concatenate([everything, pair]), rng.geometric(0.3, len(user)))


def ring() -> PairHistogram:
    """Hard: each pair has five neighbours on a ring of users, so the relaxation takes fractions."""
    rng = np.random.default_rng(_SEED)
    users, wide = 3_001, 5
    user = (np.arange(users)[:, None] + np.arange(wide)).ravel() % users
    return _shared(user, np.repeat(np.arange(users), wide), 1 + rng.integers(3, size=len(user)))


def planes() -> PairHistogram:
    """Hard: projective planes, in which any two pairs share one user and all choices look alike."""
    users, pairs = list[Ints](), list[Ints]()
    for order in (3, 5, 7, 11, 13):
        points = _points(order)
        user, pair = np.nonzero(points @ points.T % order == 0)
        before = sum(int(done.max()) + 1 for done in users[-1:])
        users.append(user + before)
        pairs.append(pair + before)
    return _shared(np.concatenate(users), np.concatenate(pairs))


def _points(order: int) -> Ints:
    """The points of the projective plane over the integers modulo a prime; its lines are alike."""
    n = np.arange(order)
    far, farther = np.array([[0, 0, 1]]), np.stack([0 * n, 0 * n + 1, n], axis=1)
    near = np.stack([0 * n.repeat(order) + 1, n.repeat(order), np.tile(n, order)], axis=1)
    return np.concatenate([near, farther, far])


LOGS: dict[str, Callable[[], PairHistogram]] = {
    **{f"search-{seed}": partial(generated, seed) for seed in range(3)},
    **{
        make.__name__: make
        for make in (
            flat,
            visits,
            dense,
            listening,
            tags,
            single,
            hotels,
            tiny,
            hub,
            ring,
            planes,
        )
    },
}
SHAPES = tuple(name for name in LOGS if name not in ("search-1", "search-2"))
"""One log of each shape."""
LARGE: dict[str, Callable[[], PairHistogram]] = {
    "flat-65000": partial(flat, 65_000),
    "search-650000": partial(generated_in_memory, 650_000),
}
"""Logs on which no other solver proves anything in a minute."""


def _repeated(times: Floats | Ints) -> Ints:
    """The users, each as often as it has rows."""
    return np.repeat(np.arange(len(times)), times.astype(np.int64))


def _shared(
    user: Ints,
    pair: Ints,
    count: Floats | Ints | None = None,
    *,
    query: Callable[[Ints], Ints] | None = None,
) -> PairHistogram:
    """Rows of one user and pair added up; each pair is a query unless a function names it."""
    count = np.ones(len(user)) if count is None else count
    key, row = np.unique(user * (pair.max() + 1) + pair, return_inverse=True)
    user, pair = np.divmod(key, pair.max() + 1)
    held, pair = np.unique(pair, return_inverse=True)
    queries = held if query is None else query(held)
    hist = PairHistogram.of_rows(
        user=user,
        pair=pair,
        count=np.bincount(row, weights=count).astype(np.int64),
        users=int(user.max()) + 1,
        query=np.unique(queries, return_inverse=True)[1],
    )
    return hist.without_unique_pairs()
