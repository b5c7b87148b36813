"""Private counts: the clicks on each released pair, where no user weighs more than C."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.dp.remote import AnyHistogram
from slogan.dp.sums import BITS, NoisySums, noisy_sums, quotients, roots
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

NORM = 6
"""C: each user's clicks on the released pairs are scaled to an L2 norm of at most this."""
MOST_CLICKS = 2**15
"""What a user clicks on one pair beyond this is not counted."""
_MOST_PAIRS = 2**22


def noisy_counts(
    hist: AnyHistogram, pairs: Ints, *, mu_squared: Fraction, rng: Randomness, norm: int = NORM
) -> NoisySums:
    """The clicks on each of these pairs, scaled user by user to L2 ≤ norm, plus noise.

    Args:
        hist: The clicks of whole users.
        pairs: The released pairs, sorted; chosen without another look at the log.
        mu_squared: What the stage may spend.
        rng: Where the noise comes from.
        norm: C, a public constant.
    """
    sums = clipped_counts(hist, pairs, norm=norm)
    return noisy_sums(sums, name="counts", norm_squared=norm**2, mu_squared=mu_squared, rng=rng)


def clipped_counts(hist: AnyHistogram, pairs: Ints, *, norm: int = NORM) -> Ints:
    """Σ over users of c·min(1, C/‖c‖), each part rounded toward zero to a step of the grid.

    Not private by itself. ⌊c·C·2^20/‖c‖⌋ = isqrt(⌊c²C²2^40/‖c‖²⌋), in integers throughout.
    """
    if len(pairs) >= _MOST_PAIRS or not 0 < norm < 2**6:
        raise OptionError(
            f"counts of {len(pairs)} pairs, clipped to {norm}, do not fit in 64 bits",
            hint=f"at most {_MOST_PAIRS} pairs, and a norm from 1 to 63",
        )
    if not isinstance(hist, PairHistogram):
        return hist.clipped_counts(pairs, norm=norm)
    held = hist.only(pairs)
    clicks = np.minimum(held.count, MOST_CLICKS)
    square = np.zeros(held.users, dtype=np.int64)
    np.add.at(square, held.user, clicks * clicks)
    below = square[held.user]
    part = clicks << BITS
    long = np.flatnonzero(below > norm**2)
    scaled = quotients((clicks[long] * norm) ** 2, below[long], bits=2 * BITS)
    part[long] = roots(scaled)
    total = np.zeros(len(pairs), dtype=np.int64)
    np.add.at(total, held.pair, part)
    return total
