"""Clicks drawn at random: for a smaller log. It protects no user."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from bench.methods import Promise
from slogan.histogram import PairHistogram
from slogan.measures import random_sample
from slogan.randomness import Randomness


@dataclass(frozen=True, kw_only=True)
class RowSampling:
    """A share of the log's clicks, drawn without replacement, each as likely as any other.

    Promise: none. A user with n clicks keeps a row with a chance of about 1 − (1 − share)^n, so
    that active users are in it almost surely, with rows that no other user has.
    Schema: that of the log.
    """

    share: Fraction

    same_schema = True
    head_only = False

    @property
    def name(self) -> str:
        return f"clicks at random, {float(self.share):.0%}"

    @property
    def promise(self) -> Promise:
        return Promise(
            kind="none",
            unit=None,
            meaning="none",
            open="everybody: users with many clicks are in it almost surely",
        )

    def release(self, hist: PairHistogram, rng: Randomness) -> PairHistogram:
        return random_sample(hist, int(self.share * hist.clicks), rng)
