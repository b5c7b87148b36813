"""Private sums over users: clicks, coverage, how many pairs users hold, and which together.

Sums are integers on a grid. A user's part is rounded toward zero, so a norm that holds for real
numbers holds here. `noisy_sums` is the one place where noise is added.
Proofs: docs/proofs/counts.md, coverage.md, sizes.md, association.md.

A histogram may be elsewhere, such as in Spark (`RemoteHistogram`). It returns sums over users that
equal, number for number, those of the function of the same name here, so noise, order of stages
and proofs do not depend on where the rows of a log are.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from slogan.arrays import Flags, Floats, Ints
from slogan.dp.accounting import GRID, Gaussian, variance
from slogan.dp.grouping import MOST_CATEGORIES, Grouping
from slogan.dp.noise import floored_gaussian
from slogan.errors import OptionError
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

BITS = GRID.denominator.bit_length() - 1
_STEP = 9  # a remainder below 2^53, shifted by this many bits, still fits


class RemoteContributions(Protocol):
    """The sets C_u of `capped`, elsewhere: members of `Contributions`, and `spread`."""

    @property
    def most(self) -> int: ...
    @property
    def speakers(self) -> Ints: ...
    @property
    def held(self) -> Flags: ...
    def spread(self, halvings: NDArray[np.int8], heaviest: Ints) -> Ints: ...
    def caps(self, heaviest: Ints) -> Ints: ...


class RemoteHistogram(Protocol):
    """The clicks of a log, elsewhere: members of `PairHistogram`, and the sums of this module.

    `brought` loads all rows into this process, and raises an error if they do not fit.
    """

    @property
    def users(self) -> int: ...
    @property
    def pairs(self) -> int: ...
    @property
    def pair_total(self) -> Ints: ...
    def query_of(self, pairs: Ints) -> Ints: ...
    def pairs_by_holders(self) -> Ints: ...
    def holders_of(self, pairs: Ints) -> Ints: ...
    def brought(self) -> PairHistogram: ...
    def heaviest(self, most: int) -> float: ...
    def capped(self, rng: Randomness, most: int) -> RemoteContributions: ...
    def clipped_counts(self, pairs: Ints, *, norm: int) -> Ints: ...
    def size_sums(self, pairs: Ints) -> Ints: ...
    def length_sums(self, few: int) -> Ints: ...
    def coverage_sums(self, pairs: Ints) -> Ints: ...
    def together_sums(self, pairs: Ints, grouping: Grouping) -> Ints: ...


AnyHistogram = PairHistogram | RemoteHistogram


def brought(hist: AnyHistogram) -> PairHistogram:
    """The histogram in this process."""
    return hist if isinstance(hist, PairHistogram) else hist.brought()


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoisySums:
    """Sums over users plus noise, in steps of the grid, and the stage that accounts for them."""

    steps: Ints
    stage: Gaussian

    @property
    def values(self) -> Floats:
        """The sums in their own unit. They are private already, so floating point is safe."""
        return self.steps.astype(np.float64) * float(GRID)


def noisy_sums(
    sums: Ints, *, name: str, norm_squared: int, mu_squared: Fraction, rng: Randomness
) -> NoisySums:
    """Add independent Gaussian noise, rounded down to the grid, to every sum.

    Sums are in steps of the grid; their number must not depend on the log. The norm is the
    largest L2 norm of one user's contribution, in units, not steps.
    """
    square = variance(mu_squared, norm_squared=norm_squared)
    noise = floored_gaussian(len(sums), rng, variance=square, grid=GRID)
    stage = Gaussian(name=name, norm_squared=norm_squared, variance=square)
    return NoisySums(steps=sums + noise, stage=stage)


def quotients(above: Ints, below: Ints, *, bits: int) -> Ints:
    """⌊above · 2^bits / below⌋ in 64 bits, by long division.

    Needs 0 ≤ above < 2^62 and 0 < below ≤ 2^53, and a result below 2^62.
    """
    quotient, rest = np.divmod(above, below)
    while bits:
        step = min(bits, _STEP)
        digit, rest = np.divmod(rest << step, below)
        quotient = (quotient << step) + digit
        bits -= step
    return quotient


def roots(square: Ints) -> Ints:
    """⌊√square⌋ for 0 ≤ square < 2^52: a guess in floating point, corrected in integers."""
    root = np.sqrt(square).astype(np.int64)
    root -= root * root > square
    return root + ((root + 1) * (root + 1) <= square)


NORM = 6
"""C: each user's clicks on the released pairs are scaled to an L2 norm of at most this."""
MOST_CLICKS = 2**15
"""A user's clicks on one pair are counted up to this number."""
_MOST_PAIRS = 2**22


