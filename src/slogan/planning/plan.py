"""plan(): the one gate between a solver's proposal and a release."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slogan.arrays import Ints
from slogan.planning.constraints import PrivacyConstraints


@dataclass(frozen=True, slots=True, repr=False)
class Plan:
    """Released clicks of each pair, x_ij, proven to obey every user's constraint."""

    counts: Ints

    @property
    def size(self) -> int:
        """|O|: all released clicks."""
        return int(self.counts.sum())

    @property
    def pairs(self) -> int:
        """How many different pairs are released."""
        return int(np.count_nonzero(self.counts))


def plan(proposal: NDArray[np.number], constraints: PrivacyConstraints) -> Plan:
    """Make any proposal safe: integers, within every user's constraint, never above the proposal.

    For any input (wrong, infinite, not a number), the result obeys
    [Hong12, Thm 1, conditions 2 and 3] exactly. Repairs only lower counts, and lowering a count
    lowers every user's charge, so a repaired user stays repaired. Proof: docs/proofs/plan.md.
    """
    if proposal.shape != (constraints.hist.pairs,):
        raise ValueError(f"expected {constraints.hist.pairs} counts, got shape {proposal.shape}")
    upper = constraints.upper
    finite = np.nan_to_num(proposal.astype(np.float64), nan=0.0, posinf=2.0**62, neginf=0.0)
    counts = np.minimum(np.floor(np.clip(finite, 0.0, 2.0**62)).astype(np.int64), upper)
    for user in constraints.violated(counts):
        _repair(int(user), counts, constraints)
    if not constraints.allows(counts):
        raise AssertionError("a repaired plan violates a constraint; please report this as a bug")
    counts.setflags(write=False)
    return Plan(counts)


def _repair(user: int, counts: Ints, constraints: PrivacyConstraints) -> None:
    """Lower the counts that cost this user most until its constraint holds."""
    rows = slice(int(constraints.first_row[user]), int(constraints.first_row[user + 1]))
    pairs = constraints.hist.pair[rows]
    cost = constraints.cost_of_rows(np.arange(rows.start, rows.stop))
    while not constraints.allows_user(user, counts):
        costliest = int(np.argmax(np.where(counts[pairs] > 0, cost, -1.0)))
        excess = float(cost @ counts[pairs]) - constraints.limit
        clicks = max(1, int(excess / cost[costliest]))
        counts[pairs[costliest]] -= min(clicks, int(counts[pairs[costliest]]))
