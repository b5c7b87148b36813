"""One packing problem: a search pushes the value up while HiGHS pushes the bound down.

The relaxation comes first: its prices guide the search, and its bound is the first. Then the search
raises the value round by round while the bound falls: by branch and bound on a small problem, by a
thread that goes on with the relaxation on a large one. Whoever is stopped early has lost nothing.
"""

import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Ints
from slogan.planning.solvers import Effort, Report, quiet
from slogan.planning.solvers._highs import CLICKS_OFF, Model, Running
from slogan.planning.solvers.packing import search
from slogan.planning.solvers.packing.presolve import Packing, linked
from slogan.planning.solvers.packing.relaxation import Relaxation, clicks

_SEED = 2012
_MOVES = 50_000
"""In a round, fewer where there are few pairs: as many for each pair, but never too few."""
_MOVES_FOR_EACH_PAIR, _FEWEST_MOVES = 4, 2_000
_FIRST_ROUNDS = 4
"""The search often meets the bound in these; only then is HiGHS set to work."""
_PATIENCE = 1_000
"""Rounds without a gain after which the search has said what it has to say."""
# How often a move is kept that loses a click: never, until some rounds have gained nothing. Then
# it cools down from often to hardly ever, over and over.
_STUCK, _HOT, _COLD, _CYCLE = 4, 0.03, 0.0003, 40
# A pair dearer than the first at the relaxation's prices is not worth a try. Dearer ones serve to
# refill, among many pairs those up to the second.
_WORTH_TRYING, _WORTH_HAVING = 1.3, 1.45
# From this many pairs on two searchers work at once, the best parts of both are kept, and the
# relaxation goes on in a thread. Branch and bound would not come past its root in useful time.
_LARGE = 20_000
# There the search begins with prices from when a stretch of steps gained less than this share.
_ROUGHLY = 0.1
# The relaxation may take this share of the time before the search begins.
_FOR_PRICES = 0.25
# To take in new rows takes about as long as to take in the first ones, or a little longer.
_AS_LONG_AGAIN = 1.5
# Entries up to which branch and bound is set to work at once on the counts as they are.
_PLAIN = 1_000_000
# Seconds: what HiGHS gets at the very end, and between looks when only it is still at work.
_LEAST_TIME, _PAUSE = 0.01, 0.02


def run_race(problem: Packing, effort: Effort, start: Ints | None = None) -> tuple[Ints, int]:
    """The best counts in time, and a proven bound on the clicks of any; it ends when they meet.

    `start` holds counts of this problem; `effort.start` speaks of the whole and is not looked at.
    """
    deadline = time.monotonic() + effort.time_limit
    proofs = [_plain(problem, effort)] if problem.columns.nnz <= _PLAIN else []
    try:
        return _run(problem, effort, start, deadline, proofs)
    except BaseException:
        for proof in proofs:
            proof.abandon()
        raise


def _run(
    problem: Packing, effort: Effort, start: Ints | None, deadline: float, proofs: list[Running]
) -> tuple[Ints, int]:
    relaxed, last = _relaxed(problem, effort.report, deadline, lambda: any(p.optimal for p in proofs))
    # Prices are taken before the thread begins to change them; then only the bound may be read.
    search = Search(problem, relaxed, start)
    stopped, thread = threading.Event(), ThreadPoolExecutor(1)

    def late() -> bool:
        return stopped.is_set() or time.monotonic() > last

    tighter = thread.submit(relaxed.tighten_on, late) if problem.pairs >= _LARGE else None
    provable = int(problem.upper.sum()) < _LARGE
    try:
        bound = math.floor(relaxed.bound)
        # The smallest size that is within the gap of the bound is enough.
        while search.size < min(effort.goal, math.ceil(bound - effort.gap * max(1, bound))):
            done = (tighter is None or tighter.done()) and all(p.finished for p in proofs)
            if time.monotonic() + search.seconds > deadline or (search.tired and done):
                break
            if any(proof.optimal for proof in proofs):
                break
            if provable and search.rounds == _FIRST_ROUNDS:
                provable, left = False, max(_LEAST_TIME, deadline - time.monotonic())
                asked = replace(effort, time_limit=left, report=quiet)
                proofs.append(_proof(problem, relaxed, search.x, asked))
            if search.tired:
                time.sleep(_PAUSE)
            else:
                search.round()
            bounds = [relaxed.bound, *(_whole(proof.bound) for proof in proofs)]
            bound = min(bound, *map(math.floor, bounds))
            effort.report(search.size, bound)
    finally:
        stopped.set()
        thread.shutdown()
        if tighter is not None:
            tighter.result()  # what went wrong there is raised here
    return _best(problem, search.x, proofs, min(bound, math.floor(relaxed.bound)))


