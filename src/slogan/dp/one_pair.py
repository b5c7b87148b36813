"""One pair of each user: which pairs are released, their counts and users, all from one draw.

Every user is cut to one pair. A pair's number of users gets noise of bounded size, and both are
published if the noisy number is larger than any noise. Proof: docs/proofs/one_pair.md.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.budget import Number, PrivacyBudget, exact
from slogan.dp import intervals
from slogan.dp.accounting import Account, Approximate, Cost, Stage, spendable
from slogan.dp.grouping import INDEPENDENT
from slogan.dp.intervals import DOWN, UP, enclose, shortened
from slogan.dp.noise import discrete_laplace
from slogan.dp.sums import LARGEST, AnyHistogram
from slogan.randomness import Randomness

SHARES = {"draw": Fraction("0.995"), "users": Fraction("0.005")}
"""Each stage's share of ε: public constants. All of δ is for the draw."""

_COIN = 1 << 32
ALL_BUT = 1 - Fraction(1, 10**9)
"""The part of ε that is spent, so that what a budget allows may be rounded down anywhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncatedGeometric(Stage):
    """Numbers of users, one number for each user, published where they exceed the largest noise.

    Args:
        epsilon: noise x has a probability in proportion to e^(−epsilon·|x|).
        reach: the size of the largest noise; for some pairs, one less.
        often: the probability that it is `reach`, and not one less.
    """

    epsilon: Number
    reach: int
    often: Number

    mechanism = "truncated_geometric"
    theorem = "Theorem T"

    @property
    def cost(self) -> Cost:
        often = exact(self.often)
        larger, smaller = (shown_alone(exact(self.epsilon), self.reach - n) for n in (0, 1))
        return Cost(epsilon=exact(self.epsilon), delta=often * larger + (1 - often) * smaller)


def shown_alone(epsilon: Fraction, reach: int) -> Fraction:
    """The chance that a pair of a single user is published, rounded up.

    r^k·(1 − r)/(1 + r − 2r^(k+1)) with r = e^−epsilon and k = reach: noise is k then.
    """
    if reach == 0:
        return Fraction(1)
    one, far, next_far = (intervals.exp(enclose(-n * epsilon)) for n in (1, reach, reach + 1))
    above = UP.multiply(far.high, UP.subtract(1, one.low))
    below = DOWN.subtract(DOWN.add(1, one.low), UP.multiply(2, next_far.high))
    return min(Fraction(1), shortened(UP.divide(above, below), UP)) if below > 0 else Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class OnePairSpending:
    """How a budget is divided, before the log is read."""

    draw: TruncatedGeometric
    users: Approximate
    """The number of all users, on published pairs or not."""

    @property
    def shares(self) -> dict[str, Fraction]:
        """Each stage's share of ε."""
        return SHARES

    @property
    def cost(self) -> Cost:
        """The total cost: ε and δ add up."""
        return self.draw.cost + self.users.cost

    @property
    def weight_needed(self) -> float:
        """With about this many users a pair is as likely published as not."""
        return float(self.draw.reach)


def divide(budget: PrivacyBudget, before: Fraction = Fraction(0)) -> OnePairSpending:
    """The smallest reach that δ allows, mixed with the next smaller one so that δ is used up.

    `before` is the ε of stages that come first.
    """
    epsilon, delta = spendable(budget)
    epsilon = epsilon * ALL_BUT - before
    part = epsilon * SHARES["draw"]
    reach = _least_reach(part, delta)
    larger, smaller = (shown_alone(part, reach - n) for n in (0, 1))
    often = Fraction(-((smaller - delta) * _COIN // (larger - smaller)), _COIN)
    return OnePairSpending(
        draw=TruncatedGeometric(name="draw", epsilon=part, reach=reach, often=often),
        users=Approximate(name="users", epsilon=epsilon - part),
    )


def _least_reach(epsilon: Fraction, delta: Fraction) -> int:
    high = 1
    while shown_alone(epsilon, high) > delta:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shown_alone(epsilon, middle) <= delta else (middle, high)
    return high


@dataclass(frozen=True, kw_only=True, repr=False)
class OnePair:
    """What was measured: all of it is private."""

    pairs: Ints
    clicks: Ints
    """The noisy number of users of each published pair; each has one click."""
    everyone: int
    """The noisy number of all users."""
    account: Account

    kind = INDEPENDENT
    kept = 0.0

    @property
    def users(self) -> int:
        """The number of synthetic users."""
        return int(self.clicks.sum())

    @property
    def looked(self) -> dict[str, str | int | float | None]:
        """Nothing: no look decided anything."""
        return {}

    @property
    def inside(self) -> float:
        """Users whose pair is published, as measured."""
        return float(self.users)

    @property
    def counted(self) -> float:
        """The same: each user's click is counted once."""
        return self.inside

    @property
    def outside(self) -> float:
        """All other users, as measured: noise may make them negative."""
        return float(self.everyone - self.users)

    @property
    def share(self) -> float:
        """The share of users whose pair is published."""
        inside, outside = max(self.inside, 0.0), max(self.outside, 0.0)
        return inside / (inside + outside) if inside + outside > 0 else 0.0

    @property
    def bins(self) -> Floats:
        """Users with 0, 1, … published pairs: up to 30, and up to all of them."""
        none = [0.0] * (min(len(self.pairs), LARGEST) - 1)
        return np.array([self.outside, self.inside, *none])


def measure_one(hist: AnyHistogram, spending: OnePairSpending, rng: Randomness) -> OnePair:
    """Cut each user to one pair, add noise to all numbers, and keep those beyond its reach."""
    from slogan.dp.selection._weights import capped  # noqa: PLC0415  loops that few runs need

    draw = spending.draw
    speakers = capped(hist, rng, 1).speakers
    held = np.flatnonzero(speakers)
    # a pair without users could only get noise within its reach, so it is never published
    reach = reaches(len(held), draw, rng)
    noisy = speakers[held] + truncated_geometric(reach, rng, epsilon=exact(draw.epsilon))
    kept = noisy > reach
    return OnePair(
        pairs=held[kept],
        clicks=noisy[kept],
        everyone=noisy_users(int(speakers.sum()), spending.users, rng),
        account=Account((draw, spending.users)),
    )


def reaches(n: int, draw: TruncatedGeometric, rng: Randomness) -> Ints:
    """The reach of the noise of n pairs: each a coin of the pair's own."""
    coin = (rng.words(n) >> np.uint64(32)).astype(np.int64)
    return draw.reach - (coin >= int(exact(draw.often) * _COIN)).astype(np.int64)


def noisy_users(users: int, stage: Approximate, rng: Randomness) -> int:
    """The number of all users, with discrete Laplace noise."""
    return users + int(discrete_laplace(1, rng, scale=1 / exact(stage.epsilon))[0])


def truncated_geometric(reach: Ints, rng: Randomness, *, epsilon: Fraction) -> Ints:
    """Draw independent integers x with probability ∝ e^(−epsilon·|x|) for |x| ≤ reach."""
    drawn = discrete_laplace(len(reach), rng, scale=1 / epsilon)
    while len(far := np.flatnonzero(np.abs(drawn) > reach)):
        drawn[far] = discrete_laplace(len(far), rng, scale=1 / epsilon)
    return drawn
