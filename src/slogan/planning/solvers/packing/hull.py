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

The compiled functions use plain loops, because those take least time to compile.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.planning.solvers.packing.search import SCALE, TOLERANCE, Matrix
from slogan.storage.compilation import compiled

_MEMBERS = 12
"""The most pairs for which weights are searched; the others are lifted."""
_COPIES = 64
"""Pairs of which more clicks fit have no weight: single clicks of them hardly matter."""
_FINE = 60
"""The value of a point while weights are searched, in steps of 1/60."""
_STEPS, _EXCHANGES = 24, 100
"""The most steps in a weight of the result; the most points that enter."""
_FRACTION, _ZERO, _ALMOST = 0.01, 1e-9, 1e-6
"""Smaller fractions are left out; smaller numbers are 0; this close to an integer counts as one."""
_EXCESS = 0.01
"""An inequality is worth adding if the fractions violate it by this much."""
_NEVER = np.int64(2**62)
_ROWS_AT_ONCE = 250


def hull_cuts(m: Matrix, first: Ints, z: Floats) -> Iterator[sp.csr_array]:
    """Cuts of all rows, some rows at a time, as inequalities r·z ≤ 1.

    The variables of pair j are first[j]..first[j+1]: its first click, its second, and so on; the
    last covers all that follow.
    """
    # One less than the cost rounded to the nearest integer: never above the true cost.
    cost = np.maximum(m.row_cost - 1, 0)
    copies = np.minimum(m.upper[m.pair], (SCALE + TOLERANCE) // np.maximum(cost, 1))
    levels = np.where(copies <= _COPIES, np.minimum(np.diff(first)[m.pair], copies), 0)
    counts = np.add.reduceat(z, first[:-1]) if len(z) else z
    charge = np.where((levels > 0) & (z[first[m.pair]] > _FRACTION), cost * counts[m.pair], 0.0)
    order = np.lexsort((-charge, np.repeat(np.arange(len(m.start) - 1), np.diff(m.start))))
    entries = m.pair[order], cost[order], copies[order], levels[order], charge[order]
    for begin in range(0, len(m.start) - 1, _ROWS_AT_ONCE):
        ends = m.start[begin : begin + _ROWS_AT_ONCE + 1]
        start, variable, value = _cuts(ends, *entries, first, z)
        yield sp.csr_array((value, variable, start), shape=(len(start) - 1, len(z)))


@compiled
def _extend(least: Any, cost: Any, copies: Any, weight: Any, taken: Any) -> Any:
    """The least charge for each value, when a pair may be added to the pairs before it.

    `least[v]` is the least charge of points of value v or more. `weight` are those of the pair's
    first click, its second, and so on; the last is also that of all further ones. `taken[v]` is set
    to the number of its clicks in a point of the least charge.
    """
    after, value, charge = least.copy(), 0, np.int64(0)
    for v in range(len(least)):
        taken[v] = 0
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
def _nothing(most: Any) -> Any:
    """The least charges while there is only the point without clicks."""
    least = np.empty(most + 1, np.int64)
    least[0] = 0
    for v in range(1, most + 1):
        least[v] = _NEVER
    return least


@compiled
def _best_point(part: Any, g: Any, most: Any, taken: Any, point: Any) -> Any:
    """The largest value g·p of a point, at most `most`; its clicks are written to `point`."""
    cost, copies, first = part
    least = _nothing(most)
    for i in range(len(cost)):
        least = _extend(least, cost[i], copies[i], g[first[i] : first[i + 1]], taken[i])
    best = most
    while least[best] > SCALE + TOLERANCE:
        best -= 1
    for c in range(len(point)):
        point[c] = 0.0
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
    n = len(mixed)
    direction, leaves, least = _times(inverse, point), -1, np.inf
    for i in range(n):
        if direction[i] > _ZERO and mixed[i] / direction[i] < least:
            leaves, least = i, mixed[i] / direction[i]
    if leaves < 0:
        return False
    for c in range(n):
        inverse[leaves, c] /= direction[leaves]
    for i in range(n):
        if i != leaves:
            for c in range(n):
                inverse[i, c] -= direction[i] * inverse[leaves, c]
            mixed[i] = max(0.0, mixed[i] - direction[i] * least)
    mixed[leaves], paid[leaves] = least, price
    return True


@compiled
def _times(matrix: Any, vector: Any) -> Any:
    out = np.zeros(len(matrix))
    for i in range(len(out)):
        for c in range(len(vector)):
            out[i] += matrix[i, c] * vector[c]
    return out


@compiled
def _prices(paid: Any, inverse: Any) -> Any:
    """The weights at which the points of the basis are worth what they cost."""
    a = np.zeros(len(paid))
    for i in range(len(paid)):
        if paid[i] != 0:
            for c in range(len(a)):
                a[c] += paid[i] * inverse[i, c]
    return a


@compiled
def _rounded_down(a: Any, times: Any) -> Any:
    g = np.zeros(len(a), np.int64)
    for c in range(len(a)):
        g[c] = np.int64(max(0.0, times * a[c] + _ALMOST))
    return g


@compiled
def _value(weight: Any, amount: Any) -> Any:
    total = 0.0
    for c in range(len(amount)):
        total += weight[c] * amount[c]
    return total


@compiled
def _weights(part: Any, z: Any) -> Any:
    """Weights a with a·p ≤ 1 for all points, and the largest a·z; zeros if there is no violation.

    The dual: mix points, at the least total, to cover z. A negative weight lets a slack enter: its
    column is −1 at this place, and it costs nothing.
    """
    inverse, paid = _single_points(part), np.ones(len(z))
    mixed = _times(inverse, z)
    taken, point = np.empty((len(part[0]), 2 * _FINE + 1), np.int64), np.empty(len(z))
    for _ in range(_EXCHANGES):
        if _value(paid, mixed) <= 1 + _EXCESS:
            return np.zeros(len(z))
        a, low, price = _prices(paid, inverse), 0, 1.0
        for c in range(len(a)):
            if a[c] < a[low]:
                low = c
        if a[low] < -_ZERO:
            for c in range(len(a)):
                point[c] = 0.0
            point[low], price = -1.0, 0.0
        elif _best_point(part, _rounded_down(a, _FINE), 2 * _FINE, taken, point) <= _FINE:
            break
        if not _exchange(inverse, mixed, paid, point, price):
            return np.zeros(len(z))
    return _prices(paid, inverse)


@compiled
def _whole_weights(part: Any, a: Any, z: Any) -> Any:
    """Integers g near a multiple of a, and the largest g·p, for which g·z exceeds it most."""
    chosen, best, most = np.zeros(len(z), np.int64), 1.0 + _EXCESS, 0
    taken, point = np.empty((len(part[0]), 3 * _STEPS + 1), np.int64), np.empty(len(z))
    for times in range(1, _STEPS + 1):
        g = _rounded_down(a, times)
        total = _value(g, z)
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
def _row(cost: Any, copies: Any, begin: Any, size: Any, here: Any) -> Any:
    """Weights of a row's pairs, of which the first `size` are the part; what no point exceeds."""
    g = np.zeros(begin[-1], np.int64)
    part = cost[:size], copies[:size], begin[: size + 1]
    inside, most = _whole_weights(part, _weights(part, here), here)
    if most == 0:
        return g, most
    least, taken = _nothing(most), np.empty(most + 1, np.int64)
    for i in range(len(cost)):
        levels = begin[i + 1] - begin[i]
        if levels == 0:
            continue
        weight = inside[begin[i] : begin[i + 1]]
        if i >= size:
            weight = _lifted(least, cost[i], copies[i], levels)
        for c in range(levels):
            g[begin[i] + c] = weight[c]
        least = _extend(least, cost[i], copies[i], weight, taken)
    return g, most


@compiled
def _part(levels: Any, charge: Any) -> Any:
    """Where the variables of each pair of a row begin, and how many pairs are the part."""
    begin, size, charged = np.zeros(len(levels) + 1, np.int64), 0, 0.0
    for i in range(len(levels)):
        begin[i + 1] = begin[i] + levels[i]
        charged += charge[i]
        if charge[i] > 0 and size < _MEMBERS:
            size += 1
    # A row that the fractions leave half empty is not worth the work.
    return begin, size if charged >= SCALE / 2 else 0


@compiled
def _cuts(
    ends: Any, pair: Any, cost: Any, copies: Any, levels: Any, charge: Any, first: Any, z: Any
) -> Any:
    """The starts, variables and coefficients of cuts; rows end at `ends`, highest charge first."""
    start = [np.int64(0)]
    variable, coefficient = [np.int64(0) for _ in range(0)], [0.0 for _ in range(0)]
    for k in range(len(ends) - 1):
        low, high = ends[k], ends[k + 1]
        begin, size = _part(levels[low:high], charge[low:high])
        if size < 2:
            continue
        here = np.empty(begin[size])
        for i in range(size):
            for c in range(begin[i], begin[i + 1]):
                here[c] = z[first[pair[low + i]] + c - begin[i]]
        g, most = _row(cost[low:high], copies[low:high], begin, size, here)
        if most == 0:
            continue
        for i in range(high - low):
            for c in range(begin[i], begin[i + 1]):
                if g[c] > 0:
                    variable.append(first[pair[low + i]] + c - begin[i])
                    coefficient.append(g[c] / most)
        start.append(np.int64(len(variable)))
    return np.array(start), np.array(variable), np.array(coefficient)
