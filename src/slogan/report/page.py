"""Page: what both reports show of a release, read from its manifest and nothing else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from slogan.manifest import Manifest
from slogan.privacy import PrivacyBudget
from slogan.promise import TEST_RUN
from slogan.report.odds import found_in_hundred, one_in

_UNITS = {
    "sanitize": "the log, and the log without one of its users",
    "synthesize": "any two logs, one of which has one user more",
}
_STEPS = {
    "sanitize": (
        "Count: the clicks of each user on each query-url pair. Pairs that only one user clicked "
        "are removed.",
        "Constrain: ε and δ allow each user a charge, and every released click charges those who "
        "clicked its pair.",
        "Solve: the numbers of clicks that serve the objective best within all charges.",
        "Gate: whatever the solver said, the numbers are checked again for every user in exact "
        "arithmetic, and lowered where they break a constraint.",
        "Sample: for each released click one of the pair's users is drawn, in proportion to how "
        "often they clicked it, in integers, from the operating system's random source.",
        "Write: the columns and format of the original; rows in an order that says nothing.",
    ),
    "synthesize": (
        "Select: which pairs can be released is decided on noisy sums of what users hold.",
        "Count: their clicks, how many pairs users hold, which share of all clicks they stand for, "
        "and which pairs go together are measured with noise.",
        "Synthesize: users who never lived are given the released clicks by those noisy figures.",
        "Write: the columns and format of the original.",
    ),
}
_USER_IDS = {
    "fresh": "drawn at random; they are not the original ones",
    "keep": "the original ones",
    "synthetic": "drawn at random; they stand for nobody",
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
    parameters: str
    cost: str


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
    def privacy_facts(self) -> list[Fact]:
        """The privacy card."""
        method, budget = self.manifest.method, self.budget
        ratio, delta = math.exp(budget.epsilon_value), budget.delta_value
        synthetic = method == "synthesize"
        found = found_in_hundred(method, budget)
        return [
            Fact("Protected", "one user", f"the whole log of each; neighbours: {_UNITS[method]}"),
            Fact(
                "ε",
                f"{budget.epsilon_value:.4g}",
                f"an output is at most {ratio:.4g} times as likely with a user as without, and the "
                "other way round"
                if synthetic
                else f"an output that does not show a user is at most {ratio:.4g} times as likely "
                "without that user's log",
            ),
            Fact(
                "δ",
                f"{delta:g}",
                f"{one_in(delta)}: what ε leaves out, as a chance"
                if synthetic
                else f"{one_in(delta)}: the largest chance that any row of a given user is shown",
            ),
            Fact(
                "Best attack" if synthetic else "Best attack, given the counts",
                f"{found:.3g} in 100",
                "users in the log are pointed out at most, by any test that wrongly points out 1 "
                "in 100 who are not",
            ),
        ]

    @property
    def steps(self) -> tuple[str, ...]:
        """How the method goes, in order."""
        return _STEPS[self.manifest.method]

    @property
    def stages(self) -> list[Stage]:
        """What each stage of an end-to-end private release spent."""
        if (account := self.manifest.account) is None:
            return []
        return [
            Stage(
                name=stage.name,
                mechanism=f"{stage.mechanism} ({stage.theorem})",
                parameters=_listed(stage.parameters),
                cost=_listed(stage.cost),
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
        chosen = [(n.replace("_", " "), str(v)) for n, v in manifest.parameters.items()]
        libraries = ", ".join(f"{name} {number}" for name, number in manifest.versions.items())
        return [
            ("method", manifest.method),
            ("privacy budget", f"{told}, δ = {budget.delta}"),
            *chosen,
            ("user-IDs", manifest.pseudonyms),
            ("made with", f"slogan {manifest.slogan_version}, {libraries}"),
        ]


def _listed(named: dict[str, str]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {_short(value)}" for name, value in named.items())


def _short(value: str) -> str:
    """An exact fraction as a decimal, if it is long; the manifest has it in full."""
    if len(value) <= 12 or "/" not in value:
        return value
    try:
        return f"≈ {float(Fraction(value)):.6g}"
    except (ValueError, ArithmeticError):  # a manifest from elsewhere may say anything
        return value
