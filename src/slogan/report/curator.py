"""CuratorPage: the report with figures computed from the raw log, and how they are computed."""

from dataclasses import dataclass
from itertools import groupby
from math import ceil, floor

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.budget import at_least, at_most, readable
from slogan.logs.words import worded_page
from slogan.manifest.certificate import (
    Certificate,
    Fate,
    Figures,
    PartOfJoint,
    PlannedCertificate,
    PrivateRowsCertificate,
    SyntheticCertificate,
)
from slogan.manifest.manifest import Manifest
from slogan.manifest.uses import Uses
from slogan.measures import SideBySide
from slogan.measures.headlines import Row
from slogan.measures.ranks import CLICK_RANKS, Ranks
from slogan.measures.times import TIMES, Times
from slogan.measures.triplets import TRIPLETS, DiffRatios
from slogan.planning import objectives
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
    """Chart data of c_ij and x_ij; a coverage κ scales supports to the whole log."""
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
    """Number of users who used none of the limit, up to a tenth, up to two tenths, and so on."""
    tenth = np.ceil(charge / limit * 10 - 1e-9).astype(np.int64)
    return np.bincount(np.clip(tenth, 0, 10), minlength=11).tolist()


def clicks_by_selection(before: Ints, after: Ints) -> dict[str, int]:
    """Clicks of the log on released pairs and on other pairs."""
    released = int(before[after > 0].sum())
    return {"not_selected": int(before.sum()) - released, "represented": released}


def clicks_by_draw(before: Ints, after: Ints, selected: Ints) -> dict[str, int]:
    """Clicks of the log that could not be drawn (not selected), were not drawn, and were."""
    possible, kept = int(before[selected].sum()), int(np.minimum(before, after).sum())
    return {
        "not_selected": int(before.sum()) - possible,
        "not_drawn": possible - kept,
        "kept": kept,
    }


def clicks_by_fate(before: Ints, after: Ints, upper: Ints) -> dict[str, int]:
    """Clicks of shared pairs by reason; `upper` is the largest count that fits for each pair."""
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
    "too_dear": "On pairs dominated by one user, so that not one click fits the budget",
    "not_chosen": "On pairs that fit the budget alone, but not together with the others",
    "thinned": "On released pairs, beyond the clicks that fit the budget",
    "not_drawn": "On pairs that could be drawn, beyond the clicks that were",
    "kept": "Released",
    "not_selected": "On pairs with too few users for the noise, which are not released",
    "represented": "On released pairs",
}
_REASONS_WITH_NOISE: dict[Fate, str] = {
    **_REASONS,
    "not_chosen": "On pairs that fit the budget alone, but not together with others and noise",
    "thinned": "On released pairs, beyond the clicks that fit the budget or remain after noise",
}


