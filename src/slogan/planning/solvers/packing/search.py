"""The inner loops of the packing solver, compiled: integers only, so that order never matters.

Costs are scaled to integers so that every row may spend `SCALE`, plus `TOLERANCE` for the rounding
of ties such as 2·log 1.5 = log 2.25. The result is a proposal: the gate decides afterwards,
exactly.
"""

from typing import Any, NamedTuple

import numpy as np

from slogan.storage.compilation import compiled

SCALE = 2**40
TOLERANCE = 256
# A move that would remove more clicks than this is undone.
_MOST_REMOVED = 8
# A pair is not inserted where more rows than this cannot pay for it.
_MOST_BLOCKED = 5
# The numbers below affect the search only, not the validity of the counts.
# Prices decide what is removed and added, times a random factor of mean 1 for each comparison.
_LEAST_TO_GO, _SPREAD_TO_GO = 0.5, 1.0
_LEAST_TO_COME, _SPREAD_TO_COME = 0.7, 0.6
# A pair whose removal is enough is removed before several with a price this much higher.
_ALONE = 0.3
# A recently removed pair is added back after those with a price this much higher.
_LATELY = 0.5
# It is not inserted for a random number of moves in this range.
_LEAST_TABU, _SPREAD_TABU = 25, 100
# xorshift64* (Vigna) and its multiplier. Seeds are multiplied by Knuth's constant and moved off 0,
# its fixed point; some draws are skipped until the bits of a small seed are mixed.
_MULTIPLIER = np.uint64(0x2545F4914F6CDD1D)
_SPREAD_SEED, _OFF_ZERO, _PASSED_OVER = np.uint64(2654435761), np.uint64(88172645463325252), 8


class Matrix(NamedTuple):
    """A packing problem, by columns and by rows."""

    column: Any
    """The entries of pair j are column[j]..column[j+1] of `row` and `cost`."""
    row: Any
    cost: Any
    start: Any
    """Those of user k are start[k]..start[k+1] of `pair` and `row_cost`, sorted by cost."""
    pair: Any
    row_cost: Any
    upper: Any
    price: Any
    """The cost of a pair at the relaxation's prices."""


class State(NamedTuple):
    """The state of a search.

    The slack of row k is SCALE − Σ_j cost_kj·x_j. Its entries are sorted by cost, so those it can
    pay, cost ≤ slack + TOLERANCE, are the first: `fits` is where they end. When the slack changes,
    only the entries between the old end and the new one change, and each adds 1 to its pair's
    `blocked` or subtracts 1. A pair fits if no row blocks it: blocked = 0 and x < upper.
    """

    x: Any
    """Clicks released of each pair."""
    slack: Any
    """The remaining limit of each row."""
    fits: Any
    """The end of the entries of a row that its slack can pay."""
    blocked: Any
    """How many rows cannot pay for one more click of a pair."""
    tabu: Any
    """The move until which a removed pair is not inserted."""
    freed: Any
    """Pairs that became unblocked during a move; those beyond its length are ignored."""
    counters: Any
    """The number of freed pairs."""


@compiled
def _random(dice: Any) -> Any:
    """The next 53 bits of xorshift64*; for utility only, privacy does not depend on it."""
    w = dice[0]
    w ^= w >> np.uint64(12)
    w ^= w << np.uint64(25)
    w ^= w >> np.uint64(27)
    dice[0] = w
    return (w * _MULTIPLIER) >> np.uint64(11)


@compiled
def uniform(dice: Any) -> Any:
    """A number from 0 to below 1."""
    return _random(dice) * 2.0**-53


@compiled
def fresh_dice(seed: Any) -> Any:
    """The state of the generator for a seed."""
    dice = np.array([np.uint64(seed) * _SPREAD_SEED + _OFF_ZERO])
    for _ in range(_PASSED_OVER):
        _random(dice)
    return dice


