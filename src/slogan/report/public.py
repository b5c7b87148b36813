"""Page and PublicPage: the facts that every page shows, read from the manifest and nothing else."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from slogan.budget import PrivacyBudget, at_most, exact
from slogan.logs.words import ITEMS, PAIRS, worded_page
from slogan.manifest.command import command_of
from slogan.manifest.coverage import CONFIDENCE, coverage_interval
from slogan.manifest.fields import column_notes
from slogan.manifest.manifest import Manifest, Outputs, PrivateRowsOutputs, SpentStage
from slogan.manifest.promise import ACCEPTED, TEST_RUN, Wording, wording_of
from slogan.manifest.strictness import Odds, Strictness, odds_of, strictness_of
from slogan.manifest.uses import Uses, declared_uses
from slogan.modes import ReleaseKind
from slogan.report.html import render
from slogan.report.people import people_picture

_USER_IDS = {
    "fresh": "random; they are not the original ones",
    "keep": "the original ones",
    "synthetic": "random; they belong to no person",
}
_SYMBOLS = {
    "mu_squared": "μ²",
    "norm_squared": "Δ²",
    "variance": "σ²",
    "epsilon": "ε",
    "delta": "δ",
}
_LABELS = {
    "publisher": "Published by",
    "contact": "Contact",
    "period": "Period of the searches",
    "licence": "Licence",
    "region": "Region",
    "published": "Date of publication",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A number with its name and what it means."""

    name: str
    value: str
    note: str


