"""The proven bound: an integer program below the expected number of exposed users.

Every user's exposure is replaced by a linear function below it, or by a piecewise linear one that
touches it at chosen charges. What minimises the sum is where the pieces should be finer.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Floats, Ints
from slogan.planning.program import Program
from slogan.planning.solvers._highs import CLICKS_OFF, Model, model

# The error of HiGHS's bounds for each required click: twice its tolerance of reduced costs.
_OFF_PER_CLICK = 2e-7
# Kinds of users that get a further piece: as many as make up half of the distance, within limits.
_FEWEST_REFINED, _MOST_REFINED = 40, 300
# Two charges nearer than this are one.
_APART = 1e-7


def exposure_of(charge: Floats) -> Floats:
    """φ(c) = 1 − e^−c: the probability that a user with this charge has a released row."""
    return -np.expm1(-charge)


@dataclass
class Below:
    """A function of the counts that is nowhere above the expected number of exposed users."""

    program: Program
    weight: sp.csr_array
    """One linear function for each user (rows) of the counts (columns)."""
    value: int
    """The clicks that are released."""
    pieces: dict[int, list[float]] = field(default_factory=dict[int, list[float]])
    """For some kinds of users, the charges where it is exact; between them it is linear."""

    def __post_init__(self) -> None:
        program = self.program
        self._kept = np.flatnonzero(program.upper > 0)
        cost = sp.csr_array(program.constraints.cost.tocsc()[:, self._kept].tocsr())
        kind, self.users_of_kind = _alike(cost)
        self._cost = sp.csr_array(cost[kind])
        weight = sp.csr_array(self.weight.tocsc()[:, self._kept].tocsr())
        self._weight = sp.csr_array(weight[kind])
        upper = np.minimum(program.upper[self._kept], self.value).astype(np.float64)
        self._base = model(program, kept=self._kept, upper=upper)
        # No charge is larger than this, whatever else is released.
        self._largest = np.minimum(program.constraints.limit, self._cost @ upper) * (1 + 1e-9)

    @property
    def _price(self) -> Floats:
        """The weight of one click of each pair to all users together."""
        return self._weight.T @ self.users_of_kind

    def known_bound(self) -> float:
        """The least sum of weights without the users' limits: the cheapest clicks, as many as fit.

        It needs no solver.
        """
        price = self._price
        order, upper = np.argsort(price, kind="stable"), self._base.upper
        before = np.cumsum(upper[order]) - upper[order]
        clicks = np.clip(self.value - before, 0, upper[order])
        return self.proven(float(clicks @ price[order]))

    def proven(self, objective_bound: float) -> float:
        """A bound on the exposed users from one of HiGHS, rounded down."""
        return max(0.0, objective_bound - CLICKS_OFF - _OFF_PER_CLICK * self.value)

    def of_kinds(self, counts: Ints) -> Floats:
        """The value of the function of one user of each kind."""
        x = counts[self._kept].astype(np.float64)
        below: Floats = self._weight @ x
        charge: Floats = self._cost @ x
        for k, points in self.pieces.items():
            ends = np.array(points)
            touching = float(np.interp(float(charge[k]), ends, exposure_of(ends)))
            below[k] = max(float(below[k]), touching)
        return below

    def refine(self, counts: Ints, least: float) -> bool:
        """Make it exact at the charges of these counts, for those with the largest distances.

        Returns whether any kind of users was further from its exposure than `least`.
        """
        charge: Floats = self._cost @ counts[self._kept].astype(np.float64)
        distance: Floats = (exposure_of(charge) - self.of_kinds(counts)) * self.users_of_kind
        far = np.flatnonzero(distance > least)
        order = far[np.argsort(-distance[far], kind="stable")]
        together: Floats = np.cumsum(distance[order])
        half = 1 + int(np.count_nonzero(2 * together < together[-1:]))
        for k in order[: min(max(half, _FEWEST_REFINED), _MOST_REFINED)].tolist():
            points = self.pieces.setdefault(k, [0.0, float(self._largest[k])])
            if min(abs(float(charge[k]) - point) for point in points) > _APART:
                points.append(float(charge[k]))
                points.sort()
        return len(far) > 0

    def model(self, slope: Floats | None = None) -> Model:
        """Minimise it, or a linear function, over counts of the value within the constraints."""
        base, pairs = self._base, len(self._kept)
        price = self._price if slope is None else slope[self._kept]
        every = sp.csr_array(np.ones((1, pairs)))
        rows = sp.csr_array(sp.vstack([base.rows, every], format="csr"))
        counted = replace(
            base,
            rows=rows,
            row_lower=np.append(base.row_lower, self.value),
            row_upper=np.append(base.row_upper, self.value),
            cost=price,
            minimises=True,
        )
        return self._with_pieces(counted) if self.pieces and slope is None else counted

    def _with_pieces(self, base: Model) -> Model:
        """Variables for each user with pieces: its exposure y, its charge in each piece, flags.

        A flag says that the piece before it is full, and only then may the next one be used.
        """
        users = np.array(list(self.pieces), dtype=np.int64)
        owner, width, slope = self._segments()
        n, flags, segments = len(users), len(owner) - len(users), len(owner)
        cost, weight = self._cost[users], self._weight[users]
        own = sp.csr_array((np.ones(segments), (owner, np.arange(segments))), shape=(n, segments))
        sloped = sp.csr_array((slope, (owner, np.arange(segments))), shape=(n, segments))
        # Where a segment is not the first of its user, a flag stands before it.
        later = np.flatnonzero(owner[1:] == owner[:-1]) + 1
        flag = np.arange(flags)

        def at(entry: Floats, column: Ints, size: int) -> sp.csr_array:
            return sp.csr_array((entry, (flag, column)), shape=(flags, size))

        ones, one = np.ones(flags), sp.eye_array(n, format="csr")
        none = sp.csr_array
        m = base.rows.shape[0]
        rows = sp.block_array(
            [
                [base.rows, none((m, flags)), none((m, segments)), none((m, n))],
                [cost, none((n, flags)), -own, none((n, n))],
                [none((n, base.pairs)), none((n, flags)), -sloped, one],
                [-weight, none((n, flags)), none((n, segments)), one],
                [
                    none((flags, base.pairs)),
                    at(-width[later - 1], flag, flags),
                    at(ones, later - 1, segments),
                    none((flags, n)),
                ],
                [
                    none((flags, base.pairs)),
                    at(-width[later], flag, flags),
                    at(ones, later, segments),
                    none((flags, n)),
                ],
            ],
            format="csr",
        )
        zero, free = np.zeros, np.inf
        return Model(
            rows=sp.csr_array(rows),
            row_lower=np.concatenate(
                [base.row_lower, zero(n), zero(n), zero(n), zero(flags), np.full(flags, -free)]
            ),
            row_upper=np.concatenate(
                [base.row_upper, zero(n), np.full(2 * n, free), np.full(flags, free), zero(flags)]
            ),
            cost=np.concatenate(
                [
                    base.cost - weight.T @ self.users_of_kind[users],
                    zero(flags + segments),
                    self.users_of_kind[users],
                ]
            ),
            upper=np.concatenate([base.upper, np.ones(flags), width, np.ones(n)]),
            pairs=base.pairs,
            flags=flags,
            minimises=True,
        )

    def _segments(self) -> tuple[Ints, Floats, Floats]:
        """For each segment between two charges: the number of its user, its width, its slope."""
        ends = [np.array(points) for points in self.pieces.values()]
        owner = np.repeat(np.arange(len(ends)), [len(points) - 1 for points in ends])
        width = np.concatenate([np.diff(points) for points in ends])
        rise = np.concatenate([np.diff(exposure_of(points)) for points in ends])
        return owner, width, rise / width

    def variables(self, counts: Ints) -> Floats:
        """The variables of `model()` for feasible counts."""
        x = counts[self._kept].astype(np.float64)
        if not self.pieces:
            return x
        users = np.array(list(self.pieces), dtype=np.int64)
        charge, below = (self._cost @ x)[users], self.of_kinds(counts)[users]
        owner, width, _ = self._segments()
        begin = np.concatenate([np.array(points[:-1]) for points in self.pieces.values()])
        part = np.clip(charge[owner] - begin, 0.0, width)
        later = np.flatnonzero(owner[1:] == owner[:-1]) + 1
        return np.concatenate([x, (part[later] > 0).astype(np.float64), part, below])

    def counts(self, z: Floats) -> Ints:
        """The counts in a solution of `model()`."""
        counts = np.zeros(self.program.pairs, dtype=np.int64)
        counts[self._kept] = np.rint(z[: len(self._kept)]).astype(np.int64)
        return counts


def _alike(cost: sp.csr_array) -> tuple[Ints, Floats]:
    """One user of each kind, and how many there are: users with equal costs are charged alike."""
    kinds: dict[bytes, int] = {}
    first, users = list[int](), list[float]()
    for k in range(cost.shape[0]):
        entries = slice(cost.indptr[k], cost.indptr[k + 1])
        key = cost.indices[entries].tobytes() + cost.data[entries].tobytes()
        if (kind := kinds.setdefault(key, len(kinds))) == len(first):
            first.append(k)
            users.append(0.0)
        users[kind] += 1.0
    return np.array(first, dtype=np.int64), np.array(users)
