"""PrivacyConstraints: one row per user, and the exact test of whether counts obey every row."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Flags, Floats, Ints
from slogan.budget import PrivacyBudget
from slogan.histogram import PairHistogram

# Floating point decides only cases that are clear by a relative 1e-9, plus two roundings for each
# pair of a user, twice the largest error of their sum; closer cases are decided in integers.
_CLEAR = 1e-9
_CLEAR_FOR_EACH_PAIR = 2.0**-52
# Larger products are not formed: the case counts as a violation. At worst a pair loses a billionth
# of its clicks.
_MOST_BITS = 5_000_000


@dataclass(frozen=True, kw_only=True, repr=False)
class PrivacyConstraints:
    r"""For every user k: the product over its pairs of t_ijk^{x_ij} is at most `allowance`.

    .. math:: \sum_{(i,j) \in A_k} x_{ij} \log\frac{c_{ij}}{c_{ij} - c_{ijk}}
              \le b = \min\{\epsilon, \log\tfrac{1}{1-\delta}\}   \qquad [Hong12, eq. 4]

    The histogram must have no unique pair: one click of it would cost its owner infinity.
    """

    hist: PairHistogram
    allowance: Fraction
    limit: float

    def __post_init__(self) -> None:
        if self.hist.pairs and self.hist.holders.min() < 2:
            raise ValueError("unique pairs must be removed before constraints are formed")

    def under(self, allowance: Fraction) -> "PrivacyConstraints":
        """The constraints of the same log under another budget; its costs are computed once."""
        other = replace(self, allowance=allowance, limit=math.log1p(float(allowance - 1)))
        for name in ("cost", "costliest", "first_row"):
            vars(other)[name] = getattr(self, name)
        return other

    @cached_property
    def cost(self) -> sp.csr_array:
        """M: the charge of one released click of a pair (column) to a user (row), log t_ijk."""
        # The histogram's rows are in the matrix's own order: user by user, pairs ascending.
        return sp.csr_array(
            (self.cost_of_rows(slice(None)), self.hist.pair, self.first_row),
            shape=(self.hist.users, self.hist.pairs),
        )

    @cached_property
    def costliest(self) -> Ints:
        """For each pair, the row of the histogram whose user is charged most by one click."""
        most, costliest = np.zeros((2, self.hist.pairs), dtype=np.int64)
        np.maximum.at(most, self.hist.pair, self.hist.count)
        # Of several such rows the last one is kept.
        rows = np.flatnonzero(self.hist.count == most[self.hist.pair])
        np.maximum.at(costliest, self.hist.pair[rows], rows)
        return costliest

    @cached_property
    def upper(self) -> Ints:
        """u_ij: the most clicks of a pair that any solution can release, without other pairs."""
        row = self.costliest
        ratio = self.limit / self.cost_of_rows(row)
        upper = np.floor(ratio * (1 - _CLEAR)).astype(np.int64)
        # Where the ratio is next to an integer, that integer is tried exactly.
        nearest = np.rint(ratio)
        close = np.abs(ratio - nearest) <= _CLEAR * ratio
        tried = np.flatnonzero(close & (nearest > upper))
        clicks = nearest[tried].astype(np.int64)
        small, fits = self._fit_small(row[tried], clicks, np.arange(len(tried)))
        for n in np.flatnonzero(~small):
            fits[n] = self._fits({int(row[tried[n]]): int(clicks[n])})
        upper[tried[fits]] = clicks[fits]
        return upper

    def cost_of_rows(self, rows: Ints | slice) -> Floats:
        """Log t_ijk for some rows of the histogram."""
        total, own = self.hist.pair_total[self.hist.pair[rows]], self.hist.count[rows]
        # log1p is precise for a popular pair, whose share is near 0; the quotient for one near 1.
        cost = -np.log1p(-own / total)
        near_one = 2 * own > total
        cost[near_one] = np.log(total[near_one] / (total[near_one] - own[near_one]))
        return cost

    def charge(self, counts: Ints) -> Floats:
        """The charge of these counts to each user, in floating point."""
        return self.cost @ counts.astype(np.float64)

    def violated(self, counts: Ints) -> Ints:
        """The users whose constraint these counts break, decided exactly."""
        charge = self.charge(counts)
        suspects = np.flatnonzero(charge >= self.limit - self.doubt)
        first = self.first_row[suspects]
        rows = self.first_row[suspects + 1] - first
        begin = np.cumsum(rows) - rows
        row = np.repeat(first - begin, rows) + np.arange(int(rows.sum()))
        small, fits = self._fit_small(row, counts[self.hist.pair[row]], begin)
        for n in np.flatnonzero(~small):
            fits[n] = self.allows_user(int(suspects[n]), counts)
        return suspects[~fits]

    def allows(self, counts: Ints) -> bool:
        """Whether the counts are integers within every user's constraint, decided exactly."""
        within = counts.dtype.kind == "i" and bool(((counts >= 0) & (counts <= self.upper)).all())
        return within and len(self.violated(counts)) == 0

    def allows_user(self, user: int, counts: Ints) -> bool:
        """Whether one user's constraint holds; in integers where floating point cannot decide."""
        rows = np.arange(int(self.first_row[user]), int(self.first_row[user + 1]))
        clicks = counts[self.hist.pair[rows]]
        charge = float(self.cost_of_rows(rows) @ clicks)
        if abs(charge - self.limit) > self.doubt[user]:
            return charge < self.limit
        return self._fits({int(row): int(n) for row, n in zip(rows, clicks, strict=True) if n})

    @cached_property
    def first_row(self) -> Ints:
        """Where each user's rows begin in the histogram, with one entry past the end."""
        return np.searchsorted(self.hist.user, np.arange(self.hist.users + 1)).astype(np.int64)

    @cached_property
    def doubt(self) -> Floats:
        """For each user, the distance to its limit below which integers decide."""
        return self.limit * (_CLEAR + _CLEAR_FOR_EACH_PAIR * np.diff(self.first_row))

    def _fits(self, clicks_of_row: dict[int, int]) -> bool:
        """Π c_ij^x · q ≤ p · Π (c_ij − c_ijk)^x, with p/q the allowance."""
        total = {row: int(self.hist.pair_total[self.hist.pair[row]]) for row in clicks_of_row}
        bits = sum(n * total[row].bit_length() for row, n in clicks_of_row.items())
        if bits > _MOST_BITS:
            return False
        with_user = without_user = 1
        for row, clicks in clicks_of_row.items():
            with_user *= total[row] ** clicks
            without_user *= (total[row] - int(self.hist.count[row])) ** clicks
        allowed = self.allowance
        return with_user * allowed.denominator <= without_user * allowed.numerator

    def _fit_small(self, row: Ints, clicks: Ints, begin: Ints) -> tuple[Flags, Flags]:
        """`_fits` for many groups of rows at once, wherever 64-bit integers are wide enough.

        Args:
            row: Rows of the histogram, group after group.
            clicks: Released clicks of each row's pair.
            begin: Where each group begins; none is empty.

        Returns:
            Which groups have no product of more than 63 bits, and which of those fit.
        """
        p, q = self.allowance.numerator, self.allowance.denominator
        total = self.hist.pair_total[self.hist.pair[row]]
        # c < 2^e. As c ≥ 2, also e ≥ 2, so a power above 63 is too wide whatever it is.
        bits = np.minimum(clicks, 64) * np.frexp(total)[1]
        widest = max(p.bit_length(), q.bit_length())
        small = np.add.reduceat(bits, begin) + widest <= 63 if len(row) else np.zeros(0, np.bool_)
        if not small.any():
            return small, small.copy()
        # Rows of the other groups become 1: their products are not used.
        power = np.where(np.repeat(small, np.diff(begin, append=len(row))), clicks, 0)
        with_user = np.multiply.reduceat(total**power, begin)
        without_user = np.multiply.reduceat((total - self.hist.count[row]) ** power, begin)
        return small, small & (with_user * q <= without_user * p)

    def expected_exposed(self, counts: Ints) -> float:
        """Expected number of users with a released row: Σ_k 1 − Π (1 − c_ijk/c_ij)^x_ij."""
        return float(-np.expm1(-self.charge(counts)).sum())

    @property
    def size_bound(self) -> float:
        """m·b: no output is larger, because −log(1−p) ≥ p [docs/explanation/limits]."""
        return self.hist.users * self.limit


def privacy_constraints(hist: PairHistogram, budget: PrivacyBudget) -> PrivacyConstraints:
    """Turn the budget into one linear constraint per user [Hong12, Thm 1]."""
    return PrivacyConstraints(hist=hist, allowance=budget.allowance, limit=budget.per_user)
