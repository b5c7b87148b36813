"""CuratorPage: the report for those who may see the log, with figures computed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slogan.report.charts.bars import budget_chart, diff_ratio_chart
from slogan.report.charts.frequency import frequency_chart
from slogan.report.charts.supports import support_chart
from slogan.report.charts.svg import Chart
from slogan.report.headlines import HEADLINES
from slogan.report.kinds import CAPPED, LAPLACE, SYNTHETIC
from slogan.report.page import Fact, Page

_REASONS = {
    "unique_pairs": "On pairs that only one user clicked, which are never released",
    "removed_users": "Of users who were removed, or on pairs that only one of the others clicked",
    "too_dear": "On pairs of which one user holds so much that not one click fits the budget",
    "not_chosen": "On pairs that fit the budget alone, but not beside the others",
    "thinned": "On released pairs, beyond the clicks that fit the budget",
    "not_drawn": "On pairs that could be drawn, beyond what was",
    "kept": "Released",
    "not_selected": "On pairs that are not released: too few users hold them for the noise",
    "represented": "On released pairs",
}
_REASONS_WITH_NOISE = {
    **_REASONS,
    "not_chosen": "On pairs that fit the budget alone, but not beside the others and with noise",
    "thinned": "On released pairs, beyond the clicks that fit the budget or that the noise left",
}


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of some of the log's clicks."""

    reason: str
    clicks: str
    share: str
    percent: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One measure: the release, the random sample, and which of them is better."""

    name: str
    release: str
    sample: str
    release_is_better: bool
    sample_is_better: bool


@dataclass(frozen=True)
class CuratorPage(Page):
    """The curator's report."""

    certificate: dict[str, Any]
    evaluation: dict[str, Any] | None = None

    @property
    def verdict(self) -> str:
        """What came out, and how good it is, in one line."""
        c, kind = self.certificate, self.kind
        share = c["clicks_out"] / max(1, c["clicks_in"])
        told = (
            f"{c['clicks_out']:,} clicks are released, {share:.2%} of the log's {c['clicks_in']:,}."
        )
        if kind is SYNTHETIC:
            return f"{told} No row belongs to a real user."
        shown = (
            f"A row of about {c['exposed_users_expected']:,.0f} of {c['users']:,} real users is "
            "expected to be shown."
        )
        if kind is CAPPED:
            return f"{told} {shown}"
        if kind is LAPLACE:
            told = f"{told} The noise on the counts is a heuristic without an end-to-end proof."
        rest = " without the removed users" if kind is LAPLACE else ""
        gap = f"The proven gap to the best for this objective{rest} is {c['gap']:.1%}."
        return f"{told} {gap} {shown}"

    @property
    def exposure(self) -> list[str]:
        """Whom the release shows."""
        c, kind = self.certificate, self.kind
        if kind is SYNTHETIC:
            return []
        shown = f"A row of {c['exposed_users_expected']:,.1f} of {c['users']:,} users is expected"
        if kind is CAPPED:
            return [
                f"{shown} to be shown; with this cap it is never more than "
                f"{c['exposed_users_at_most']:,.1f}.",
                f"No user is expected to show more than {c['budget_per_user']:.6g} clicks.",
            ]
        lines = [
            f"{shown} to be shown. Each user may be charged at most {c['budget_per_user']:.6g}; "
            f"{c['users_unconstrained']:,} users have no shared pair, so nothing of theirs can be "
            "shown."
        ]
        if kind is LAPLACE:
            lines.append(
                f"Users removed beforehand because they sway some count: {c['users_removed']:,}. "
                "None of them is shown."
            )
        return lines

    @property
    def flow(self) -> list[Fact]:
        """Clicks, pairs and users, in and out."""
        c = self.certificate
        besides: dict[str, str] = dict.fromkeys(("clicks", "pairs", "users"), "")
        if shared := c.get("shared"):
            besides = {key: f" and {shared[key]:,} on shared pairs" for key in besides}
        elif self.kind is CAPPED:
            besides["clicks"] = f"; on average at most {c['size_bound']:,.1f}"
            besides["pairs"] = f" and {c['pairs_selected']:,} that could be drawn"
        sizes = (("clicks", "clicks_in"), ("pairs", "pairs"), ("users", "users"))
        return [
            Fact(
                key.capitalize(),
                f"{c[f'{key}_out']:,}",
                f"released, of {c[whole]:,} in the log{besides[key]}",
            )
            for key, whole in sizes
        ]

    @property
    def lost(self) -> list[Fate]:
        """Where the clicks went, by reason."""
        found: dict[str, int] = self.certificate.get("clicks_by_fate", {})
        whole = max(1, sum(found.values()))
        reasons = _REASONS_WITH_NOISE if self.kind is LAPLACE else _REASONS
        return [
            Fate(reasons[why], f"{n:,}", f"{n / whole:.2%}", 100 * n / whole)
            for why, n in found.items()
        ]

    @property
    def beyond(self) -> str:
        """How often pairs were drawn beyond their clicks; synthetic clicks are not drawn."""
        found = self.certificate.get("clicks_by_fate", {})
        more = self.certificate["clicks_out"] - found["kept"] if "kept" in found else 0
        if not more:
            return ""
        are = "click is" if more == 1 else "clicks are"
        return f"{more:,} released {are} beyond these: a pair may be drawn more often than clicked."

    @property
    def left_out(self) -> list[str]:
        """Rows that were not counted at all."""
        c = self.certificate
        lines = [f"{n:,} rows that could not be read: {why}" for why, n in c["bad_rows"].items()]
        if c["rows_without_click"]:
            lines.insert(0, f"{c['rows_without_click']:,} rows without a click")
        return lines

    @property
    def utility(self) -> list[Fact]:
        """The objective, what is proven of it, and the limit that no output passes."""
        if self.kind is SYNTHETIC:
            return self._utility_of_synthesis()
        if self.kind is CAPPED:
            return self._utility_of_draws()
        c, noisy = self.certificate, self.kind is LAPLACE
        among = "no output without the removed users" if noisy else "no output under this budget"
        return [
            Fact(
                c["objective"].replace("_", " ").capitalize(),
                f"{c['value']:,.6g}",
                f"{c['status']}, by the solver {c['solver']}{', with noise' if noisy else ''}",
            ),
            Fact("Proven bound", f"{c['bound']:,.6g}", f"{among} is better"),
            Fact(
                "Gap",
                f"{c['gap']:.2%}",
                "between the two: what noise and rounding cost, at most"
                if noisy
                else "between the two: what is left to find, at most",
            ),
            Fact("Limit m·b", f"{c['size_bound']:,.0f}", f"clicks: {among} is larger"),
        ]

    def _utility_of_draws(self) -> list[Fact]:
        c = self.certificate
        return [
            Fact(
                "Objective",
                c["objective"].replace("_", " "),
                "served on noisy counts; rows are then drawn, so nothing is proven of its value",
            ),
            Fact(
                "Pairs selected",
                f"{c['pairs_selected']:,}",
                "could be drawn: enough users hold them for the noise",
            ),
            Fact("Limit m·B", f"{c['size_bound']:,.1f}", "clicks: no output is larger on average"),
        ]

    def _utility_of_synthesis(self) -> list[Fact]:
        c = self.certificate
        return [
            Fact(
                "Coverage κ", f"{c['coverage']:.2%}", "of all clicks fall on released pairs: noisy"
            ),
            Fact(
                "Association", c["association"], "how synthetic users come to hold pairs together"
            ),
            Fact(
                "Weight needed",
                f"{c['weight_needed']:.3g}",
                "for a pair to be released; a user with n pairs adds 1/√n to each",
            ),
        ]

    @property
    def charts(self) -> list[Chart]:
        """What can be drawn from what is known."""
        figures: dict[str, Any] | None = self.certificate.get("figures")
        drawn: list[Chart] = []
        if figures:
            drawn.append(frequency_chart(figures["frequency_before"], figures["frequency_after"]))
            drawn.append(support_chart(figures["supports"]))
        if use := self.certificate.get("budget_use"):
            drawn.append(budget_chart(use))
        if self.evaluation and (ratios := self.evaluation["diff_ratio_histogram"]):
            drawn.append(
                diff_ratio_chart(ratios, self.evaluation["yardstick"]["diff_ratio_histogram"])
            )
        return drawn

    @property
    def denominator(self) -> str:
        """What |D| counts in the measures."""
        if self.kind is SYNTHETIC:
            return "|D| counts all clicks of the log."
        return "As in the paper, |D| counts clicks on pairs that two users or more clicked."

    @property
    def compared(self) -> list[Compared]:
        """The measures beside those of a random sample of the same size."""
        if (found := self.evaluation) is None:
            return []
        beside = found["yardstick"]
        return [
            Compared(
                line.name,
                line.told(found),
                line.told(beside),
                line.favours(found, beside),
                line.favours(beside, found),
            )
            for line in HEADLINES
        ]

    @property
    def seconds(self) -> list[tuple[str, str]]:
        """Time by stage."""
        return [(name, f"{spent:,.2f} s") for name, spent in self.certificate["seconds"].items()]