@dataclass(frozen=True)
class CuratorPage(Page):
    """The curator's report."""

    certificate: Certificate
    evaluation: SideBySide | None = None

    @property
    def verdict(self) -> str:
        """The size of the release, its proven quality and its exposure, in one line."""
        c = self.certificate
        share = c.clicks_out / max(1, c.clicks_in)
        size = f"{c.clicks_out:,} clicks are released, {share:.2%} of the log's {c.clicks_in:,}."
        if not isinstance(c, PlannedCertificate | PrivateRowsCertificate):
            return f"{size} No row belongs to a real user."
        users = f"{at_most(c.exposed_users_expected)} of {c.users:,} real users"
        shown = f"Rows of about {users} are expected to be in it."
        planned = isinstance(c, PlannedCertificate)
        return f"{size} {_gap(c)} {shown}" if planned else f"{shown} {size}"

    @property
    def measured_uses(self) -> Uses:
        """By the measures where there are any, else by how the release was made."""
        return self.uses.decided_by(self.evaluation.uses) if self.evaluation else self.uses

    @property
    def measured(self) -> list[tuple[str, list[Row]]]:
        """The headlines of the measures, by group."""
        rows = [] if self.evaluation is None else self.evaluation.headlines()
        return [(group, list(lines)) for group, lines in groupby(rows, key=lambda row: row.group)]

    @property
    def exposure(self) -> list[str]:
        """How many real users the release shows."""
        c = self.certificate
        if not isinstance(c, PlannedCertificate | PrivateRowsCertificate):
            return []
        users = f"{at_most(c.exposed_users_expected)} of {c.users:,} users"
        shown = f"Rows of {users} are expected to be shown"
        if isinstance(c, PrivateRowsCertificate):
            return [
                f"{shown}; the cap allows {at_most(c.exposed_users_at_most)} at most.",
                f"Each user shows at most {c.budget_per_user:.6g} clicks on average.",
            ]
        lines = [
            f"{shown}. Budget per user: {c.budget_per_user:.6g}. {c.users_unconstrained:,} users "
            "share no pair with anyone, so nothing of theirs can be released."
        ]
        lines += _required(c)
        if c.counts == "laplace":
            lines.append(
                f"Users removed beforehand because of a large influence on some count: "
                f"{c.users_removed:,}. None of them is shown."
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
        """Where the clicks went: the reason, how many, and the total."""
        c = self.certificate
        whole = max(1, sum(c.clicks_by_fate.values()))
        noisy = isinstance(c, PlannedCertificate) and c.counts == "laplace"
        reasons = _REASONS_WITH_NOISE if noisy else _REASONS
        return [(reasons[fate], n, whole) for fate, n in c.clicks_by_fate.items()]

    @property
    def beyond(self) -> str:
        """Clicks drawn beyond those in the log; synthetic clicks are not drawn."""
        c = self.certificate
        more = c.clicks_out - c.clicks_by_fate.get("kept", c.clicks_out)
        if not more:
            return ""
        clicks = "click is" if more == 1 else "clicks are"
        return f"{more:,} more {clicks} released: a pair may be drawn more often than clicked."

    @property
    def left_out(self) -> list[str]:
        """Rows that were not counted at all."""
        c = self.certificate
        skipped = c.rows_without_click
        counted = " (not counted as pairs)" if c.makes_searches else ""
        empty = [f"Searches without a click{counted}: {skipped:,}"] if skipped else []
        bad = (f"Rows that could not be read ({why}): {n:,}" for why, n in c.bad_rows.items())
        whose = [f"Users with such rows, as far as known: {c.bad_users:,}"] if c.bad_users else []
        return [*empty, *bad, *whose]

    @property
    def utility(self) -> list[Fact]:
        """The objective, the proven bound, and the limit for every output."""
        c = self.certificate
        if isinstance(c, SyntheticCertificate):
            clicks = "of all clicks fall on released pairs, by a noisy count"
            pairs = "decides which pairs synthetic users have together"
            weight = "for a pair to be released; a user with n pairs contributes 1/√n to each"
            if c.contributions == "one":
                weight = "users of a pair, of whom one pair each counts, for it to be released"
            kept = int(100 * c.association_kept)
            most = f"of at most {ceil(c.pairs_possible):,} that any method with this guarantee can "
            most += "release on average, on this log"
            if (known := c.public_pairs) is not None:
                most += (
                    f", without public knowledge; {known.listed:,} pairs were declared public, "
                    f"{known.in_log:,} of them are in the log, {known.of_one_user:,} of one user "
                    f"only, and {known.released:,} were selected"
                )
            return [
                Fact("Pairs", f"{c.pairs_out:,}", most),
                Fact("Coverage κ", f"{c.coverage:.2%}", clicks),
                Fact("Association", f"{c.association} ({kept}% kept)", pairs),
                Fact("Weight needed", f"{c.weight_needed:.3g}", weight),
            ]
        if isinstance(c, PrivateRowsCertificate):
            drawn = "applied to noisy counts; rows are then drawn, so no value is proven"
            selected = "could be drawn: they have enough users for the noise"
            return [
                Fact("Objective", c.objective.replace("_", " "), drawn),
                Fact("Pairs selected", f"{c.pairs_selected:,}", selected),
                Fact("Limit m·B", f"{c.size_bound:,.1f}", "clicks on average, at most"),
            ]
        if not isinstance(c, PlannedCertificate):
            return []
        noisy, objective = c.counts == "laplace", c.objective.replace("_", " ").capitalize()
        among = "no output without the removed users" if noisy else "no output under this budget"
        rest = "noise and rounding cost" if noisy else "a longer search could gain"
        solved = f"{c.status}, by the solver {c.solver}{', with noise' if noisy else ''}"
        if c.exposure_lower_bound is not None:
            exposed, least = c.exposed_users_expected, c.exposure_lower_bound
            return [
                Fact(objective, readable(c.value), "as required"),
                Fact("Exposed users", at_most(exposed, 6), f"expected; {c.status}"),
                Fact("Proven bound", at_least(least, 6), "no plan of this utility exposes fewer"),
                Fact("Gap", f"{c.gap:.2%}", f"between the two: the most that {rest}"),
            ]
        parts = [
            Fact(
                part.name.replace("_", " ").capitalize(),
                f"{part.share:.1%}",
                f"of the best found for it alone: {readable(part.value)} of "
                f"{readable(part.optimum)}, and no more than "
                f"{readable(part.bound)} is possible{_floor(part)}",
            )
            for part in c.parts
        ]
        # What counts whole things is bounded by a whole number.
        known = c.objective in objectives.names()
        bound = floor(c.bound) if known and objectives.load(c.objective).is_packing else c.bound
        return [
            Fact(objective, readable(c.value), solved),
            *parts,
            Fact("Proven bound", readable(bound), f"{among} is better"),
            Fact("Gap", f"{c.gap:.2%}", f"between the two: the most that {rest}"),
            Fact("Limit m·b", f"{c.size_bound:,.0f}", f"clicks: {among} is larger"),
        ]

    @property
    def worth(self) -> list[Fact]:
        """Whose limits bind, and how what budget is worth is distributed over users."""
        c = self.certificate
        if not isinstance(c, PlannedCertificate) or c.prices is None:
            return []
        full = f"of {c.shared.users:,}: no further click of any of their pairs fits"
        facts = [Fact("Users at their limit", f"{c.prices.users_at_limit:,}", full)]
        if (r := c.prices.relaxation) is None:
            return facts
        low, middle, high, most = r.worth.values()
        spread = f"for the median user with a price; {low:.3g} at 10%, {high:.3g} at 90%"
        top = ", ".join(f"{part:.0%} by the top {share}" for share, part in r.top_shares.items())
        return [
            *facts,
            Fact("Users with a price", f"{r.users:,}", f"in the relaxation; of all worth, {top}"),
            Fact("Worth of a budget", f"{middle:.3g}", f"{spread}, {most:.3g} at most"),
            Fact("Elasticity", f"{r.elasticity:.2f}", "% more value for 1% more budget, by prices"),
        ]

    @property
    def charts(self) -> list[Chart]:
        """The charts of the figures there are."""
        c, charts = self.certificate, list[Chart]()
        if c.figures:
            charts.append(frequency_chart(c.figures.frequency_before, c.figures.frequency_after))
            charts.append(support_chart(c.figures.supports))
        if isinstance(c, PlannedCertificate):
            charts.append(budget_chart(c.budget_use))
        if self.evaluation and (ratios := self.evaluation.release[TRIPLETS]):
            charts.append(_diff_ratio_chart(ratios, self.evaluation.yardstick[TRIPLETS]))
        if self.evaluation and (times := self.evaluation.release[TIMES]):
            charts.append(_hour_chart(times.released_pairs or times.whole_log))
        if self.evaluation and (ranks := self.evaluation.release[CLICK_RANKS]):
            charts.append(_rank_chart(ranks.released_pairs or ranks.whole_log))
        return charts

    @property
    def denominator(self) -> str:
        """Which clicks the shares of the measures refer to."""
        if isinstance(self.certificate, SyntheticCertificate):
            return "Shares are of all clicks of the log."
        return "As in the paper, shares are of the clicks on pairs that two or more users clicked."


def _required(c: PlannedCertificate) -> list[str]:
    """What a required utility decided, and what is proven about it."""
    if c.required is None:
        return []
    goal = f"Required {c.objective.replace('_', ' ')}: {c.required:,}."
    if c.exposure_lower_bound is not None:
        return [
            f"{goal} Of the plans under this budget that reach it, the one that exposes the "
            f"fewest users was searched for: {at_most(c.exposed_users_expected, 6)} are expected. "
            f"No such plan exposes fewer than {at_least(c.exposure_lower_bound, 6)}. The plan was "
            "chosen on the log."
        ]
    return [
        f"{goal} The least budget found for it is {at_most(c.budget_needed or 0, 6)} per user; no "
        f"budget below {at_least(c.budget_lower_bound or 0, 6)} reaches it. The budget was chosen "
        "on the log, and what it reveals is not covered."
    ]


def _floor(part: PartOfJoint) -> str:
    return "" if part.at_least is None else f"; at least {part.at_least:.4g} of it was required"


def _gap(c: PlannedCertificate) -> str:
    if c.minimized:
        return f"The proven gap to the least possible exposure is {c.gap:.1%}."
    if c.counts == "laplace":
        return (
            "The noise on the counts is a heuristic without an end-to-end proof. The proven gap to "
            f"the best possible output without the removed users is {c.gap:.1%}."
        )
    return f"The proven gap to the best possible output is {c.gap:.1%}."


def _diff_ratio_chart(ratios: DiffRatios, beside: DiffRatios | None) -> Chart:
    """How many shown triplets moved by how much."""
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
        title="How far each user's share of a pair moved (DiffRatio)",
        summary=f"{decimal(ratios.not_shown)} of {ratios.triplets:,} triplets of frequent pairs "
        f"are not shown{average}; {decimal(sum(ratios.below[:4]))} moved by less than 40%.",
        x_title="difference in percent",
        y_title="triplets",
    )


