"""`slogan sanitize`: a release of real rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rich.console import RenderableType

from slogan.budget import at_most
from slogan.cli.options import (
    Counting,
    Force,
    Logs,
    Reading,
    Recording,
    ReleaseFolder,
    RowsBudget,
    Seed,
    Utility,
)
from slogan.cli.terminal import Json, announce, released, show, watching

if TYPE_CHECKING:
    from slogan.manifest.certificate import PrivateRowsSummary, SanitizedSummary
    from slogan.release.base import Saved


def sanitize(
    log: Logs,
    /,
    *,
    output: ReleaseFolder,
    budgeting: RowsBudget = RowsBudget(),
    utility: Utility = Utility(),
    counting: Counting = Counting(),
    reading: Reading = Reading(),
    recording: Recording = Recording(),
    pseudonyms: Literal["fresh", "keep"] = "fresh",
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a sanitized copy of a log, in its own schema: the paper's Algorithm 1.

    `slogan sanitize clicks.tsv -o release --exp-epsilon 2 --delta 0.5 --objective output_size`

    Parameters
    ----------
    pseudonyms
        Fresh random user-IDs, or keep the log's own, which then are public.
    """
    budget, counts = budgeting.budget(), counting.build()

    from slogan.workflows.sanitize import sanitize as sanitize_log

    ledger, solver = recording.opened(), utility.chosen_solver(private=counts.kind.end_to_end)
    source = announce(reading.log(log))
    with (
        watching() as progress,
        sanitize_log(
            source,
            budget,
            objective=utility.build(),
            counts=counts,
            solver=solver,
            pseudonyms=pseudonyms,
            engine=reading.host(),
            output=output,
            force=force,
            ledger=ledger,
            title=recording.title,
            recipient=recording.recipient,
            allow_unaccounted=recording.allow_unaccounted,
            accept_weak_privacy=budgeting.accept_weak_privacy,
            seed=seed,
            progress=progress,
        ) as release,
    ):
        saved = release.save()
    show(saved, text, json=json)


def text(saved: Saved) -> RenderableType:
    """What was released, how good it is, and what it exposes."""
    from slogan.manifest.certificate import PrivateRowsSummary, SanitizedSummary

    summary = saved.summary
    if isinstance(summary, SanitizedSummary):
        return released(saved, _planned(summary), summary.shared)
    assert isinstance(summary, PrivateRowsSummary)  # noqa: S101  the other kind of real rows
    shown = (
        f"Rows of {summary.exposed_users_expected:,.1f} real people of {summary.users:,} are "
        f"expected to be in this release, and of {summary.exposed_users_at_most:,.1f} at most."
    )
    return released(saved, _private(summary), first=[shown])


def _planned(summary: SanitizedSummary) -> list[str]:
    return [
        f"{summary.objective} = {summary.value:,.6g}, proven bound {summary.bound:,.6g} "
        f"(gap {summary.gap:.2%}, {summary.status}, solver {summary.solver})",
        f"each user may be charged {summary.budget_per_user:.4g}; a row of "
        f"{summary.exposed_users_expected:,.1f} of {summary.users:,} users is expected to be shown",
        "guaranteed given the counts, for the removal of any user in the log; "
        + _on_counts(summary),
        f"{summary.users_unconstrained:,} users have no shared pair and no constraint",
    ]


def _private(summary: PrivateRowsSummary) -> list[str]:
    return [
        f"ε = {at_most(summary.epsilon)}, δ = {at_most(summary.delta, 6)}, end to end, for any "
        "user added or removed",
        f"these are rows of real users: each is shown with a chance of at most δ; no more than "
        f"{summary.budget_per_user:.4g} clicks of a user are expected",
        f"{summary.pairs_selected:,} pairs could be released",
    ]


def _on_counts(summary: SanitizedSummary) -> str:
    if summary.counts == "exact":
        return "the counts themselves are not private"
    return (
        "noise on the counts is a HEURISTIC without an end-to-end proof; "
        f"{summary.users_removed:,} users who sway them were removed"
    )
