"""Joint objectives by branch and bound (HiGHS), from the best counts of the parts."""

import math
import time
from dataclasses import replace
from fractions import Fraction

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.planning.mixture import Mixture, Part
from slogan.planning.plan import plan
from slogan.planning.program import Program, Solution, Status, status
from slogan.planning.solvers import Effort, Report
from slogan.planning.solvers._highs import CLICKS_OFF, Answer, Model, Running, model

# The quotient of slack and cost may be rounded slightly below a whole number of clicks.
_ROUNDED_DOWN = 1 + 1e-12
# The relative error of HiGHS's bounds where values are large.
_BOUND_OFF = 1e-9
# The least possible difference of two values, in such errors, for the bound to be rounded down.
_CLEAR = 10
# Seconds for branch and bound, even if the time is up.
_LEAST_TIME = 0.05


def solve(program: Program, mixture: Mixture, effort: Effort, *, solver: str) -> Solution:
    """The best counts found that reach every floor, and a proven bound on the weighted mean.

    Known counts, and these filled up with clicks that still fit, are the start. Every candidate
    passes the gate here, so that the proposal passes the real one unchanged.
    """
    deadline = time.monotonic() + effort.time_limit
    known = [*mixture.starts, *([] if effort.start is None else [effort.start])]
    known = [plan(counts, program.constraints).counts for counts in known]
    known += [_filled(program, counts) for counts in known]
    best = _best(mixture, known)
    bound, impossible = mixture.bound, False
    kept = np.flatnonzero(program.upper > 0)
    if len(kept) and (best is None or not _near(mixture.value(best), bound, effort.gap)):
        problem = _Problem(program, mixture, kept)
        left = max(_LEAST_TIME, deadline - time.monotonic())
        limited = replace(effort, time_limit=left, report=_scaled(effort.report, problem.scale))
        start = None if best is None else problem.completed(best)
        answer = Running(problem.model, limited, integer=True, start=start).wait()
        if answer.z is not None:
            found = np.zeros(program.pairs, dtype=np.int64)
            found[kept] = np.rint(answer.z[: len(kept)]).astype(np.int64)
            found = plan(found, program.constraints).counts
            known += [found, _filled(program, found)]
            best = _best(mixture, known)
        impossible = answer.words == "Infeasible"
        bound = min(bound, problem.bound(answer))
    if best is None:
        raise mixture.floor_error(known, impossible=impossible)
    value = float(mixture.value(best))
    # Counts at hand decide where HiGHS's bound is off by more than is allowed for.
    bound = max(bound, value)
    reached = status(value=value, bound=bound, allowed=effort.gap)
    return Solution(x=best.astype(np.float64), bound=bound, status=reached, solver=solver)


def _near(value: Fraction, bound: float, gap: float) -> bool:
    return status(value=float(value), bound=bound, allowed=gap) is Status.OPTIMAL


def _best(mixture: Mixture, known: list[Ints]) -> Ints | None:
    """The counts of the largest value among those that reach every floor."""
    allowed = [counts for counts in known if mixture.meets(counts)]
    return max(allowed, key=mixture.value) if allowed else None


def _scaled(report: Report, scale: float) -> Report:
    return lambda value, bound: report(value / scale, bound / scale)


def _filled(program: Program, counts: Ints) -> Ints:
    """The counts with clicks added as long as they fit: first new pairs, then any, cheapest first.

    Added clicks lower no part but the kept supports, whose value decides whether this is used.
    """
    columns = program.constraints.cost.tocsc()
    slack = program.constraints.limit - program.constraints.charge(counts)
    filled = counts.copy()
    total = np.asarray(columns.sum(axis=0)).ravel()
    cheapest = np.argsort(total, kind="stable")
    cheapest = cheapest[program.upper[cheapest] > 0]
    for most in (1, None):
        for pair in cheapest:
            room = int(program.upper[pair] if most is None else most) - int(filled[pair])
            if room <= 0:
                continue
            entries = slice(columns.indptr[pair], columns.indptr[pair + 1])
            users, cost = columns.indices[entries], columns.data[entries]
            fits = int(np.floor(np.min(slack[users] / cost) * _ROUNDED_DOWN))
            added = min(max(fits, 0), room)
            if added:
                filled[pair] += added
                slack[users] -= added * cost
    return plan(filled, program.constraints).counts


