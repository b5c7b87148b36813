"""Branch and bound beside the search: it proves bounds, and may find better counts."""

import math
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.planning.solvers import Effort, quiet
from slogan.planning.solvers._highs import CLICKS_OFF, Answer, Model, Running
from slogan.planning.solvers.packing.presolve import Packing, plain
from slogan.planning.solvers.packing.relaxation import Clicks, Relaxation, clicks


class Proof:
    """HiGHS running on a packing problem, with one variable for each pair or for each click."""

    def __init__(
        self,
        problem: Model,
        effort: Effort,
        *,
        single: Clicks | None = None,
        start: Ints | None,
    ) -> None:
        self._single, self._size = single, len(problem.cost)
        alone = replace(effort, patience=math.inf, report=quiet)
        self.cancelled = False
        begin = None if start is None else self._variables(start)
        self._running = Running(problem, alone, integer=True, start=begin)

    @property
    def bound(self) -> int:
        """The proven bound so far, a whole number; very large at first."""
        return _whole(self._running.bound)

    @property
    def finished(self) -> bool:
        """Whether it has ended by itself."""
        return self._running.finished

    @property
    def optimal(self) -> bool:
        """Whether it has proven its counts to be the best."""
        return self._running.optimal

    @property
    def counts(self) -> Ints:
        """The best counts so far; nothing is released at first."""
        return self._counts(self._running.best)

    def offer(self, x: Ints) -> None:
        """Propose counts to continue from, if they are better than those it has."""
        if x.sum() > self.counts.sum():
            self._running.offer(self._variables(x))

    def ends_within(self, seconds: float) -> bool:
        """Wait so long at most; whether it has ended by itself."""
        return self._running.ends_within(seconds)

    def wait(self) -> tuple[Ints, int]:
        """Let it end by itself; its best counts and its bound."""
        return self._result(self._running.wait())

    def cancel(self) -> None:
        """Tell it to end, without waiting for it."""
        self.cancelled = True
        self._running.cancel()

    def stop(self) -> tuple[Ints, int]:
        """End it; its best counts and its bound."""
        return self._result(self._running.stop())

    def abandon(self) -> None:
        """End it without an answer."""
        self._running.abandon()

    def _result(self, answer: Answer) -> tuple[Ints, int]:
        return self._counts(answer.z), _whole(-answer.objective_bound)

    def _variables(self, x: Ints) -> Floats:
        if self._single is None:
            return x.astype(np.float64)
        return (self._single.rank <= x[self._single.pair]).astype(np.float64)

    def _counts(self, z: Floats | None) -> Ints:
        whole = np.rint(np.zeros(self._size) if z is None else z)
        counts = whole if self._single is None else self._single.of_pairs(whole)
        return counts.astype(np.int64)


def on_counts(problem: Packing, effort: Effort) -> Proof:
    """Branch and bound on the counts: it proves easy problems within a second."""
    return Proof(plain(problem), effort, start=effort.start)


def on_clicks(problem: Packing, relaxed: Relaxation, x: Ints, effort: Effort) -> Proof:
    """Branch and bound on binary variables, one for each click, started from the counts x.

    HiGHS finds cliques among binary variables only; with integer ones it makes little progress on
    hard problems. The clicks of a pair are released in order.
    """
    single = clicks(problem, apart=int(problem.upper.max()))
    cuts, ordered = relaxed.cuts(single), single.ordered()
    limits = problem.limit, np.ones(cuts.shape[0]), np.zeros(ordered.shape[0])
    row_upper = np.concatenate(limits)
    binary = Model(
        rows=sp.csr_array(sp.vstack([single.rows, cuts, ordered], format="csr")),
        row_lower=np.full(len(row_upper), -np.inf),
        row_upper=row_upper,
        cost=np.full(single.count, -1.0),
        upper=np.ones(single.count),
        pairs=single.count,
    )
    return Proof(binary, effort, single=single, start=x)


def _whole(bound: float) -> int:
    """Round a bound of HiGHS down to an integer, allowing for its error; it may be infinite."""
    return math.floor(min(bound, 2.0**53) + CLICKS_OFF)
