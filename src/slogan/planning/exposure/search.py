"""The search for counts that expose few users, compiled: clicks are removed and added elsewhere.

The number of released clicks stays the same. Adding one click of pair j exposes Σ_k s_kj·e^−c_k
further users, with s_kj the share of user k in its clicks and c_k its charge before. The result is
a proposal: the gate decides afterwards, exactly.
"""

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget
from slogan.histogram import PairHistogram
from slogan.planning.constraints import privacy_constraints
from slogan.planning.exposure.weights import weights
from slogan.planning.program import Program
from slogan.planning.solvers.packing.search import fresh_dice, uniform
from slogan.storage.compilation import compiled

# The relative rounding error of a charge, many times over: ties such as 2·log 1.5 = log 2.25 fit.
_ROUNDED = 1e-12
# The numbers below affect the search only, not the validity of the counts.
# The chances to take all clicks of a pair, to take twice as many, and to remove from one more.
_WHOLE_PAIR, _DOUBLED, _ONE_MORE, _MOST_REMOVED = 0.5, 0.5, 0.6, 12
# A removed click belongs to a user of the pair before it this often; else to any.
_RELATED = 0.7
# The largest random part of a score, and how much of a score is the weight of the relaxation.
_NOISE, _GUIDED = 0.5, 0.8
# A pair that was just removed is added back after those with a score this much higher.
_LATELY = 1.2


class Problem(NamedTuple):
    """The charges, by columns and by rows, and what limits the counts."""

    column: Any
    """The entries of pair j are column[j]..column[j+1] of `row`, `cost` and `share`."""
    row: Any
    cost: Any
    share: Any
    """s = 1 − e^−cost: a user's part of the clicks of the pair."""
    start: Any
    """Those of user k are start[k]..start[k+1] of `pair` and `row_share`."""
    pair: Any
    row_share: Any
    upper: Any
    label: Any
    """Pairs of equal label share one click; each has its own where that does not matter."""
    single: bool
    weight: Any
    """Of one click in the relaxation."""
    limit: float


class State(NamedTuple):
    """Counts, and what follows from them."""

    x: Any
    click: Any
    """The pair of each released click, in any order."""
    slack: Any
    """What is left of each user's limit."""
    hidden: Any
    """e^−c: the probability that no row of a user is released."""
    gain: Any
    """The further users that one more click of each pair exposes."""
    labels: Any
    """The clicks of each label."""
    lately: Any
    """The last move that removed the pair."""
    undone: Any
    """The changes of the current move: pair and clicks."""
    counters: Any
    """Changes in the current move, moves so far, and released clicks."""


def problem(program: Program, weight: sp.csr_array) -> Problem:
    """The program, prepared for the compiled loops."""
    rows, columns = program.constraints.cost, sp.csc_array(program.constraints.cost.tocsc())
    label = program.at_most_one
    return Problem(
        columns.indptr.astype(np.int64),
        columns.indices.astype(np.int64),
        columns.data,
        -np.expm1(-columns.data),
        rows.indptr.astype(np.int64),
        rows.indices.astype(np.int64),
        -np.expm1(-rows.data),
        program.upper,
        np.arange(program.pairs) if label is None else label,
        label is not None,
        weight.T @ np.ones(weight.shape[0]),
        program.constraints.limit * (1 + _ROUNDED),
    )


def fresh_state(m: Problem, counts: Ints) -> State:
    """The state of these counts."""
    size = int(counts.sum())
    state = State(
        np.zeros(len(counts), np.int64),
        np.zeros(size, np.int64),
        np.full(len(m.start) - 1, m.limit),
        np.ones(len(m.start) - 1),
        np.bincount(
            np.repeat(np.arange(len(counts)), np.diff(m.column)), m.share, minlength=len(counts)
        ),
        np.zeros(int(m.label.max(initial=0)) + 1, np.int64),
        np.full(len(counts), -1, np.int64),
        np.zeros((2 * size + 2 * _MOST_REMOVED + 2, 2), np.int64),
        np.zeros(3, np.int64),
    )
    for j in np.flatnonzero(counts).tolist():
        change(j, int(counts[j]), m, state)
    state.counters[0] = 0
    return state


@compiled
def change(j: Any, clicks: Any, m: Any, s: Any) -> None:
    """Release more clicks of pair j, or fewer."""
    s.x[j] += clicks
    s.labels[m.label[j]] += clicks
    for e in range(m.column[j], m.column[j + 1]):
        k = m.row[e]
        s.slack[k] -= clicks * m.cost[e]
        now = math.exp(s.slack[k] - m.limit)
        more = now - s.hidden[k]
        s.hidden[k] = now
        for f in range(m.start[k], m.start[k + 1]):
            s.gain[m.pair[f]] += more * m.row_share[f]
    total = s.counters[2]
    if clicks > 0:
        for n in range(total, total + clicks):
            s.click[n] = j
        s.counters[2] = total + clicks
    else:
        left = -clicks
        n = total - 1
        # The clicks of one pair are removed wherever they are; the last ones take their place.
        while left > 0:
            if s.click[n] == j:
                total -= 1
                s.click[n] = s.click[total]
                left -= 1
            n -= 1
        s.counters[2] = total
    s.undone[s.counters[0], 0] = j
    s.undone[s.counters[0], 1] = clicks
    s.counters[0] += 1


