"""Books: what a ledger says, as several screens show it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slogan.budget import at_most, short

if TYPE_CHECKING:
    from slogan.dp.accounting import Cost
    from slogan.ledger.entries import Books, Entry
    from slogan.studio.state import Studio


@dataclass(frozen=True, kw_only=True)
class Line:
    """One entry of the timeline."""

    number: int
    time: str
    what: str
    cost: str
    outcome: str


@dataclass(frozen=True, kw_only=True)
class LedgerView:
    """A population's ledger in words and in percent."""

    population: str
    file: str
    head: str
    releases: int
    spent: str
    """ε that all runs together reach, rounded up."""
    cap_epsilon: str
    """Empty without a cap."""
    cap_delta: str
    percent: int
    """Of the cap's ε, spent; rounded up."""
    room: str
    """What still fits, in words."""
    full: bool
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def ledger_view(studio: Studio, population: str) -> LedgerView:
    """Read a ledger."""
    books = studio.ledger(population).books()
    composed, cap = books.composed, books.cap
    reached = composed.epsilon_at_delta
    spent = "more δ than that" if reached is None else f"{at_most(reached, 3) if reached else 0}"
    percent = 100 if reached is None else 0
    room, full = "No cap is set: the ledger records releases and refuses none.", False
    if cap is not None:
        if reached is not None:
            percent = min(100, math.ceil(100 * reached / float(cap.epsilon)))
        left = books.room
        full = left is None
        room = "Nothing more fits."
        if left is not None:
            room = f"One more release of made-up users fits: up to ε = {short(left.epsilon)} at "
            room += f"δ = {short(left.delta)}."
    return LedgerView(
        population=books.population,
        file=str(books.file),
        head=books.head,
        releases=len(books.releases),
        spent=spent,
        cap_epsilon="" if cap is None else short(cap.epsilon),
        cap_delta="" if cap is None else short(cap.delta),
        percent=percent,
        room=room,
        full=full,
        lines=tuple(_lines(books)),
        notes=tuple(_notes(books)),
    )


def _notes(books: Books) -> list[str]:
    notes: list[str] = []
    if number := len(books.reserved):
        notes.append(
            f"{number:,} run{'s' * (number != 1)} not finished, or killed. The planned cost counts."
        )
    if books.unaccounted:
        notes.append(f"{books.unaccounted:,} releases cannot be accounted for, and are not in ε.")
    if books.test_runs:
        notes.append(f"{books.test_runs:,} test runs, which must not be published.")
    if books.cap is not None and not books.cap_came_first:
        notes.append(
            "The cap was set after a release. It covers all of them only if it was chosen without "
            "looking at what was released."
        )
    return notes


def _lines(books: Books) -> list[Line]:
    lines: list[Line] = []
    for link, entry in zip(books.links, books.entries, strict=True):
        if (found := _words(link.number, entry, books)) is not None:
            time = link.time[:16].replace("T", " ")
            what, cost, outcome = found
            line = Line(number=link.number, time=time, what=what, cost=cost, outcome=outcome)
            lines.append(line)
    return lines


def _words(number: int, entry: Entry, books: Books) -> tuple[str, str, str] | None:
    """What an entry says; None for one that belongs to another."""
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
        return "opened", "", ""
    if isinstance(entry, Looked):
        return "budgets were compared on the log: later choices depend on it", "", ""
    if isinstance(entry, CapSet):
        raised = "raised" if entry.raised else "set"
        return f"cap {raised}: ε = {short(entry.epsilon)}, δ = {short(entry.delta)}", "", ""
    if isinstance(entry, Returned | Settled):
        return None
    ends = books.runs.get(number)
    if isinstance(entry, Reserved) and isinstance(ends, Booked | CameToNothing):
        return None
    what = f"{entry.method}{' (test run)' if entry.test_run else ''}"
    what += f" “{entry.title}”" if entry.title else ""
    what += f" for {entry.recipient}" if entry.recipient else ""
    what += f", approved by {entry.approver}" if entry.approver else ""
    budget = ", ".join(
        f"{symbol} = {value}"
        for name, symbol in (("epsilon", "ε"), ("exp_epsilon", "e^ε"), ("delta", "δ"))
        if (value := entry.parameters.get(name)) is not None
    )
    cost = budget if entry.cost else "not accounted for"
    if isinstance(entry, Reserved):
        outcome = "reserved: running or killed" if number in books.runs else "returned"
    elif isinstance(entry, CameToNothing):
        outcome = "nothing released"
    else:
        outcome = books.outcomes.get(number, "open")
    return what, cost, outcome


@dataclass(frozen=True, kw_only=True)
class Price:
    """What a release would do to a ledger."""

    fits: bool | None
    """None without a cap, or if no accounting covers the release."""
    after: str
    """ε that all runs reach with it, rounded up; empty if that is not known."""
    percent: int
    """The same, of the cap."""


def prices(studio: Studio, population: str, costs: Sequence[Cost | None]) -> list[Price]:
    """What each release would do."""
    from slogan.dp.accounting import epsilon_at, rounded_up
    from slogan.errors import BudgetError

    books, found = studio.ledger(population).books(), list[Price]()
    for cost in costs:
        if books.cap is None or cost is None:
            found.append(Price(fits=None, after="", percent=0))
            continue
        fits, whole = books.cap.admits(books.spent + cost), float(books.cap.epsilon)
        try:
            reached = rounded_up(epsilon_at(books.cap.delta, books.spent + cost))
            percent = min(100, math.ceil(100 * reached / whole))
            found.append(Price(fits=fits, after=at_most(reached, 3), percent=percent))
        except BudgetError:  # the stages set aside more than this δ
            found.append(Price(fits=fits, after="more", percent=100))
    return found