class _Problem:
    """The mixture over the kept pairs as a model of HiGHS.

    After the counts x come integers w, one for each pair that may get more clicks than a part
    counts, and v, one for each query with several clicks or pairs; then, for kept supports, the sum
    X and for each frequent pair the clicks o ≥ x − s·X above its support. A part is a row over
    these variables: Σ x, Σ w, Σ v, or Σ x_f − 2·o_f over the frequent pairs, because
    s·X − |x − s·X| = x − 2·max(0, x − s·X).
    """

    def __init__(self, program: Program, mixture: Mixture, kept: Ints) -> None:
        self._mixture, self._kept = mixture, kept
        self._upper = program.upper[kept].astype(np.float64)
        base = model(replace(program, mixture=None), kept=kept, upper=self._upper)
        weighted = [part for part in mixture.parts if part.weight]
        self.scale = max(1.0, *(float(part.optimum) for part in weighted))
        """The value is multiplied by it, so that HiGHS sees numbers of the size of clicks."""
        links, values, lowers, uppers = self._variables(base)
        cost = np.zeros(self._columns)
        for part, row in zip(mixture.parts, values, strict=True):
            if part.weight:
                cost -= self.scale * float(part.weight / part.optimum) * row
        limited = [self._range(part) for part in mixture.parts]
        rows = sp.csr_array(sp.vstack([*links, sp.csr_array(np.array(values))]))
        self.model = Model(
            rows=rows,
            row_lower=np.concatenate([*lowers, [low for low, _ in limited]]),
            row_upper=np.concatenate([*uppers, [high for _, high in limited]]),
            cost=cost,
            upper=np.concatenate([self._upper, self._most, np.full(self._columns_above, np.inf)]),
            pairs=len(kept),
            flags=self._flag_count,
        )

    def _range(self, part: Part) -> tuple[float, float]:
        """The floor of a part and its proven bound, both rounded outward."""
        least = float(self._mixture.least(part)) - CLICKS_OFF if part.at_least else -np.inf
        return least, part.bound + CLICKS_OFF

    def _variables(
        self, base: Model
    ) -> tuple[list[sp.csr_array], list[Floats], list[Floats], list[Floats]]:
        """All rows that tie the variables together, and each part as a vector over them."""
        mixture, n = self._mixture, len(self._kept)
        groups: list[sp.csr_array] = []
        vectors: list[list[tuple[int, Ints, float]]] = []
        flags = 0
        limits: list[Floats] = []
        for part in mixture.parts:
            if part.of_supports:
                vectors.append([])
                continue
            free, group, most = self._counted(part)
            vectors.append([(0, free, 1.0), (n + flags, np.arange(group.shape[0]), 1.0)])
            groups.append(group)
            limits.append(np.full(group.shape[0], most))
            flags += group.shape[0]
        self._flag_count = flags
        self._group = sp.csr_array(sp.vstack([sp.csr_array((0, n)), *groups]))
        self._most = np.concatenate([np.zeros(0), *limits])
        supports = any(part.of_supports for part in mixture.parts)
        here = np.isin(mixture.frequent, self._kept) if supports else np.zeros(0, dtype=np.bool_)
        self._column = np.searchsorted(self._kept, mixture.frequent[here] if supports else [])
        self._support = mixture.clicks[here] / mixture.size if supports else np.zeros(0)
        f, total = len(self._column), int(supports)
        self._columns, self._columns_above = n + flags + total + f, total + f
        links = [
            [base.rows, None, None, None],
            [-self._group, sp.eye_array(flags, format="csr"), None, None],
        ]
        lowers, uppers = (
            [base.row_lower, np.full(flags, -np.inf)],
            [base.row_upper, np.zeros(flags)],
        )
        if supports:
            pick = sp.csr_array((np.ones(f), (np.arange(f), self._column)), shape=(f, n))
            links += [
                [sp.csr_array(np.ones((1, n))), None, -sp.csr_array(np.ones((1, 1))), None],
                [pick, None, sp.csr_array(-self._support[:, None]), -sp.eye_array(f, format="csr")],
            ]
            lowers += [np.zeros(1), np.full(f, -np.inf)]
            uppers += [np.zeros(1), np.zeros(f)]
        widths = (n, flags, total, f)
        blocks = [
            sp.csr_array(
                sp.hstack(
                    [
                        sp.csr_array((height, width)) if block is None else block
                        for block, width in zip(row, widths, strict=True)
                    ]
                )
            )
            for row, height in zip(links, map(len, lowers), strict=True)
        ]
        values: list[Floats] = []
        for part, entries in zip(mixture.parts, vectors, strict=True):
            row = np.zeros(self._columns)
            for offset, where, amount in entries:
                row[offset + where] = amount
            if part.of_supports:
                row[self._column] = 1.0
                row[n + flags + total :] = -2.0
            values.append(row)
        return blocks, values, lowers, uppers

    def _counted(self, part: Part) -> tuple[Ints, sp.csr_array, float]:
        """Counts that a part counts as they are, groups of counts that it limits, and the limit."""
        n, upper = len(self._kept), self._upper
        everything = np.arange(n)
        if part.of_queries:
            queries, query = np.unique(self._mixture.query[self._kept], return_inverse=True)
            size = np.bincount(query, weights=upper, minlength=len(queries))
            limited, label = np.flatnonzero(size > 1), query
        elif part.most is None:
            return everything, sp.csr_array((0, n)), 0.0
        else:
            limited, label = np.flatnonzero(upper > part.most), everything
        whole = sp.csr_array((np.ones(n), (label, everything)), shape=(int(label.max()) + 1, n))
        most = 1.0 if part.of_queries else float(part.most or 0)
        return np.flatnonzero(~np.isin(label, limited)), whole[limited], most

    def completed(self, counts: Ints) -> Floats:
        """All variables of the model, from counts of all pairs."""
        x = counts[self._kept].astype(np.float64)
        total = x.sum()
        flags = np.minimum(np.asarray(self._group @ x, dtype=np.float64), self._most)
        above = np.maximum(0.0, x[self._column] - self._support * total)
        sums = [total] * (self._columns - len(x) - len(flags) - len(above))
        return np.concatenate([x, flags, sums, above])

    def bound(self, answer: Answer) -> float:
        """A bound on the value from HiGHS's, rounded outward."""
        if not np.isfinite(answer.objective_bound):
            return np.inf
        off = CLICKS_OFF + _BOUND_OFF * self.scale
        bound, step = (off - answer.objective_bound) / self.scale, self._mixture.step
        # Values are multiples of the step, so the bound is one too, where HiGHS can tell them.
        clear = float(step) * self.scale > _CLEAR * off
        return _rounded_up(math.floor(Fraction(bound) / step) * step) if clear else bound


def _rounded_up(number: Fraction) -> float:
    """The number, or the next one that a float can hold."""
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)
