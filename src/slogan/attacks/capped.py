"""An attack on capped sampling: users whose clicks would take up far more than the cap."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from slogan.attacks.confidence import Claim, shown_at_least
from slogan.attacks.findings import ALPHA, Attack
from slogan.dp.capped_sampling import FULL, capped_sample
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness


def on_capped_sampling(cap: Fraction, claim: Claim, trials: int, rng: Randomness) -> Attack:
    """Whether a row of a user is drawn more often than with probability 1 − e^−B.

    Args:
        cap: B, as the run has it.
        claim: Of the sampling, by the budget.
        trials: Users.
        rng: Where the draws come from.
    """
    hist = PairHistogram(
        user=np.arange(trials),
        pair=np.zeros(trials, dtype=np.int64),
        count=np.full(trials, 1_000),
        users=trials,
        pairs=1,
        query=np.zeros(1, dtype=np.int64),
    )
    drawn = capped_sample(hist, np.array([0]), np.array([FULL]), cap=cap, rng=rng)
    return Attack(
        target="drawn rows",
        canary="1,000 clicks on a pair",
        trials=trials,
        found=shown_at_least(drawn.users, trials, ALPHA),
        claim=claim,
    )
