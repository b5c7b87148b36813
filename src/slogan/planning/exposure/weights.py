"""Weights: a linear function of the counts below the expected number of exposed users.

User k with charge c has a released row with probability φ(c) = 1 − e^−c, which is concave: φ(c)/c
falls as c grows. Let C_kj be at least the charge of user k in any plan that releases pair j. Then a
plan that charges user k with c = Σ_j t_kj x_j has c ≤ C_kj for each pair j it releases, so
Σ_j t_kj x_j · φ(C_kj)/C_kj ≤ φ(c). Proof: docs/proofs/exposure.md.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats
from slogan.planning.program import Program
from slogan.storage.compilation import compiled

# Charges are rounded: what fits within this relative distance counts as fitting.
_OUTWARD = 1e-9
# The largest sum is not looked for beyond this many steps, nor closer to the limit than this.
_MOST_STEPS, _NEARLY = 2_000, 1e-6


class Charges(NamedTuple):
    """The charges, by columns and by rows, and what limits the counts."""

    column: Any
    """The entries of pair j are column[j]..column[j+1] of `row` and `cost`."""
    row: Any
    cost: Any
    start: Any
    """Those of user k are start[k]..start[k+1] of `pair` and `row_cost`, the costly ones first."""
    pair: Any
    row_cost: Any
    upper: Any
    label: Any
    """No two pairs of equal label are released together."""
    limit: float


def weights(program: Program, value: int) -> sp.csr_array:
    """For each user and pair, the weight of one click: t_kj·φ(C_kj)/C_kj, rounded down.

    Pairs of which no click fits the budget have weights that mean nothing.

    Args:
        program: Of a packing objective.
        value: How many clicks are released.
    """
    rows = program.constraints.cost
    # Costly pairs first: the search for the largest charge is shorter.
    order = np.lexsort((-rows.data, np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))))
    columns, label = sp.csc_array(rows.tocsc()), program.at_most_one
    charges = Charges(
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int64),
        columns.data,
        rows.indptr.astype(np.int64),
        rows.indices[order].astype(np.int64),
        rows.data[order],
        np.minimum(program.upper, value),
        np.arange(program.pairs) if label is None else label,
        program.constraints.limit,
    )
    most = largest_charges(charges)
    weight: Floats = columns.data * (-np.expm1(-most) / most) * (1 - _OUTWARD)
    entries = (weight, columns.indices, columns.indptr)
    return sp.csr_array(sp.csc_array(entries, shape=rows.shape).tocsr())


@compiled
def largest_charges(m: Any) -> Any:
    """C_kj for every entry of the columns: no plan that releases pair j charges user k more."""
    most, room = np.full(len(m.cost), m.limit * (1 + _OUTWARD)), np.zeros(len(m.upper), np.int64)
    longest = np.max(np.diff(m.start))
    price, clicks = np.empty(longest), np.empty(longest, np.int64)
    after, taken = np.empty(longest + 1), np.empty(longest, np.int64)
    for j in np.flatnonzero(m.upper > 0):
        _room_beside(j, m, room)
        for e in range(m.column[j], m.column[j + 1]):
            n = 0
            for f in range(m.start[m.row[e]], m.start[m.row[e] + 1]):
                if room[m.pair[f]] > 0:
                    price[n], clicks[n] = m.row_cost[f], room[m.pair[f]]
                    n += 1
            left = max(m.limit - m.cost[e], 0.0) * (1 + _OUTWARD)
            more = _largest_sum(price, clicks, n, left, after, taken)
            most[e] = (m.cost[e] + more) * (1 + _OUTWARD)
    return most


@compiled
def _room_beside(j: Any, m: Any, room: Any) -> None:
    """How many clicks of the other pairs of its users fit beside one click of pair j.

    That click leaves each of its users a part of the limit, and no pair may exceed it.
    """
    for e in range(m.column[j], m.column[j + 1]):
        for f in range(m.start[m.row[e]], m.start[m.row[e] + 1]):
            i = m.pair[f]
            room[i] = 0 if m.label[i] == m.label[j] else m.upper[i]
    room[j] = m.upper[j] - 1
    for e in range(m.column[j], m.column[j + 1]):
        left = max(m.limit - m.cost[e], 0.0) * (1 + _OUTWARD)
        for f in range(m.start[m.row[e]], m.start[m.row[e] + 1]):
            i = m.pair[f]
            if room[i] > 0:
                room[i] = min(room[i], np.int64(left / m.row_cost[f] * (1 + _OUTWARD)))


@compiled
def _largest_sum(price: Any, clicks: Any, n: Any, room: Any, after: Any, taken: Any) -> Any:
    """The largest Σ price·x ≤ room with whole x ≤ clicks, or the room if that takes long."""
    after[n] = 0.0
    for p in range(n - 1, -1, -1):
        after[p] = after[p + 1] + price[p] * clicks[p]
    if after[0] <= room:
        return after[0]
    best, current, p, steps = 0.0, 0.0, 0, 0
    while True:
        while p < n and current + after[p] > best:
            fits = np.int64(max(room - current, 0.0) / price[p] * (1 + _OUTWARD))
            taken[p] = min(clicks[p], fits)
            current += price[p] * taken[p]
            p += 1
            steps += 1
        best = max(best, current)
        if best >= room * (1 - _NEARLY) or steps > _MOST_STEPS:
            return max(best, room)
        p -= 1
        while p >= 0 and taken[p] == 0:
            p -= 1
        if p < 0:
            return best
        taken[p] -= 1
        current -= price[p]
        p += 1
