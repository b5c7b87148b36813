"""`slogan synthesize`: a release of synthetic users."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING

from rich.console import RenderableType

from slogan.budget import at_most
from slogan.cli.options import (
    EventReading,
    Force,
    Labelling,
    Logs,
    Recording,
    ReleaseFolder,
    Seed,
    SyntheticBudget,
)
from slogan.cli.terminal import Json, announce, released, session, show, verify_command, watching
from slogan.cli.utility import Synthesis

if TYPE_CHECKING:
    from slogan.manifest.certificate import SyntheticSummary
    from slogan.release.base import Saved

GROUP, RANK = "release", 1


def synthesize(
    log: Logs,
    /,
    *,
    output: ReleaseFolder,
    budgeting: SyntheticBudget = SyntheticBudget(),
    synthesis: Synthesis = Synthesis(),
    reading: EventReading = EventReading(),
    labelling: Labelling = Labelling(),
    recording: Recording = Recording(),
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Release a log of made-up users with the columns of yours, private from end to end.

    `slogan synthesize clicks.tsv -o release --epsilon 1 --delta 1e-6`

    For the public, and whenever you are in doubt.
    It needs many users: about ten pairs from 2,500 users, several hundred from 65,000.
    """
    budget, labels = budgeting.budget(), labelling.labels()

    from slogan.workflows.synthesize import synthesize as synthesize_log

    ledger = recording.opened()
    source = announce(reading.of_period(log, labelling.period), fills=True)
    with (
        watching() as progress,
        synthesize_log(
            source,
            budget,
            objective=synthesis.build(),
            association=synthesis.association,
            taxonomy=synthesis.taxonomy,
            selector=synthesis.selector,
            contributions=synthesis.contributions,
            vocabulary=synthesis.vocabulary,
            hints=synthesis.hints,
            engine=reading.host(),
            output=output,
            force=force,
            ledger=ledger,
            labels=labels,
            recipient=recording.recipient,
            approver=recording.approver,
            accept_weak_privacy=budgeting.accept_weak_privacy,
            seed=seed,
            progress=progress,
        ) as release,
    ):
        saved = release.save()
    check = verify_command(log, saved.folder, reading.other_engine)
    show(saved, lambda made: text(made, check), json=json)


def _range(saved: Saved) -> str:
    """How far the noise may have moved the coverage."""
    from slogan.manifest.coverage import CONFIDENCE, coverage_interval
    from slogan.workflows.evaluate import read_manifest

    if (ends := coverage_interval(read_manifest(saved.folder))) is None:
        return ", by an estimate with noise"
    low, high = (float(share) for share in ends)
    return f" (by an estimate with noise: {CONFIDENCE} confidence, {low:.1%} to {high:.1%})"


_BY = {"pairs": "pair by pair", "domains": "site by site", "taxonomy": "category by category"}


def _pairs(summary: SyntheticSummary) -> list[str]:
    """How many pairs were released, of how many that are possible."""
    most, public = ceil(summary.pairs_possible), summary.public_pairs
    if public is None:
        return [
            f"{summary.pairs_out:,} of at most {most:,} pairs that any method with this guarantee "
            "can release on average."
        ]
    return [
        f"{summary.pairs_out:,} pairs. Without public knowledge, any method with this guarantee "
        f"can release at most {most:,} on average.",
        f"Of {public.listed:,} public pairs {public.in_log:,} are in the log, "
        f"{public.of_one_user:,} of them of one user only, and {public.released:,} were selected.",
    ]


def text(saved: Saved, check: str) -> RenderableType:
    """What was released, and what it is good for."""
    from slogan.manifest.certificate import SyntheticSummary
    from slogan.manifest.fields import column_notes
    from slogan.workflows.evaluate import read_manifest

    summary = saved.summary
    assert isinstance(summary, SyntheticSummary)  # noqa: S101  the only kind this verb makes
    needed = summary.weight_needed
    users = f"A pair needs about {needed:.0f} users whose pair it is; of each user one pair counts."
    if summary.contributions == "several":
        users = (
            f"A pair needs about {needed:.0f} users who clicked nothing else, or about "
            f"{5 * needed:.0f} users with 25 pairs each."
        )
    together = (
        f"Which pairs occur together follows the log {_BY.get(summary.association, '')}: about "
        f"{int(100 * summary.association_kept)}% of what could be measured is kept."
    )
    if summary.contributions == "one":
        together = "Every made-up user has one pair."
    elif summary.association == "independent":
        together = (
            "Which pairs occur together is random: it was not asked for, or with this many users "
            "the budget could not measure it."
        )
    lines = [
        f"Privacy budget: ε = {at_most(summary.epsilon)}, δ = {at_most(summary.delta, 6)}, end to "
        "end, for any user added or removed.",
        *_pairs(summary),
        "The users are made up: no row belongs to a real one.",
        f"The released pairs stand for about {summary.coverage:.1%} of all clicks{_range(saved)}.",
        together,
        users,
        *column_notes(read_manifest(saved.folder)),
    ]
    if session.verbose:
        shares = ", ".join(f"{stage} {share:.1%}" for stage, share in summary.budget_shares.items())
        lines.append(f"Budget by stage: {shares}.")
    return released(saved, lines, check=check)
