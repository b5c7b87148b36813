"""The loops of made-up users, compiled: deal pairs exactly, swap them, count them together.

Everything here is computed from private statistics. Integers only, so that the same words of the
random source give the same users on every machine. Proof: docs/proofs/synthesis.md.
"""

from typing import Any, NamedTuple

import numpy as np

from slogan.arrays import Ints
from slogan.dp.sums import BITS, MOST_HELD
from slogan.randomness import Randomness
from slogan.storage.compilation import compiled

UNIT = 1 << 16
"""An energy of 1, in the steps that energies are rounded to."""
_LUCK = 12
_PLACE = 26
"""Bits that draw a slot: of more than 2^26 holdings only some are swapped."""
_UNLUCKY = np.rint(-np.log((np.arange(1 << _LUCK) + 0.5) / (1 << _LUCK)) * UNIT).astype(np.int64)
"""Quantiles of the exponential law: how much energy a swap may lose."""
_IMPOSSIBLE = np.int64(-(1 << 46))
CROWD = 0.85
"""A user of n pairs has (2/n)^CROWD of the sum of its energies: of many pairs, few explain one."""
_SHARE = 12
_MOST_SHARED = 1 << _SHARE
# SplitMix64 (Steele, Lea and Flood 2014): its step and its multipliers
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


class Users(NamedTuple):
    """Made-up users: u holds start[u]..start[u+1] of `pair`, which are different pairs."""

    start: Ints
    pair: Ints


def dice_of(rng: Randomness) -> Any:
    """The state of the loops' random numbers, from the run's own source."""
    return rng.words(1).copy()


def dealt(sizes: Ints, visits: Ints, dice: Any) -> Users:
    """Users of these sizes, of whom exactly visits[i] hold pair i.

    No pair has more visits than there are users. Sizes are exact too, if any users of these sizes
    can hold the pairs that often; otherwise some users hold more, and others fewer.
    """
    order = np.argsort(-sizes, kind="stable")
    left = np.bincount(sizes, minlength=int(sizes.max(initial=0)) + 1).astype(np.int64)
    user = np.empty(int(visits.sum()), dtype=np.int64)
    _deal(order, left, visits, user, dice)
    pair = np.repeat(np.arange(len(visits)), visits)
    start = np.concatenate(([0], np.cumsum(np.bincount(user, minlength=len(sizes)))))
    return Users(start=start, pair=pair[np.argsort(user, kind="stable")])


def swapped(users: Users, category: Ints, energy: Ints, proposals: int, dice: Any) -> None:
    """Swap pairs between users by Metropolis' rule, which keeps sizes and visits.

    Users have the law of exp(Σ (2/n)^CROWD · energy/UNIT), summed over users of n pairs and any
    two of their pairs, by category, after infinitely many proposals.
    """
    held = np.diff(users.start)
    owner = np.repeat(np.arange(len(held)), held)
    if len(owner):
        share = _shares(int(held.max()))
        _swap(*users, owner, category, energy, share, proposals, _UNLUCKY, dice)


def _shares(most: int) -> Ints:
    """The share of the energies that counts for users of 0, 1, …, `most` pairs, in integers."""
    part = (2 / np.maximum(np.arange(most + 1), 2)) ** CROWD
    return np.maximum(np.rint(part * _MOST_SHARED), 1).astype(np.int64)


def together(users: Users, category: Ints, categories: int) -> Ints:
    """`dp.sums.together_sums` of made-up users, symmetric, without pairs of category -1."""
    table = np.zeros((categories, categories), dtype=np.int64)
    _count(users.start, users.pair, category, table)
    return table


@compiled
def next_word(dice: Any) -> Any:
    """The next 64 random bits."""
    dice[0] += _STEP
    word = dice[0]
    word = (word ^ (word >> np.uint64(30))) * _FIRST
    word = (word ^ (word >> np.uint64(27))) * _SECOND
    return word ^ (word >> np.uint64(31))


@compiled
def below(bound: Any, dice: Any) -> Any:
    """A number from 0 to bound − 1 < 2^32."""
    return np.int64(((next_word(dice) >> np.uint64(32)) * np.uint64(bound)) >> np.uint64(32))


