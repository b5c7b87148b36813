"""What trials prove about a probability, and about ε and δ, with confidence (Clopper–Pearson).

What attacks found, beside what is claimed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betainccinv, betaincinv

from slogan.arrays import Floats, Ints
from slogan.manifest.notebook import html_table

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

    Args:
        with_user: One score for each run with the user.
        without: And for each run without.
        claim: What is claimed.
        alpha: The chance that a bound is too high although the claim holds.
    """
    places = np.linspace(0.0, 1.0, _THRESHOLDS + 1)
    candidates = np.concatenate([with_user[::2], without[::2]])
    thresholds = np.unique(np.quantile(candidates, places, method="nearest")).astype(np.int64)
    chosen = _bounds(with_user[::2], without[::2], thresholds, claim, alpha)
    judged = _bounds(with_user[1::2], without[1::2], thresholds, claim, alpha / 4)
    return Found(
        epsilon=max(0.0, float(judged.epsilon.flat[np.argmax(chosen.epsilon)])),
        delta=max(0.0, float(judged.delta.flat[np.argmax(chosen.delta)])),
    )


def shown_at_least(hits: int, trials: int, alpha: float, *, delta: float = 0.0) -> Found:
    """What it proves that something impossible without a user happened in so many runs with it.

    Args:
        hits: How often it happened.
        trials: Of so many runs.
        alpha: The chance that a bound is too high although the claim holds.
        delta: Which δ is granted beside ε; 0 where, as in Theorem 1, the two do not add up.
    """
    rate = float(at_least(np.array([hits]), trials, alpha)[0])
    # that it does not happen: certain without the user, and 1 − rate at most with it
    return Found(epsilon=max(0.0, float(np.log1p(-delta) - np.log1p(-rate))), delta=rate)


class _Bounds(NamedTuple):
    """For every event: a lower bound on ε at the claimed δ, and on δ at the claimed ε."""

    epsilon: Floats
    delta: Floats


def _bounds(
    with_user: Ints, without: Ints, thresholds: Ints, claim: Claim, alpha: float
) -> _Bounds:
    reached = [_reaching(scores, thresholds) for scores in (with_user, without)]
    trials = len(with_user), len(without)
    missed = [n - hits for n, hits in zip(trials, reached, strict=True)]
    epsilons: list[Floats] = []
    deltas: list[Floats] = []
    for one, other in ((0, 1), (1, 0)):
        for hits in (reached, missed):
            often = at_least(hits[one], trials[one], alpha)
            seldom = at_most(hits[other], trials[other], alpha)
            epsilons.append(np.log(np.maximum((often - claim.delta) / seldom, _TINY)))
            deltas.append(often - np.exp(min(claim.epsilon, _MOST)) * seldom)
    return _Bounds(np.array(epsilons), np.array(deltas))


def _reaching(scores: Ints, thresholds: Ints) -> Ints:
    """How many scores are at least each threshold."""
    return len(scores) - np.searchsorted(np.sort(scores), thresholds)


CONFIDENCE = 0.999
"""That no bound of a table is too high."""
MOST_ATTACKS = 32
"""No table has more rows."""
ALPHA = (1 - CONFIDENCE) / MOST_ATTACKS
"""The chance, in each attack, that its bound is too high."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """One attack: who was planted, what was looked at, and how often.

    Args:
        target: What of the release was attacked.
        canary: Who is in the log or is not.
        trials: Runs, or groups that are as good as runs.
        found: What they prove.
        claim: What may not be exceeded; None where nothing is claimed.
    """

    target: str
    canary: str
    trials: int
    found: Found
    claim: Claim | None

    @property
    def ok(self) -> bool:
        """Whether nothing contradicts what is claimed."""
        return self.claim is None or self.found.within(self.claim)

    def to_dict(self) -> dict[str, Any]:
        """One row of `audit --json`."""
        return {
            "target": self.target,
            "canary": self.canary,
            "trials": self.trials,
            "epsilon_at_least": _finite(self.found.epsilon),
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
        rows = (
            (
                "" if one.ok else "CONTRADICTED",
                one.target,
                one.canary,
                one.found.epsilon,
                one.claim and one.claim.epsilon,
            )
            for one in self.attacks
        )
        headings = ("", "attacked", "canary", "ε at least", "claimed")
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


def _finite(epsilon: float) -> float | None:
    """JSON has no infinity; None is one."""
    return epsilon if epsilon < float("inf") else None
