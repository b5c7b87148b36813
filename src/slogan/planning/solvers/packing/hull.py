"""Hull cuts: inequalities that all whole counts within one user's limit obey.

A row Σ w_j·x_j ≤ limit has few whole solutions where a click takes a large part of the limit. What
they all obey is stronger than the row, and than its rounding by any one function.

For the pairs of a row with the largest fractional charge, z is compared with the points: whole
counts that fit. Weights a ≥ 0 with a·p ≤ 1 for all points p and the largest a·z are found by the
simplex method on the dual, which mixes points to cover z; a point with a·p > 1 enters while there
is one (a knapsack, by dynamic programming over the value). If a·z > 1, no mixture of points is z.

Then floating point ends: the weights are rounded down to integers g, `most` is the exact largest
g·p, and the other pairs of the row are lifted. A pair gets the largest weights for which no point
exceeds `most`, one pair after the other. So g·z ≤ most is right whatever a was.
"""

from typing import Any

import numpy as np

from slogan.planning.solvers.packing.search import SCALE, TOLERANCE
from slogan.storage.compilation import compiled

_MEMBERS = 12
"""The most pairs for which weights are searched; the others are lifted."""
_COPIES = 64
"""Pairs of which more clicks fit have no weight: single clicks of them hardly matter."""
_FINE = 60
"""The value of a point while weights are searched, in steps of 1/60."""
_STEPS, _EXCHANGES = 24, 100
"""The most steps in a weight of the result; the most points that enter."""
_FRACTION, _ZERO = 0.01, 1e-9
"""Clicks below this are not released; numbers below this are 0."""
_EXCESS = 0.01
"""An inequality is worth adding if the fractions violate it by this much."""
_NEVER = np.int64(2**62)


@compiled
def _extend(least: Any, cost: Any, copies: Any, weight: Any, taken: Any) -> Any:
    """The least charge for each value, when a pair may be added to the pairs before it.

    `least[v]` is the least charge of points of value v or more. `weight` are those of the pair's
    first click, its second, and so on; the last is also that of all further ones. `taken[v]` is set
    to the number of its clicks in a point of the least charge.
    """
    after, value, charge = least.copy(), 0, np.int64(0)
    taken[:] = 0
    for c in range(copies):
        value += weight[min(c, len(weight) - 1)]
        charge += cost
        if charge > SCALE + TOLERANCE:
            break
        for v in range(1, len(least)):
            total = least[max(0, v - value)] + charge
            if total < after[v]:
                after[v], taken[v] = total, c + 1
    return after


@compiled
def _best_point(part: Any, g: Any, most: Any, taken: Any, point: Any) -> Any:
    """The largest value g·p of a point, at most `most`; its clicks are written to `point`."""
    cost, copies, first = part
    least = np.full(most + 1, _NEVER)
    least[0] = 0
    for i in range(len(cost)):
        least = _extend(least, cost[i], copies[i], g[first[i] : first[i + 1]], taken[i])
    best = most
    while least[best] > SCALE + TOLERANCE:
        best -= 1
    point[:] = 0
    v = best
    for i in range(len(cost) - 1, -1, -1):
        levels = first[i + 1] - first[i]
        for c in range(taken[i, v]):
            point[first[i] + min(c, levels - 1)] += 1
        for c in range(taken[i, v]):
            v -= g[first[i] + min(c, levels - 1)]
        v = max(v, 0)
    return best


@compiled
def _single_points(part: Any) -> Any:
    """The inverse of the first basis: points of one pair, c clicks, and at last all that fit.

    They cover fractions b_1 ≥ b_2 ≥ … of a pair, t of whose last variable fit, by b_c − b_(c+1) of
    the point with c clicks, except that the last has b_n / t and the one before b_(n−1) − b_n / t.
    """
    _, copies, first = part
    inverse = np.zeros((first[-1], first[-1]))
    for i in range(len(copies)):
        last = first[i + 1] - 1
        for c in range(first[i], first[i + 1]):
            times = copies[i] - (c - first[i]) if c == last else 1
            inverse[c, c] = 1.0 / times
            if c > first[i]:
                inverse[c - 1, c] = -1.0 / times
    return inverse


@compiled
def _exchange(inverse: Any, mixed: Any, paid: Any, point: Any, price: Any) -> Any:
    """Put a point into the basis for the one that reaches 0 first; False if there is none."""
    direction, leaves, least = inverse @ point, -1, np.inf
    for i in range(len(mixed)):
        if direction[i] > _ZERO and mixed[i] / direction[i] < least:
            leaves, least = i, mixed[i] / direction[i]
    if leaves < 0:
        return False
    pivot = inverse[leaves] / direction[leaves]
    for i in range(len(mixed)):
        if i != leaves:
            inverse[i] -= direction[i] * pivot
            mixed[i] = max(0.0, mixed[i] - direction[i] * least)
    inverse[leaves], mixed[leaves], paid[leaves] = pivot, least, price
    return True


