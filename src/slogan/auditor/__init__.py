"""Attacks on your own configuration: what planted users reveal, compared with the claim.

Bounds from trials on a probability, and on ε and δ, with confidence (Clopper–Pearson).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import betainccinv, betaincinv

from slogan.arrays import Floats, Ints
from slogan.histogram import PairHistogram
from slogan.manifest.certificate import html_table

CONFIDENCE = 0.999
"""The confidence that no bound of a table is too high."""
MOST_ATTACKS = 32
"""The largest number of rows with trials in a table."""
ALPHA = (1 - CONFIDENCE) / MOST_ATTACKS
"""The chance, in each attack, that its bound is too high."""

_THRESHOLDS = 64
_TINY = 1e-300
_MOST = 700.0
"""For a larger ε, e^ε overflows floating point, and no number of trials shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Every event is at most e^ε times as likely, plus δ, with a user as without, or reverse."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Lower bounds: on ε at the claimed δ, and on δ at the claimed ε."""

    epsilon: float
    delta: float

    def within(self, claim: Claim) -> bool:
        """Whether nothing contradicts the claim."""
        return self.epsilon <= claim.epsilon and self.delta <= claim.delta


def at_least(hits: Ints, trials: int, alpha: float) -> Floats:
    """The probability of a hit is at least this, up to a chance of alpha."""
    low = betaincinv(np.maximum(hits, 1), trials - hits + 1, alpha)
    return np.where(hits > 0, np.asarray(low, dtype=np.float64), 0.0)


def at_most(hits: Ints, trials: int, alpha: float) -> Floats:
    """The probability of a hit is at most this, up to a chance of alpha."""
    high = betainccinv(hits + 1, np.maximum(trials - hits, 1), alpha)
    return np.where(hits < trials, np.asarray(high, dtype=np.float64), 1.0)


def distinguished(with_user: Ints, without: Ints, claim: Claim, alpha: float) -> Found:
    """Bounds from the scores of runs with a user and of runs without it.

    An event is “the score is at least t”, or the opposite, more likely on either side. Half of the
    runs select the event, and the other half, which did not influence it, judge it.
    Alpha is the chance that a bound is too high although the claim holds.
    """
    places = np.linspace(0.0, 1.0, _THRESHOLDS + 1)
    candidates = np.concatenate([with_user[::2], without[::2]])
    thresholds = np.unique(np.quantile(candidates, places, method="nearest")).astype(np.int64)
    guesses = _bounds(with_user[::2], without[::2], thresholds, claim, alpha)
    judged = _bounds(with_user[1::2], without[1::2], thresholds, claim, alpha / 4)
    epsilon, delta = (
        max(0.0, float(bound.flat[np.argmax(guess)]))
        for guess, bound in zip(guesses, judged, strict=True)
    )
    return Found(epsilon=epsilon, delta=delta)


def _bounds(
    with_user: Ints, without: Ints, thresholds: Ints, claim: Claim, alpha: float
) -> tuple[Floats, Floats]:
    """For every event: a lower bound on ε at the claimed δ, and on δ at the claimed ε."""
    runs = (with_user, without)
    reached = [len(scores) - np.searchsorted(np.sort(scores), thresholds) for scores in runs]
    missed = [len(scores) - hits for scores, hits in zip(runs, reached, strict=True)]
    events = [(hits, one) for one in (0, 1) for hits in (reached, missed)]
    often = np.array([at_least(hits[one], len(runs[one]), alpha) for hits, one in events])
    rarely = np.array([at_most(hits[1 - one], len(runs[1 - one]), alpha) for hits, one in events])
    epsilon = np.log(np.maximum((often - claim.delta) / rarely, _TINY))
    return epsilon, often - np.exp(min(claim.epsilon, _MOST)) * rarely


def shown_at_least(hits: int, trials: int, alpha: float, *, delta: float = 0.0) -> Found:
    """Bounds from the runs with a user in which an event happened that is impossible without it.

    δ may be allowed in addition to ε; it is 0 where, as in Theorem 1, the two do not add up.
    """
    rate = float(at_least(np.array([hits]), trials, alpha)[0])
    # the event does not happen: certain without the user, at most 1 − rate with it
    return Found(epsilon=max(0.0, float(np.log1p(-delta) - np.log1p(-rate))), delta=rate)


NOTHING = Found(epsilon=0.0, delta=0.0)
CERTAIN = Found(epsilon=float("inf"), delta=1.0)

