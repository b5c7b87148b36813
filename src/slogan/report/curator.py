"""CuratorPage: the report for those who may see the log, and the figures a release gives it."""

from dataclasses import dataclass

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.logs.words import worded_page
from slogan.manifest.certificate import (
    Certificate,
    Fate,
    Figures,
    PlannedCertificate,
    PrivateRowsCertificate,
    SyntheticCertificate,
)
from slogan.manifest.manifest import Manifest
from slogan.measures import SideBySide
from slogan.measures.triplets import TRIPLETS, DiffRatios
from slogan.report.charts import (
    Bars,
    Chart,
    bar_chart,
    budget_chart,
    decimal,
    frequency_chart,
    support_chart,
)
from slogan.report.html import render
from slogan.report.public import Fact, Page

_CURVE = 60
_POINTS = 300


def figures(before: Ints, after: Ints, *, coverage: float = 1.0) -> Figures:
    """Draw c_ij and x_ij side by side; a coverage κ makes supports those of the whole log."""
    top = np.argsort(-before, kind="stable")[:_POINTS]
    top = top[before[top] > 0]
    share_before = before[top] / max(1, int(before.sum()))
    share_after = after[top] / max(1, int(after.sum())) * coverage
    return Figures(
        frequency_before=_curve(before),
        frequency_after=_curve(after),
        supports=list(zip(share_before.tolist(), share_after.tolist(), strict=True)),
    )


def _curve(clicks: Ints) -> list[tuple[int, int]]:
    falling = -np.sort(-clicks[clicks > 0])
    if not len(falling):
        return []
    ranks = np.unique(np.geomspace(1, len(falling), _CURVE).round().astype(np.int64))
    return list(zip(ranks.tolist(), falling[ranks - 1].tolist(), strict=True))


def budget_use(charge: Floats, limit: float) -> list[int]:
    """Users who were charged nothing, up to a tenth of the limit, up to two tenths, and so on."""
    tenth = np.ceil(charge / limit * 10 - 1e-9).astype(np.int64)
    return np.bincount(np.clip(tenth, 0, 10), minlength=11).tolist()


def clicks_by_selection(before: Ints, after: Ints) -> dict[str, int]:
    """How many of the log's clicks lie on pairs that are released, and how many do not."""
    released = int(before[after > 0].sum())
    return {"not_selected": int(before.sum()) - released, "represented": released}


def clicks_by_draw(before: Ints, after: Ints, selected: Ints) -> dict[str, int]:
    """How many of the log's clicks could not be drawn (not selected), were not drawn, and were."""
    possible, kept = int(before[selected].sum()), int(np.minimum(before, after).sum())
    return {
        "not_selected": int(before.sum()) - possible,
        "not_drawn": possible - kept,
        "kept": kept,
    }


def clicks_by_fate(before: Ints, after: Ints, upper: Ints) -> dict[str, int]:
    """Where the clicks of shared pairs went; no output can release more than `upper` of each."""
    released = after > 0
    return {
        "too_dear": int(before[(upper == 0) & ~released].sum()),
        "not_chosen": int(before[(upper > 0) & ~released].sum()),
        "thinned": int(np.maximum(before - after, 0)[released].sum()),
        "kept": int(np.minimum(before, after)[released].sum()),
    }


