"""Page and PublicPage: what reports show of a release, read from its manifest and nothing else.

ε and δ are shown as odds: what an attacker's best test can achieve, whatever it is.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction

from slogan.budget import PrivacyBudget
from slogan.manifest.manifest import Manifest, Outputs, PrivateRowsOutputs
from slogan.manifest.promise import TEST_RUN
from slogan.manifest.wording import WORDINGS, Wording
from slogan.report.html import render

_FALSE_ALARMS = 0.01
_RAREST = sys.float_info.min
"""The inverse of a smaller probability may be too large for a float."""


def one_in(probability: float) -> str:
    """A probability as people say it: 1 in 2, 1 in 1,000,000."""
    if probability <= 0:
        return "never"
    around = 1 / max(probability, _RAREST)
    exact = abs(around - round(around)) < 0.05
    return f"{'' if exact else 'about '}1 in {around:,.0f}"


def found_in_hundred(budget: PrivacyBudget, *, end_to_end: bool) -> float:
    """How many of a hundred users in the log any test can point out at most.

    The test may wrongly point out one of a hundred users who are not in it. End to end
    Pr_D[Y] ≤ e^ε·Pr_D'[Y] + δ for every event Y; given the counts Pr_D[Y] ≤ Pr_D'[Y] + δ.
    """
    ratio = math.exp(budget.epsilon_value) if end_to_end else 1.0
    return 100 * min(1.0, ratio * _FALSE_ALARMS + budget.delta_value)


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
    def kind(self) -> Wording:
        """What kind of release it is, with its words."""
        return WORDINGS[self.manifest.kind]

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


_OBJECTIVES = {
    "output_size": "as many clicks as possible",
    "diversity": "as many different query-url pairs as possible",
    "query_diversity": "as many different queries as possible",
    "frequent_pairs": "the shares of frequently clicked pairs as close to the original as possible",
}


@dataclass(frozen=True)
class PublicPage(Page):
    """The public report."""

    @property
    def verdict(self) -> str:
        """The promise in one line."""
        return self.told(self.kind.verdict)

    @property
    def utility(self) -> list[str]:
        """What the release was made to be good at."""
        asked = str(self.manifest.parameters.get("objective", ""))
        lines: list[str] = []
        if asked in _OBJECTIVES:
            lines.append(f"It was made to keep {_OBJECTIVES[asked]} (objective {asked}).")
        return [
            *lines,
            *self._measured(),
            "How well that went compared with the original is known to the curator only, because "
            "the comparison is computed from the original log.",
        ]

    def _measured(self) -> list[str]:
        """What the mechanism measured of the original, with noise: private as the log itself."""
        told = self.manifest.outputs
        if told is None:
            return []
        return _of_draws(told) if isinstance(told, PrivateRowsOutputs) else self._of_synthesis(told)

    def _of_synthesis(self, told: Outputs) -> list[str]:
        kind, rank = told.association, told.association_rank
        clear = f"{rank} clear direction{'s' * (rank != 1)}"
        if kind != "independent":
            held = f"follows the original as far as the noise allows ({kind}, {clear})"
        elif self.manifest.parameters.get("association") == "independent":
            held = "says nothing: it was not measured"
        else:
            held = f"says nothing: it was lost in the noise ({clear})"
        return [
            f"{told.coverage:.2%} of all clicks of the original fall on the released "
            "pairs. The share of a pair in the original is about its share here times that.",
            f"Which pairs the users hold together {held}.",
        ]


def _of_draws(told: PrivateRowsOutputs) -> list[str]:
    return [
        f"{told.pairs_selected:,} pairs could be drawn. About {told.users:,} users held one of "
        "them, by a noisy count."
    ]


def public_page(manifest: Manifest) -> str:
    """The public report. It is given the manifest and nothing else, so it can show nothing else."""
    return render("public.html", PublicPage(manifest))
