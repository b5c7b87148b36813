"""The relaxation with cuts: prices for the search, and a bound that any prices prove.

Two pairs of which one click each fits may not fit with two clicks of one. Such conflicts are
visible only if "at least c clicks of pair j" is a variable, so clicks are split first. Cuts are
inequalities that integers obey and fractions violate: cliques over several users, rounded rows, and
what all whole counts within one user's limit obey (`hull`).
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Any

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.planning.solvers import Effort, quiet
from slogan.planning.solvers._highs import Model, Running
from slogan.planning.solvers.packing.hull import hull_cuts
from slogan.planning.solvers.packing.presolve import Packing, plain, scaled
from slogan.planning.solvers.packing.search import SCALE, TOLERANCE, Matrix
from slogan.planning.solvers.packing.steps import Late, Walk, lines, product
from slogan.storage.compilation import compiled

_APART = 3
"""The first click of a pair, the second, and all from this one on are separate variables."""
_TIE = 1e-9
"""Shares of a limit this close, relatively, are treated as equal, which weakens a cut."""
_EXCESS = 0.02
"""An inequality is worth adding if the fractions violate it by this much."""
_FOLDS = (2, 3, 4, 5, 6)
"""No more than `fold` pairs fit that each take more than a (fold+1)-th of the limit."""
_LONGEST, _REPEATS = 256, 3
"""The most members of a clique, and the most cliques that start from clicks in common."""
_AT_ONCE = 10_000
"""Starts of cliques between two checks of the time."""
_CHECK_EVERY = 40
_CHECKS = 5
"""Between two selections of the pairs in play."""
_MOST_STRETCHES = 20
_IN_PLAY = 1.25
"""Clicks that cost more than this at the current prices are left out of steps and cliques."""
_AT_REST = 5e-4
"""The bound has converged if a stretch gains less than this share of it."""
_SOON = 2e-3
"""With many entries rows are added when a stretch gains less than this: they gain more than it."""
_INTERIOR = 300_000
"""Entries up to which an interior-point method runs beside the steps; it often ends first."""
_FEW_PAIRS = 500
"""With as few pairs, any number of entries is soon solved by the interior-point method."""
_PAUSE = 0.02
"""Seconds between two checks of the time while only HiGHS is at work."""
_NO_PRICE = 1e-7
"""Added rows with a lower price are dropped before the next are added; they may return."""
_NO_GAIN = 1e-4
"""New rows that gain less are the last."""
_ROUND_UP = 1 + 1e-9
"""The bound is a sum of products in floating point; this is many times its rounding error."""


@dataclass(frozen=True, kw_only=True)
class Clicks:
    """Σ_c z_jc = x_j; z_jc is positive only if at least c clicks of pair j are released."""

    pair: Ints
    rank: Ints
    """c: 1 for a pair's first click; the last variable of a pair also covers all that follow."""
    upper: Ints
    columns: sp.csc_array
    limit: Floats
    of_counts: Matrix
    """The rows by pair."""

    @property
    def count(self) -> int:
        """The number of variables."""
        return len(self.pair)

    @cached_property
    def rows(self) -> sp.csr_array:
        """The cost of a click, by user."""
        return sp.csr_array(self.columns.tocsr())

    @cached_property
    def share(self) -> Floats:
        """The same as shares of the limit, entry by entry of `rows`."""
        return self.rows.data / np.repeat(self.limit, np.diff(self.rows.indptr))

    def conflicts(self, chosen: Ints) -> Matrix:
        """For the selected variables: the cost of c clicks of a pair, not of each click."""
        columns = sp.csc_array(self.columns[:, chosen])
        columns.data *= np.repeat(self.rank[chosen], np.diff(columns.indptr))
        return scaled(sp.csr_array(columns.tocsr()), columns, self.limit, self.upper[chosen])

    def ordered(self) -> sp.csr_array:
        """A later click needs the one before: z_c / upper_c − z_(c−1) ≤ 0."""
        later = np.flatnonzero(self.rank > 1)
        n = np.arange(len(later))
        value = np.concatenate([1.0 / self.upper[later], -np.ones(len(later))])
        places = np.concatenate([n, n]), np.concatenate([later, later - 1])
        return sp.csr_array((value, places), shape=(len(later), self.count))

    def exclusive(self) -> sp.csr_array:
        """For each row one clique: Σ z / upper ≤ 1 over clicks that take more than half the limit.

        It contains, for each pair, the first such click; two pairs with that many clicks do not fit
        together.
        """
        click = self.rows.indices
        row = np.repeat(np.arange(len(self.limit)), np.diff(self.rows.indptr))
        needed, half = self.rank[click] * self.share, 0.5 * (1 + _TIE)
        chosen = np.flatnonzero((needed > half) & (needed - self.share <= half))
        chosen = chosen[np.bincount(row[chosen], minlength=len(self.limit))[row[chosen]] > 1]
        which, clique = np.unique(row[chosen], return_inverse=True)
        value = 1.0 / self.upper[click[chosen]]
        return sp.csr_array((value, (clique, click[chosen])), shape=(len(which), self.count))

    def of_pairs(self, z: Floats) -> Floats:
        """The counts x of variables z."""
        return np.bincount(self.pair, weights=z).astype(np.float64)


