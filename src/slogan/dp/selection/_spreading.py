"""Each user's unit of L2 norm, spread over its pairs, in integers; compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from slogan.arrays import Ints
from slogan.dp.remote import RemoteContributions
from slogan.dp.selection._contributions import Contributions
from slogan.dp.selection._grid import BITS

HALVINGS = 6
"""How often the weight of a pair is halved at most."""

CLOSED = HALVINGS + 1
"""What stands for a pair that gets no weight."""

_SQUARES = np.array([4**n for n in range(HALVINGS, -1, -1)] + [0])
"""The square of a weight halved so often, in units of 4^-HALVINGS; 0 for a closed pair."""

UNIT = 1 << BITS
"""A weight of 1, in steps of the grid."""

Halvings = NDArray[np.int8]


def spread(
    chosen: Contributions | RemoteContributions, halvings: Halvings, heaviest: Ints | None = None
) -> Ints:
    """The sum over users of ⌊2^20 · g / √(Σ g²)⌋, where g = 2^-halvings of a pair, by pairs.

    Weights are rounded towards zero, so each user adds a vector of L2 norm at most 2^20.
    No weight of a user with n pairs exceeds heaviest[n], if that is given.
    """
    if heaviest is None:
        heaviest = np.full(chosen.most + 1, UNIT, dtype=np.int64)
    if not isinstance(chosen, Contributions):
        return chosen.spread(halvings, heaviest)
    total = np.zeros(chosen.pairs, dtype=np.int64)
    _spread(chosen.start, chosen.pair, halvings, heaviest, total)
    return total


@njit(cache=True, nogil=True)
def _root(square: Any) -> Any:
    """⌊√square⌋ for 0 ≤ square < 2^53: a float's root may have been rounded up to an integer."""
    root = np.int64(np.sqrt(np.float64(square)))
    while root * root > square:
        root -= 1
    return root


@njit(cache=True, nogil=True)
def _spread(start: Any, pair: Any, halvings: Any, heaviest: Any, total: Any) -> None:
    weight = np.zeros(CLOSED + 1, dtype=np.int64)
    for user in range(len(start) - 1):
        first, last = start[user], start[user + 1]
        square = np.int64(0)  # Σ g²
        for at in range(first, last):
            square += _SQUARES[halvings[pair[at]]]
        if square == 0:
            continue
        most = heaviest[last - first]
        for times in range(CLOSED):
            exact = (np.int64(1) << (2 * (BITS + HALVINGS - times))) // square
            weight[times] = min(_root(exact), most)
        for at in range(first, last):
            total[pair[at]] += weight[halvings[pair[at]]]
