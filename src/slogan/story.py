"""The story of the demo: what the raw log betrays, what the releases do not, and what they keep."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

_MEASURES = {
    "precision": "frequent pairs: precision",
    "recall": "recall",
    "hit_at_10": "users also clicked: hit@10",
}


def story(told: dict[str, Any]) -> RenderableType:
    """Everything that happened, for a person."""
    raw, blank = told["raw"], Text()
    start = [
        f"A made-up log with one recognisable person in it: {told['log']}",
        f"An attacker knows two words, {' and '.join(told['knows'])}.",
        f"  In the raw log they lead to {raw['named_users']} user, number {told['person']}, "
        f"and with the user-ID to {raw['secrets_found']} secrets:",
        *(f"    “{secret}”" for secret in told["secrets"]),
        "",
        f"The same attack on sanitized logs, e^ε = {told['exp_epsilon']:g}, δ = {told['delta']:g}:",
    ]
    everything = [*told["releases"], told["synthetic"]]
    places = "\n".join(f"  {release['release']}" for release in everything)
    end = (
        f"Each folder has public/ (to publish) and curator/ (to keep):\n{places}\n"
        f"Took {told['seconds']} s."
    )
    return Group(
        Text("\n".join(start)),
        blank,
        _attacked(told["releases"]),
        blank,
        Text(_synthetic(told["synthetic"])),
        blank,
        Text("What they keep, and in brackets a random sample of the same size; for the curator:"),
        blank,
        _kept(told),
        blank,
        Text(end),
    )


def _attacked(releases: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in (
        "objective",
        "clicks",
        "pairs",
        "users",
        "gap",
        "found by name",
        "secrets",
        "verified",
    ):
        table.add_column(heading, justify="left" if heading == "objective" else "right")
    for release in releases:
        attack = release["attack"]
        table.add_row(
            release["objective"],
            f"{release['clicks_out']:,}",
            f"{release['pairs_out']:,}",
            f"{release['users_out']:,}",
            f"{release['gap']:.1%}",
            str(attack["named_users"]),
            str(attack["secrets_found"]),
            "yes" if release["verified"] else "NO",
        )
    return table


def _synthetic(release: dict[str, Any]) -> str:
    attack = release["attack"]
    return (
        f"And on a log of synthetic users, private end to end, ε = {release['epsilon']:g}, "
        f"δ = {release['delta']:g}:\n"
        f"  {release['pairs_out']:,} pairs, {release['clicks_out']:,} clicks, "
        f"{release['users_out']:,} users who never lived, "
        f"{'verified' if release['verified'] else 'NOT VERIFIED'}; found by name: "
        f"{attack['named_users']}, secrets: {attack['secrets_found']}, "
        f"users with all known clicks: {attack['linked_users']}"
    )


def _kept(told: dict[str, Any]) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in ("release", *_MEASURES.values()):
        table.add_column(heading, justify="left" if heading == "release" else "right")
    named = {release["objective"]: release["measures"] for release in told["releases"]}
    for name, found in {**named, "synthetic": told["synthetic"]["measures"]}.items():
        table.add_row(name, *(_beside(found, measure) for measure in _MEASURES))
    return table


def _beside(found: dict[str, Any], measure: str) -> str:
    mine, sample = found[measure], found["yardstick"][measure]
    return f"{_number(mine)} ({_number(sample)})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
