"""`slogan verify`: whether a release keeps its promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.options import AgreedBudget, LogAndRelease, Reading, log_and_release
from slogan.cli.terminal import Json, show, table, watching
from slogan.errors import VerificationError

if TYPE_CHECKING:
    from slogan.verification.conditions import Verdict

GROUP, RANK = "check", 1


def verify(
    *paths: LogAndRelease,
    budgeting: AgreedBudget = AgreedBudget(),
    reading: Reading = Reading(),
    json: Json = False,
) -> None:
    """Check a release against its log: files, rows, noise and budget.

    `slogan verify clicks.tsv release`

    Without the log, a recipient can check the public half: `slogan verify release/public`

    It uses exact arithmetic, and shares no code with the verbs that release. Exit code 4 if a check
    fails.
    """
    budget = None if budgeting == AgreedBudget() else budgeting.budget()

    from slogan.verification.verify import verify as verify_release
    from slogan.verification.verify import verify_public

    with watching() as watch:
        watch("verify", "")
        if len(paths) == 1:
            verdict = verify_public(paths[0], budget=budget)
        else:
            log, release = log_and_release(paths, "verify")
            source = log if reading.detects else reading.log(log)
            verdict = verify_release(source, release, budget=budget, engine=reading.host())
    show(verdict, text, json=json)
    if not verdict.ok:
        failed = [check.name for check in verdict.checks if not check.ok]
        raise VerificationError(
            f"verification failed: {', '.join(failed)}",
            hint="do not publish; make the release again from the log with the intended parameters",
        )


def text(verdict: Verdict) -> RenderableType:
    """Each check with its outcome."""
    marks = {True: Text("ok", style="green"), False: Text("FAILED", style="bold red")}
    rows = ((marks[c.ok], c.name, Text(c.detail, style="dim")) for c in verdict.checks)
    return Group(table((), rows), Text(verdict.conclusion, style="bold"))
