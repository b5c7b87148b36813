"""Logs with time, rank and session, as numbers: any rows, and rows of people who search."""

import numpy as np

from slogan.histogram import Events, PairHistogram


def events(rows, *, days=7, weekday=0, time=True, rank=True, session=False):
    """Rows (user, pair, query, count, second, rank, session), sorted as an engine sorts them."""
    table = np.array(rows, dtype=np.int64).reshape(-1, 7)
    keys = [table[:, n] for n in (3, 2, 6, 5, 1, 4, 0)]
    table = table[np.lexsort(keys)]
    user, pair, query, count, second, rank_, session_ = table.T
    return Events(
        user=user,
        pair=pair,
        query=query,
        count=count,
        second=second.astype(np.int32) if time else None,
        rank=rank_.astype(np.int32) if rank else None,
        session=session_.astype(np.int32) if session else None,
        users=int(user.max(initial=-1)) + 1,
        days=days,
        weekday=weekday,
    )


def without(log, user):
    """The rows without those of one user; all numbers stay."""
    left = log.user != user
    narrow = {
        name: None if (column := getattr(log, name)) is None else column[left]
        for name in ("second", "rank", "session")
    }
    wide = {name: getattr(log, name)[left] for name in ("user", "pair", "query", "count")}
    return Events(**wide, **narrow, users=log.users, days=log.days, weekday=log.weekday)


def any_rows(seed, *, pairs=12, queries=5, session=False):
    """Few users, from those with one row to those with hundreds, and counts up to millions."""
    draw = np.random.default_rng(seed)
    days = int(draw.integers(1, 400))
    rows = []
    for user in range(int(draw.integers(1, 5))):
        for _ in range(int(10 ** draw.uniform(0, 2.3))):
            pair = int(draw.integers(-1, pairs))
            query = pair % queries if pair >= 0 else int(draw.integers(-1, queries))
            count = int(10 ** draw.uniform(0, 7)) if draw.random() < 0.1 else 1
            second = int(draw.integers(-1, days * 86400)) if draw.random() < 0.5 else 100
            rank = int(10 ** draw.uniform(0, 3)) if draw.random() < 0.9 else 0
            rows.append((user, pair, query, count, second, rank, int(draw.integers(-1, 9))))
    return events(rows, days=days, weekday=int(draw.integers(0, 7)), session=session)


def people(users, *, seed=0, days=28, weekday=2, pairs=40, searches=0.3):
    """People who search: favourite pairs, evenings and working days, sessions, top results.

    Pair p is of query p // 2, and has the rank 1 + p % 2, or a later one.
    """
    draw = np.random.default_rng(seed)
    visits = draw.poisson(1.5, users) + 1
    user = np.repeat(np.arange(users), visits)
    hours = np.exp(-(((np.arange(24) - 20) / 5.0) ** 2)) + 0.1
    day = draw.choice(days, len(user), p=_falling(days, weekday))
    hour = draw.choice(24, len(user), p=hours / hours.sum())
    start = day * 86400 + hour * 3600 + draw.integers(0, 1800, len(user))
    size = draw.geometric(0.6, len(user))
    favourite = np.floor(pairs * draw.random(len(user)) ** 3).astype(np.int64)
    row = np.repeat(np.arange(len(user)), size)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(size) - size, size)
    other = np.floor(pairs * draw.random(len(row)) ** 3).astype(np.int64)
    pair = np.where((nth == 0) | (draw.random(len(row)) < 0.5), favourite[row], other)
    rank = 1 + pair % 2 + draw.geometric(0.7, len(row)) - 1
    second = np.minimum(start[row] + nth * 60, days * 86400 - 1)
    found = np.stack([user[row], pair, pair // 2, np.ones_like(row), second, rank, row], axis=1)
    missed = found[draw.random(len(found)) < searches].copy()
    missed[:, 1], missed[:, 5] = -1, 0
    missed[:, 4] = np.maximum(missed[:, 4] - 20, 0)
    log = events(np.concatenate([found, missed]), days=days, weekday=weekday)
    hist = PairHistogram.of_rows(
        user=found[:, 0],
        pair=found[:, 1],
        count=found[:, 3],
        users=users,
        query=np.arange(pairs) // 2,
    )
    return hist, log


def _falling(days, weekday):
    share = np.where((np.arange(days) + weekday) % 7 < 5, 1.0, 0.6) * np.linspace(1.5, 0.5, days)
    return share / share.sum()
