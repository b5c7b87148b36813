"""`slogan audit`: attack your own configuration."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.options import AttackedBudget, Counting, Logs, Reading
from slogan.cli.terminal import Json, show, table, watching
from slogan.cli.utility import Trial
from slogan.errors import OptionError, VerificationError
from slogan.modes import Counts, SyntheticUsers

if TYPE_CHECKING:
    from slogan.auditor import Attack, Findings

GROUP, RANK = "check", 4


def audit(
    log: Logs,
    /,
    *,
    mode: Literal["sanitize", "synthesize"] = "synthesize",
    association: str | None = None,
    taxonomy: Path | None = None,
    contributions: Literal["several", "one"] = "several",
    vocabulary: Path | None = None,
    hints: Path | None = None,
    trials: int = 2_000,
    budgeting: AttackedBudget = AttackedBudget(),
    utility: Trial = Trial(),
    counting: Counting = Counting(),
    reading: Reading = Reading(),
    seed: int | None = None,
    json: Json = False,
) -> None:
    """Attack your own settings: try to find out whether one user is in the log.

    `slogan audit clicks.tsv --epsilon 1 --delta 1e-6`

    Runs the verb twice with the same noise: on your log with planted users, and without one of
    them. Tests the noise. Repeats attacks on planted users. This is a sanity check, not a proof.
    Nothing is released. Exit code 4 if an attack contradicts the budget.

    Parameters
    ----------
    mode
        The verb to attack: sanitize (with --counts) or synthesize.
    association
        synthesize only: which pairs made-up users have together, as there.
    taxonomy
        synthesize only: file of categories, as there.
    contributions
        synthesize only: how many pairs of a user count, as there.
    vocabulary
        synthesize only: list of public pairs, as there.
    hints
        synthesize only: earlier release, as there.
    trials
        How often each attack is tried. More trials find smaller mistakes.
    seed
        The same seed gives the same findings. By default each run draws again.
    """
    budget = budgeting.budget()

    from slogan.auditor.audit import audit as audit_log

    source = reading.log(log)
    with watching() as watch:
        findings = audit_log(
            source,
            budget,
            _target(mode, counting, association, taxonomy, contributions, vocabulary, hints),
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
            "an attack found more than the budget allows",
            hint="do not publish; report it as SECURITY.md describes",
        )


def _target(
    mode: str,
    counting: Counting,
    association: str | None,
    taxonomy: Path | None,
    contributions: Literal["several", "one"],
    vocabulary: Path | None,
    hints: Path | None,
) -> Counts | SyntheticUsers:
    from slogan.dp import selection

    if mode == "sanitize":
        if any(option is not None for option in (association, taxonomy, vocabulary, hints)):
            raise OptionError(
                "--association, --vocabulary and --hints are for synthesize",
                hint="leave out --mode sanitize",
            )
        if contributions != "several":
            raise OptionError("--contributions is for synthesize", hint="leave out --mode sanitize")
        return counting.build()
    if replace(counting, selector=None) != Counting():
        raise OptionError("--counts is for sanitize", hint="add --mode sanitize")
    return SyntheticUsers(
        selector=counting.selector or selection.DEFAULT,
        association=association,
        taxonomy=taxonomy,
        contributions=contributions,
        vocabulary=vocabulary,
        hints=hints,
    )


def text(findings: Findings, items: str = "pairs") -> RenderableType:
    """Each attack: the bounds it proves, next to the claim."""
    numbers = "trials", "ε at least", "claimed", "δ at least", "claimed"
    headings = ("", "evidence", "attacked", "canary", *numbers)
    rows = table(headings, (_row(attack, items) for attack in findings.attacks), left=4)
    tried = f"{len(findings.attacks)} attacks tried"
    held = f"{tried}, none found more than the budget allows. This is a sanity check, not a proof."
    broken = f"{tried}, one or more found more than the budget allows: do not publish."
    end = Text(held if findings.ok else broken, style="bold" if findings.ok else "bold red")
    if all(attack.claim is not None for attack in findings.attacks):
        return Group(rows, Text(), end)
    words = (
        "This mode does not protect the counts; they can reveal who is in the log. "
        "synthesize and --counts private protect them."
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
    # A replay that agrees, and noise of the right law, give no bounds.
    shown = numbers if attack.evidence in ("statistics", "account") or not attack.ok else [""] * 4
    names = (attack.evidence, attack.target, worded(attack.canary, items))
    return [claimed, *names, f"{attack.trials:,}", *shown]