Evidence = Literal["replay", "noise", "statistics", "account"]
"""The same noise on two logs, the law of the noise, bounds from trials, or sums of costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack: the planted user, the attacked part of the release, and the result.

    Args:
        target: The attacked part of the release.
        canary: The user who is in the log or is not.
        trials: Runs, or independent groups that count as runs.
        found: The bounds they prove.
        claim: The limit; None where nothing is claimed.
        evidence: The method.
    """

    target: str
    canary: str
    trials: int
    found: Found
    claim: Claim | None
    evidence: Evidence = "statistics"

    @classmethod
    def by_replay(cls, target: str, canary: str, claim: Claim, *, ok: bool) -> "Attack":
        """Two runs with the same noise: any unexpected difference distinguishes users."""
        found = NOTHING if ok else CERTAIN
        return cls(
            target=target, canary=canary, trials=1, found=found, claim=claim, evidence="replay"
        )

    @classmethod
    def by_noise(cls, target: str, canary: str, values: int, claim: Claim, *, ok: bool) -> "Attack":
        """A number of noise values: noise of another law, or known noise, protects no user."""
        found = NOTHING if ok else CERTAIN
        return cls(
            target=target, canary=canary, trials=values, found=found, claim=claim, evidence="noise"
        )

    @classmethod
    def by_hits(
        cls, target: str, canary: str, hits: int, trials: int, claim: Claim, *, delta: float = 0.0
    ) -> "Attack":
        """The number of runs with an event that is impossible without the canary."""
        found = shown_at_least(hits, trials, ALPHA, delta=delta)
        return cls(target=target, canary=canary, trials=trials, found=found, claim=claim)

    @classmethod
    def by_scores(
        cls, target: str, canary: str, with_user: Ints, without: Ints, claim: Claim
    ) -> "Attack":
        """One score for each run with the canary, and one for each without."""
        found = distinguished(with_user, without, claim, ALPHA)
        return cls(target=target, canary=canary, trials=len(with_user), found=found, claim=claim)

    @property
    def ok(self) -> bool:
        """Whether the attack does not contradict the claim."""
        return self.claim is None or self.found.within(self.claim)

    def to_dict(self) -> dict[str, Any]:
        """One row of `audit --json`."""
        return {
            "evidence": self.evidence,
            "target": self.target,
            "canary": self.canary,
            "trials": self.trials,
            # JSON has no infinity: None stands for it
            "epsilon_at_least": self.found.epsilon if self.found.epsilon < np.inf else None,
            "epsilon_claimed": None if self.claim is None else self.claim.epsilon,
            "delta_at_least": self.found.delta,
            "delta_claimed": None if self.claim is None else self.claim.delta,
            "ok": self.ok,
        }


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Findings:
    """All attacks on one configuration."""

    mode: str
    epsilon: float
    delta: float
    attacks: tuple[Attack, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether no attack contradicts the claim. This is a sanity check, not a proof."""
        return all(attack.ok for attack in self.attacks)

    def __repr__(self) -> str:
        outcome = "no attack contradicts the claim" if self.ok else "CONTRADICTED"
        return f"<Findings: {outcome}; {len(self.attacks)} attacks on {self.mode}>"

    def _repr_html_(self) -> str:
        rows = [
            (
                "" if a.ok else "CONTRADICTED",
                a.evidence,
                a.target,
                a.canary,
                a.found.epsilon,
                claimed,
            )
            for a in self.attacks
            for claimed in [a.claim and a.claim.epsilon]
        ]
        headings = ("", "evidence", "attacked", "canary", "ε at least", "claimed")
        return html_table(headings, rows, note="A sanity check, not a proof. For the curator.")

    def to_dict(self) -> dict[str, Any]:
        """The fields of `audit --json`."""
        return {
            "ok": self.ok,
            "mode": self.mode,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": CONFIDENCE,
            "attacks": [attack.to_dict() for attack in self.attacks],
            "seconds": round(self.seconds, 3),
        }


def joined(
    hist: PairHistogram, rows: Sequence[tuple[Ints, Ints, Ints]], *, users: int, pairs: int = 0
) -> PairHistogram:
    """The log and rows of canaries (user, pair, count); new users and pairs are numbered last."""
    columns = zip((hist.user, hist.pair, hist.count), *rows, strict=True)
    user, pair, count = (np.concatenate(column) for column in columns)
    queries = hist.query.max(initial=-1) + 1 + np.arange(pairs)
    return PairHistogram.of_rows(
        user=user,
        pair=pair,
        count=count,
        users=hist.users + users,
        query=np.concatenate([hist.query, queries]),
    )