@compiled
def _pay(k: Any, amount: Any, m: Any, s: Any) -> None:
    """Subtract an amount from row k's slack, and update which entries it can pay."""
    s.slack[k] -= amount
    room = s.slack[k] + TOLERANCE
    at = s.fits[k]
    while at < m.start[k + 1] and m.row_cost[at] <= room:
        j = m.pair[at]
        s.blocked[j] -= 1
        if s.blocked[j] == 0 and s.counters[0] < len(s.freed):
            s.freed[s.counters[0]] = j
            s.counters[0] += 1
        at += 1
    while at > m.start[k] and m.row_cost[at - 1] > room:
        at -= 1
        s.blocked[m.pair[at]] += 1
    s.fits[k] = at


@compiled
def _release(j: Any, clicks: Any, m: Any, s: Any) -> None:
    s.x[j] += clicks
    for e in range(m.column[j], m.column[j + 1]):
        _pay(m.row[e], clicks * m.cost[e], m, s)


@compiled
def fresh_state(x: Any, m: Any) -> Any:
    """The state in which the counts x are released."""
    n = len(m.upper)
    s = State(
        np.zeros(n, np.int64),
        np.full(len(m.start) - 1, SCALE, np.int64),
        m.start[1:].copy(),
        np.zeros(n, np.int64),
        np.zeros(n, np.int64),
        np.empty(4 * n + 64, np.int64),
        np.zeros(1, np.int64),
    )
    move_to(x, m, s)
    return s


@compiled
def move_to(x: Any, m: Any, s: Any) -> None:
    """Change a state to that of other counts; the work depends on the difference only."""
    s.counters[0] = 0
    for sign in (-1, 1):  # remove first, to make room
        for j in range(len(x)):
            if sign * (x[j] - s.x[j]) > 0:
                _release(j, x[j] - s.x[j], m, s)


@compiled
def sorted_within(start: Any, cost: Any) -> Any:
    """The order that sorts the entries of each row by cost; the sort is stable."""
    order = np.empty(len(cost), np.int64)
    for k in range(len(start) - 1):
        own = cost[start[k] : start[k + 1]]
        order[start[k] : start[k + 1]] = start[k] + np.argsort(own, kind="mergesort")
    return order


@compiled
def fill(order: Any, m: Any, s: Any) -> None:
    """Release as many clicks as fit of each pair, in the given order."""
    for j in order:
        clicks = _room(j, m, s)
        if clicks > 0:
            s.counters[0] = 0
            _release(j, clicks, m, s)


@compiled
def _room(j: Any, m: Any, s: Any) -> Any:
    """How many more clicks of pair j fit."""
    room = m.upper[j] - s.x[j]
    if s.blocked[j] > 0:
        return 0
    for e in range(m.column[j], m.column[j + 1]):
        if room * m.cost[e] > s.slack[m.row[e]] + TOLERANCE:
            room = (s.slack[m.row[e]] + TOLERANCE) // m.cost[e]
    return room


