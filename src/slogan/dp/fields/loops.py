"""The loops that arrange made-up clicks, compiled: sizes of sessions, their order, and ranks.

Everything here is computed from private statistics. Proof: docs/proofs/columns.md.
"""

from typing import Any

import numpy as np

from slogan.dp.swaps import next_word
from slogan.storage.compilation import compiled

LIFT = 1 << 10
"""A lift of 1, in the steps that lifts are rounded to."""
_TRIES = 20
_CHANCE = 2.0**-53


@compiled
def _chance(dice: Any) -> Any:
    """A number from 0 to 1."""
    return np.float64(next_word(dice) >> np.uint64(11)) * _CHANCE


@compiled
def draw_lengths(clicks: Any, sessions: Any, length: Any, ways: Any, found: Any, dice: Any) -> None:
    """Divide the clicks of each user among its sessions.

    The lengths have the law of independent draws with these sums: `ways[s, n]` is the chance that
    s of them sum to n.
    """
    at = 0
    for user in range(len(clicks)):
        left = clicks[user]
        for more in range(sessions[user] - 1, 0, -1):
            place = _chance(dice) * ways[more + 1, left]
            longest = min(len(length) - 1, left - more)
            this = 1
            while this < longest:
                place -= length[this] * ways[more, left - this]
                if place < 0 and ways[more, left - this] > 0:
                    break
                this += 1
            found[at] = this
            left -= this
            at += 1
        found[at] = left
        at += 1


@compiled
def draw_order(
    start: Any,
    pair: Any,
    count: Any,
    query: Any,
    kind: Any,
    lift: Any,
    sessions: Any,
    length: Any,
    chances: Any,
    found: Any,
    dice: Any,
) -> None:
    """Put the clicks of each user in order, session by session, as steps go in the log.

    After a click comes the same pair, or another of its query, with these chances if there are any
    left; and else any pair, by its clicks that are left and the lift of the step.
    """
    again, same_query = chances[0], chances[1]
    at = session = 0
    for user in range(len(start) - 1):
        first, last = start[user], start[user + 1]
        for _ in range(sessions[user]):
            before = np.int64(-1)
            for _ in range(length[session]):
                chosen = np.int64(-1)
                if before >= 0:
                    u = _chance(dice)
                    if u < again:
                        if count[before] > 0:
                            chosen = before
                    elif u < again + same_query:
                        chosen = _weighed(
                            first, last, pair, count, query, kind, lift, before, True, dice
                        )
                if chosen < 0:
                    chosen = _weighed(
                        first, last, pair, count, query, kind, lift, before, False, dice
                    )
                count[chosen] -= 1
                found[at] = pair[chosen]
                at += 1
                before = chosen
            session += 1


@compiled
def _weighed(
    first: Any,
    last: Any,
    pair: Any,
    count: Any,
    query: Any,
    kind: Any,
    lift: Any,
    before: Any,
    same: Any,
    dice: Any,
) -> Any:
    """A holding with a click left, drawn by its weight; −1 if none fits."""
    total = np.int64(0)
    for here in range(first, last):
        total += _weight(here, pair, count, query, kind, lift, before, same)
    if total == 0:
        return np.int64(-1)
    target = np.int64(_chance(dice) * total)
    for here in range(first, last):
        target -= _weight(here, pair, count, query, kind, lift, before, same)
        if target < 0:
            return np.int64(here)
    return np.int64(-1)


@compiled
def _weight(
    here: Any, pair: Any, count: Any, query: Any, kind: Any, lift: Any, before: Any, same: Any
) -> Any:
    """With `same`, of another pair of the query before, and else rather of another query."""
    if before < 0:
        return count[here] * LIFT
    of_before, of_here = query[pair[before]], query[pair[here]]
    if same:
        return count[here] if of_here == of_before and here != before else np.int64(0)
    if of_here == of_before:
        return min(count[here], np.int64(1))
    return count[here] * lift[kind[of_before], kind[of_here]]


@compiled
def draw_ranks(
    session: Any, pair: Any, query: Any, curve: Any, kind: Any, rank: Any, dice: Any
) -> None:
    """Give each click a rank by the curve of its pair's class, which sums up shares from rank 1.

    In a session a pair keeps its rank, and another pair of its query has another one.
    """
    first = 0
    for row in range(len(pair)):
        if row and session[row] != session[row - 1]:
            first = row
        if pair[row] < 0:
            continue
        rank[row] = _rank_before(first, row, pair, rank)
        tries = 0
        while rank[row] == 0:
            drawn = _drawn_rank(curve[kind[pair[row]]], dice)
            tries += 1
            if tries == _TRIES or not _taken(first, row, query, rank, drawn):
                rank[row] = drawn


@compiled
def _rank_before(first: Any, row: Any, pair: Any, rank: Any) -> Any:
    """The rank that the pair has in this session already, or 0."""
    for other in range(first, row):
        if pair[other] == pair[row]:
            return rank[other]
    return rank[row] * 0


@compiled
def _taken(first: Any, row: Any, query: Any, rank: Any, drawn: Any) -> Any:
    """Whether another click on the query has this rank in this session."""
    found = False
    for other in range(first, row):
        found |= query[other] == query[row] and rank[other] == drawn
    return found


@compiled
def _drawn_rank(shares: Any, dice: Any) -> Any:
    place = _chance(dice) * shares[-1]
    low, high = 0, len(shares) - 1
    while low < high:
        middle = (low + high) // 2
        if shares[middle] > place:
            high = middle
        else:
            low = middle + 1
    return low + 1
