"""Among equally good outputs of F-UMP, one in which the fewest other pairs become frequent."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from slogan.arrays import Flags, Floats, Ints
from slogan.planning.plan import plan
from slogan.planning.program import Program, SupportTargets
from slogan.planning.solvers import Effort, quiet
from slogan.planning.solvers._highs import DISTANCE_OFF, Model, Running, model


def most_precise(program: Program, targets: SupportTargets, counts: Ints, effort: Effort) -> Ints:
    """Counts of no larger distance in which fewer pairs become frequent, if there are any.

    The distance of the given counts becomes a limit. Then the number of pairs above the threshold
    is minimised, with a flag w for each: x ≤ threshold + (upper − threshold)·w.
    """
    if len(targets.newly_frequent(counts)) == 0:
        return counts
    kept = np.flatnonzero(program.upper > 0)
    upper = program.upper[kept].astype(np.float64)
    could = (upper > targets.infrequent) & ~np.isin(kept, targets.frequent)
    known = program.value(counts)
    problem = _flagged(
        model(program, kept=kept, upper=upper),
        np.flatnonzero(could),
        threshold=float(targets.infrequent),
        most=known,
    )
    start = _variables(counts[kept].astype(np.float64), targets, kept, could)
    # Flags are counted, so a gap below one flag proves that there are no fewer.
    alone = replace(effort, gap=0.0, report=quiet)
    answer = Running(problem, alone, integer=True, start=start).wait()
    if answer.z is None:
        return counts
    found = np.zeros_like(counts)
    found[kept] = np.rint(answer.z[: problem.pairs]).astype(np.int64)
    # HiGHS works with tolerances: the gate and the exact value decide.
    found = plan(found, program.constraints).counts
    same = program.allows(found) and program.value(found) <= known + DISTANCE_OFF
    return min(counts, found, key=lambda x: len(targets.newly_frequent(x))) if same else counts


def _flagged(base: Model, could: Ints, *, threshold: float, most: float) -> Model:
    """Add the flags after the counts, and a limit to the distance, which is no longer minimised."""
    flags, distances = len(could), len(base.cost) - base.pairs
    which = np.ones(flags), (np.arange(flags), could)
    pick = sp.csr_array(which, shape=(flags, base.pairs))
    more = sp.diags_array(base.upper[could] - threshold)
    cost = base.cost[base.pairs :]
    # In clicks, as all rows are: the cost of each distance is 1/|O|.
    clicks = (most - base.constant) / cost[0] if distances else 0.0
    total = sp.csr_array(np.ones((1, distances)))
    rows = sp.block_array(
        [
            [base.rows[:, : base.pairs], None, base.rows[:, base.pairs :]],
            [pick, -more, sp.csr_array((flags, distances))],
            [sp.csr_array((1, base.pairs)), sp.csr_array((1, flags)), total],
        ],
        format="csr",
    )
    limits = np.full(flags, threshold), [clicks]
    free = np.full(flags + 1, -np.inf)
    return Model(
        rows=sp.csr_array(rows),
        row_lower=np.concatenate([base.row_lower, free]),
        row_upper=np.concatenate([base.row_upper, *limits]),
        cost=np.concatenate([np.zeros(base.pairs), np.ones(flags), np.zeros(distances)]),
        upper=np.concatenate([base.upper[: base.pairs], np.ones(flags), base.upper[base.pairs :]]),
        pairs=base.pairs,
        flags=flags,
        minimises=True,
    )


def _variables(x: Floats, targets: SupportTargets, kept: Ints, could: Flags) -> Floats:
    """The variables of the model for the counts x."""
    frequent = np.isin(kept, targets.frequent)
    here = np.isin(targets.frequent, kept)
    distance = np.abs(x[frequent] - targets.support[here] * targets.output_size)
    flag = (x[could] > targets.infrequent).astype(np.float64)
    return np.concatenate([x, flag, distance])