def noisy_counts(
    hist: AnyHistogram, pairs: Ints, *, mu_squared: Fraction, rng: Randomness, norm: int = NORM
) -> NoisySums:
    """The clicks on each of these pairs, scaled user by user to L2 ≤ norm, plus noise.

    The released pairs are sorted, and were selected without further access to the log.
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


CLIPPED = 0.05
"""The assumed error of the sum of private counts as a part of all clicks: counts and coverage are
scaled user by user in different ways."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """κ: the support of a released pair over the whole log is about κ·x/|O|."""

    inside: float
    outside: float
    """Clicks on the released pairs and on others, as measured: noise may make them negative."""
    counted: float
    """The sum of the private counts: clicks on the released pairs too, paid for before."""
    counted_variance: float
    """The variance of the noise in that sum."""
    stage: Gaussian

    @property
    def share(self) -> float:
        """The share of all clicks on the released pairs."""
        direct, scaled = float(self.stage.variance), CLIPPED * max(self.counted, 0.0)
        weight = direct / (direct + self.counted_variance + scaled**2)
        inside = max(self.inside + weight * (self.counted - self.inside), 0.0)
        outside = max(self.outside, 0.0)
        return inside / (inside + outside) if inside + outside > 0 else 0.0


def noisy_coverage(
    hist: AnyHistogram, pairs: Ints, counts: NoisySums, *, mu_squared: Fraction, rng: Randomness
) -> Coverage:
    """Count the clicks on these pairs and on others, scaled user by user, and add noise.

    The private counts of the pairs are a second measurement of the clicks on them.
    """
    sums = coverage_sums(hist, pairs)
    noisy = noisy_sums(
        sums, name="coverage", norm_squared=MOST_COVERED**2, mu_squared=mu_squared, rng=rng
    )
    inside, outside = noisy.values.tolist()
    return Coverage(
        inside=inside,
        outside=outside,
        counted=float(int(counts.steps.sum()) * GRID),
        counted_variance=len(pairs) * float(counts.stage.variance),
        stage=noisy.stage,
    )


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


CLEAR_SIZE = 3.0
"""A bin of the sizes counts as users from this many standard deviations of its noise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """About how many users hold 0, 1, 2, … released pairs: at most 30, and at most all."""

    bins: Floats
    stage: Gaussian

    @property
    def users(self) -> int:
        """The number of users of a synthetic log: those that hold a released pair.

        The sum of all bins is right on average, but in a small log the noise of thirty bins may
        exceed the users of one. So it is never less than the bins clear of the noise add up to.
        """
        held = self.bins[1:]
        clear = held > CLEAR_SIZE * np.sqrt(float(self.stage.variance))
        return max(0, round(max(float(held.sum()), float(held[clear].sum()))))

    @property
    def held(self) -> Ints:
        """The number of users of each size from 1 on: not negative, and `users` in all.

        The nearest such numbers to the noisy bins, rounded where the fractions are largest.
        """
        nearest = projected(self.bins[1:], float(self.users))
        whole = np.floor(nearest).astype(np.int64)
        missing = self.users - int(whole.sum())
        whole[np.argsort(whole - nearest, kind="stable")[:missing]] += 1
        return whole


def projected(numbers: Floats, total: float) -> Floats:
    """The nearest numbers that are not negative and have this sum (in the Euclidean distance).

    All are lowered by the same amount, and cut off at 0.
    """
    falling = np.sort(numbers)[::-1]
    lowered = (np.cumsum(falling) - total) / np.arange(1, len(falling) + 1)
    last = np.count_nonzero(falling > lowered)
    return np.maximum(numbers - lowered[last - 1], 0.0) if last else np.zeros(len(numbers))


def largest_size(pairs: Ints) -> int:
    """The last bin of the sizes: no user holds more pairs than there are."""
    return min(len(pairs), LARGEST)


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
    largest = largest_size(pairs)
    return np.bincount(np.minimum(size[present], largest), minlength=largest + 1) << BITS


MOST_HELD = 255
"""A user's pairs of one category are counted up to this number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Association:
    """How often pairs of two categories are held together, with noise."""

    grouping: Grouping
    together: Floats
    """A symmetric table over the categories: two different pairs, each two counted once."""
    stage: Gaussian

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in a cell."""
        return math.sqrt(float(self.stage.variance))


def noisy_association(
    hist: AnyHistogram, pairs: Ints, grouping: Grouping, *, mu_squared: Fraction, rng: Randomness
) -> Association:
    """Count how often two of these pairs are held together, by their categories, and add noise."""
    sums = together_sums(hist, pairs, grouping)
    noisy = noisy_sums(sums, name="association", norm_squared=1, mu_squared=mu_squared, rng=rng)
    upper = np.zeros((grouping.categories, grouping.categories))
    upper[np.triu_indices(grouping.categories)] = noisy.values
    table = upper + np.triu(upper, 1).T
    return Association(grouping=grouping, together=table, stage=noisy.stage)


def together_sums(hist: AnyHistogram, pairs: Ints, grouping: Grouping) -> Ints:
    """How often two different pairs are held together, by category: the upper triangle, by row.

    A user that holds v_g pairs of category g adds v_g·v_h for g < h and v_g(v_g − 1)/2 for g = h,
    all multiplied by ⌊2^20/√N⌋ steps, N being the sum of their squares. Not private yet.
    """
    size = grouping.categories
    if not 0 < size <= MOST_CATEGORIES:
        raise ValueError(f"a table of {size} categories does not fit in 64 bits")
    if not isinstance(hist, PairHistogram):
        return hist.together_sums(pairs, grouping)
    held = hist.only(pairs[grouping.category >= 0])
    category = grouping.category[grouping.category >= 0][held.pair]
    # v: one row for each user, one column for each category; duplicates are summed
    v = sp.csr_array((np.ones_like(category), (held.user, category)), shape=(hist.users, size))
    v.data = np.minimum(v.data, MOST_HELD)
    same = v.copy()
    same.data = v.data * (v.data - 1) // 2
    second, fourth, inside = (
        np.asarray(power.sum(axis=1), dtype=np.int64) for power in (v**2, v**4, same**2)
    )
    square = (second * second - fourth) // 2 + inside
    weight = np.zeros(hist.users, dtype=np.int64)
    holds_two = np.flatnonzero(square)
    ones = np.ones_like(holds_two)
    weight[holds_two] = roots(quotients(ones, square[holds_two], bits=2 * BITS))
    weighted = v.copy()
    weighted.data = v.data * np.repeat(weight, np.diff(v.indptr))
    table = (v.T @ weighted).toarray()
    table[np.diag_indices(size)] = np.asarray(same.T @ weight)
    return table[np.triu_indices(size)].astype(np.int64)