def clicks(problem: Packing, *, apart: int = _APART) -> Clicks:
    """Split each pair into its first clicks, and the one numbered `apart` with all that follow."""
    parts = np.minimum(problem.upper, apart)
    pair = np.repeat(np.arange(problem.pairs), parts)
    rank = np.arange(len(pair)) - np.repeat(np.cumsum(parts) - parts, parts) + 1
    upper = np.where(rank == apart, problem.upper[pair] - apart + 1, 1)
    columns = sp.csc_array(problem.columns[:, pair])
    return Clicks(
        pair=pair,
        rank=rank,
        upper=upper,
        columns=columns,
        limit=problem.limit,
        of_counts=problem.matrix,
    )


def violated(problem: Clicks, z: Floats, eligible: Ints, late: Late) -> sp.csr_array:
    """Rows r ≥ 0 with r·z > 1 although r·z ≤ 1 for all feasible integers; fewer of them if late.

    Cliques are searched among the eligible clicks.
    """
    cliques = _cliques(problem, z, eligible, late)
    rounded = [_rounded(problem, z, fold) for fold in _FOLDS if not late()]
    blocks = [sp.csr_array((0, len(z))), *cliques, *rounded, *_hulls(problem, z, late)]
    return sp.csr_array(sp.vstack(blocks, format="csr"))


def _hulls(problem: Clicks, z: Floats, late: Late) -> list[sp.csr_array]:
    """What whole counts within the limit of one user obey, user by user."""
    first = np.append(np.flatnonzero(problem.rank == 1), len(z))
    return list(takewhile(lambda _: not late(), hull_cuts(problem.of_counts, first, z)))


def _rounded(problem: Clicks, z: Floats, fold: int) -> sp.csr_array:
    """Each row with its shares a of the limit replaced by ⌊(fold+1)·a⌋ / fold.

    This is a dual feasible function (Fekete and Schepers): shares that sum to at most 1 still do,
    if those with integer (fold+1)·a are unchanged. Nearly integer counts as integer.
    """
    rows, share = problem.rows, problem.share
    times = (fold + 1) * share
    whole = np.abs(times - np.rint(times)) < _TIE
    value = np.where(whole, share, np.floor(times) / fold)
    rounded = sp.csr_array((value, rows.indices, rows.indptr), shape=rows.shape)
    chosen = sp.csr_array(rounded[np.flatnonzero(np.asarray(rounded @ z) > 1 + _EXCESS)])
    chosen.eliminate_zeros()
    return chosen


def _cliques(problem: Clicks, z: Floats, eligible: Ints, late: Late) -> list[sp.csr_array]:
    """Clicks of different pairs of which no two fit together: Σ z / upper ≤ 1."""
    matrix, pair = problem.conflicts(eligible), problem.pair[eligible]
    part = z[eligible] / matrix.upper
    order = np.argsort(-part, kind="stable")
    order = order[part[order] > _EXCESS]
    used = np.zeros(len(part), np.int64)
    cliques: list[sp.csr_array] = []
    for begin in range(0, len(order), _AT_ONCE):
        if late():
            break
        start, click = _grow(matrix, pair, part, order[begin : begin + _AT_ONCE], used)
        rows = (1.0 / matrix.upper[click], eligible[click], start)
        cliques.append(sp.csr_array(rows, shape=(len(start) - 1, len(z))))
    return cliques


@compiled
def _neighbours(j: Any, m: Any, pair: Any, seen: Any, stamp: Any, near: Any) -> Any:
    """Stamp the clicks of other pairs that do not fit together with click j; list each once."""
    n = 0
    for e in range(m.column[j], m.column[j + 1]):
        k = m.row[e]
        # Rows are sorted by cost: from the highest down, until both fit.
        f = m.start[k + 1] - 1
        while f >= m.start[k] and m.row_cost[f] + m.cost[e] > SCALE + TOLERANCE:
            i = m.pair[f]
            if seen[i] != stamp and pair[i] != pair[j]:
                seen[i] = stamp
                near[n] = i
                n += 1
            f -= 1
    return near[:n]


