"""`slogan sanitize`: a release of real rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from rich.console import RenderableType

from slogan.budget import at_least, at_most
from slogan.cli.options import (
    Counting,
    Force,
    Labelling,
    Logs,
    Reading,
    Recording,
    ReleaseFolder,
    RowsBudget,
    Seed,
)
from slogan.cli.terminal import Json, announce, released, session, show, verify_command, watching
from slogan.cli.utility import Utility

if TYPE_CHECKING:
    from slogan.manifest.certificate import PrivateRowsSummary, SanitizedSummary
    from slogan.release.base import Saved

GROUP, RANK = "release", 2
_SEARCH = "A longer search (--patience, --time-limit)"
_MORE_BY = {
    "relaxed": "A search (leave --solver out)",
    "spe": "Another solver (leave --solver out)",
}
"""What can come closer to the bound: these solvers stop by themselves."""
_UNITS = {
    "output_size": "clicks",
    "diversity": "query-url pairs",
    "query_diversity": "queries",
}
"""What the value of an objective counts; that of others is a distance."""


def sanitize(
    log: Logs,
    /,
    *,
    output: ReleaseFolder,
    budgeting: RowsBudget = RowsBudget(),
    utility: Utility = Utility(),
    counting: Counting = Counting(),
    reading: Reading = Reading(),
    labelling: Labelling = Labelling(),
    recording: Recording = Recording(),
    pseudonyms: Literal["fresh", "keep"] = "fresh",
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Release a small sample of real rows under new user IDs.

    `slogan sanitize clicks.tsv -o release --exp-epsilon 2 --delta 0.5`

    For small trusted circles, and for reproducing the paper (its Algorithm 1).
    For the public, use `slogan synthesize`: no row of it belongs to a real person.

    Parameters
    ----------
    pseudonyms
        fresh: new random user IDs. keep: the log's own, which become public. In doubt, fresh.
    """
    budget, counts, labels = budgeting.given(), counting.build(), labelling.labels()

    from slogan.workflows.sanitize import sanitize as sanitize_log

    ledger, solver = recording.opened(), utility.chosen_solver(private=counts.kind.end_to_end)
    source = announce(reading.log(log))
    with (
        watching() as progress,
        sanitize_log(
            source,
            budget,
            require=budgeting.require,
            minimize=budgeting.minimize,
            objective=utility.build(),
            counts=counts,
            solver=solver,
            pseudonyms=pseudonyms,
            engine=reading.host(),
            output=output,
            force=force,
            ledger=ledger,
            labels=labels,
            recipient=recording.recipient,
            approver=recording.approver,
            allow_unaccounted=recording.allow_unaccounted,
            accept_weak_privacy=budgeting.accept_weak_privacy,
            seed=seed,
            progress=progress,
        ) as release,
    ):
        saved = release.save()
    check = verify_command(log, saved.folder, reading.other_engine)
    show(saved, lambda made: text(made, check, kept_ids=pseudonyms == "keep"), json=json)


def text(saved: Saved, check: str, *, kept_ids: bool) -> RenderableType:
    """What was released, how good it is, and what it exposes."""
    from slogan.manifest.certificate import PrivateRowsSummary, SanitizedSummary

    summary = saved.summary
    if isinstance(summary, SanitizedSummary):
        lines = [*_planned(summary), *_protected(summary, kept_ids=kept_ids)]
        return released(saved, lines, summary.shared, check=check)
    assert isinstance(summary, PrivateRowsSummary)  # noqa: S101  the other kind of real rows
    shown = (
        f"Rows of {at_most(summary.exposed_users_expected)} real people of {summary.users:,} are "
        f"expected to be in this release, and of {at_most(summary.exposed_users_at_most)} at most."
    )
    return released(saved, _private(summary), first=[shown], check=check)


