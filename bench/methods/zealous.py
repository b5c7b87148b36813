"""ZEALOUS: counts of users, one threshold before Laplace noise and one after it.

[Götz, Machanavajjhala, Wang, Xiao, Gehrke: Publishing Search Logs – A Comparative Study of Privacy
Guarantees, TKDE 2012]
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from bench.methods import CROWD, REPLACED, USER, Promise, counts_alone
from bench.selectors.laplace_histogram import level
from slogan.budget import exp_rounded_down
from slogan.dp.noise import discrete_laplace
from slogan.dp.selection._weights import capped
from slogan.histogram import PairHistogram
from slogan.randomness import Randomness

Meaning = Literal["probabilistic", "indistinguishable", "added or removed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """λ, τ and τ': a pair needs τ users before the noise of scale λ, and more than τ' after it."""

    scale: Fraction
    before: int
    after: int


@dataclass(frozen=True, kw_only=True)
class Zealous:
    """At most m pairs of each user; noisy counts of the users of each pair, above two thresholds.

    A user moves the counts of at most m pairs up and, if replaced, of m others down.

    Promise, for "indistinguishable" and "added or removed": no event is more than e^ε times as
    likely plus δ with one log than with its neighbour. τ = 1, and τ' is so large that any of the m
    pairs which a user alone selected exceeds it with probability at most δ.
    For "probabilistic": except for outputs that occur with probability at most δ, every single
    output is at most e^ε times as likely. A pair can be published on one side only if its count
    there is τ and τ − 1 on the other; at most U·m/τ pairs have a count of τ, and none of them
    exceeds τ' with probability 1 − δ at least. U, the number of users, counts as known, and an
    observer may know which m pairs each user would select.
    The noise is discrete, and thresholds are derived for it.
    Schema: counts of pairs alone, and counts of users rather than clicks. Who did what together is
    lost.
    """

    epsilon: Fraction
    delta: Fraction
    m: int
    meaning: Meaning = "indistinguishable"

    same_schema = False
    head_only = True

    @property
    def name(self) -> str:
        return f"ZEALOUS, {self.meaning}, m = {self.m}"

    @property
    def promise(self) -> Promise:
        removal = self.meaning == "added or removed"
        kinds: dict[Meaning, str] = {
            "probabilistic": "probabilistic differential privacy",
            "indistinguishable": "indistinguishability",
            "added or removed": "differential privacy",
        }
        return Promise(
            kind="end to end",
            unit=USER if removal else REPLACED,
            meaning=f"(ε, δ)-{kinds[self.meaning]}",
            open=CROWD,
            epsilon=self.epsilon,
            delta=self.delta,
        )

    def thresholds(self, users: int) -> Thresholds:
        """Public numbers: they depend on the parameters and on the number of users."""
        moved = self.m if self.meaning == "added or removed" else 2 * self.m
        scale = moved / self.epsilon
        if self.meaning != "probabilistic":
            # One selecting user and noise of τ' or more is more than τ'.
            after = level(scale, self.delta / self.m)
            return Thresholds(scale=scale, before=1, after=after)
        # τ' is smallest for a τ of about λ.
        before = max(1, round(scale))
        at_border = Fraction(max(1, users) * self.m, before)
        # A pair that is kept back on one side only by its noise costs a share of 1 − e^(−1/λ).
        apart = 1 - 1 / exp_rounded_down(1 / scale)
        after = before + level(scale, min(self.delta / at_border, apart)) - 1
        return Thresholds(scale=scale, before=before, after=after)

    def release(self, hist: PairHistogram, rng: Randomness) -> PairHistogram:
        found = self.thresholds(hist.users)
        selected = np.bincount(capped(hist, rng, self.m).pair, minlength=hist.pairs)
        held = np.flatnonzero(selected >= found.before)
        noisy = selected[held] + discrete_laplace(len(held), rng, scale=found.scale)
        shown = noisy > found.after
        released = np.zeros(hist.pairs, dtype=np.int64)
        released[held[shown]] = noisy[shown]
        return counts_alone(released, hist.query)
