"""Whole users drawn at random: the best that (0, δ) allows with rows of real users (Theorem 0)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from bench.methods import USER, Promise
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness, uniform_below


@dataclass(frozen=True, kw_only=True)
class UserSampling:
    """Each user, independently, is published whole with probability δ and not at all otherwise.

    Promise: (0, δ)-differential privacy for a user added or removed. With and without a user the
    output has the same law unless the user is drawn, which happens with probability δ.
    It attains the most users, rows and clicks that any method with rows of real users can expect
    to publish at this δ, whatever its ε.
    Schema: that of the log. Pseudonyms must not depend on other users; here users keep their
    numbers, which only the measures see.
    """

    delta: Fraction

    same_schema = True
    head_only = False

    @property
    def name(self) -> str:
        return f"whole users at random, δ = {self.delta}"

    @property
    def promise(self) -> Promise:
        return Promise(
            kind="end to end",
            unit=USER,
            meaning="(0, δ)-differential privacy",
            open="sampled users: a share δ of all users is published with everything they did",
            epsilon=Fraction(0),
            delta=self.delta,
        )

    def release(self, hist: PairHistogram, rng: Randomness) -> PairHistogram:
        among = np.full(hist.users, self.delta.denominator, dtype=np.int64)
        drawn = uniform_below(among, rng) < self.delta.numerator
        kept = drawn[hist.user]
        return replace(hist, user=hist.user[kept], pair=hist.pair[kept], count=hist.count[kept])
