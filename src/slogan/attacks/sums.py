"""Attacks on noisy counts before they are rounded, as the proof lets an adversary see them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.attacks.confidence import Claim, told_apart
from slogan.attacks.findings import ALPHA, Attack
from slogan.dp.accounting import Account
from slogan.dp.counts import noisy_counts
from slogan.dp.mechanisms import Gaussian
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

_VISIBLE = Fraction(1, 2)
"""ε is compared at this part of the δ for ε = 0: at small δ it would take too many trials."""


def on_counts(mu_squared: Fraction, trials: int, rng: Randomness) -> list[Attack]:
    """Whether a count, or its last bits, tell more of a canary than the noise should let through.

    Every canary holds two pairs of its own; as many pairs are held by nobody.
    """
    user = np.repeat(np.arange(trials), 2)
    hist = PairHistogram.of_rows(
        user=user,
        pair=np.arange(2 * trials),
        count=np.tile(np.array([1_000, 7]), trials),
        users=trials,
        query=np.arange(4 * trials),
    )
    noisy = noisy_counts(hist, np.arange(4 * trials), mu_squared=mu_squared, rng=rng)
    with_user, without = noisy.steps[0 : 2 * trials : 2], noisy.steps[2 * trials :: 2]
    claim = visible(Account((spending(mu_squared),)))
    seen = {
        "its clicks": (with_user, without),
        "last bits of its clicks": (_last_bit(with_user), _last_bit(without)),
    }
    return [
        Attack(
            target="noisy counts",
            canary=canary,
            trials=trials,
            found=told_apart(*scores, claim, ALPHA),
            claim=claim,
        )
        for canary, scores in seen.items()
    ]


def spending(mu_squared: Fraction) -> Gaussian:
    """A stage of noisy sums that spends so much."""
    return Gaussian(name="claimed", norm_squared=1, variance=1 / mu_squared)


def visible(account: Account) -> Claim:
    """What stages may show, at a δ that can be seen."""
    aside = account.cost.delta
    delta = aside + (account.delta(0) - aside) * _VISIBLE
    return Claim(epsilon=float(account.epsilon(delta)), delta=float(delta))


def _last_bit(steps: Ints) -> Ints:
    """The largest power of two that divides each: noise that is coarser than the sums shows."""
    return steps & -steps
