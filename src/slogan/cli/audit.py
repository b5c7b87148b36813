"""`slogan audit`: attacks on one's own configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.options import AttackedBudget, Counting, Logs, Reading, Trial
from slogan.cli.terminal import Json, show, table, watching
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
    budgeting: AttackedBudget = AttackedBudget(),
    utility: Trial = Trial(),
    counting: Counting = Counting(),
    reading: Reading = Reading(),
    seed: int | None = None,
    json: Json = False,
) -> None:
    """Attack your own configuration: look for ways in which a release would show one user.

    `slogan audit clicks.tsv --epsilon 1 --delta 1e-6`

    Runs the verb on your log with planted users and without one of them, with the same noise;
    tests the noise; and bounds by trials what shows of planted users. A sanity check, not a
    proof. Nothing is released. Exit code 4 if an attack contradicts what is claimed.

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

    source = reading.log(log)
    with watching() as watch:
        findings = audit_log(
            source,
            budget,
            _target(mode, counting, association, taxonomy),
            objective=utility.build(),
            solver=utility.chosen_solver(),
            trials=trials,
            seed=seed,
            engine=reading.host(),
            progress=watch,
        )
    show(findings, lambda found: text(found, source.items), json=json)
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


def text(findings: Findings, items: str = "pairs") -> RenderableType:
    """Each attack: what it proves, beside what is claimed."""
    numbers = "trials", "ε at least", "claimed", "δ at least", "claimed"
    headings = ("", "evidence", "attacked", "canary", *numbers)
    rows = table(headings, (_row(attack, items) for attack in findings.attacks), left=4)
    held = "no attack contradicts what is claimed: a sanity check, not a proof"
    broken = "an attack contradicts what is claimed: do not publish"
    end = Text(held if findings.ok else broken, style="bold" if findings.ok else "bold red")
    if all(attack.claim is not None for attack in findings.attacks):
        return Group(rows, Text(), end)
    words = (
        "nothing is claimed of this mode's counts, which depend on the log and give users away; "
        "--counts private and synthesize protect them"
    )
    return Group(rows, Text(), end, Text(words, style="yellow"))


def _row(attack: Attack, items: str) -> list[RenderableType]:
    from slogan.logs.words import worded

    mark = Text("ok", style="green") if attack.ok else Text("BROKEN", style="bold red")
    row, if_none = attack.to_dict(), {"epsilon_at_least": "∞", "delta_at_least": ""}
    numbers = (
        if_none.get(name, "nothing") if row[name] is None else f"{row[name]:.3g}"
        for name in ("epsilon_at_least", "epsilon_claimed", "delta_at_least", "delta_claimed")
    )
    claimed = Text("–", style="dim") if attack.claim is None else mark
    # A replay that agrees, and noise that has its law, bound nothing.
    shown = numbers if attack.evidence in ("statistics", "account") or not attack.ok else [""] * 4
    names = (attack.evidence, attack.target, worded(attack.canary, items))
    return [claimed, *names, f"{attack.trials:,}", *shown]
