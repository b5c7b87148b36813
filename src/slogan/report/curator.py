"""CuratorPage: the report for those who may see the log, with figures computed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slogan.report.charts.bars import budget_chart, diff_ratio_chart
from slogan.report.charts.frequency import frequency_chart
from slogan.report.charts.supports import support_chart
from slogan.report.charts.svg import Chart
from slogan.report.headlines import HEADLINES
from slogan.report.page import Fact, Page

_REASONS = {
    "unique_pairs": "on pairs that only one user clicked, which are never released",
    "too_dear": "on pairs of which one user holds so much that not one click fits the budget",
    "not_chosen": "on pairs that fit the budget alone, but not beside the others",
    "thinned": "on released pairs, beyond the clicks that fit the budget",
    "kept": "released",
    "not_selected": "on pairs that are not released: too few users hold them for the noise",
    "represented": "on released pairs",
}


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
    def synthetic(self) -> bool:
        """Whether the users never lived."""
        return self.manifest.method == "synthesize"

    @property
    def verdict(self) -> str:
        """What came out, and how good it is, in one line."""
        c = self.certificate
        share = c["clicks_out"] / max(1, c["clicks_in"])
        told = (
            f"{c['clicks_out']:,} clicks are released, {share:.2%} of the log's {c['clicks_in']:,}."
        )
        if self.synthetic:
            return f"{told} No row belongs to a real user."
        return (
            f"{told} The proven gap to the best for this objective is {c['gap']:.1%}. A row of "
            f"about {c['exposed_users_expected']:,.0f} of {c['users']:,} real users is expected to "
            "be shown."
        )

    @property
    def flow(self) -> list[Fact]:
        """Clicks, pairs and users, in and out."""
        c = self.certificate
        shared = c.get("shared")
        sizes = (("clicks", "clicks_in"), ("pairs", "pairs"), ("users", "users"))
        return [
            Fact(
                key.capitalize(),
                f"{c[f'{key}_out']:,}",
                f"released, of {c[whole]:,}"
                + (f" in the log and {shared[key]:,} on shared pairs" if shared else " in the log"),
            )
            for key, whole in sizes
        ]

    @property
    def lost(self) -> list[tuple[str, str, str]]:
        """Where the clicks went, by reason: clicks, share, reason."""
        found: dict[str, int] = self.certificate.get("clicks_by_fate", {})
        whole = max(1, sum(found.values()))
        return [(f"{n:,}", f"{n / whole:.2%}", _REASONS[why]) for why, n in found.items()]

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
        c = self.certificate
        if self.synthetic:
            return self._private_utility()
        return [
            Fact(
                c["objective"].replace("_", " ").capitalize(),
                f"{c['value']:,.6g}",
                f"{c['status']}, by the solver {c['solver']}",
            ),
            Fact("Proven bound", f"{c['bound']:,.6g}", "no output under this budget is better"),
            Fact("Gap", f"{c['gap']:.2%}", "between the two: what is left to find, at most"),
            Fact(
                "Limit m·b",
                f"{c['size_bound']:,.0f}",
                "clicks: no output under this budget is larger",
            ),
        ]

    def _private_utility(self) -> list[Fact]:
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