def _hour_chart(times: Times) -> Chart:
    """When people search in the release and in the log."""
    moved = times.hour_of_day
    return bar_chart(
        _beside([str(hour) for hour in range(24)], times.hours, times.hours_of_original),
        name="hours",
        title="Searches by hour of the day",
        summary="" if moved is None else f"{moved:.1%} are at another hour than in the log.",
        x_title="hour",
        y_title="percent",
    )


def _rank_chart(ranks: Ranks) -> Chart:
    """Which ranks are clicked in the release and in the log."""
    moved = ranks.variation
    return bar_chart(
        _beside([str(rank) for rank in range(1, 11)], ranks.clicks, ranks.clicks_of_original),
        name="ranks",
        title="Clicks by rank on the first page",
        summary="" if moved is None else f"{moved:.1%} are at another rank than in the log.",
        x_title="rank",
        y_title="percent",
    )


def _beside(names: list[str], release: list[int], log: list[int]) -> Bars:
    shares = ([100 * n / max(1, sum(counts)) for n in counts] for counts in (release, log))
    values, others = shares
    return Bars(
        names=names,
        values=values,
        others=others,
        value_name="this release",
        other_name="its pairs in the log",
    )


def curator_page(
    manifest: Manifest, certificate: Certificate, evaluation: SideBySide | None = None
) -> str:
    """The curator's report: the public facts, and figures computed from the raw log."""
    page = CuratorPage(manifest, certificate, evaluation)
    return worded_page(render("curator.html", page), page.items)
