"""One packing problem: a search raises the value while HiGHS lowers the bound.

Branch and bound on the counts starts at once, because it proves easy problems first. Meanwhile the
relaxation gives prices that guide the search, and a bound. Then the search raises the value round
by round while the bound falls: by branch and bound on a small problem, by a thread that continues
the relaxation on a large one. What one of them finds, the others start from, and each can be
stopped early without loss.
"""

import math
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.planning.solvers import Effort
from slogan.planning.solvers.packing import search
from slogan.planning.solvers.packing.presolve import Packing, linked
from slogan.planning.solvers.packing.proof import Proof, on_clicks, on_counts
from slogan.planning.solvers.packing.relaxation import Fractions, Relaxation
from slogan.planning.solvers.packing.steps import Late
from slogan.storage import limits

_SEED = 2012
_MOVES = 50_000
"""In a round, fewer where there are few pairs: as many for each pair, but never too few."""
_MOVES_FOR_EACH_PAIR, _FEWEST_MOVES = 4, 2_000
_FIRST_ROUNDS = 4
"""The search often reaches the bound in these rounds; HiGHS starts after them."""
_PATIENCE = 4_000
"""Rounds without a gain after which the search stops: some gain comes after more than 1,000."""
# The chance to keep a move that loses a click: 0 until some rounds have gained nothing. Then it
# falls from hot to cold, repeatedly.
_STUCK, _HOT, _COLD, _CYCLE = 4, 0.03, 0.0003, 40
# On a large log every round gains something. Once the last round's gain, kept up until the end,
# would be less than this share of the value, losses are kept there too, in one cycle to the end.
_SLOW, _WARM = 0.02, 0.003
# Only pairs below this price are inserted then: the others rarely stay. In the very last part of
# the time there is nothing left to cool.
_LIKELY, _NEARLY_OVER = 1.12, 0.99
# Pairs that cost more than the first at the relaxation's prices are not inserted. They are used to
# refill; among many pairs only those up to the second.
_WORTH_TRYING, _WORTH_HAVING = 1.3, 1.45
# From this many pairs on two searchers work at once, and the best parts of both are kept, until
# losses are kept. Branch and bound would not leave its root in useful time.
_LARGE = 20_000
# There the search starts with the prices after a stretch of steps gained less than this share.
_ROUGHLY = 0.1
# The relaxation may take this share of the time before the search begins, and continues in a thread
# beside it; on large logs it takes longer to find prices.
_FOR_PRICES, _FOR_LARGE_PRICES = 0.05, 0.25
# The search begins again with prices whose bound is lower by this share.
_OTHER_PRICES = 0.003
# The linear program of the counts may take this share; it is soon solved unless the log is large.
_FOR_COUNTS = 0.25
# Branch and bound on clicks starts from its cuts, so the relaxation ends there after this share.
_FOR_CUTS = 0.25
# Adding new rows takes about as long as adding the first ones, or slightly longer.
_AS_LONG_AGAIN = 1.5
# Branch and bound on counts and on clicks run side by side for this share of the time. Then only
# the one with the better bound remains, and it only if the relaxation has no better one.
_FOR_BOTH = 0.4
# Entries up to which branch and bound is tried: on the counts at once, on the clicks later. Clicks
# are tried only where they are at most this many times the entries of the counts: single clicks of
# pairs with hundreds of them hardly differ, and HiGHS would not finish its presolve.
_PLAIN, _MOST_TIMES = 200_000, 20
# It runs alone first, at most these seconds and this share of the time: it proves an easy problem
# soonest with a whole core. On few entries it has a larger share, so that an easy problem has
# the same answer every time.
_ALONE, _SHARE_ALONE = 2.0, 0.1
_TINY, _SHARE_IF_TINY = 2_000, 0.25
# Seconds: the time of HiGHS at the very end, and between checks when only it is still running.
_LEAST_TIME, _PAUSE = 0.01, 0.02