@compiled
def _weights(part: Any, z: Any) -> Any:
    """Weights a with a·p ≤ 1 for all points, and the largest a·z; zeros if there is no violation.

    The dual: mix points, at the least total, to cover z. A negative weight lets a slack enter: its
    column is −1 at this place, and it costs nothing.
    """
    inverse, paid = _single_points(part), np.ones(len(z))
    mixed = np.maximum(inverse @ z, 0.0)
    taken, point = np.empty((len(part[0]), 2 * _FINE + 1), np.int64), np.empty(len(z))
    for _ in range(_EXCHANGES):
        if np.dot(paid, mixed) <= 1 + _EXCESS:
            return np.zeros(len(z))
        a, price = paid @ inverse, 1.0
        low = np.argmin(a)
        if a[low] < -_ZERO:
            point[:], price = 0.0, 0.0
            point[low] = -1.0
        else:
            g = np.floor(_FINE * np.maximum(a, 0.0) + _ZERO).astype(np.int64)
            if _best_point(part, g, 2 * _FINE, taken, point) <= _FINE:
                break
        if not _exchange(inverse, mixed, paid, point, price):
            return np.zeros(len(z))
    return np.maximum(paid @ inverse, 0.0)


@compiled
def _whole_weights(part: Any, a: Any, z: Any) -> Any:
    """Integers g near a multiple of a, and the largest g·p, for which g·z exceeds it most."""
    chosen, best, most = np.zeros(len(z), np.int64), 1.0 + _EXCESS, 0
    taken, point = np.empty((len(part[0]), 3 * _STEPS + 1), np.int64), np.empty(len(z))
    for times in range(1, _STEPS + 1):
        g = np.floor(times * a + 1e-6).astype(np.int64)
        total = np.dot(g.astype(np.float64), z)
        if total <= best * times:
            continue
        largest = _best_point(part, g, 3 * times, taken, point)
        # The table ends there: the largest value is that or more.
        if 0 < largest < 3 * times and total > best * largest + _ZERO:
            chosen, best, most = g, total / largest, largest
    return chosen, most


@compiled
def _lifted(least: Any, cost: Any, copies: Any, levels: Any) -> Any:
    """The largest weights of a pair's clicks with which no point exceeds the largest value."""
    most = len(least) - 1
    weight, before = np.zeros(levels, np.int64), 0
    for level in range(levels):
        largest = most
        for clicks in range(level + 1, copies + 1 if level == levels - 1 else level + 2):
            value = most
            while least[value] + clicks * cost > SCALE + TOLERANCE and value > 0:
                value -= 1
            if clicks * cost <= SCALE + TOLERANCE:
                largest = min(largest, (most - value - before) // (clicks - level))
        weight[level] = max(largest, 0)
        before += weight[level]
    return weight


@compiled
def _charged(own: Any, cost: Any, copies: Any, first: Any, z: Any) -> Any:
    """What the fractions of each pair of a row charge; 0 for pairs that are not for the part."""
    charge = np.zeros(len(own))
    for i in range(len(own)):
        if copies[i] <= _COPIES and z[first[own[i]]] > _FRACTION:
            charge[i] = cost[i] * np.sum(z[first[own[i]] : first[own[i] + 1]])
    return charge


@compiled
def _row_weights(own: Any, cost: Any, copies: Any, first: Any, z: Any) -> Any:
    """Pairs of a row, the start of each one's weights, the weights, and what no point exceeds."""
    charge = _charged(own, cost, copies, first, z)
    order = np.argsort(-charge)
    levels = np.minimum(first[own + 1] - first[own], copies)
    levels[copies > _COPIES] = 0
    begin = np.zeros(len(own) + 1, np.int64)
    begin[1:] = np.cumsum(levels[order])
    g, most = np.zeros(begin[-1], np.int64), np.int64(0)
    size = min(np.sum(charge > 0), _MEMBERS)
    # The others have no fractions: a row that is half empty is not worth the work.
    if size < 2 or np.sum(charge) < SCALE / 2:
        return order, begin, g, most
    here = np.empty(begin[size])
    for i in range(size):
        at = first[own[order[i]]]
        here[begin[i] : begin[i + 1]] = z[at : at + begin[i + 1] - begin[i]]
    part = cost[order[:size]], copies[order[:size]], begin[: size + 1]
    g[: begin[size]], most = _whole_weights(part, _weights(part, here), here)
    if most == 0:
        return order, begin, g, most
    least, taken = np.full(most + 1, _NEVER), np.empty(most + 1, np.int64)
    least[0] = 0
    for i in range(len(own)):
        pair, weight = order[i], g[begin[i] : begin[i + 1]]
        if len(weight) == 0:
            continue
        if i >= size:
            weight[:] = _lifted(least, cost[pair], copies[pair], len(weight))
        least = _extend(least, cost[pair], copies[pair], weight, taken)
    return order, begin, g, most


@compiled
def hull_cuts(m: Any, first: Any, z: Any, rows: Any) -> Any:
    """Cuts of these rows, as the starts, variables and coefficients of inequalities r·z ≤ 1.

    The variables of pair j are first[j]..first[j+1]: its first click, its second, and so on; the
    last covers all that follow.
    """
    start = [np.int64(0)]
    variable, coefficient = [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    for k in rows:
        own = m.pair[m.start[k] : m.start[k + 1]]
        # One less than the cost rounded to the nearest integer: never above the true cost.
        cost = np.maximum(m.row_cost[m.start[k] : m.start[k + 1]] - 1, 0)
        copies = np.minimum(m.upper[own], (SCALE + TOLERANCE) // np.maximum(cost, 1))
        order, begin, g, most = _row_weights(own, cost, copies, first, z)
        if most == 0:
            continue
        for i in range(len(order)):
            for c in range(begin[i], begin[i + 1]):
                if g[c] > 0:
                    variable.append(first[own[order[i]]] + c - begin[i])
                    coefficient.append(g[c] / most)
        start.append(np.int64(len(variable)))
    return np.array(start), np.array(variable), np.array(coefficient)