@compiled
def fitting(j: Any, most: Any, m: Any, s: Any) -> Any:
    """How many more clicks of pair j fit, up to `most`."""
    most = min(most, m.upper[j] - s.x[j])
    if m.single and s.labels[m.label[j]] > 0:
        return 0
    for e in range(m.column[j], m.column[j + 1]):
        if most <= 0:
            return 0
        slack = s.slack[m.row[e]]
        if slack < most * m.cost[e]:
            most = np.int64(max(slack, 0.0) / m.cost[e])
    return most


@compiled
def _some(clicks: Any, random: Any) -> Any:
    """1, 2, 4 or more clicks, but not more than these."""
    some = 1
    while 2 * some <= clicks and uniform(random) < _DOUBLED:
        some *= 2
    return some


@compiled
def _removed(m: Any, s: Any, random: Any) -> None:
    """Remove some clicks, often of users who have others too."""
    j = s.click[int(uniform(random) * s.counters[2])]
    for _ in range(_MOST_REMOVED):
        clicks = s.x[j] if uniform(random) < _WHOLE_PAIR else _some(s.x[j], random)
        s.lately[j] = s.counters[1]
        change(j, -clicks, m, s)
        if s.counters[2] == 0 or uniform(random) > _ONE_MORE:
            return
        found = -1
        if uniform(random) < _RELATED:
            e = m.column[j] + int(uniform(random) * (m.column[j + 1] - m.column[j]))
            k = m.row[e]
            begin = int(uniform(random) * (m.start[k + 1] - m.start[k]))
            for n in range(m.start[k + 1] - m.start[k]):
                i = m.pair[m.start[k] + (begin + n) % (m.start[k + 1] - m.start[k])]
                if s.x[i] > 0:
                    found = i
                    break
        j = found if found >= 0 else s.click[int(uniform(random) * s.counters[2])]


@compiled
def filled(size: Any, guided: Any, noise: Any, m: Any, s: Any, random: Any) -> Any:
    """Add clicks, those first that expose the fewest further users; whether all of them fit."""
    while s.counters[2] < size:
        best, least = -1, np.inf
        for j in range(len(m.upper)):
            if s.x[j] >= m.upper[j]:
                continue
            score = guided * m.weight[j] + (1.0 - guided) * s.gain[j]
            if s.lately[j] == s.counters[1]:
                score *= _LATELY
            if noise > 0:
                score *= 1.0 + noise * uniform(random)
            if score < least and fitting(j, 1, m, s) > 0:
                best, least = j, score
        if best < 0:
            return False
        # A second click of a pair exposes fewer users than the first, so several are added.
        left = size - s.counters[2]
        few = left if uniform(random) < _WHOLE_PAIR else _some(left, random)
        change(best, fitting(best, few, m, s), m, s)
    return True


@compiled
def search(m: Any, s: Any, moves: Any, heat: Any, seed: Any) -> Any:
    """Try moves, and keep those that expose no more users, or few more; the best counts."""
    size, random = s.counters[2], fresh_dice(seed)
    before = np.sum(1.0 - s.hidden)
    best, least = s.x.copy(), before
    for _ in range(moves):
        s.counters[0] = 0
        s.counters[1] += 1
        _removed(m, s, random)
        guided = _GUIDED * uniform(random) if uniform(random) < 0.5 else 0.0
        noise = _NOISE * uniform(random) if uniform(random) < 0.5 else 0.0
        complete = filled(size, guided, noise, m, s, random)
        after = np.sum(1.0 - s.hidden)
        if complete and after <= before - heat * math.log(uniform(random) + 1e-300):
            before = after
            if after < least:
                best[:], least = s.x, after
            continue
        for n in range(s.counters[0] - 1, -1, -1):
            change(s.undone[n, 0], -s.undone[n, 1], m, s)
    return best


@cache
def warm_up() -> None:
    """Compile every loop before a time limit starts; once per installation if it is cached."""
    user, pair, count = np.array([[0, 0, 1, 1, 2, 2], [0, 1, 0, 2, 1, 2], [1, 1, 1, 1, 1, 1]])
    hist = PairHistogram(user=user, pair=pair, count=count, users=3, pairs=3, query=np.arange(3))
    constraints = privacy_constraints(hist, PrivacyBudget(exp_epsilon=2, delta="0.5"))
    program = Program(constraints=constraints)
    m = problem(program, weights(program, 1))
    search(m, fresh_state(m, np.array([1, 0, 0])), 2, 0.0, 1)