class Search:
    """The compiled search, round by round. The same rounds give the same counts on any machine."""

    def __init__(
        self, problem: Packing, relaxed: Relaxation | Fractions, start: Ints | None = None
    ) -> None:
        price, x = relaxed.price, relaxed.x
        large = problem.pairs >= _LARGE
        wanted = (price < (_WORTH_HAVING if large else np.inf)) | (x > 0)
        tried = np.flatnonzero(wanted if start is None else wanted | (start > 0))
        self._whole, self._problem = problem, problem.of_pairs(tried.astype(np.int64))
        self._matrix = self._problem.matrix._replace(price=price[tried])
        self._candidates = np.flatnonzero(price[tried] < _WORTH_TRYING).astype(np.int64)
        self._moves = min(_MOVES, max(_FEWEST_MOVES, _MOVES_FOR_EACH_PAIR * len(tried)))
        # Pairs that the relaxation releases come first, then those that are cheap at its prices.
        self._order = np.argsort(price[tried] - np.minimum(x[tried], 1.0) / 2, kind="stable")
        state = self._filled()
        # On dense logs most counts are large, and the relaxation rounded down is a good start.
        for begin in (np.floor(x).astype(np.int64), start):
            if begin is not None:
                joined = best_of_both(self._problem, state.x, self._filled(begin[tried]).x)
                search.move_to(joined, self._matrix, state)
                search.fill(self._order, self._matrix, state)
        self._x: Ints = state.x.copy()
        """The best counts so far, the earliest of equals."""
        self._states: list[Any] = [state]
        if large:
            self._states.append(search.fresh_state(self._x, self._matrix))
        self.rounds = 0
        self.seconds = 0.0
        """The duration of the last round, as an estimate for the next."""
        self._without_gain = 0 if len(self._candidates) else _PATIENCE
        self._gained = time.monotonic()
        self._cooled: int | None = None
        """Rounds since the search started to keep losses."""
        self._large, self._over = large, 0.0
        self._cooling: float | None = None
        """On a large log, the share of the time that was over when it started to keep losses."""

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
        """Whether many rounds have gained nothing."""
        return self._without_gain >= _PATIENCE

    @property
    def idle(self) -> float:
        """Seconds since the last gain."""
        return time.monotonic() - self._gained

    def round(self, over: float = 0.0) -> None:
        """Try some ten thousand moves; `x` is never worse afterwards.

        `over` is the share of the time that is over; the search of a large log depends on it.
        """
        begin, before = time.monotonic(), self.size
        if self._cooling is not None:
            part = (over - self._cooling) / (1.0 - self._cooling)
            self._x = self._walk(0, _WARM * (_COLD / _WARM) ** part)
        elif len(self._states) == 1:
            self._x = self._walk(0, self._losses)
        else:
            with ThreadPoolExecutor(limits.threads(2)) as pool:
                one, other = pool.map(self._walk, range(2), (self._losses,) * 2)
                joined = best_of_both(self._problem, one, other)
                self._x = best_of_both(self._problem, self._x, joined)
                list(pool.map(partial(search.move_to, self._x, self._matrix), self._states))
        self.rounds += 1
        self.seconds = time.monotonic() - begin
        if self.size > before:
            self._without_gain, self._gained = 0, time.monotonic()
        else:
            self._without_gain += 1
        if self._large:
            self._cool_when_slow(self.size - before, over)
        if self._cooled is not None:
            self._cooled += 1
        elif self._without_gain == _STUCK:
            self._cooled = 0

    def _cool_when_slow(self, gain: int, over: float) -> None:
        taken, self._over = over - self._over, over
        hopes = gain * (1.0 - over) / taken if taken > 0 else math.inf
        if self._cooling is None and hopes < _SLOW * self.size:
            self._cooling = min(over, _NEARLY_OVER)
            # Losses are kept by one searcher alone: the other core is for the bound.
            del self._states[1:]
            likely = self._candidates[self._matrix.price[self._candidates] < _LIKELY]
            self._candidates = likely if len(likely) else self._candidates

    @property
    def _losses(self) -> float:
        """The chance to keep a move that loses a click."""
        if self._cooled is None:
            return 0.0
        return _HOT * (_COLD / _HOT) ** (self._cooled % _CYCLE / (_CYCLE - 1))

    def adopt(self, x: Ints) -> None:
        """Continue from these counts if they release more than the best so far."""
        if x.sum() > self.size:
            self._continue_from(self._filled(x[self._problem.kept]).x)

    def round_down(self, x: Floats) -> None:
        """Fractional counts, rounded down and filled up, if they are better in some region."""
        rounded = self._filled(np.floor(x[self._problem.kept]).astype(np.int64)).x
        self._continue_from(best_of_both(self._problem, self._x, rounded))

    def _continue_from(self, x: Ints) -> None:
        if x.sum() > self.size:
            self._x, self._without_gain, self._gained = x.copy(), 0, time.monotonic()
            for state in self._states:
                search.move_to(self._x, self._matrix, state)

    def _filled(self, start: Ints | None = None) -> Any:
        """The state that releases what fits of the start, then of all other pairs, in order."""
        order, matrix = self._order, self._matrix
        state = search.fresh_state(np.zeros(len(order), np.int64), matrix)
        if start is not None:
            known = np.minimum(start, matrix.upper)
            search.fill(np.flatnonzero(known > 0), matrix._replace(upper=known), state)
        search.fill(order, matrix, state)
        return state

    def _walk(self, searcher: int, losses: float) -> Ints:
        """The best counts of a searcher; the known ones if it found no better."""
        seed = _SEED + 2 * self.rounds + searcher
        best, state = self._x.copy(), self._states[searcher]
        search.search(self._matrix, state, self._candidates, self._moves, seed, losses, best)
        return best


