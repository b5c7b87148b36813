"""A private look at a log, before selection: do its users hold few pairs, or many?

By the answer, users contribute up to 24 pairs or up to 700, and the threshold follows. Proof:
docs/proofs/selection.md.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.dp import sums
from slogan.dp.accounting import Gaussian
from slogan.dp.sums import BITS, AnyHistogram
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness


@dataclass(frozen=True, slots=True, kw_only=True)
class Regime:
    """How much of a user counts."""

    most: int
    """L0: the largest number of pairs that a user contributes."""
    heaviest: Fraction
    """The largest weight that a user with that many pairs may give to one of them."""


FEW = Regime(most=24, heaviest=Fraction(1, 3))
"""For logs whose users rarely hold more than 24 pairs: a lower threshold."""
MANY = Regime(most=700, heaviest=Fraction(1, 4))
"""For all others: half of the clicks of a search log are those of users with over 100 pairs."""

SHARE = Fraction(1, 200)
"""The look's share of the μ² of selection."""
RARELY = Fraction(1, 10)
"""The share of users with more than 24 pairs up to which FEW is chosen."""


def look(hist: AnyHistogram, *, mu_squared: Fraction, rng: Randomness) -> tuple[Regime, Gaussian]:
    """The regime, by noisy numbers of users with few pairs and with more, and the stage spent."""
    noisy = sums.noisy_sums(
        length_sums(hist, FEW.most), name="look", norm_squared=1, mu_squared=mu_squared, rng=rng
    )
    few, more = noisy.steps.tolist()
    return FEW if more <= RARELY * (few + more) else MANY, noisy.stage


def length_sums(hist: AnyHistogram, few: int) -> Ints:
    """One step of 1 for each user: with at most this many pairs, or with more. Not private yet."""
    if not isinstance(hist, PairHistogram):
        return hist.length_sums(few)
    held = np.bincount(hist.user, minlength=hist.users)
    more = int((held > few).sum())
    return np.array([int((held > 0).sum()) - more, more], dtype=np.int64) << BITS
