"""`slogan audit`: attacks on one's own configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slogan.cli.options import Budgeting, Counting, Logs, Reading, Utility
from slogan.cli.terminal import Json, show, watching
from slogan.errors import OptionError, VerificationError
from slogan.modes import Counts, SyntheticUsers

if TYPE_CHECKING:
    from slogan.auditor import Attack, Findings


def audit(
    log: Logs,
    /,
    *,
    mode: Literal["sanitize", "synthesize"] = "synthesize",
    association: str | None = None,
    taxonomy: Path | None = None,
    trials: int = 2_000,
    budgeting: Budgeting = Budgeting(),
    utility: Utility = Utility(time_limit=10.0),
    counting: Counting = Counting(),
    reading: Reading = Reading(),
    seed: int | None = None,
    json: Json = False,
) -> None:
    """Attack your own configuration: plant users in a log and bound what shows of them.

    `slogan audit clicks.tsv --epsilon 1 --delta 1e-6`

    A sanity check, not a proof: it finds gross mistakes, and finding nothing proves nothing.
    Nothing is released. Exit code 4 if an attack contradicts what is claimed.

    Parameters
    ----------
    mode
        What would be run on the log: sanitize, with its --counts, or synthesize.
    association
        As for synthesize.
    taxonomy
        As for synthesize.
    trials
        How often each attack is tried; more trials see smaller mistakes.
    seed
        The same seed gives the same findings.
    """
    budget = budgeting.budget()

    from slogan.auditor.audit import audit as audit_log

    with watching() as watch:
        findings = audit_log(
            reading.log(log),
            budget,
            _target(mode, counting, association, taxonomy),
            objective=utility.build(),
            solver=utility.chosen_solver(),
            trials=trials,
            seed=seed,
            engine=reading.host(),
            progress=watch,
        )
    show(findings, text, json=json)
    if not findings.ok:
        raise VerificationError(
            "an attack shows more than is claimed",
            hint="do not publish; report it as SECURITY.md says",
        )


def _target(
    mode: str, counting: Counting, association: str | None, taxonomy: Path | None
) -> Counts | SyntheticUsers:
    from slogan.dp import selection

    if mode == "sanitize":
        if association is not None or taxonomy is not None:
            raise OptionError("--association is for synthesize", hint="leave out --mode sanitize")
        return counting.build()
    if replace(counting, selector=None) != Counting():
        raise OptionError("--counts is for sanitize", hint="add --mode sanitize")
    return SyntheticUsers(
        selector=counting.selector or selection.DEFAULT, association=association, taxonomy=taxonomy
    )


def text(findings: Findings) -> RenderableType:
    """Each attack: what it proves, beside what is claimed."""
    rows = Table(box=None, pad_edge=False)
    for heading in ("", "attacked", "canary"):
        rows.add_column(heading)
    for heading in ("trials", "ε at least", "claimed", "δ at least", "claimed"):
        rows.add_column(heading, justify="right")
    for attack in findings.attacks:
        row = attack.to_dict()
        rows.add_row(
            _mark(attack),
            attack.target,
            attack.canary,
            f"{attack.trials:,}",
            _number(row["epsilon_at_least"], "∞"),
            _number(row["epsilon_claimed"], "nothing"),
            _number(row["delta_at_least"], ""),
            _number(row["delta_claimed"], "nothing"),
        )
    held = "no attack contradicts what is claimed: a sanity check, not a proof"
    broken = "an attack contradicts what is claimed: do not publish"
    end = Text(held if findings.ok else broken, style="bold" if findings.ok else "bold red")
    return Group(rows, Text(), end, *_unclaimed(findings))


def _mark(attack: Attack) -> Text:
    if attack.claim is None:
        return Text("–", style="dim")
    return Text("ok", style="green") if attack.ok else Text("BROKEN", style="bold red")


def _number(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:.3g}"


def _unclaimed(findings: Findings) -> list[Text]:
    if all(attack.claim is not None for attack in findings.attacks):
        return []
    words = (
        "nothing is claimed of this mode's counts, which depend on the log and give users away; "
    )
    return [Text(words + "--counts private and synthesize protect them", style="yellow")]