@compiled
def _deal(order: Any, left: Any, visits: Any, user: Any, dice: Any) -> None:
    """Give each pair to the users with most room left (Ryser 1957; Havel and Hakimi).

    `order` has users by falling room, `left` how many have each room. Among users of the same
    room those who are given a pair are drawn at random, and placed behind the others.
    """
    at = 0
    for pair in range(len(visits)):
        wanted = visits[pair]
        begin = 0
        gained = 0  # users who come down from the room above
        for room in range(len(left) - 1, -1, -1):
            here = left[room]
            taken = min(wanted, here)
            if taken < here:
                for turn in range(taken):
                    last = begin + here - 1 - turn
                    other = begin + below(here - turn, dice)
                    order[last], order[other] = order[other], order[last]
            for place in range(begin + here - taken, begin + here):
                user[at] = order[place]
                at += 1
            begin += here
            wanted -= taken
            if room:
                left[room] += gained - taken
                gained = taken
            else:
                left[room] += gained
            if wanted == 0 and room:
                left[room - 1] += gained
                break


@compiled
def _swap(
    start: Any,
    pair: Any,
    owner: Any,
    category: Any,
    energy: Any,
    share: Any,
    proposals: Any,
    unlucky: Any,
    dice: Any,
) -> None:
    holdings = np.uint64(len(pair))
    for _ in range(proposals):
        word = next_word(dice)
        one = np.int64(((word >> np.uint64(64 - _PLACE)) * holdings) >> np.uint64(_PLACE))
        word <<= np.uint64(_PLACE)
        other = np.int64(((word >> np.uint64(64 - _PLACE)) * holdings) >> np.uint64(_PLACE))
        word <<= np.uint64(_PLACE)
        i, j, u, v = pair[one], pair[other], owner[one], owner[other]
        if i == j or u == v:
            continue
        of_i, of_j = energy[category[i]], energy[category[j]]
        of_u, of_v = pair[start[u] : start[u + 1]], pair[start[v] : start[v + 1]]
        gain = _gain(of_u, category, j, i, of_j, of_i) * share[len(of_u)]
        gain += _gain(of_v, category, i, j, of_i, of_j) * share[len(of_v)]
        if (gain >> _SHARE) + unlucky[np.int64(word >> np.uint64(64 - _LUCK))] >= 0:
            pair[one], pair[other] = j, i


@compiled
def _gain(mine: Any, category: Any, comes: Any, goes: Any, of_new: Any, of_old: Any) -> Any:
    """What a user's energy gains by an exchange; far below 0 if it holds the new pair already."""
    gain = np.int64(0)
    for held in mine:
        if held == comes:
            return _IMPOSSIBLE
        if held != goes:
            gain += of_new[category[held]] - of_old[category[held]]
    return gain


@compiled
def _count(start: Any, pair: Any, category: Any, table: Any) -> None:
    kind = np.zeros(len(table), dtype=np.int64)
    times = np.zeros(len(table), dtype=np.int64)
    for user in range(len(start) - 1):
        kinds = 0
        for place in range(start[user], start[user + 1]):
            this = category[pair[place]]
            if this < 0:
                continue
            if times[this] == 0:
                kind[kinds] = this
                kinds += 1
            times[this] = min(times[this] + 1, MOST_HELD)
        second, fourth, inside = np.int64(0), np.int64(0), np.int64(0)
        for n in range(kinds):
            square = times[kind[n]] ** 2
            second += square
            fourth += square * square
            inside += (times[kind[n]] * (times[kind[n]] - 1) // 2) ** 2
        norm = (second * second - fourth) // 2 + inside
        if norm:
            weight = np.int64(np.sqrt((np.int64(1) << np.int64(2 * BITS)) / norm))
            for n in range(kinds):
                g = kind[n]
                table[g, g] += times[g] * (times[g] - 1) // 2 * weight
                for m in range(n):
                    h = kind[m]
                    both = times[g] * times[h] * weight
                    table[g, h] += both
                    table[h, g] += both
        for n in range(kinds):
            times[kind[n]] = 0
