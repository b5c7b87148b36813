"""`slogan demo`: what a raw log betrays, what the releases do not, and what they keep."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slogan.cli.terminal import Json, show, table, watching

if TYPE_CHECKING:
    from slogan.workflows.demo import ReleaseStory, Story

_MEASURES = {
    "precision": "frequent pairs: precision",
    "recall": "recall",
    "hit_at_10": "users also clicked: hit@10",
}

GROUP, RANK = "look", 1


def demo(
    *,
    out: Annotated[Path, Parameter(help="Where the files go.")] = Path("demo"),
    json: Json = False,
) -> None:
    """Show the story in a minute: a recognisable person, an attack, a release, the attack again.

    `slogan demo`
    """
    from slogan.workflows.demo import demo as run_demo

    with watching() as progress:
        story = run_demo(out, progress=progress)
    show(story, text, json=json)


def text(story: Story) -> RenderableType:
    """Everything that happened, for a person."""
    from slogan.workflows.demo import KNOWN, PERSON, SECRETS

    blank, budget = Text(), story.budget
    start = [
        f"A made-up log with one recognisable person in it: {story.log}",
        f"An attacker knows two words, {' and '.join(KNOWN)}.",
        f"  In the raw log they lead to {story.raw.named_users} user, number {PERSON}, "
        f"and with the user-ID to {story.raw.secrets_found} secrets:",
        *(f"    “{secret}”" for secret in SECRETS),
        "",
        f"The same attack on sanitized logs, e^ε = {budget.exp_epsilon}, "
        f"δ = {budget.delta_value:g}:",
    ]
    everything = (*story.releases, story.synthetic)
    places = "\n".join(f"  {release.saved.folder}" for release in everything)
    end = (
        f"Each folder has public/ (to publish) and curator/ (to keep):\n{places}\n"
        f"Took {story.seconds:.1f} s."
    )
    return Group(
        Text("\n".join(start)),
        blank,
        _attacks(story.releases),
        blank,
        Text(_synthetic(story.synthetic)),
        blank,
        Text("What they keep, and in brackets a random sample of the same size; for the curator:"),
        blank,
        _utility(everything),
        blank,
        Text(end),
    )


def _attacks(releases: tuple[ReleaseStory, ...]) -> Table:
    sizes = ("clicks", "pairs", "users")
    headings = ("objective", *sizes, "gap", "found by name", "secrets", "verified")
    rows: list[list[str]] = []
    for release in releases:
        row, attack = release.to_dict(), release.attack
        numbers = (f"{row[f'{name}_out']:,}" for name in sizes)
        learnt = (str(attack.named_users), str(attack.secrets_found))
        end = "yes" if release.verified else "NO"
        rows.append([release.objective or "", *numbers, f"{row['gap']:.1%}", *learnt, end])
    return table(headings, rows)


def _synthetic(release: ReleaseStory) -> str:
    attack, summary = release.attack, release.saved.summary
    return (
        f"And on a log of synthetic users, private end to end, ε = {summary.epsilon:g}, "
        f"δ = {summary.delta:g}:\n"
        f"  {summary.pairs_out:,} pairs, {summary.clicks_out:,} clicks, "
        f"{summary.users_out:,} users who never lived, "
        f"{'verified' if release.verified else 'NOT VERIFIED'}; found by name: "
        f"{attack.named_users}, secrets: {attack.secrets_found}, "
        f"users with all known clicks: {attack.linked_users}"
    )


def _utility(releases: tuple[ReleaseStory, ...]) -> Table:
    rows: list[list[str]] = []
    for release in releases:
        pairs = ((getattr(release.kept, name), getattr(release.sample, name)) for name in _MEASURES)
        cells = (f"{_number(kept)} ({_number(sample)})" for kept, sample in pairs)
        rows.append([release.objective or "synthetic", *cells])
    return table(("release", *_MEASURES.values()), rows)


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
