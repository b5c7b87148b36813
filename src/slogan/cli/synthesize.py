"""`slogan synthesize`: a release of synthetic users."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType

from slogan.budget import at_most
from slogan.cli.options import (
    Force,
    Logs,
    Reading,
    Recording,
    ReleaseFolder,
    Seed,
    Synthesis,
    SyntheticBudget,
)
from slogan.cli.terminal import Json, announce, released, show, watching

if TYPE_CHECKING:
    from slogan.release.base import Saved


def synthesize(
    log: Logs,
    /,
    *,
    output: ReleaseFolder,
    budgeting: SyntheticBudget = SyntheticBudget(),
    synthesis: Synthesis = Synthesis(),
    reading: Reading = Reading(),
    recording: Recording = Recording(),
    seed: Seed = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """Write a log of synthetic users, in the log's own schema: private end to end.

    `slogan synthesize clicks.tsv -o release --epsilon 1 --delta 1e-6`
    """
    budget = budgeting.budget()

    from slogan.workflows.synthesize import synthesize as synthesize_log

    ledger = recording.opened()
    source = announce(reading.log(log))
    with (
        watching() as progress,
        synthesize_log(
            source,
            budget,
            objective=synthesis.build(),
            association=synthesis.association,
            taxonomy=synthesis.taxonomy,
            selector=synthesis.selector,
            engine=reading.host(),
            output=output,
            force=force,
            ledger=ledger,
            title=recording.title,
            recipient=recording.recipient,
            accept_weak_privacy=budgeting.accept_weak_privacy,
            seed=seed,
            progress=progress,
        ) as release,
    ):
        saved = release.save()
    show(saved, text, json=json)


def text(saved: Saved) -> RenderableType:
    """What was released, and what it is good for."""
    from slogan.manifest.certificate import SyntheticSummary

    summary = saved.summary
    assert isinstance(summary, SyntheticSummary)  # noqa: S101  the only kind this verb makes
    together = f"synthetic users hold pairs together by {summary.association}"
    if summary.association == "independent":
        together = (
            "synthetic users hold pairs independently: no association was asked for, or it was "
            "lost in the noise"
        )
    needed = summary.weight_needed
    lines = [
        f"ε = {at_most(summary.epsilon)}, δ = {at_most(summary.delta, 6)}, end to end, for any "
        "user added or removed; no row belongs to a real user",
        f"about {summary.coverage:.1%} of all clicks fall on the released pairs; {together}",
        f"a pair is released from about {needed:.0f} users on if they hold nothing else, from "
        f"{5 * needed:.0f} if each holds 25 pairs: more users release more pairs",
    ]
    return released(saved, lines)
