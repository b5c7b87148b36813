"""sample_users(): draw the user of each released click. Integer draws, no floats."""

import numpy as np

from slogan.histogram import Output, PairHistogram
from slogan.planning.plan import Plan
from slogan.randomness import Randomness, uniform_below

_DRAWS_AT_ONCE = 4_000_000


def sample_users(hist: PairHistogram, planned: Plan, rng: Randomness) -> Output:
    """Draw a user for every released click, user k of pair ij with probability exactly c_ijk/c_ij.

    This is the multinomial step of [Hong12, Algorithm 1]. The clicks of a pair are numbered, user
    by user; an integer drawn uniformly below c_ij selects one of them, and its user is released.
    Proof: docs/proofs/sampling.md.
    """
    rows = np.flatnonzero(planned.counts[hist.pair])
    rows = rows[np.lexsort((hist.user[rows], hist.pair[rows]))]
    # rows: those of released pairs, pair by pair
    last_click = np.cumsum(hist.count[rows])
    total = np.where(planned.counts, hist.pair_total, 0)
    before_pair = np.cumsum(total) - total
    shown = np.zeros(len(rows), dtype=np.int64)
    released = np.cumsum(planned.counts)
    for first in range(0, planned.size, _DRAWS_AT_ONCE):
        click = np.arange(first, min(first + _DRAWS_AT_ONCE, planned.size))
        pair = np.searchsorted(released, click, side="right")
        point = before_pair[pair] + uniform_below(total[pair], rng)
        shown += np.bincount(np.searchsorted(last_click, point, side="right"), minlength=len(shown))
    rows, shown = rows[shown > 0], shown[shown > 0]
    order = np.argsort(rows)
    return Output(user=hist.user[rows[order]], pair=hist.pair[rows[order]], count=shown[order])
