"""Private sums over users: counts of clicks, coverage, and how many pairs users hold.

Sums are integers on a grid. A user's part is rounded toward zero, so a norm that holds for real
numbers holds here. `noisy_sums` is the one place where noise is added.
Proofs: docs/proofs/counts.md, docs/proofs/coverage.md, docs/proofs/sizes.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.dp.accounting import GRID, variance
from slogan.dp.mechanisms import Gaussian
from slogan.dp.noise import floored_gaussian
from slogan.dp.remote import AnyHistogram
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

BITS = GRID.denominator.bit_length() - 1
_STEP = 9  # a remainder below 2^53, shifted by so many bits, still fits


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoisySums:
    """Sums over users plus noise, in steps of the grid, and the stage that accounts for them."""

    steps: Ints
    stage: Gaussian

    @property
    def values(self) -> Floats:
        """The sums in their own unit. They are private already: floating point does no harm."""
        return self.steps.astype(np.float64) * float(GRID)


def noisy_sums(
    sums: Ints, *, name: str, norm_squared: int, mu_squared: Fraction, rng: Randomness
) -> NoisySums:
    """Add independent Gaussian noise, rounded down to the grid, to every sum.

    Args:
        sums: In steps of the grid; their length must not depend on the log.
        name: Of the stage.
        norm_squared: The square of the largest L2 norm of what one user adds, in units, not steps.
        mu_squared: What the stage may spend.
        rng: Where the noise comes from.
    """
    square = variance(mu_squared, norm_squared=norm_squared)
    noise = floored_gaussian(len(sums), rng, variance=square, grid=GRID)
    stage = Gaussian(name=name, norm_squared=norm_squared, variance=square)
    return NoisySums(steps=sums + noise, stage=stage)


def quotients(above: Ints, below: Ints, *, bits: int) -> Ints:
    """⌊above · 2^bits / below⌋ in 64 bits, by long division.

    Needs 0 ≤ above < 2^62 and 0 < below ≤ 2^53, and a result below 2^62.
    """
    found, rest = np.divmod(above, below)
    while bits:
        step = min(bits, _STEP)
        digit, rest = np.divmod(rest << step, below)
        found = (found << step) + digit
        bits -= step
    return found


def roots(square: Ints) -> Ints:
    """⌊√square⌋ for 0 ≤ square < 2^52: a guess in floating point, corrected in integers."""
    root = np.sqrt(square).astype(np.int64)
    root -= root * root > square
    return root + ((root + 1) * (root + 1) <= square)


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


MOST_COVERED = 75
"""Each user's clicks are scaled to a total of at most this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """κ: the support of a released pair over the whole log is about κ·x/|O|."""

    share: float
    stage: Gaussian


def noisy_coverage(
    hist: AnyHistogram, pairs: Ints, *, mu_squared: Fraction, rng: Randomness
) -> Coverage:
    """Count the clicks on these pairs and on others, scaled user by user, and add noise."""
    sums = coverage_sums(hist, pairs)
    noisy = noisy_sums(
        sums, name="coverage", norm_squared=MOST_COVERED**2, mu_squared=mu_squared, rng=rng
    )
    inside, outside = np.maximum(noisy.values, 0.0).tolist()
    whole = inside + outside
    return Coverage(share=inside / whole if whole > 0 else 0.0, stage=noisy.stage)


def coverage_sums(hist: AnyHistogram, pairs: Ints) -> Ints:
    """(clicks on these pairs, clicks on others), each user's total at most 75. Not private yet."""
    if not isinstance(hist, PairHistogram):
        return hist.coverage_sums(pairs)
    held = hist.only(pairs)
    inside, total = (np.zeros(hist.users, dtype=np.int64) for _ in range(2))
    np.add.at(inside, held.user, held.count)
    np.add.at(total, hist.user, hist.count)
    both = np.stack([inside, total - inside])
    heavy = np.flatnonzero(total > MOST_COVERED)
    scaled = both << BITS
    scaled[:, heavy] = quotients(both[:, heavy] * MOST_COVERED, total[heavy], bits=BITS)
    return scaled.sum(axis=1)


LARGEST = 30
"""Users with more released pairs than this are counted with those that have this many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """About how many users hold 0, 1, …, 30 released pairs."""

    bins: Floats
    stage: Gaussian

    @property
    def users(self) -> int:
        """How many users a synthetic log should have: those that hold a released pair."""
        return max(0, round(float(self.bins[1:].sum())))

    @property
    def shape(self) -> Floats:
        """How sizes 1, …, 30 are distributed: no share is negative, and they sum to 1."""
        positive = np.maximum(self.bins[1:], 0.0)
        total = float(positive.sum())
        return positive / total if total > 0 else np.eye(LARGEST)[0]


def noisy_sizes(hist: AnyHistogram, pairs: Ints, *, mu_squared: Fraction, rng: Randomness) -> Sizes:
    """Count the users by how many of these pairs they hold, and add noise."""
    sums = size_sums(hist, pairs)
    noisy = noisy_sums(sums, name="sizes", norm_squared=1, mu_squared=mu_squared, rng=rng)
    return Sizes(bins=noisy.values, stage=noisy.stage)


def size_sums(hist: AnyHistogram, pairs: Ints) -> Ints:
    """One step of 1 for each user that has a click, in the bin of its size. Not private yet."""
    if not isinstance(hist, PairHistogram):
        return hist.size_sums(pairs)
    present = np.bincount(hist.user, minlength=hist.users) > 0
    size = np.bincount(hist.only(pairs).user, minlength=hist.users)
    return np.bincount(np.minimum(size[present], LARGEST), minlength=LARGEST + 1) << BITS