@compiled
def _grow(m: Any, pair: Any, part: Any, order: Any, used: Any) -> Any:
    """Cliques whose parts sum to clearly more than 1, as the starts and members of rows.

    From each click of `order`, take the common neighbour with the largest part until there is none.
    A click that is `used` often enough starts no more cliques.
    """
    seen, near = np.zeros(len(part), np.int64), np.empty((2, len(part)), np.int64)
    start, members = [np.int64(0)], [np.int64(0) for _ in range(0)]
    stamp = 0
    for j in order:
        if used[j] >= _REPEATS:
            continue
        stamp += 1
        common = _neighbours(j, m, pair, seen, stamp, near[0])
        clique, total = [j], part[j]
        while len(common) > 0 and len(clique) < _LONGEST:
            chosen = common[np.argmax(part[common])]
            clique.append(chosen)
            total += part[chosen]
            stamp += 1
            _neighbours(chosen, m, pair, seen, stamp, near[1])
            common = common[seen[common] == stamp]
        if total > 1 + _EXCESS:
            for i in clique:
                members.append(i)
                used[i] += 1
            start.append(np.int64(len(members)))
    return np.array(start), np.array(members)


@dataclass(frozen=True, kw_only=True)
class Fractions:
    """Fractional counts, the price of each pair with them, and the bound that the prices prove."""

    x: Floats
    price: Floats
    bound: float