@dataclass(frozen=True)
class Page:
    """The parts that all pages share. Its only source is the manifest."""

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
        """The sentences for this kind of release."""
        return wording_of(self.manifest.kind, self.budget, self.manifest.parameters)

    @property
    def title(self) -> str:
        """The title that the curator gave, or what the release is."""
        return self.manifest.labels.title or self.words.heading

    @property
    def labels(self) -> list[tuple[str, str]]:
        """Publisher, contact, period and licence, where they were given."""
        given = self.manifest.labels.given()
        return [(words, given[name]) for name, words in _LABELS.items() if name in given]

    @property
    def strictness(self) -> Strictness:
        """How well people are protected: a colour, its name and the reasons."""
        return strictness_of(self.manifest)

    @property
    def overridden(self) -> bool:
        """Whether the curator overrode a refusal."""
        return ACCEPTED in self.manifest.parameters

    @property
    def uses(self) -> Uses:
        """What the release is good for and what it is not for, by how it was made."""
        return declared_uses(self.manifest)

    @property
    def command(self) -> list[str]:
        """The parts of the command that made the release, without paths."""
        return command_of(self.manifest)

    @property
    def odds(self) -> Odds:
        """How many of 100 people an attacker could name."""
        return odds_of(self.manifest)

    @property
    def attack(self) -> str:
        """What the best attack achieves, in a sentence."""
        condition = "" if self.manifest.kind.end_to_end else "Given the counts, an"
        return (
            f"{condition or 'An'} attacker who may wrongly accuse 1 in 100 outsiders can correctly "
            f"name at most {at_most(self.odds.named, 3)} of 100 people in the log. "
            f"Guessing alone names {self.odds.guessed}."
        )

    @property
    def people(self) -> str:
        """The picture of 100 people, as SVG."""
        odds = self.odds
        more = max(0, odds.shown - odds.guessed)
        return people_picture(
            named=odds.shown,
            guessed=odds.guessed,
            title=f"At most {odds.shown} of 100 people can be named",
            summary=f"100 people of the log. Guessing alone names {odds.guessed}. Because of this "
            f"release an attacker names at most {more} more. The other {100 - odds.shown} stay "
            "unnamed.",
        )

    @property
    def privacy_facts(self) -> list[Fact]:
        """The privacy card."""
        words, budget = self.words, self.budget
        synthetic = self.manifest.kind is ReleaseKind.SYNTHETIC_USERS
        chance = "Chance of failure" if synthetic else "Chance of being shown"
        neighbours = f"all searches of each person; compared are {words.neighbours}"
        return [
            Fact("Protected", "each person", neighbours),
            Fact("Privacy budget ε", at_most(budget.epsilon_at_most), words.epsilon),
            Fact(f"{chance} δ", at_most(exact(budget.delta), 6), words.delta),
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
        """Where the user-IDs of the released log come from."""
        return _USER_IDS[self.manifest.pseudonyms]

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The curator's choices, the constants, and the versions."""
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
    """The values that are not zero, with the symbols of the theorems."""
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
    """A part of the whole in percent, at most 100."""
    some, every = _number(part or ""), _number(whole or "")
    return 100 * min(1.0, some / every) if some is not None and every and some >= 0 else None


def _number(value: str) -> float | None:
    """A fraction as a number; None for any other text, which a foreign manifest may hold."""
    try:
        # Fractions have no exponent; 1e999999999 would be written out before it is refused.
        return None if "e" in value.lower() else float(Fraction(value))
    except (ValueError, ArithmeticError):
        return None


_OBJECTIVES = {
    "output_size": "as many clicks as possible",
    "diversity": "as many different query-url pairs as possible",
    "query_diversity": "as many different queries as possible",
    "frequent_pairs": "the shares of frequently clicked pairs close to the original",
    "joint": "much of several things at once, by the weights in the manifest",
}


@dataclass(frozen=True)
class PublicPage(Page):
    """The public report."""

    @property
    def people_shown(self) -> str:
        """How many real people are expected to have rows in the file, at most."""
        if not isinstance(outputs := self.manifest.outputs, PrivateRowsOutputs):
            return ""
        most = math.ceil(exact(self.budget.delta) * max(outputs.users, 0))
        return (
            f"Rows of real people: of about {outputs.users:,} who hold a pair that could be drawn, "
            f"up to {most:,} are expected to be in this file."
        )

    @property
    def advice(self) -> list[str]:
        """How to use the file: what its numbers mean, as far as that is public."""
        objective = str(self.manifest.parameters.get("objective", ""))
        lines: list[str] = []
        if objective in _OBJECTIVES:
            lines.append(f"It was made to keep {_OBJECTIVES[objective]} (objective {objective}).")
        match self.manifest.outputs:
            case PrivateRowsOutputs(pairs_selected=pairs, users=users):
                lines.append(
                    f"{pairs:,} pairs could be drawn. About {users:,} users clicked one of them, "
                    "by a noisy count."
                )
            case Outputs() as outputs:
                lines += [
                    *self._coverage(outputs),
                    f"Which pairs users have together {self._association(outputs)}.",
                    "The users are made up: do not read their rows as the history of a person.",
                    *column_notes(self.manifest),
                ]
            case None:
                lines.append(
                    "A pair may be released more or less often than it was clicked: do not read "
                    "counts as shares of the original."
                )
        lines.append(
            "How close the file is to the original is known to the curator only, because the "
            "comparison is computed from the original log."
        )
        return lines

    def _coverage(self, outputs: Outputs) -> list[str]:
        """The share of clicks on released pairs, what it is for, and how far noise may move it."""
        interval = coverage_interval(self.manifest)
        most = self.manifest.parameters.get("coverage_most_clicks")
        scaled = f" Each user counts with {most} clicks at most; the range leaves that out."
        if interval is not None and not interval[0]:
            return [
                "The noise hid which share of all clicks of the original the released pairs "
                f"account for: with {CONFIDENCE} confidence it is at most {float(interval[1]):.2%}."
                f"{scaled if most else ''} Compare the released pairs with each other only."
            ]
        lines = [
            f"The released pairs account for about {outputs.coverage:.2%} of all clicks of "
            "the original. Multiply the share of a pair in this file by that to estimate "
            "its share in the original."
        ]
        if interval is not None:
            low, high = (f"{float(share):.2%}" for share in interval)
            lines.append(
                f"That share is noisy: with {CONFIDENCE} confidence it is between {low} and "
                f"{high}.{scaled if most else ''}"
            )
        return lines

    def _association(self, outputs: Outputs) -> str:
        if (kind := outputs.association) != "independent":
            return (
                "follows the original as far as the noise allows: about "
                f"{int(100 * outputs.association_kept)}% of what could be measured is kept ({kind})"
            )
        stages = () if self.manifest.account is None else self.manifest.account.stages
        if any(stage.name == "association" for stage in stages):
            return "is random: the noise hid it"
        return "is random: it was not measured"


def public_page(manifest: Manifest) -> str:
    """The public report, made from the manifest only, so that it can show nothing else."""
    page = PublicPage(manifest)
    return worded_page(render("public.html", page), page.items)


def card_page(manifest: Manifest) -> str:
    """The data card for recipients, made from the manifest only."""
    page = PublicPage(manifest)
    return worded_page(render("card.html", page), page.items)
