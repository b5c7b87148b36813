"""PrivacyConstraints: one row per user, and the exact test of whether counts obey every row."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.histogram import PairHistogram
from slogan.privacy import PrivacyBudget

# Floating point decides only what is clear by a relative 1e-9, several times the largest error of a
# sum of a million logarithms; whatever is closer to the limit is decided in integers.
_CLEAR = 1e-9
# Products of more bits than this are not formed: what they would decide counts as a violation,
# which costs some pair a billionth of its clicks and nothing else.
_MOST_BITS = 5_000_000


@dataclass(frozen=True, kw_only=True)
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

    @cached_property
    def cost(self) -> sp.csr_array:
        """M: what one released click of a pair (column) charges a user (row), log t_ijk."""
        cost = self.cost_of_rows(np.arange(len(self.hist.user)))
        return sp.csr_array(
            (cost, (self.hist.user, self.hist.pair)), shape=(self.hist.users, self.hist.pairs)
        )

    @cached_property
    def dearest(self) -> Ints:
        """For each pair, the row of the histogram whose user one click of it charges most."""
        order = np.lexsort((self.hist.count, self.hist.pair))
        last = np.cumsum(self.hist.holders) - 1
        return order[last].astype(np.int64)

    @cached_property
    def upper(self) -> Ints:
        """u_ij: the most clicks of a pair that any solution can release, were it alone."""
        row = self.dearest
        ratio = self.limit / self.cost_of_rows(row)
        upper = np.floor(ratio * (1 - _CLEAR)).astype(np.int64)
        # Where the ratio is next to an integer, that integer is tried exactly.
        nearest = np.rint(ratio)
        for pair in np.flatnonzero(np.abs(ratio - nearest) <= _CLEAR * ratio):
            clicks = int(nearest[pair])
            if clicks > upper[pair] and self._fits({int(row[pair]): clicks}):
                upper[pair] = clicks
        return upper

    def cost_of_rows(self, rows: Ints) -> Floats:
        """Log t_ijk for some rows of the histogram."""
        total, own = self.hist.pair_total[self.hist.pair[rows]], self.hist.count[rows]
        # log1p is precise for a popular pair, whose share is near 0; the quotient for one near 1.
        return np.where(2 * own <= total, -np.log1p(-own / total), np.log(total / (total - own)))

    def charge(self, counts: Ints) -> Floats:
        """What releasing these counts charges each user, in floating point."""
        return self.cost @ counts.astype(np.float64)

    def violated(self, counts: Ints) -> Ints:
        """The users whose constraint these counts break, decided exactly."""
        charge = self.charge(counts)
        suspects = np.flatnonzero(charge >= self.limit * (1 - _CLEAR))
        broken = [user for user in suspects if not self.allows_user(int(user), counts)]
        return np.array(broken, dtype=np.int64)

    def allows(self, counts: Ints) -> bool:
        """Whether the counts are integers within every user's constraint, decided exactly."""
        within = counts.dtype.kind == "i" and bool(((counts >= 0) & (counts <= self.upper)).all())
        return within and len(self.violated(counts)) == 0

    def allows_user(self, user: int, counts: Ints) -> bool:
        """Whether one user's constraint holds; in integers wherever floating point is in doubt."""
        rows = np.arange(int(self.first_row[user]), int(self.first_row[user + 1]))
        clicks = counts[self.hist.pair[rows]]
        charge = float(self.cost_of_rows(rows) @ clicks)
        if abs(charge - self.limit) > _CLEAR * self.limit:
            return charge < self.limit
        return self._fits({int(row): int(n) for row, n in zip(rows, clicks, strict=True) if n})

    @cached_property
    def first_row(self) -> Ints:
        """Where each user's rows begin in the histogram, with one entry past the end."""
        return np.searchsorted(self.hist.user, np.arange(self.hist.users + 1)).astype(np.int64)

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

    def expected_exposed(self, counts: Ints) -> float:
        """Expected number of users of whom some row is shown: Σ_k 1 − Π (1 − c_ijk/c_ij)^x_ij."""
        return float(-np.expm1(-self.charge(counts)).sum())

    @property
    def size_bound(self) -> float:
        """m·b: no output is larger, because −log(1−p) ≥ p [docs/explanation/limits]."""
        return self.hist.users * self.limit


def privacy_constraints(hist: PairHistogram, budget: PrivacyBudget) -> PrivacyConstraints:
    """Turn the budget into one linear constraint per user [Hong12, Thm 1]."""
    return PrivacyConstraints(hist=hist, allowance=budget.allowance, limit=budget.per_user)
