"""Page and PublicPage: what reports show of a release, read from its manifest and nothing else.

ε and δ are shown as odds: what an attacker's best test can achieve, whatever it is.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from slogan.budget import PrivacyBudget, at_most, exact
from slogan.logs.words import ITEMS, PAIRS, worded_page
from slogan.manifest.manifest import Manifest, Outputs, PrivateRowsOutputs, SpentStage
from slogan.manifest.promise import ACCEPTED, TEST_RUN, Weakness, Wording, weaknesses, wording_of
from slogan.report.html import render

_FALSE_ALARMS = Fraction(1, 100)
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


@dataclass(frozen=True)
class Page:
    """The parts that both reports share. Its only source is the manifest."""

    manifest: Manifest
    test_run: ClassVar[str] = TEST_RUN

    @property
    def budget(self) -> PrivacyBudget:
        """ε and δ as they were typed."""
        return PrivacyBudget(**self.manifest.budget.model_dump())

    @property
    def items(self) -> str:
        """What was counted and released: pairs, or queries."""
        return str(self.manifest.parameters.get(ITEMS, PAIRS))

    @property
    def words(self) -> Wording:
        """What is said of its kind of release."""
        return wording_of(self.manifest.kind, self.budget, self.manifest.parameters)

    @property
    def weaknesses(self) -> tuple[Weakness, ...]:
        """What is weak about the budget, for the number of users that is published."""
        outputs = self.manifest.outputs
        return weaknesses(self.manifest.kind, self.budget, outputs and outputs.users)

    @property
    def tone(self) -> str:
        """The colour of the first lines: red where a refusal was overridden."""
        weak = self.weaknesses
        return "red" if any(one.refused for one in weak) else "amber" if weak else ""

    @property
    def overridden(self) -> bool:
        """Whether the curator accepted whatever the budget allows."""
        return ACCEPTED in self.manifest.parameters

    @property
    def privacy_facts(self) -> list[Fact]:
        """The privacy card."""
        words, budget, end_to_end = self.words, self.budget, self.manifest.kind.end_to_end
        # The test may wrongly point out one of a hundred users who are not in the log. End to end
        # Pr_D[Y] ≤ e^ε·Pr_D'[Y] + δ for every event Y; given the counts Pr_D[Y] ≤ Pr_D'[Y] + δ.
        ratio = budget.ratio_at_most if end_to_end else 1
        exposed = 100 * min(Fraction(1), ratio * _FALSE_ALARMS + exact(budget.delta))
        return [
            Fact("Protected", "one user", f"the whole log of each; neighbours: {words.neighbours}"),
            Fact("ε", at_most(budget.epsilon_at_most), words.epsilon),
            Fact("δ", at_most(exact(budget.delta), 6), words.delta),
            Fact(
                "Best attack" if end_to_end else "Best attack, given the counts",
                f"{at_most(exposed, 3)} in 100",
                "users in the log are pointed out at most, by any test that wrongly points out 1 "
                "in 100 who are not",
            ),
        ]

    @property
    def stages(self) -> list[tuple[SpentStage, str, str, float | None]]:
        """Each stage of an end-to-end private release: parameters, cost, and percent of all μ²."""
        if (account := self.manifest.account) is None:
            return []
        whole = account.cost.get("mu_squared")
        return [
            (s, _listed(s.parameters), _listed(s.cost), _percent(s.cost.get("mu_squared"), whole))
            for s in account.stages
        ]

    @property
    def user_ids(self) -> str:
        """Whose user-IDs the released log has."""
        return _USER_IDS[self.manifest.pseudonyms]

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """What the curator chose, and what it was computed with."""
        manifest, budget = self.manifest, self.manifest.budget
        epsilon = f"ε = {budget.epsilon}" if budget.epsilon else f"e^ε = {budget.exp_epsilon}"
        choices = [
            (name.replace("_", " "), _short(str(value)).removeprefix("= "))
            for name, value in manifest.parameters.items()
        ]
        libraries = ", ".join(f"{name} {number}" for name, number in manifest.versions.items())
        return [
            ("method", manifest.method),
            ("privacy budget", f"{epsilon}, δ = {budget.delta}"),
            ("counts", self.words.counts),
            *choices,
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
    def people_shown(self) -> str:
        """Of how many people rows are expected, where rows are those of real people."""
        if not isinstance(outputs := self.manifest.outputs, PrivateRowsOutputs):
            return ""
        most = math.ceil(exact(self.budget.delta) * max(outputs.users, 0))
        return (
            f"Rows of real people: of about {outputs.users:,} who hold a pair that could be drawn, "
            f"up to {most:,} are expected to be in this file."
        )

    @property
    def utility(self) -> list[str]:
        """What the release was made to be good at, and what the mechanism measured with noise."""
        objective = str(self.manifest.parameters.get("objective", ""))
        lines: list[str] = []
        if objective in _OBJECTIVES:
            lines.append(f"It was made to keep {_OBJECTIVES[objective]} (objective {objective}).")
        match self.manifest.outputs:
            case PrivateRowsOutputs(pairs_selected=pairs, users=users):
                noisy = f"About {users:,} users held one of them, by a noisy count."
                lines.append(f"{pairs:,} pairs could be drawn. {noisy}")
            case Outputs() as outputs:
                lines += [
                    f"{outputs.coverage:.2%} of all clicks of the original fall on the released "
                    "pairs. The share of a pair in the original is about its share here times "
                    "that.",
                    f"Which pairs the users hold together {self._association(outputs)}.",
                ]
            case None:
                pass
        lines.append(
            "How well that went compared with the original is known to the curator only, because "
            "the comparison is computed from the original log."
        )
        return lines

    def _association(self, outputs: Outputs) -> str:
        rank = outputs.association_rank
        clear = f"{rank} clear direction{'s' * (rank != 1)}"
        if (kind := outputs.association) != "independent":
            return f"follows the original as far as the noise allows ({kind}, {clear})"
        if self.manifest.parameters.get("association") == "independent":
            return "says nothing: it was not measured"
        return f"says nothing: it was lost in the noise ({clear})"


def public_page(manifest: Manifest) -> str:
    """The public report. It is given the manifest and nothing else, so it can show nothing else."""
    page = PublicPage(manifest)
    return worded_page(render("public.html", page), page.items)