def _relaxed(
    problem: Packing, report: Report, deadline: float, proven: Callable[[], bool]
) -> tuple[Relaxation, float]:
    """The relaxation as the search begins, and when to stop going on with it on large problems."""
    begin = time.monotonic()
    relaxed = Relaxation(problem)
    ready = time.monotonic()
    first = ready + (deadline - ready) * _FOR_PRICES

    def late() -> bool:
        report(0, math.floor(relaxed.bound))
        return time.monotonic() > first or proven()

    if problem.pairs < _LARGE:
        relaxed.tighten_on(late)
    else:
        relaxed.solve(late, enough=_ROUGHLY)
    return relaxed, deadline - _AS_LONG_AGAIN * (ready - begin)


def _best(problem: Packing, x: Ints, proofs: list[Running], bound: int) -> tuple[Ints, int]:
    """What the search found, unless branch and bound found more."""
    for answer in [proof.stop() for proof in proofs]:
        bound = min(bound, _whole(-answer.objective_bound))
        if answer.z is not None:
            other = np.rint(answer.z)
            if len(other) > problem.pairs:  # a variable for each click
                pair = np.repeat(np.arange(problem.pairs), problem.upper)
                other = np.bincount(pair, weights=other, minlength=problem.pairs)
            x = max(x, other.astype(np.int64), key=np.sum)
    return x, bound


def _plain(problem: Packing, effort: Effort) -> Running:
    """Branch and bound on the counts as they are: the first to prove easy problems."""
    asked = Model(
        rows=problem.rows,
        row_lower=np.full(len(problem.limit), -np.inf),
        row_upper=problem.limit,
        cost=np.full(problem.pairs, -1.0),
        upper=problem.upper.astype(np.float64),
        pairs=problem.pairs,
    )
    return Running(asked, replace(effort, report=quiet), integer=True)


def _whole(bound: float) -> int:
    """Sizes are integers, so bounds of HiGHS are, up to its error; there may be none yet."""
    return math.floor(min(bound, 2.0**53) + CLICKS_OFF)


