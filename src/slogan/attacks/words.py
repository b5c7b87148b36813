"""What attacks found, for a person to read."""

from __future__ import annotations

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


def table(found: dict[str, Any]) -> RenderableType:
    """Each attack: what it proves, beside what is claimed."""
    rows = Table(box=None, pad_edge=False)
    for heading in ("", "attacked", "canary"):
        rows.add_column(heading)
    for heading in ("trials", "ε at least", "claimed", "δ at least", "claimed"):
        rows.add_column(heading, justify="right")
    for attack in found["attacks"]:
        rows.add_row(
            _mark(attack),
            attack["target"],
            attack["canary"],
            f"{attack['trials']:,}",
            _number(attack["epsilon_at_least"], "∞"),
            _number(attack["epsilon_claimed"], "nothing"),
            _number(attack["delta_at_least"], ""),
            _number(attack["delta_claimed"], "nothing"),
        )
    held = "no attack contradicts what is claimed: a sanity check, not a proof"
    broken = "an attack contradicts what is claimed: do not publish"
    end = Text(held if found["ok"] else broken, style="bold" if found["ok"] else "bold red")
    return Group(rows, Text(), end, *_unclaimed(found))


def _mark(attack: dict[str, Any]) -> Text:
    if attack["epsilon_claimed"] is None:
        return Text("–", style="dim")
    return Text("ok", style="green") if attack["ok"] else Text("BROKEN", style="bold red")


def _number(value: float | None, otherwise: str) -> str:
    return otherwise if value is None else f"{value:.3g}"


def _unclaimed(found: dict[str, Any]) -> list[Text]:
    if all(attack["epsilon_claimed"] is not None for attack in found["attacks"]):
        return []
    words = (
        "nothing is claimed of this mode's counts, which depend on the log and give users away; "
    )
    return [Text(words + "--counts private and synthesize protect them", style="yellow")]