def best_of_both(problem: Packing, one: Ints, other: Ints) -> Ints:
    """Join two solutions: where they differ, region by region, take the one that releases more.

    Regions are the connected components of the pairs on which they differ, linked by common rows.
    No row has two regions, so each solution's counts in a region fit with either elsewhere.
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


class _Race:
    """The race of a search and of the `proofs` that run beside it."""

    def __init__(self, problem: Packing, effort: Effort, proofs: list[Proof]) -> None:
        self._problem, self._effort, self._proofs = problem, effort, proofs
        self._deadline = time.monotonic() + effort.time_limit
        self._bound = int(problem.upper.sum())
        entries = int(problem.upper @ np.diff(problem.columns.indptr))
        most = min(_PLAIN, _MOST_TIMES * problem.columns.nnz)
        self._used: Fractions | None = None
        """Those whose prices the search has, if they are an answer of the relaxation."""
        self._rounded: Fractions | None = None
        """Those that were last rounded for the search."""
        self._provable = self._bound < _LARGE and entries <= most
        self._decided = time.monotonic() + _FOR_BOTH * effort.time_limit

    def run(self) -> tuple[Ints, int]:
        """The best counts and the bound when value and bound meet, or time or patience ends."""
        relaxed, last = self._relaxed()
        # Prices are read before the thread starts to change them; then only `bound` and `answer`
        # may be read.
        self._used = self._rounded = relaxed.answer
        search = Search(self._problem, relaxed, self._effort.start)
        stopped, thread = threading.Event(), ThreadPoolExecutor(1)

        def late() -> bool:
            return stopped.is_set() or time.monotonic() > last

        self._lower(relaxed)
        tighter = None
        try:
            while not self._ends(search, tighter is None or tighter.done()):
                if tighter is None and time.monotonic() < last:
                    tighter = thread.submit(relaxed.tighten_on, late)
                if tighter is None or tighter.done():
                    self._prove_by_clicks(relaxed, search)
                self._drop_the_weaker(relaxed)
                if search.tired:
                    time.sleep(_PAUSE)
                else:
                    search.round(self._share_over)
                search = self._exchange(search, relaxed)
                self._lower(relaxed)
                self._effort.report(search.size, self._bound)
        finally:
            stopped.set()
            thread.shutdown()
            if tighter is not None:
                tighter.result()  # raises the thread's error, if any
        self._lower(relaxed)
        return self._best(search.x)

    def _relaxed(self) -> tuple[Relaxation, float]:
        """The relaxation for the start of the search, and when its continuation must stop."""
        begin = time.monotonic()
        relaxed = Relaxation(self._problem)
        ready = time.monotonic()
        large = self._problem.pairs >= _LARGE
        left = self._deadline - ready
        end = self._deadline - _AS_LONG_AGAIN * (ready - begin)
        if self._provable:
            end = ready + left * _FOR_CUTS

        def late_after(share: float) -> Late:
            first = ready + left * share

            def late() -> bool:
                self._effort.report(0, math.floor(relaxed.bound))
                return time.monotonic() > first or self._proven

            return late

        few = min(self._problem.pairs, len(self._problem.limit)) < _LARGE
        if few and relaxed.begin(late_after(_FOR_COUNTS)):
            return relaxed, end
        if large:
            relaxed.solve(late_after(_FOR_LARGE_PRICES), enough=_ROUGHLY)
        else:
            late = late_after(_FOR_PRICES)
            relaxed.tighten_on(late)
            if not late():
                return relaxed, -math.inf  # it has ended by itself
        return relaxed, end

    @property
    def _share_over(self) -> float:
        """The share of the time that is over."""
        return 1.0 - (self._deadline - time.monotonic()) / max(_LEAST_TIME, self._effort.time_limit)

    @property
    def _proven(self) -> bool:
        return any(proof.optimal for proof in self._proofs)

    def _ends(self, search: Search, relaxed: bool) -> bool:
        """Whether there is nothing more to gain, or no time for it."""
        effort, bound = self._effort, self._bound
        # The smallest size that is within the gap of the bound is enough.
        if search.size >= min(effort.goal, math.ceil(bound - effort.gap * max(1, bound))):
            return True
        if bound < effort.least:
            return True
        late = time.monotonic() + search.seconds > self._deadline
        resting = search.tired and relaxed and all(proof.finished for proof in self._proofs)
        return late or resting or self._proven or search.idle > effort.patience

    def _prove_by_clicks(self, relaxed: Relaxation, search: Search) -> None:
        """Start branch and bound on clicks."""
        if self._provable and search.rounds >= _FIRST_ROUNDS:
            self._provable = False
            left = max(_LEAST_TIME, self._deadline - time.monotonic())
            self._decided = time.monotonic() + _FOR_BOTH * left
            effort = replace(self._effort, time_limit=left)
            self._proofs.append(on_clicks(self._problem, relaxed, search.x, effort))

    def _drop_the_weaker(self, relaxed: Relaxation) -> None:
        """After a while, stop branch and bound that has a weaker bound than the others."""
        running = [proof for proof in self._proofs if not proof.cancelled]
        if not running or time.monotonic() < self._decided:
            return
        weaker = max(running, key=lambda proof: proof.bound)
        if len(running) > 1 or weaker.bound > relaxed.bound:
            weaker.cancel()  # what it has found until it ends is still used

    def _exchange(self, search: Search, relaxed: Relaxation) -> Search:
        """Let the search and branch and bound continue from the best counts of both.

        New fractions, rounded down and filled up, are another start of the search; where their
        bound is clearly lower, it continues with their prices.
        """
        for proof in self._proofs:
            search.adopt(proof.counts)
            proof.offer(search.x)
        answer, used = relaxed.answer, self._used
        if answer is None or answer is self._rounded:
            return search
        self._rounded = answer
        if self._problem.pairs < _LARGE and (
            used is None or answer.bound < (1 - _OTHER_PRICES) * used.bound
        ):
            self._used = answer
            return Search(self._problem, answer, search.x)
        search.round_down(answer.x)
        return search

    def _lower(self, relaxed: Relaxation) -> None:
        bounds = (relaxed.bound, *(proof.bound for proof in self._proofs))
        self._bound = min(self._bound, *map(math.floor, bounds))

    def _best(self, x: Ints) -> tuple[Ints, int]:
        """The counts of the search, or of branch and bound if they are better."""
        for counts, bound in [proof.stop() for proof in self._proofs]:
            x, self._bound = max(x, counts, key=np.sum), min(self._bound, bound)
        return x, self._bound


def run_race(problem: Packing, effort: Effort, start: Ints | None = None) -> tuple[Ints, int]:
    """The best counts in time, and a proven bound on the clicks of any; it ends when they meet.

    `start` holds counts of this problem; `effort.start` refers to the whole and is ignored.
    """
    effort, proofs = replace(effort, start=start), list[Proof]()
    entries = problem.columns.nnz
    try:
        if entries <= _PLAIN and problem.pairs < _LARGE:
            proofs = [on_counts(problem, effort)]
            begin = time.monotonic()
            share = _SHARE_IF_TINY if entries <= _TINY else _SHARE_ALONE
            if proofs[0].ends_within(min(_ALONE, share * effort.time_limit)):
                return proofs.pop().wait()
            left = effort.time_limit - (time.monotonic() - begin)
            effort = replace(effort, time_limit=max(_LEAST_TIME, left))
        return _Race(problem, effort, proofs).run()
    except BaseException:
        for proof in proofs:
            proof.abandon()
        raise
