"""Attacks on one's own configuration: what planted users find out, beside what is claimed.

What trials prove about a probability, and about ε and δ, with confidence (Clopper–Pearson).
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
"""That no bound of a table is too high."""
MOST_ATTACKS = 32
"""No table has more rows of trials."""
ALPHA = (1 - CONFIDENCE) / MOST_ATTACKS
"""The chance, in each attack, that its bound is too high."""

_THRESHOLDS = 64
_TINY = 1e-300
_MOST = 700.0
"""Of an ε beyond this, e^ε is more than floating point holds, and no number of trials shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Every event is at most e^ε times as likely, plus δ, with a user as without, and reversed."""

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


def told_apart(with_user: Ints, without: Ints, claim: Claim, alpha: float) -> Found:
    """What scores of runs with a user and of runs without it prove.

    An event is “the score is at least t”, or the opposite, more likely on either side. Every
    other run serves to choose one, and the remaining runs, which had no say in it, to judge it.
    Alpha is the chance that a bound is too high although the claim holds.
    """
    places = np.linspace(0.0, 1.0, _THRESHOLDS + 1)
    candidates = np.concatenate([with_user[::2], without[::2]])
    thresholds = np.unique(np.quantile(candidates, places, method="nearest")).astype(np.int64)
    chosen = _bounds(with_user[::2], without[::2], thresholds, claim, alpha)
    judged = _bounds(with_user[1::2], without[1::2], thresholds, claim, alpha / 4)
    epsilon, delta = (
        max(0.0, float(bound.flat[np.argmax(guess)]))
        for guess, bound in zip(chosen, judged, strict=True)
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
    seldom = np.array([at_most(hits[1 - one], len(runs[1 - one]), alpha) for hits, one in events])
    epsilon = np.log(np.maximum((often - claim.delta) / seldom, _TINY))
    return epsilon, often - np.exp(min(claim.epsilon, _MOST)) * seldom


def shown_at_least(hits: int, trials: int, alpha: float, *, delta: float = 0.0) -> Found:
    """What it proves that something impossible without a user happened in so many runs with it.

    δ may be granted beside ε; it is 0 where, as in Theorem 1, the two do not add up.
    """
    rate = float(at_least(np.array([hits]), trials, alpha)[0])
    # that it does not happen: certain without the user, and 1 − rate at most with it
    return Found(epsilon=max(0.0, float(np.log1p(-delta) - np.log1p(-rate))), delta=rate)


NOTHING = Found(epsilon=0.0, delta=0.0)
CERTAIN = Found(epsilon=float("inf"), delta=1.0)

Evidence = Literal["replay", "noise", "statistics", "account"]
"""The same noise on two logs, the law of the noise, bounds from trials, or sums of costs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack: who was planted, what was looked at, and how often.

    Args:
        target: What of the release was attacked.
        canary: Who is in the log or is not.
        trials: Runs, or groups that are as good as runs.
        found: What they prove.
        claim: What may not be exceeded; None where nothing is claimed.
        evidence: How it was found out.
    """

    target: str
    canary: str
    trials: int
    found: Found
    claim: Claim | None
    evidence: Evidence = "statistics"

    @classmethod
    def by_replay(cls, target: str, canary: str, claim: Claim, *, ok: bool) -> "Attack":
        """Two runs with the same noise: what differs although it may not tells users apart."""
        found = NOTHING if ok else CERTAIN
        return cls(
            target=target, canary=canary, trials=1, found=found, claim=claim, evidence="replay"
        )

    @classmethod
    def by_noise(cls, target: str, canary: str, values: int, claim: Claim, *, ok: bool) -> "Attack":
        """So many values of noise: what has another law, or is known, protects nobody."""
        found = NOTHING if ok else CERTAIN
        return cls(
            target=target, canary=canary, trials=values, found=found, claim=claim, evidence="noise"
        )

    @classmethod
    def by_hits(
        cls, target: str, canary: str, hits: int, trials: int, claim: Claim, *, delta: float = 0.0
    ) -> "Attack":
        """Something impossible without the canary happened so often, δ granted beside ε or not."""
        found = shown_at_least(hits, trials, ALPHA, delta=delta)
        return cls(target=target, canary=canary, trials=trials, found=found, claim=claim)

    @classmethod
    def by_scores(
        cls, target: str, canary: str, with_user: Ints, without: Ints, claim: Claim
    ) -> "Attack":
        """One score for each run with the canary, and one for each without."""
        found = told_apart(with_user, without, claim, ALPHA)
        return cls(target=target, canary=canary, trials=len(with_user), found=found, claim=claim)

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts what is claimed."""
        return self.claim is None or self.found.within(self.claim)

    def to_dict(self) -> dict[str, Any]:
        """One row of `audit --json`."""
        return {
            "evidence": self.evidence,
            "target": self.target,
            "canary": self.canary,
            "trials": self.trials,
            # JSON has no infinity; None is one
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
        """Whether no attack contradicts what is claimed. That is a sanity check, not a proof."""
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
