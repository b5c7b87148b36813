"""`slogan verify`: check a release against its log and its manifest."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.options import AgreedBudget, LogAndRelease, Reading
from slogan.cli.terminal import Json, log_and_release, show, table, watching
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
    vocabulary: Path | None = None,
    hints: Path | None = None,
    details: Details = False,
    json: Json = False,
) -> None:
    """Check a release against its log: files, rows, noise and budget.

    `slogan verify clicks.tsv release`

    Without the log, a recipient can check the public half: `slogan verify release/public`

    It uses exact arithmetic, and shares no code with the verbs that release. Exit code 4 if a check
    fails.

    Parameters
    ----------
    vocabulary
        The list of public pairs, if the release used one.
    hints
        The earlier release that it used, if it did.
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
            verdict = verify_release(
                source,
                release,
                budget=budget,
                vocabulary=vocabulary,
                hints=hints,
                engine=reading.host(),
            )
    items = _items(Path(paths[-1]))
    show(verdict, lambda shown: text(shown, items, details=details), json=json)
    if not verdict.ok:
        raise _error(verdict, paths[-1])


def _error(verdict: Verdict, release: str) -> VerificationError:
    """The checks that failed, and a reason that several have in common once instead of them."""
    from slogan.verification.conditions import NOT_POSSIBLE
    from slogan.verification.evidence import UNREADABLE_LOG

    failed = [checks for checks in verdict.outcomes() if not checks[0].ok]
    labels = ", ".join(_label(checks[0]) for checks in failed if len(checks) == 1)
    reasons = [checks[0].detail.removeprefix(NOT_POSSIBLE) for checks in failed if len(checks) > 1]
    hint = "check that the release was made from this very log; if it was, make it again"
    if UNREADABLE_LOG in reasons:
        hint = f"name the log from which it was made: slogan verify LOG {shlex.quote(release)}"
    problem = "; ".join(filter(None, (labels, *reasons)))
    return VerificationError(f"verification failed: {problem}", hint=f"do not publish; {hint}")


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
    """Each check with its outcome, in plain words; with its figures if asked for.

    Checks that could not run for one reason share a line; the error has the reason.
    """
    from slogan.logs.words import worded
    from slogan.verification.conditions import NOT_POSSIBLE

    marks = {True: Text("ok", style="green"), False: Text("FAILED", style="bold red")}
    rows: list[tuple[Text, Text, Text]] = []
    for first, *more in verdict.outcomes():
        name, *others = (check.name if details else _label(check) for check in (first, *more))
        detail = f"{first.detail}\n{first.figures if details else ''}".rstrip()
        if more:
            detail, name = f"{NOT_POSSIBLE}{', '.join((name, *others))}", f"{len(more) + 1} checks"
        label = Text(name if details else worded(name, items))
        rows.append((marks[first.ok], label, Text(worded(detail, items))))
    return Group(table((), rows), Text(verdict.conclusion, style="bold"))


def _label(check: Check) -> str:
    return _LABELS.get(check.name, check.name.replace("_", " "))