class Relaxation:
    """max Σx, Ax ≤ limit, 0 ≤ x ≤ upper by a `Walk`; rows are added when they are violated.

    It may be stopped at any time: for any prices y ≥ 0 of the rows,
    limit·y + Σ upper·max(0, 1 − Aᵀy) bounds the value of any integer counts (weak duality).
    """

    def __init__(self, problem: Packing) -> None:
        self._problem, self._clicks = problem, clicks(problem)
        self.upper = self._clicks.upper.astype(np.float64)
        self._z = np.zeros(self._clicks.count)
        # Steps over all clicks take long. First clicks have most of the value: they set the prices.
        self._price = np.where(self._clicks.rank == 1, 0.0, np.inf)
        self.bound = float(self.upper.sum())
        """No integer solution releases more."""
        ordered, cliques = self._clicks.ordered(), self._clicks.exclusive()
        self._own = len(problem.limit) + ordered.shape[0]
        self._y = np.zeros(0)
        most = problem.limit, np.zeros(ordered.shape[0]), np.ones(cliques.shape[0])
        self._stack((self._clicks.rows, ordered, cliques), most)
        self.at_rest = False
        """Whether the bound has converged."""
        self.answer: Fractions | None = None
        """The last solution at which the method stopped; other threads may read it."""

    def _stack(self, rows: tuple[sp.csr_array, ...], limits: tuple[Floats, ...]) -> None:
        self.rows = sp.csr_array(sp.vstack(rows, format="csr"))
        self._columns = sp.csr_array(self.rows.T)
        self.limit = np.concatenate(limits)
        self._y = np.concatenate([self._y, np.zeros(len(self.limit) - len(self._y))])

    def _publish(self) -> None:
        self.answer = Fractions(x=self.x, price=self.price, bound=self.bound)

    @property
    def x(self) -> Floats:
        """Fractional counts, nearly optimal, nearly feasible."""
        return self._clicks.of_pairs(self._z)

    @property
    def price(self) -> Floats:
        """The cost of a click of each pair at the current prices; its value is 1."""
        y = self._y.copy()
        y[len(self._clicks.limit) : self._own] = 0.0  # the prices of the order of clicks
        return product(lines(self._columns), y)[self._clicks.rank == 1]

    def cuts(self, single: Clicks) -> sp.csr_array:
        """The added rows that have a price, over variables of one click each; the limit is 1."""
        priced = self._own + np.flatnonzero(self._y[self._own :] > 0)
        first = np.flatnonzero(self._clicks.rank == 1)
        place = first[single.pair] + np.minimum(single.rank, _APART) - 1
        return sp.csr_array(self.rows[priced].tocsc()[:, place].tocsr())

    def tighten(self, late: Late) -> bool:
        """Add rows that the fractional counts violate; False if there are none, or no time.

        Rows that were added before and have no price are dropped.
        """
        eligible = np.flatnonzero((self._z > 0) | (self._price < _IN_PLAY))
        rows = violated(self._clicks, self._z, eligible, late)
        if rows.shape[0] == 0 or late():
            return False
        priced = np.flatnonzero(self._y[self._own :] > _NO_PRICE)
        kept = np.concatenate([np.arange(self._own), self._own + priced])
        self._y = self._y[kept]
        self._stack((self.rows[kept], rows), (self.limit[kept], np.ones(rows.shape[0])))
        return True

    def solve(self, late: Late, *, enough: float = _AT_REST) -> None:
        """Step until it is late, or a stretch gains less than `enough`, a share of the bound.

        An interior-point method runs beside the steps where it may be done before them.
        """
        if not 0 < self.rows.nnz <= _INTERIOR or enough > _AT_REST:
            return self._step(late, enough)
        beside = self._beside()
        try:
            self._step(lambda: late() or beside.finished, enough)
        finally:
            answer = beside.stop()
        if answer.z is not None and answer.prices is not None:
            self._adopt(answer.z, np.maximum(0.0, -answer.prices))
        return None

    def begin(self, late: Late) -> bool:
        """Start from an optimal vertex of the linear program of the counts, if it is soon found.

        It has a third of the entries, so an interior-point method finds it in a moment. On dense
        logs, where splitting clicks gains little, its bound is nearly as good.
        """
        problem = self._problem
        many = problem.columns.nnz > _INTERIOR and problem.pairs > _FEW_PAIRS
        if problem.columns.nnz == 0 or many:
            return False
        alone = Effort(time_limit=np.inf)
        running = Running(plain(problem), alone, integer=False, method="ipm")
        while not running.ends_within(_PAUSE):
            if late():
                running.abandon()
                return False
        answer = running.wait()
        if answer.z is None or answer.prices is None:
            return False
        y = np.zeros(len(self.limit))
        y[: len(problem.limit)] = np.maximum(0.0, -answer.prices)
        above = np.clip(answer.z, 0.0, problem.upper)[self._clicks.pair] - (self._clicks.rank - 1)
        self._adopt(np.clip(above, 0.0, self.upper), y)
        self.at_rest = False
        return self.answer is not None

    def _beside(self) -> Running:
        program = Model(
            rows=self.rows,
            row_lower=np.full(len(self.limit), -np.inf),
            row_upper=self.limit,
            cost=np.full(len(self.upper), -1.0),
            upper=self.upper,
            pairs=len(self.upper),
        )
        effort = Effort(report=quiet, time_limit=np.inf)
        return Running(program, effort, integer=False, method="ipm")

    def _adopt(self, z: Floats, y: Floats) -> None:
        """Take counts and prices from elsewhere if they prove as much."""
        bound, price = self._proven(y)
        if bound <= self.bound:
            self.bound, self._price, self._y, self._z = bound, price, y, z
            self.at_rest = True
            self._publish()

    def _step(self, late: Late, enough: float) -> None:
        here, self.at_rest = np.inf, False
        for stretch in range(_MOST_STRETCHES):
            before = here
            # Few pairs are worth their price; the others do not move; the bound includes them all.
            active = np.flatnonzero((self._price < _IN_PLAY) | (self._z > 0))
            walk = Walk(self._columns[active], self.limit, self.upper[active])
            walk.begin(self._z[active], self._y)
            for _ in range(min(_CHECKS, 1 + stretch)):
                on_time = walk.on(_CHECK_EVERY, late)
                (z, y), (mean_z, mean_y) = walk.places()
                (bound, price), mean = self._proven(y), self._proven(mean_y)
                if mean[0] < bound:
                    (bound, price), z, y = mean, mean_z, mean_y
                    walk.begin(z, y)
                if bound < here:
                    here, self.bound = bound, min(bound, self.bound)
                    self._price, self._y = price, y
                    self._z = np.zeros_like(self._z)
                    self._z[active] = z
                if not on_time:
                    return
            if stretch > (2 if enough <= _AT_REST else 0) and before - here < enough * here:
                break
        self.at_rest = enough <= _AT_REST
        if self.at_rest:
            self._publish()

    def tighten_on(self, late: Late) -> None:
        """Add rows and continue until that no longer helps or it is late."""
        enough = _AT_REST if self.rows.nnz <= _INTERIOR else _SOON
        if not self.at_rest:
            self.solve(late, enough=enough)
        while self.tighten(late):
            before = self.bound
            self.solve(late, enough=enough)
            if before - self.bound <= _NO_GAIN * self.bound:
                if enough <= _AT_REST:
                    break
                enough = _AT_REST  # the new rows may only need more steps

    def _proven(self, y: Floats) -> tuple[float, Floats]:
        price = product(lines(self._columns), y)
        bound = float(self.limit @ y + self.upper @ np.maximum(0.0, 1.0 - price))
        return bound * _ROUND_UP, price
