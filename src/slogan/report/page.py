"""Page: what both reports show of a release, read from its manifest and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from slogan.manifest import Manifest
from slogan.privacy import PrivacyBudget
from slogan.promise import TEST_RUN
from slogan.report.kinds import Kind, kind_of
from slogan.report.odds import found_in_hundred, one_in

_USER_IDS = {
    "fresh": "drawn at random; they are not the original ones",
    "keep": "the original ones",
    "synthetic": "drawn at random; they stand for nobody",
}
_SYMBOLS = {
    "mu_squared": "μ²",
    "norm_squared": "Δ²",
    "variance": "σ²",
    "epsilon": "ε",
    "delta": "δ",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its name and what it means."""

    name: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Stage:
    """What one stage spent."""

    name: str
    mechanism: str
    theorem: str
    parameters: str
    cost: str
    percent: float | None
    """Of the μ² that all stages with Gaussian noise cost together."""


@dataclass(frozen=True)
class Page:
    """The parts that both reports share. Its only source is the manifest."""

    manifest: Manifest

    @property
    def test_run(self) -> str:
        """What a test run means."""
        return TEST_RUN

    @property
    def budget(self) -> PrivacyBudget:
        """ε and δ as they were typed."""
        return PrivacyBudget(**self.manifest.budget.model_dump())

    @property
    def kind(self) -> Kind:
        """What kind of release it is, with its words."""
        return kind_of(self.manifest)

    def told(self, words: str) -> str:
        """Words of the kind with the numbers of this budget."""
        epsilon, delta = self.budget.epsilon_value, self.budget.delta_value
        return words.format(
            ratio=f"{math.exp(epsilon):,.4g}",
            chance=one_in(delta),
            epsilon=f"{epsilon:.4g}",
            delta=f"{delta:g}",
        )

    @property
    def privacy_facts(self) -> list[Fact]:
        """The privacy card."""
        kind, budget = self.kind, self.budget
        found = found_in_hundred(budget, end_to_end=kind.end_to_end)
        return [
            Fact("Protected", "one user", f"the whole log of each; neighbours: {kind.neighbours}"),
            Fact("ε", f"{budget.epsilon_value:.4g}", self.told(kind.epsilon)),
            Fact("δ", f"{budget.delta_value:g}", self.told(kind.delta)),
            Fact(
                "Best attack" if kind.end_to_end else "Best attack, given the counts",
                f"{found:.3g} in 100",
                "users in the log are pointed out at most, by any test that wrongly points out 1 "
                "in 100 who are not",
            ),
        ]

    @property
    def stages(self) -> list[Stage]:
        """What each stage of an end-to-end private release spent."""
        if (account := self.manifest.account) is None:
            return []
        return [
            Stage(
                name=stage.name,
                mechanism=stage.mechanism.replace("_", " "),
                theorem=stage.theorem,
                parameters=_listed(stage.parameters),
                cost=_listed(stage.cost),
                percent=_percent(stage.cost.get("mu_squared"), account.cost.get("mu_squared")),
            )
            for stage in account.stages
        ]

    @property
    def spent(self) -> str:
        """What all stages cost together."""
        if (account := self.manifest.account) is None:
            return ""
        return (
            f"Together they cost δ = {account.delta_at_epsilon:.4g} at the ε of the budget, or "
            f"ε = {account.epsilon_at_delta:.4g} at its δ; both are rounded up."
        )

    @property
    def user_ids(self) -> str:
        """Whose user-IDs the released log has."""
        return _USER_IDS[self.manifest.pseudonyms]

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """What the curator chose, and what it was computed with."""
        manifest = self.manifest
        budget = manifest.budget
        told = f"ε = {budget.epsilon}" if budget.epsilon else f"e^ε = {budget.exp_epsilon}"
        chosen = [
            (name.replace("_", " "), _short(str(value)).removeprefix("= "))
            for name, value in manifest.parameters.items()
        ]
        libraries = ", ".join(f"{name} {number}" for name, number in manifest.versions.items())
        return [
            ("method", manifest.method),
            ("privacy budget", f"{told}, δ = {budget.delta}"),
            ("counts", self.kind.counts),
            *chosen,
            ("user-IDs", manifest.pseudonyms),
            ("made with", f"slogan {manifest.slogan_version}, {libraries}"),
        ]


def _listed(named: dict[str, str]) -> str:
    """What is not nothing, by the symbols of the theorems."""
    return ", ".join(
        f"{_SYMBOLS.get(name, name.replace('_', ' '))} {_short(value)}"
        for name, value in named.items()
        if value != "0"
    )


def _short(value: str) -> str:
    """An exact fraction as a decimal, if it is long; the manifest has it in full."""
    if len(value) <= 12 or "/" not in value or (number := _number(value)) is None:
        return f"= {value}"
    return f"≈ {number:,.5g}"


def _percent(part: str | None, whole: str | None) -> float | None:
    """What a part is of the whole, as a bar shows it."""
    some, every = _number(part or ""), _number(whole or "")
    return 100 * min(1.0, some / every) if some is not None and every and some >= 0 else None


def _number(value: str) -> float | None:
    """A fraction as a number, if it is one: a manifest from elsewhere may say anything."""
    try:
        # Fractions have no exponent; 1e999999999 would be written out before it is refused.
        return None if "e" in value.lower() else float(Fraction(value))
    except (ValueError, ArithmeticError):
        return None