def _planned(summary: SanitizedSummary) -> list[str]:
    """How good the release is, and what a longer search could gain."""
    value, bound, unit = summary.value, summary.bound, _UNITS.get(summary.objective)
    if summary.minimized:
        return [*_exposing_few(summary, str(unit)), *_details(summary)]
    if summary.parts:
        return [*_joined(summary), *_details(summary)]
    if unit is None:
        best = f"Sum of support distances: {value:,.6g}; none below {bound:,.6g} is possible."
        gain = f"lower it by at most {value - bound:,.6g}"
    else:
        bound = math.floor(bound)
        best = f"Released {value:,.0f} {unit}; no more than {bound:,} are possible."
        gain = f"add at most {bound - value:,.0f} {unit}"
    lines = [best]
    if value == bound:
        lines = [f"Released {value:,.0f} {unit}, the most that is possible."] if unit else [best]
    elif summary.status != "optimal":
        how = _MORE_BY.get(summary.solver, _SEARCH)
        lines.append(f"{how} could {gain} (gap {summary.gap:.2%}).")
    if summary.required is not None:
        lines.append(
            f"The least budget found for {summary.required:,} {unit}: b = "
            f"{summary.budget_needed:.6g} per user; a budget below "
            f"{summary.budget_lower_bound:.6g} cannot reach it. It was chosen on your log, and the "
            "manifest says so."
        )
    return [*lines, *_details(summary)]


def _exposing_few(summary: SanitizedSummary, unit: str) -> list[str]:
    """The required utility, the exposure found for it, and the proven bound."""
    exposed, least = summary.exposed_users_expected, summary.exposure_lower_bound or 0.0
    lines = [
        f"Released {summary.value:,.6g} {unit}, as required, with few exposed users: "
        f"{at_most(exposed, 6)} are expected to have a released row. No plan with this budget and "
        f"utility exposes fewer than {at_least(least, 6)}.",
        "The plan was chosen on your log, and the manifest says so.",
    ]
    if summary.status != "optimal":
        lines.append(
            "A longer search (--patience, --time-limit) could lower the exposure by at most "
            f"{at_most(exposed - least, 3)} users (gap {summary.gap:.2%})."
        )
    return lines


def _joined(summary: SanitizedSummary) -> list[str]:
    """The weighted mean of a joint objective, and the share of its optimum that each part keeps."""
    lines = [
        f"Weighted mean of the parts' shares: {summary.value:.2%}; no more than "
        f"{summary.bound:.2%} is possible.",
    ]
    for part in summary.parts:
        floor = "" if part.at_least is None else f" (at least {part.at_least:.4g} was required)"
        lines.append(
            f"{part.name}: {part.share:.1%} of the best found for it alone{floor}: "
            f"{part.value:,.6g} of {part.optimum:,.6g}, of which no more than {part.bound:,.6g} "
            "is possible."
        )
    if summary.status != "optimal":
        lines.append(
            "A longer search (--patience, --time-limit) could add at most "
            f"{summary.bound - summary.value:.2%} (gap {summary.gap:.2%})."
        )
    return lines


def _details(summary: SanitizedSummary) -> list[str]:
    """Which solver, and what budget is worth, for those who ask."""
    if not session.verbose:
        return []
    return [
        f"Solver: {summary.solver}, {summary.status}, gap {summary.gap:.4%}. "
        f"Per-user budget: {summary.budget_per_user:.4g}.",
        *(() if summary.prices is None else summary.prices.words),
    ]


def _protected(summary: SanitizedSummary, *, kept_ids: bool) -> list[str]:
    """Who is protected from what, and how many are exposed."""
    lines = [
        f"Privacy budget: ε = {at_most(summary.epsilon)}, δ = {at_most(summary.delta, 6)}.",
        f"Rows of {at_most(summary.exposed_users_expected)} real people of {summary.users:,} are "
        "expected to be in this release: it is not for the web.",
        f"{summary.users_unconstrained:,} users share no query-url pair with anyone, so nothing of "
        "theirs can be released.",
    ]
    exposed = "which pairs appear, and how often"
    if kept_ids:
        lines.append(f"Not protected: the user IDs, which are the original ones; {exposed}.")
    else:
        lines.append("Protected: who made the released clicks.")
        lines.append(f"Not protected: {exposed}; those come straight from your log.")
    if summary.counts == "laplace":
        lines.append(
            "The noise on the counts is a HEURISTIC without an end-to-end proof. Removed "
            f"{summary.users_removed:,} users whose absence changes a count by more than the bound."
        )
    return lines


def _private(summary: PrivateRowsSummary) -> list[str]:
    lines = [
        f"Privacy budget: ε = {at_most(summary.epsilon)}, δ = {at_most(summary.delta, 6)}, end to "
        "end, for any user added or removed.",
        "The rows belong to real users. Each user is shown with a chance of at most δ.",
        f"{summary.pairs_selected:,} pairs could be released.",
    ]
    if session.verbose:
        lines.append(f"Expected clicks of one user: at most {summary.budget_per_user:.4g}.")
    return lines