@compiled
def _make_room(j: Any, m: Any, s: Any, removed: Any, amount: Any, dice: Any) -> Any:
    """Remove clicks of expensive pairs until no row of j is overdrawn.

    Of many clicks that must go, half are taken from one pair at once. Returns how often something
    was removed, n, or −1 − n if the row stays overdrawn.
    """
    n = 0
    for e in range(m.column[j], m.column[j + 1]):
        k = m.row[e]
        while s.slack[k] < -TOLERANCE:
            blocker, worst, share = -1, -1.0, np.int64(1)
            for f in range(m.start[k], m.start[k + 1]):
                i = m.pair[f]
                if s.x[i] > 0 and i != j:
                    score = m.price[i] * (_LEAST_TO_GO + _SPREAD_TO_GO * uniform(dice))
                    if m.row_cost[f] + TOLERANCE >= -s.slack[k]:
                        score += _ALONE
                    if score > worst:
                        blocker, worst, share = i, score, m.row_cost[f]
            if blocker < 0 or n == _MOST_REMOVED:
                return -1 - n
            missing = -s.slack[k] // max(share, 1)
            removed[n], amount[n] = blocker, min(s.x[blocker], max(1, missing // 2))
            _release(blocker, -amount[n], m, s)
            n += 1
    return n


@compiled
def _refill(m: Any, s: Any, added: Any, amount: Any, n: Any, move: Any, dice: Any) -> Any:
    """Release pairs that became possible, cheap ones first, with some noise.

    Of a pair with room for many clicks, half are released at once. Returns how often something was
    added, n included.
    """
    waiting = s.counters[0]
    while True:
        left, least = 0, np.inf
        for w in range(waiting):
            j = s.freed[w]
            if s.blocked[j] == 0 and s.x[j] < m.upper[j]:
                s.freed[left] = j
                left += 1
                score = m.price[j] * (_LEAST_TO_COME + _SPREAD_TO_COME * uniform(dice))
                if s.tabu[j] > move:
                    score += _LATELY
                if score < least:
                    added[n], least = j, score
        if left == 0:
            return n
        waiting = s.counters[0] = left
        amount[n] = max(1, _room(added[n], m, s) // 2)
        _release(added[n], amount[n], m, s)
        n += 1


@compiled
def _undo(m: Any, s: Any, added: Any, come: Any, removed: Any, gone: Any) -> None:
    for n in range(len(added)):
        _release(added[n], -come[n], m, s)
    for n in range(len(removed)):
        _release(removed[n], gone[n], m, s)


@compiled
def _save(best: Any, s: Any, added: Any, come: Any, removed: Any, gone: Any) -> None:
    """Copy the counts as they were before a move; rarely, because there may be millions."""
    best[:] = s.x
    for n in range(len(added)):
        best[added[n]] -= come[n]
    for n in range(len(removed)):
        best[removed[n]] += gone[n]


@compiled
def _clicks_to_try(room: Any, dice: Any) -> Any:
    """One click, or a power of two where a pair has room for several."""
    if room == 1:
        return 1
    bits = 1
    while room >> bits > 0:
        bits += 1
    return 1 << np.int64(_random(dice) % np.uint64(bits))


@compiled
def search(m: Any, s: Any, candidates: Any, moves: Any, seed: Any, losses: Any, best: Any) -> Any:
    """Insert a candidate, remove what blocks it, refill; keep it if not worse. Return the gain.

    `losses` is the chance that a move is kept although it loses one click. `best` are the best
    counts known, replaced whenever the state, which persists between calls, releases more.
    """
    dice = fresh_dice(seed)
    size, record, saved = 0, np.sum(best) - np.sum(s.x), True
    removed, gone = np.empty((2, _MOST_REMOVED + 1), np.int64)
    added, come = np.empty((2, len(s.freed) + 1), np.int64)
    for move in range(moves):
        j = candidates[_random(dice) % np.uint64(len(candidates))]
        if s.x[j] >= m.upper[j] or s.tabu[j] > move or s.blocked[j] > _MOST_BLOCKED:
            continue
        added[0], come[0] = j, _clicks_to_try(m.upper[j] - s.x[j], dice)
        _release(j, come[0], m, s)
        s.counters[0] = 0
        out = _make_room(j, m, s, removed, gone, dice)
        possible, out = out >= 0, max(out, -1 - out)
        entries = _refill(m, s, added, come, 1, move, dice) if possible else 1
        gain = np.sum(come[:entries]) - np.sum(gone[:out])
        kept = possible and gain >= 0
        if possible and gain == -1 and losses > 0:
            kept = uniform(dice) < losses
        if not kept:
            _undo(m, s, added[:entries], come, removed[:out], gone)
            continue
        if gain < 0 and not saved:
            _save(best, s, added[:entries], come, removed[:out], gone)
            saved = True
        size += gain
        for r in range(out):
            drawn = np.int64(_random(dice) % np.uint64(_SPREAD_TABU))
            s.tabu[removed[r]] = move + _LEAST_TABU + drawn
        if size > record:
            record, saved = size, False
    if not saved:
        _save(best, s, added[:0], come, removed[:0], gone)
    for j in range(len(s.tabu)):
        s.tabu[j] = max(0, s.tabu[j] - moves)
    return size
