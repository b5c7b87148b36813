"""`slogan demo`: what a raw log gives away, what the releases do not, and what they keep."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from slogan.budget import short
from slogan.cli.terminal import Json, show, watching

if TYPE_CHECKING:
    from slogan.manifest.uses import Use
    from slogan.workflows.demo import ReleaseStory, Story

GROUP, RANK = "look", 1
_MOST_TASKS = 3


def demo(
    *,
    out: Annotated[Path, Parameter(help="Folder for the files.")] = Path("demo"),
    open_report: Annotated[
        bool,
        Parameter(name="--open", help="Open the report in a browser, if this is a terminal."),
    ] = True,
    json: Json = False,
) -> None:
    """Show in a minute how a log gives a person away, and how releases of it do not.

    `slogan demo`
    """
    from slogan.workflows.demo import demo as run_demo

    with watching() as progress:
        story = run_demo(out, progress=progress)
    show(story, text, json=json)
    if open_report and not json and _has_browser():
        webbrowser.open((story.synthetic.saved.folder / "public/report.html").absolute().as_uri())


def _has_browser() -> bool:
    """Whether a person sits at a terminal with a desktop; never in CI, a pipe or a container."""
    person = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()
    desktop = sys.platform == "darwin" or any(
        os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY")
    )
    return person and desktop and "CI" not in os.environ


def text(story: Story) -> RenderableType:
    """The story in three parts: the raw log, the releases, the files to open."""
    from slogan.workflows.demo import KNOWN, PERSON, SECRETS

    synthetic, budget = story.synthetic.saved, story.budget
    raw = [
        f"  A made-up log with one recognisable person in it: {story.log}",
        f"  An attacker knows two words: {' and '.join(KNOWN)}.",
        f"  They lead to {story.raw.named_users} user, number {PERSON}, and from there to "
        f"{story.raw.secrets_found} secrets:",
        *(f"    “{secret}”" for secret in SECRETS),
    ]
    made_up = [
        f"  Whether a person was in the log changes the odds by at most e^ε, ε = "
        f"{short(synthetic.summary.epsilon)}, except with chance δ = "
        f"{short(synthetic.summary.delta)}.",
        *_lines(story.synthetic),
    ]
    real = [
        f"  The paper's method, for people who may see the log: e^ε = {budget.exp_epsilon}, "
        f"δ = {short(budget.delta_value)}. Its counts are not protected.",
        *(line for release in story.releases for line in _lines(release)),
    ]
    end = [
        f"  {synthetic.folder}/public/report.html   what recipients see",
        f"  {synthetic.folder}/curator/report.html   what you see; do not share it",
        f"  {synthetic.folder}/public/log.tsv   the released log",
        *(f"  {release.saved.folder}   the release of real rows" for release in story.releases),
        "",
        f"Took {story.seconds:.1f} s. Next:  slogan advise --users 60000 --clicks-per-user 20",
    ]
    parts = {
        "1. The raw log": raw,
        "2. Made-up users (slogan synthesize)": made_up,
        "3. Real rows under new IDs (slogan sanitize)": real,
        "Files to open": end,
    }
    return Group(
        *(
            Text.assemble((f"{heading}\n", "bold"), "\n".join(lines), "\n")
            for heading, lines in parts.items()
        )
    )


def _lines(release: ReleaseStory) -> list[str]:
    """One release in words: its size and the attack, what it is good for, what it is not for."""
    summary, attack, uses = release.saved.summary, release.attack, release.uses
    found = "the attack finds no user"
    if attack.succeeds:
        found = f"THE ATTACK FINDS {attack.named_users or attack.linked_users} USER"
    verified = "verified" if release.verified else "NOT VERIFIED"
    return [
        f"  {summary.pairs_out:,} pairs, {summary.clicks_out:,} clicks; {found}; {verified}.",
        *(f"  {name}: {_tasks(some)}." for name, some in uses.groups() if name != "Partly"),
    ]


def _tasks(uses: tuple[Use, ...]) -> str:
    """The first tasks; the report has all of them, with reasons."""
    return "; ".join(use.task for use in uses[:_MOST_TASKS])
