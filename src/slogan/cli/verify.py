"""`slogan verify`: whether a release keeps its promise."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.options import AgreedBudget, LogAndRelease, Reading, log_and_release
from slogan.cli.terminal import Json, show, table, watching
from slogan.errors import VerificationError

if TYPE_CHECKING:
    from slogan.verification.conditions import Verdict


def verify(
    *paths: LogAndRelease,
    budgeting: AgreedBudget = AgreedBudget(),
    reading: Reading = Reading(),
    json: Json = False,
) -> None:
    """Check a release against its log, in exact arithmetic, with code of its own.

    `slogan verify clicks.tsv release`
    """
    log, release = log_and_release(paths, "verify")
    budget = None if budgeting == AgreedBudget() else budgeting.budget()

    from slogan.logs.words import ITEMS, PAIRS
    from slogan.verification.evidence import read_manifest
    from slogan.verification.verify import verify as verify_release

    with watching() as watch:
        watch("verify", "")
        source = log if reading.detects else reading.log(log)
        verdict = verify_release(source, release, budget=budget, engine=reading.host())
    manifest, _ = read_manifest(Path(release) / "public/manifest.json")
    items = str(manifest.parameters.get(ITEMS, PAIRS)) if manifest else PAIRS
    show(verdict, lambda found: text(found, items), json=json)
    if not verdict.ok:
        failed = [check.name for check in verdict.checks if not check.ok]
        raise VerificationError(
            f"verification failed: {', '.join(failed)}",
            hint="do not publish; make the release again from the log with the intended parameters",
        )


def text(verdict: Verdict, items: str) -> RenderableType:
    """Each check with its outcome."""
    from slogan.logs.words import worded

    marks = {True: Text("ok", style="green"), False: Text("FAILED", style="bold red")}
    rows = (
        (marks[c.ok], c.name, Text(worded(c.detail, items), style="dim")) for c in verdict.checks
    )
    return Group(table((), rows), Text(verdict.conclusion, style="bold"))
