"""pooled: rounds of the weighted Gaussian whose sums are pooled, and whose noise is heeded.

In each round a user spreads one unit of L2 norm over its pairs, and most of it on those whose sums
so far promise to pass the last threshold: a pair's own noisy sum against public numbers, nothing
else. Proof: docs/proofs/selection.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.dp.mechanisms import Gaussian
from slogan.dp.noise import floored_gaussian
from slogan.dp.remote import AnyHistogram
from slogan.dp.selection import Selected, SelectionBudget
from slogan.dp.selection._contributions import capped
from slogan.dp.selection._grid import GRID
from slogan.dp.selection._schedule import Round, schedule
from slogan.dp.selection._spreading import CLOSED, HALVINGS, Halvings, spread
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness, SystemRandomness


def select(hist: AnyHistogram, budget: SelectionBudget, rng: Randomness) -> Selected:
    """Pool noisy weights over the rounds; what exceeds a round's threshold is selected."""
    public = schedule(budget)
    chosen = capped(hist, rng)
    halvings = np.where(chosen.held, 0, CLOSED).astype(np.int8)
    pooled = np.zeros(hist.pairs, dtype=np.int64)
    selected: list[Ints] = []
    for this in public.rounds:
        weight = spread(chosen, halvings, public.heaviest)
        # What is closed is not looked at again: its noise need not be drawn.
        tried = np.flatnonzero(halvings < CLOSED)
        noise = floored_gaussian(len(tried), rng, variance=this.variance, grid=GRID)
        pooled[tried] += this.length * (weight[tried] + noise)
        selected.append(tried[pooled[tried] > this.threshold])
        halvings[tried] = attention(pooled[tried], this)
    units = sum(this.length for this in public.rounds)
    stage = Gaussian(
        name="selection", norm_squared=units, variance=public.variance, slack=budget.delta
    )
    return Selected(pairs=np.sort(np.concatenate(selected)), stages=(stage,))


def attention(noisy: Ints, this: Round) -> Halvings:
    """How often the weight of each pair is halved in the next round, from its own sum alone."""
    lacking = np.clip(-((noisy - this.full) // this.step), 0, HALVINGS)
    halvings = lacking + np.searchsorted(this.eased, noisy, side="right")
    over = (noisy > this.threshold) | (noisy < this.abandoned)
    return np.where(over, CLOSED, halvings).astype(np.int8)


def warm_up() -> None:
    """Compile the loop over users, once for this installation; the first run then need not wait."""
    nought = np.zeros(1, dtype=np.int64)
    hist = PairHistogram(user=nought, pair=nought, count=nought + 1, users=1, pairs=1, query=nought)
    select(hist, SelectionBudget(mu_squared=Fraction(1), delta=Fraction(1, 2)), SystemRandomness())


if __name__ == "__main__":
    warm_up()
