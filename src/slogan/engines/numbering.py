"""A second log numbered like the first; what is new comes after."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import PairHistogram


def with_numbers_of(
    first: PairHistogram, second: PairHistogram, *, user: Ints, pair: Ints, query: Ints
) -> PairHistogram:
    """The second histogram with the numbers of the first; what is new comes after.

    Args:
        first: The histogram whose numbers stay.
        second: The histogram that gets other numbers.
        user: For each user of the second the number in the first, or −1.
        pair: For each pair of the second the number in the first, or −1.
        query: For each pair of the second the number of its query in the first, or −1.
    """
    queries = int(first.query.max(initial=-1)) + 1
    new = np.flatnonzero(query < 0)
    query = query.copy()
    query[new] = queries + np.unique(second.query[new], return_inverse=True)[1]
    users = _after(user, first.users)
    return PairHistogram.of_rows(
        user=users[second.user],
        pair=_after(pair, first.pairs)[second.pair],
        count=second.count,
        users=max(first.users, int(users.max(initial=-1)) + 1),
        query=np.concatenate([first.query, query[pair < 0]]),
    )


def none_beside(first: PairHistogram) -> PairHistogram:
    """A second log without any click."""
    nobody = np.zeros(0, dtype=np.int64)
    return replace(first, user=nobody, pair=nobody, count=nobody)


def _after(numbers: Ints, taken: int) -> Ints:
    """Where there is no number (−1), the next one that is not taken."""
    new = numbers < 0
    return np.where(new, taken + np.cumsum(new) - 1, numbers)