_REASONS: dict[Fate, str] = {
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
_REASONS_WITH_NOISE: dict[Fate, str] = {
    **_REASONS,
    "not_chosen": "On pairs that fit the budget alone, but not beside the others and with noise",
    "thinned": "On released pairs, beyond the clicks that fit the budget or that the noise left",
}


@dataclass(frozen=True)
class CuratorPage(Page):
    """The curator's report."""

    certificate: Certificate
    evaluation: SideBySide | None = None

    @property
    def verdict(self) -> str:
        """What came out, and how good it is, in one line."""
        c = self.certificate
        share = c.clicks_out / max(1, c.clicks_in)
        size = f"{c.clicks_out:,} clicks are released, {share:.2%} of the log's {c.clicks_in:,}."
        if not isinstance(c, PlannedCertificate | PrivateRowsCertificate):
            return f"{size} No row belongs to a real user."
        users = f"{c.exposed_users_expected:,.0f} of {c.users:,} real users"
        shown = f"A row of about {users} is expected to be shown."
        planned = isinstance(c, PlannedCertificate)
        return f"{size} {_gap(c)} {shown}" if planned else f"{shown} {size}"

    @property
    def exposure(self) -> list[str]:
        """Whom the release shows."""
        c = self.certificate
        if not isinstance(c, PlannedCertificate | PrivateRowsCertificate):
            return []
        users = f"{c.exposed_users_expected:,.1f} of {c.users:,} users"
        shown = f"A row of {users} is expected to be shown"
        if isinstance(c, PrivateRowsCertificate):
            return [
                f"{shown}; with this cap it is never more than {c.exposed_users_at_most:,.1f}.",
                f"No user is expected to show more than {c.budget_per_user:.6g} clicks.",
            ]
        lines = [
            f"{shown}. Each user may be charged at most {c.budget_per_user:.6g}; "
            f"{c.users_unconstrained:,} users have no shared pair, so nothing of theirs can be "
            "shown."
        ]
        if c.counts == "laplace":
            lines.append(
                f"Users removed beforehand because they sway some count: {c.users_removed:,}. "
                "None of them is shown."
            )
        return lines

    @property
    def flow(self) -> list[Fact]:
        """Clicks, pairs and users, in and out."""
        c = self.certificate
        clicks = pairs = users = ""
        if isinstance(c, PlannedCertificate):
            shared = (c.shared.clicks, c.shared.pairs, c.shared.users)
            clicks, pairs, users = (f" and {n:,} on shared pairs" for n in shared)
        elif isinstance(c, PrivateRowsCertificate):
            clicks = f"; on average at most {c.size_bound:,.1f}"
            pairs = f" and {c.pairs_selected:,} that could be drawn"
        return [
            Fact("Clicks", f"{c.clicks_out:,}", f"released, of {c.clicks_in:,} in the log{clicks}"),
            Fact("Pairs", f"{c.pairs_out:,}", f"released, of {c.pairs:,} in the log{pairs}"),
            Fact("Users", f"{c.users_out:,}", f"released, of {c.users:,} in the log{users}"),
        ]

    @property
    def lost(self) -> list[tuple[str, int, int]]:
        """Where the clicks went: the reason, how many, and of how many."""
        c = self.certificate
        whole = max(1, sum(c.clicks_by_fate.values()))
        noisy = isinstance(c, PlannedCertificate) and c.counts == "laplace"
        reasons = _REASONS_WITH_NOISE if noisy else _REASONS
        return [(reasons[fate], n, whole) for fate, n in c.clicks_by_fate.items()]

    @property
    def beyond(self) -> str:
        """How often pairs were drawn beyond their clicks; synthetic clicks are not drawn."""
        c = self.certificate
        more = c.clicks_out - c.clicks_by_fate.get("kept", c.clicks_out)
        if not more:
            return ""
        are = "click is" if more == 1 else "clicks are"
        return f"{more:,} released {are} beyond these: a pair may be drawn more often than clicked."

    @property
    def left_out(self) -> list[str]:
        """Rows that were not counted at all."""
        c = self.certificate
        empty = [f"{c.rows_without_click:,} rows without a click"] if c.rows_without_click else []
        bad = (f"{n:,} rows that could not be read: {why}" for why, n in c.bad_rows.items())
        whose = [f"Bad rows are of {c.bad_users:,} users, as far as known"] if c.bad_users else []
        return [*empty, *bad, *whose]

    @property
    def utility(self) -> list[Fact]:
        """The objective, what is proven of it, and the limit that no output passes."""
        c = self.certificate
        if isinstance(c, SyntheticCertificate):
            clicks = "of all clicks fall on released pairs: noisy"
            pairs = "how synthetic users come to hold pairs together"
            weight = "for a pair to be released; a user with n pairs adds 1/√n to each"
            return [
                Fact("Coverage κ", f"{c.coverage:.2%}", clicks),
                Fact("Association", c.association, pairs),
                Fact("Weight needed", f"{c.weight_needed:.3g}", weight),
            ]
        if isinstance(c, PrivateRowsCertificate):
            drawn = "served on noisy counts; rows are then drawn, so nothing is proven of its value"
            selected = "could be drawn: enough users hold them for the noise"
            return [
                Fact("Objective", c.objective.replace("_", " "), drawn),
                Fact("Pairs selected", f"{c.pairs_selected:,}", selected),
                Fact("Limit m·B", f"{c.size_bound:,.1f}", "clicks: no output is larger on average"),
            ]
        if not isinstance(c, PlannedCertificate):
            return []
        noisy, objective = c.counts == "laplace", c.objective.replace("_", " ").capitalize()
        among = "no output without the removed users" if noisy else "no output under this budget"
        rest = "noise and rounding cost" if noisy else "is left to find"
        solved = f"{c.status}, by the solver {c.solver}{', with noise' if noisy else ''}"
        return [
            Fact(objective, f"{c.value:,.6g}", solved),
            Fact("Proven bound", f"{c.bound:,.6g}", f"{among} is better"),
            Fact("Gap", f"{c.gap:.2%}", f"between the two: what {rest}, at most"),
            Fact("Limit m·b", f"{c.size_bound:,.0f}", f"clicks: {among} is larger"),
        ]

    @property
    def charts(self) -> list[Chart]:
        """What can be drawn from what is known."""
        c, charts = self.certificate, list[Chart]()
        if c.figures:
            charts.append(frequency_chart(c.figures.frequency_before, c.figures.frequency_after))
            charts.append(support_chart(c.figures.supports))
        if isinstance(c, PlannedCertificate):
            charts.append(budget_chart(c.budget_use))
        if self.evaluation and (ratios := self.evaluation.release[TRIPLETS]):
            charts.append(_diff_ratio_chart(ratios, self.evaluation.yardstick[TRIPLETS]))
        return charts

    @property
    def denominator(self) -> str:
        """What |D| counts in the measures."""
        if isinstance(self.certificate, SyntheticCertificate):
            return "|D| counts all clicks of the log."
        return "As in the paper, |D| counts clicks on pairs that two users or more clicked."


def _gap(c: PlannedCertificate) -> str:
    if c.counts == "laplace":
        return (
            "The noise on the counts is a heuristic without an end-to-end proof. The proven gap to "
            f"the best for this objective without the removed users is {c.gap:.1%}."
        )
    return f"The proven gap to the best for this objective is {c.gap:.1%}."


def _diff_ratio_chart(ratios: DiffRatios, beside: DiffRatios | None) -> Chart:
    """How many triplets moved by how much, of those that are shown."""
    average = f", on average over {ratios.samples} outputs" if ratios.samples > 1 else ""
    return bar_chart(
        Bars(
            names=[*(f"<{10 * n}" for n in range(1, 11)), "more"],
            values=[*ratios.below, ratios.above],
            others=[] if beside is None else [*beside.below, beside.above],
            value_name="this release",
            other_name="random sample",
        ),
        name="diff-ratio",
        title="How far the shown triplets moved (DiffRatio)",
        summary=f"{decimal(ratios.not_shown)} of {ratios.triplets:,} triplets of frequent pairs "
        f"are not shown{average}; {decimal(sum(ratios.below[:4]))} moved by less than 40%.",
        x_title="difference in percent",
        y_title="triplets",
    )


def curator_page(
    manifest: Manifest, certificate: Certificate, evaluation: SideBySide | None = None
) -> str:
    """The curator's report: the public one, and what was computed from the raw log."""
    page = CuratorPage(manifest, certificate, evaluation)
    return worded_page(render("curator.html", page), page.items)
