"""What attacks found, beside what is claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slogan.attacks.confidence import Claim, Found

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

    def summary(self) -> dict[str, Any]:
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


@dataclass(frozen=True, slots=True, kw_only=True)
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

    def summary(self) -> dict[str, Any]:
        """The fields of `audit --json`."""
        return {
            "ok": self.ok,
            "mode": self.mode,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "confidence": CONFIDENCE,
            "attacks": [attack.summary() for attack in self.attacks],
            "seconds": round(self.seconds, 3),
        }


def _finite(epsilon: float) -> float | None:
    """JSON has no infinity; None is one."""
    return epsilon if epsilon < float("inf") else None
