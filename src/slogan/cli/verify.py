"""`slogan verify`: check a release against its log and its manifest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.options import AgreedBudget, LogAndRelease, Reading, log_and_release
from slogan.cli.terminal import Json, show, table, watching
from slogan.errors import VerificationError

if TYPE_CHECKING:
    from slogan.verification.conditions import Check, Verdict

Details = Annotated[
    bool, Parameter(negative="", help="Also show the JSON name and the figures of each check.")
]
_LABELS = {
    "words": "promise",
    "manifest_as_written": "manifest fields",
    "rows_as_written": "file contents",
    "nothing_else_public": "public folder",
    "pairs_from_log": "pairs",
    "no_unique_pair": "shared pairs",
    "users_from_log": "users",
    "condition_2": "epsilon",
    "condition_3": "delta",
    "drawn": "sampling",
    "selectable": "selection",
    "outputs": "published figures",
    "rate": "clicks",
}
"""Plain names of checks whose JSON name needs the documentation."""

GROUP, RANK = "check", 1


def verify(
    *paths: LogAndRelease,
    budgeting: AgreedBudget = AgreedBudget(),
    reading: Reading = Reading(),
    details: Details = False,
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
    items = _items(Path(paths[-1]))
    show(verdict, lambda shown: text(shown, items, details=details), json=json)
    if not verdict.ok:
        failed = [_label(check) for check in verdict.checks if not check.ok]
        raise VerificationError(
            f"verification failed: {', '.join(failed)}",
            hint="do not publish; check that the release was made from this very log; if it was, "
            "make it again",
        )


def _items(release: Path) -> str:
    """What the log of a release counts, by its manifest."""
    from slogan.logs.words import ITEMS, PAIRS
    from slogan.verification.evidence import read_manifest

    for folder in (release / "public", release):
        manifest, _ = read_manifest(folder / "manifest.json")
        if manifest is not None:
            return str(manifest.parameters.get(ITEMS, PAIRS))
    return PAIRS


def text(verdict: Verdict, items: str = "pairs", *, details: bool = False) -> RenderableType:
    """Each check with its outcome, in plain words; with its figures if asked for."""
    from slogan.logs.words import worded

    marks = {True: Text("ok", style="green"), False: Text("FAILED", style="bold red")}
    rows = (
        (
            marks[check.ok],
            Text(check.name if details else worded(_label(check), items)),
            Text(worded(f"{check.detail}\n{check.figures if details else ''}".rstrip(), items)),
        )
        for check in verdict.checks
    )
    return Group(table((), rows), Text(verdict.conclusion, style="bold"))


def _label(check: Check) -> str:
    return _LABELS.get(check.name, check.name.replace("_", " "))
