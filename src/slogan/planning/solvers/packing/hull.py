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
"""The value of a point while weights are searched, in steps of one part in so many."""
_STEPS, _EXCHANGES = 24, 100
"""The most steps in a weight of the result; the most points that enter."""
_FRACTION, _ZERO = 0.01, 1e-9
"""Clicks below this are not released; numbers below this are 0."""
_EXCESS = 0.01
"""An inequality is worth adding if the fractions violate it by this much."""
_NEVER = np.int64(2**62)


@compiled
def _copies(cost: Any, upper: Any) -> Any:
    return min(upper, (SCALE + TOLERANCE) // max(cost, 1))


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
def _best_point(cost: Any, copies: Any, first: Any, g: Any, most: Any, taken: Any, point: Any) -> Any:
    """The largest value g·p of a point, at most `most`; its clicks are written to `point`."""
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
def _weights(cost: Any, copies: Any, first: Any, z: Any) -> Any:
    """Weights a with a·p ≤ 1 for all points, and the largest a·z; zeros if there is no violation.

    The basis starts with the points of one pair each: c clicks, and for the last c as many as fit.
    """
    n = len(z)
    basis = np.zeros((n, n))
    for i in range(len(cost)):
        for c in range(first[i], first[i + 1]):
            basis[first[i] : c + 1, c] = 1.0
            if c == first[i + 1] - 1:
                basis[c, c] = copies[i] - (c - first[i])
    inverse, paid = np.linalg.inv(basis), np.ones(n)
    mixed = np.maximum(inverse @ z, 0.0)
    taken, point = np.empty((len(cost), 2 * _FINE + 1), np.int64), np.empty(n)
    for _ in range(_EXCHANGES):
        a = paid @ inverse
        low, enters = np.argmin(a), 1.0
        if a[low] < -_ZERO:
            point[:], enters = 0.0, 0.0
            point[low] = -1.0
        else:
            g = np.floor(_FINE * np.maximum(a, 0.0) + _ZERO).astype(np.int64)
            if _best_point(cost, copies, first, g, 2 * _FINE, taken, point) <= _FINE:
                break
        direction = inverse @ point
        leaves, least = -1, np.inf
        for i in range(n):
            if direction[i] > _ZERO and mixed[i] / direction[i] < least:
                leaves, least = i, mixed[i] / direction[i]
        if leaves < 0 or np.dot(paid, mixed) <= 1 + _EXCESS:
            return np.zeros(n)
        pivot = inverse[leaves] / direction[leaves]
        for i in range(n):
            if i != leaves:
                inverse[i] -= direction[i] * pivot
                mixed[i] = max(0.0, mixed[i] - direction[i] * least)
        inverse[leaves], mixed[leaves], paid[leaves] = pivot, least, enters
    return np.maximum(paid @ inverse, 0.0)


@compiled
def _whole_weights(cost: Any, copies: Any, first: Any, a: Any, z: Any) -> Any:
    """Integers g near a multiple of a, and the largest g·p, for which g·z exceeds it most."""
    chosen, best, most = np.zeros(len(z), np.int64), 1.0 + _EXCESS, 0
    taken, point = np.empty((len(cost), 3 * _STEPS + 1), np.int64), np.empty(len(z))
    for times in range(1, _STEPS + 1):
        g = np.floor(times * a + 1e-6).astype(np.int64)
        total = np.dot(g.astype(np.float64), z)
        if total <= best * times:
            continue
        largest = _best_point(cost, copies, first, g, 3 * times, taken, point)
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
def hull_cuts(m: Any, first: Any, z: Any, rows: Any) -> Any:
    """Cuts of these rows, as the starts, variables and coefficients of inequalities r·z ≤ 1.

    The variables of pair j are first[j]..first[j+1]: its first click, its second, and so on; the
    last covers all that follow.
    """
    start = [np.int64(0)]
    variable, coefficient = [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    for k in rows:
        own, own_cost = m.pair[m.start[k] : m.start[k + 1]], m.row_cost[m.start[k] : m.start[k + 1]]
        # One less than the cost rounded to the nearest integer: never above the true cost.
        own_cost = np.maximum(own_cost - 1, 0)
        charge, fit = np.zeros(len(own)), np.empty(len(own), np.int64)
        for i in range(len(own)):
            fit[i] = _copies(own_cost[i], m.upper[own[i]])
            if fit[i] <= _COPIES and z[first[own[i]]] > _FRACTION:
                charge[i] = own_cost[i] * np.sum(z[first[own[i]] : first[own[i] + 1]])
        order = np.argsort(-charge)
        size = min(np.sum(charge > 0), _MEMBERS)
        # If all charges together leave room for a click of each, the row is slack.
        if size < 2 or np.sum(charge) < 0.5 * SCALE:
            continue
        chosen = order[:size]
        begin, here = np.zeros(size + 1, np.int64), [0.0 for _ in range(0)]
        for i in range(size):
            j = own[chosen[i]]
            for c in range(first[j], min(first[j + 1], first[j] + fit[chosen[i]])):
                here.append(z[c])
            begin[i + 1] = len(here)
        part, cost, copies = np.array(here), own_cost[chosen], fit[chosen]
        a = _weights(cost, copies, begin, part)
        g, most = _whole_weights(cost, copies, begin, a, part)
        if most == 0:
            continue
        least, taken = np.full(most + 1, _NEVER), np.empty(most + 1, np.int64)
        least[0] = 0
        for place in range(len(order)):
            i = order[place]
            levels = min(first[own[i] + 1] - first[own[i]], fit[i])
            if fit[i] > _COPIES:
                continue
            if place < size:
                weight = g[begin[place] : begin[place + 1]]
            else:
                weight = _lifted(least, own_cost[i], fit[i], levels)
            least = _extend(least, own_cost[i], fit[i], weight, taken)
            for c in range(levels):
                if weight[c] > 0:
                    variable.append(first[own[i]] + c)
                    coefficient.append(weight[c] / most)
        start.append(np.int64(len(variable)))
    return np.array(start), np.array(variable), np.array(coefficient)
