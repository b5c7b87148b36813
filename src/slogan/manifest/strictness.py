"""Strictness: how well a release protects people, in three colours with a name and the reasons.

Its only sources are the budget, the kind of release and the noisy number of users.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from slogan.budget import PrivacyBudget, exact
from slogan.manifest.manifest import Manifest
from slogan.manifest.promise import KEPT_IDS, TEST_RUN, WEAK_EPSILON, Weakness, one_in, weaknesses
from slogan.modes import ReleaseKind

Colour = Literal["calm", "amber", "red"]
STRICT_EPSILON = 1
_MANY_SHOWN = Fraction(1, 10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strictness:
    """A colour for pages, its name in words, and why."""

    colour: Colour
    name: str
    reasons: tuple[str, ...] = ()


def strictness_of(manifest: Manifest) -> Strictness:
    """Red where a refusal was overridden or many real people may be shown; amber for the rest."""
    budget = PrivacyBudget(**manifest.budget.model_dump())
    weak = weaknesses_of(manifest)
    real = manifest.kind is not ReleaseKind.SYNTHETIC_USERS
    red = [one.text for one in weak if one.refused]
    red += [TEST_RUN] if manifest.test_run else []
    red += [KEPT_IDS] if manifest.pseudonyms == "keep" else []
    amber = [one.text for one in weak if not one.refused]
    shown = exact(budget.delta)
    if real:
        (red if shown > _MANY_SHOWN else amber).append(
            "The rows belong to real people. The chance that a given one is shown is at most "
            f"{one_in(shown)}."
        )
    if real and not manifest.kind.end_to_end:
        amber.append("Which pairs appear, and how often, comes from the log without protection.")
    if red:
        return Strictness(colour="red", name="Weak protection", reasons=(*red, *amber))
    if amber:
        name = "Weak protection" if weak else "Limited protection"
        return Strictness(colour="amber", name=name, reasons=tuple(amber))
    strict = budget.epsilon_at_most <= STRICT_EPSILON
    return Strictness(
        colour="calm",
        name="Strict protection" if strict else "Moderate protection",
        reasons=(
            f"The privacy budget ε is at most {STRICT_EPSILON if strict else WEAK_EPSILON}, and δ "
            "is at most 1/(10 × the number of users).",
        ),
    )


def weaknesses_of(manifest: Manifest) -> tuple[Weakness, ...]:
    """What is weak about the budget, for the noisy number of users that is published."""
    budget, outputs = PrivacyBudget(**manifest.budget.model_dump()), manifest.outputs
    return weaknesses(manifest.kind, budget, outputs and outputs.users)


@dataclass(frozen=True, slots=True, kw_only=True)
class Odds:
    """How many of 100 people in the log the best attack names, and how many guessing names."""

    named: Fraction
    guessed: int

    @property
    def shown(self) -> int:
        """People to be drawn as named: never fewer than the limit says."""
        return math.ceil(self.named)


FALSE_ALARMS = 1
"""Of 100 people who are not in the log, those whom the attack wrongly names."""


def odds_of(manifest: Manifest) -> Odds:
    """The limit for any attack that wrongly names one of 100 people who are not in the log.

    End to end, Pr_D[Y] ≤ e^ε·Pr_D'[Y] + δ for every event Y. Given the counts,
    Pr_D[Y] ≤ Pr_D'[Y] + δ.
    """
    budget = PrivacyBudget(**manifest.budget.model_dump())
    ratio = budget.ratio_at_most if manifest.kind.end_to_end else 1
    named = min(Fraction(100), ratio * FALSE_ALARMS + 100 * exact(budget.delta))
    return Odds(named=named, guessed=FALSE_ALARMS)
