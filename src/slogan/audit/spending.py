"""What the stages of a private release cost together, computed anew from its manifest."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction

from slogan.audit.evidence import Evidence, Finding, NotPossibleError
from slogan.audit.gaussian import delta_at_most, log_at_most
from slogan.manifest import Spent, SpentStage

_LONGEST = 5_000
_MOST_STAGES = 64
"""Many stages with long fractions are a way to stall a verifier."""
_LARGEST = 1e300
_WORK = Context(prec=120)
_MARGIN = Decimal("1e-100")


def account(evidence: Evidence) -> Finding:
    """Whether the stages of the manifest fit the budget."""
    spent = spent_on(evidence)
    bounds = evidence.bounds
    epsilon, delta = log_at_most(bounds.likelihood), 1 - 1 / bounds.appearance
    mu_squared, linear, aside = cost(spent.stages)
    if linear >= epsilon:
        return False, "stages that are not Gaussian spend more epsilon than the budget holds"
    whole = aside + (delta_at_most(epsilon - linear, mu_squared) if mu_squared else 0)
    detail = f"{len(spent.stages)} stages need delta = {float(whole):.6g} at this epsilon, "
    return whole <= delta, f"{detail}and the budget holds {float(delta):.6g}"


def shown_at_most(cap: Fraction) -> Fraction:
    """1 − e^−cap ≤ cap, rounded up: the chance that a user with so many expected draws is shown."""
    power = _WORK.divide(Decimal(-cap.numerator), Decimal(cap.denominator)).exp(_WORK)
    return min(Fraction(1), cap, 1 - Fraction(_WORK.subtract(power, _MARGIN)))


def spent_on(evidence: Evidence) -> Spent:
    """The manifest's account."""
    if evidence.manifest.account is None:
        raise NotPossibleError("the manifest has no account of what was spent")
    if len(evidence.manifest.account.stages) > _MOST_STAGES:
        raise NotPossibleError("the manifest lists more stages than a release has")
    return evidence.manifest.account


def cost(stages: Iterable[SpentStage]) -> tuple[Fraction, Fraction, Fraction]:
    """μ² of Gaussian stages, ε of others, and the probabilities set aside."""
    mu_squared = linear = aside = Fraction(0)
    for stage in stages:
        if stage.mechanism == "gaussian":
            mu_squared += part(stage, "norm_squared") / part(stage, "variance")
            aside += part(stage, "slack", least=0)
        elif stage.mechanism in ("approximate", "pure"):
            linear += part(stage, "epsilon")
            aside += part(stage, "delta", least=0)
        elif stage.mechanism == "capped_sampling":
            linear += part(stage, "cap")
            aside += shown_at_most(part(stage, "cap"))
        else:
            raise NotPossibleError("the manifest lists a stage of an unknown mechanism")
    return mu_squared, linear, aside


def part(stage: SpentStage, name: str, *, least: float = 1e-300) -> Fraction:
    """A parameter of a stage, as the fraction it is written as."""
    text = stage.parameters.get(name, "")
    try:
        number = Fraction(text) if len(text) <= _LONGEST and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        number = None
    if number is None or not least <= number <= _LARGEST:
        raise NotPossibleError(f"a stage of the manifest has no usable {name}")
    return number