class Search:
    """The compiled search, round by round. The same rounds give the same counts on any machine."""

    def __init__(self, problem: Packing, relaxed: Relaxation, start: Ints | None = None) -> None:
        price, x = relaxed.price, relaxed.x
        large = problem.pairs >= _LARGE
        wanted = (price < (_WORTH_HAVING if large else np.inf)) | (x > 0)
        tried = np.flatnonzero(wanted if start is None else wanted | (start > 0))
        self._whole, self._problem = problem, problem.of_pairs(tried.astype(np.int64))
        self._matrix = self._problem.matrix._replace(price=price[tried])
        self._candidates = np.flatnonzero(price[tried] < _WORTH_TRYING).astype(np.int64)
        self._moves = min(_MOVES, max(_FEWEST_MOVES, _MOVES_FOR_EACH_PAIR * len(tried)))
        # What the relaxation releases comes first, then what is cheap at its prices.
        order = np.argsort(price[tried] - np.minimum(x[tried], 1.0) / 2, kind="stable")
        state = self._filled(order)
        if start is not None:
            begun = self._filled(order, start[tried])
            search.move_to(best_of_both(self._problem, state.x, begun.x), self._matrix, state)
            search.fill(order, self._matrix, state)
        self._x: Ints = state.x.copy()
        """The first counts that were as many as the best."""
        self._states: list[Any] = [state]
        if large:
            self._states.append(search.fresh_state(self._x, self._matrix))
        self.rounds = 0
        self.seconds = 0.0
        """What the last round took; the next will take about as long."""
        self._without_gain = 0 if len(self._candidates) else _PATIENCE
        self._cooled: int | None = None
        """Rounds since the search began to keep losses."""

    @property
    def x(self) -> Ints:
        """The best counts found so far."""
        return self._problem.expand(self._x, self._whole.pairs)

    @property
    def size(self) -> int:
        """Clicks released so far."""
        return int(self._x.sum())

    @property
    def tired(self) -> bool:
        """Whether more rounds promise nothing."""
        return self._without_gain >= _PATIENCE

    def round(self) -> None:
        """Try some ten thousand moves; `x` is never worse afterwards."""
        begin, before = time.monotonic(), self.size
        if len(self._states) == 1:
            self._x = self._walk(0)
        else:
            with ThreadPoolExecutor(2) as pool:
                one, other = pool.map(self._walk, range(2))
                found = best_of_both(self._problem, one, other)
                self._x = best_of_both(self._problem, self._x, found)
                list(pool.map(partial(search.move_to, self._x, self._matrix), self._states))
        self.rounds += 1
        self.seconds = time.monotonic() - begin
        self._without_gain = 0 if self.size > before else self._without_gain + 1
        if self._cooled is not None:
            self._cooled += 1
        elif self._without_gain == _STUCK:
            self._cooled = 0

    def _filled(self, order: Ints, start: Ints | None = None) -> Any:
        """The state with what fits of the start released, then of everything else, in order."""
        matrix = self._matrix
        state = search.fresh_state(np.zeros(len(order), np.int64), matrix)
        if start is not None:
            known = np.minimum(start, matrix.upper)
            search.fill(np.flatnonzero(known > 0), matrix._replace(upper=known), state)
        search.fill(order, matrix, state)
        return state

    def _walk(self, searcher: int) -> Ints:
        """The best counts a searcher came by; those known before, if it found none."""
        seed, losses = _SEED + 2 * self.rounds + searcher, 0.0
        if self._cooled is not None:
            losses = _HOT * (_COLD / _HOT) ** (self._cooled % _CYCLE / (_CYCLE - 1))
        best, state = self._x.copy(), self._states[searcher]
        search.search(self._matrix, state, self._candidates, self._moves, seed, losses, best)
        return best


def best_of_both(problem: Packing, one: Ints, other: Ints) -> Ints:
    """Join two solutions: where they differ, region by region, take the one that releases more.

    Regions are the connected parts of the pairs on which they differ, linked by common rows. No
    row sees two regions, so what each solution does in a region fits with either elsewhere.
    """
    differ = np.flatnonzero(one != other)
    columns = sp.csc_array(problem.columns[:, differ])
    rows, row = np.unique(columns.indices, return_inverse=True)
    touched = sp.csc_array((columns.data, row, columns.indptr), shape=(len(rows), len(differ)))
    _, region = linked(touched)
    gain = np.bincount(region, weights=(other - one)[differ])
    better = differ[gain[region] > 0]
    joined = one.copy()
    joined[better] = other[better]
    return joined


def _proof(problem: Packing, relaxed: Relaxation, x: Ints, effort: Effort) -> Running:
    """Branch and bound on binary variables, one for each click, begun with the counts x.

    HiGHS finds cliques among binary variables only; with integer ones it is lost.
    The clicks of a pair are released in order.
    """
    single = clicks(problem, apart=int(problem.upper.max()))
    cuts, ordered = relaxed.cuts(single), single.ordered()
    limits = problem.limit, np.ones(cuts.shape[0]), np.zeros(ordered.shape[0])
    row_upper = np.concatenate(limits)
    asked = Model(
        rows=sp.csr_array(sp.vstack([single.rows, cuts, ordered], format="csr")),
        row_lower=np.full(len(row_upper), -np.inf),
        row_upper=row_upper,
        cost=np.full(single.count, -1.0),
        upper=np.ones(single.count),
        pairs=single.count,
    )
    start = (single.rank <= x[single.pair]).astype(np.float64)
    return Running(asked, effort, integer=True, start=start)
