"""`slogan ledger`: what was released about a population, and what is left."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import RenderableType
from rich.text import Text

from slogan.budget import at_most, short
from slogan.cli.options import Capping
from slogan.cli.terminal import Json, show, table, with_notes

if TYPE_CHECKING:
    from slogan.ledger.entries import Books, Costs, Entry

GROUP, RANK = "keep", 1


def ledger(
    *,
    population: str | None = None,
    file: Annotated[Path | None, Parameter(name="--ledger")] = None,
    create: Annotated[bool, Parameter(negative="")] = False,
    capping: Capping = Capping(),
    expect_head: str | None = None,
    json: Json = False,
) -> None:
    """Show what was released about a group of people, the total privacy cost, and what is left.

    `slogan ledger --population web-users --create --set-epsilon-cap 1 --set-delta-cap 1e-6`

    Parameters
    ----------
    population
        Name of the ledger. By default all ledgers that are found by name are listed.
    file
        The ledger's file. By default it is found by the name of the population.
    create
        Start a ledger for a population that has none.
    expect_head
        A head hash that you noted earlier. A ledger that was cut off since is refused.
    """
    from slogan.ledger.ledger import Ledger, known

    cap = capping.cap()
    if population is None and file is None and not create and cap is None:
        show(_Ledgers([place.books() for place in known()]), _populations, json=json)
        return
    place = Ledger.open(population, file)
    books = place.create() if create else place.books()
    if expect_head is not None:
        books.require_link(expect_head)
    if cap is not None:
        books = place.set_cap(cap, allow_raise=capping.raise_cap)
    show(books, _entries, json=json)


@dataclass(frozen=True)
class _Ledgers:
    books: list[Books]

    def to_dict(self) -> dict[str, Any]:
        return {"ledgers": [books.to_dict() for books in self.books]}


def _entries(books: Books) -> RenderableType:
    """Every run, the total, and what is left."""
    rows = [
        [str(link.number), link.time[:16].replace("T", " "), *map(Text, cells)]
        for link, entry in zip(books.links, books.entries, strict=True)
        if (cells := _cells(link.number, entry, books))
    ]
    shown = table(("#", "UTC", "entry", "cost", "outcome"), rows, left=5)
    for column in shown.columns[:2]:
        column.no_wrap = True
    return with_notes(shown, _totals(books), style="")


def _populations(ledgers: _Ledgers) -> RenderableType:
    """One line for each population."""
    if not ledgers.books:
        return Text("No ledger yet. To start one: slogan ledger --population NAME --create")
    rows: list[list[str]] = []
    for books in ledgers.books:
        cap = books.cap
        caps = ("–", "–") if cap is None else (str(float(cap.epsilon)), str(float(cap.delta)))
        rows.append([books.population, f"{len(books.releases):,}", *caps, _room(books)])
    headings = ("population", "releases", "ε cap", "δ cap", "left for one release")
    return table(headings, rows)


def _cells(number: int, entry: Entry, books: Books) -> tuple[str, str, str] | None:
    """Entry, cost and outcome of a row; None for entries that belong to another row."""
    from slogan.ledger.entries import (
        Booked,
        CameToNothing,
        CapSet,
        Looked,
        Opened,
        Reserved,
        Returned,
        Settled,
    )

    if isinstance(entry, Opened):
        return f"opened for {entry.population}", "", ""
    if isinstance(entry, Looked):
        return "budgets were compared on the log: later choices depend on it", "", ""
    if isinstance(entry, CapSet):
        change = "cap raised" if entry.raised else "cap set"
        promise = f"{change}: ε = {_short(entry.epsilon)}, δ = {_short(entry.delta)}"
        return promise, f"at most {_parts(entry.limits)}", ""
    if isinstance(entry, Returned | Settled) or (
        isinstance(entry, Reserved) and isinstance(books.runs.get(number), Booked | CameToNothing)
    ):
        return None
    label = f"{entry.method}{' (TEST RUN)' if entry.test_run else ''}"
    label += f" “{entry.title}”" if entry.title else ""
    label += f" for {entry.recipient}" if entry.recipient else ""
    label += f", approved by {entry.approver}" if entry.approver else ""
    cost = _parts(entry.cost) if entry.cost else "cannot be accounted for"
    if isinstance(entry, Reserved):
        outcome = (
            "reserved: running or killed" if number in books.runs else "returned: drew nothing"
        )
    elif isinstance(entry, CameToNothing):
        outcome = "nothing released"
    else:
        outcome = books.outcomes.get(number, "open")
        if outcome != "abandoned" and entry not in books.runs.values():
            cost = "none: saved before"
    return label, cost, outcome


def _parts(cost: Costs) -> str:
    parts = {"μ²": cost.mu_squared, "ε": cost.epsilon, "δ": cost.delta}
    return ", ".join(f"{symbol} {_short(part)}" for symbol, part in parts.items() if part)


def _short(fraction: Fraction) -> str:
    return short(fraction, 4)


def _totals(books: Books) -> list[str]:
    composed, reserved = books.composed, len(books.reserved)
    reached, number = composed.epsilon_at_delta, len(books.releases)
    spent = (
        "more δ than that" if reached is None else f"ε = {at_most(reached, 3) if reached else 0}"
    )
    spent += "" if books.cap is None else f" of {short(composed.epsilon)}"
    spent += f" (at δ = {short(composed.delta)})"
    lines = [f"{number:,} release{'s' * (number != 1)}. Spent: {spent}."]
    if reserved:
        lines.append(
            f"{reserved:,} runs are not finished or were killed. Their planned cost counts."
        )
    if books.cap is None:
        lines.append("No cap is set: the ledger records releases and refuses none.")
    else:
        lines.append(f"Left for one more release: {_room(books)}.")
        if not books.cap_came_first:
            lines.append(
                "The cap was set after a release. It covers all of them only if it was chosen "
                "without looking at what was released."
            )
    if books.unaccounted:
        lines.append(
            f"{books.unaccounted:,} releases cannot be accounted for and are not included."
        )
    if books.test_runs:
        lines.append(f"{books.test_runs:,} are test runs, which must not be published.")
    return [*lines, f"Ledger file intact: {books.file}", f"Head: {books.head}"]


def _room(books: Books) -> str:
    if books.cap is None:
        return "–"
    room = books.room
    return (
        "nothing" if room is None else f"up to ε = {short(room.epsilon)}, δ = {short(room.delta)}"
    )
