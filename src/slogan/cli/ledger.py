"""`slogan ledger`: what was released on a population, and what remains."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import RenderableType
from rich.text import Text

from slogan.cli.options import Capping
from slogan.cli.terminal import Json, show, table, with_notes

if TYPE_CHECKING:
    from slogan.ledger.entries import Books


def ledger(
    *,
    population: str | None = None,
    file: Annotated[Path | None, Parameter(name="--ledger")] = None,
    create: Annotated[bool, Parameter(negative="")] = False,
    capping: Capping = Capping(),
    expect_head: str | None = None,
    json: Json = False,
) -> None:
    """Show what was released on a population, what it cost together, and what remains.

    `slogan ledger --population web-users --create --set-epsilon-cap 1 --set-delta-cap 1e-6`

    Parameters
    ----------
    population
        Whose ledger; without a name or a file, all ledgers that are found by name.
    file
        The ledger's file, if it is not found by the name of the population.
    create
        Start the ledger of a population that has none.
    expect_head
        A head hash that you noted earlier: refuse a ledger whose end was cut off since.
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
    show(books, lambda books: _entries(books.to_dict()), json=json)


@dataclass(frozen=True)
class _Ledgers:
    books: list[Books]

    def to_dict(self) -> dict[str, Any]:
        return {"ledgers": [books.to_dict() for books in self.books]}


def _entries(books: dict[str, Any]) -> RenderableType:
    """Every entry, what it comes to, and what remains."""
    outcomes = {e["release"]: e["outcome"] for e in books["entries"] if e["kind"] == "outcome"}
    rows = (_entry(entry, outcomes) for entry in books["entries"] if entry["kind"] != "outcome")
    shown = table(("#", "UTC", "entry", "cost", "outcome"), rows, left=5)
    for column in shown.columns[:2]:
        column.no_wrap = True
    return with_notes(shown, _totals(books), style="")


def _populations(ledgers: _Ledgers) -> RenderableType:
    """One line for each population."""
    if not ledgers.books:
        return Text("no ledger yet; slogan ledger --population NAME --create starts one")
    rows: list[list[str]] = []
    for books in ledgers.to_dict()["ledgers"]:
        cap = books["cap"] or {"epsilon": "–", "delta": "–"}
        caps = (str(cap["epsilon"]), str(cap["delta"]))
        room = _room(books["remaining"])
        rows.append([books["population"], f"{books['releases']:,}", *caps, room])
    headings = ("population", "releases", "ε cap", "δ cap", "remains for one release")
    return table(headings, rows)


def _entry(entry: dict[str, Any], outcomes: dict[int, str]) -> list[str]:
    start = [str(entry["number"]), entry["time"][:16].replace("T", " ")]
    if entry["kind"] == "opened":
        return [*start, f"opened for {entry['population']}", "", ""]
    if entry["kind"] == "cap":
        change = "cap raised" if entry["raised"] else "cap set"
        promise = f"{change}: ε = {_short(entry['epsilon'])}, δ = {_short(entry['delta'])}"
        return [*start, promise, f"at most {_parts(entry['limits'])}", ""]
    kind = " (TEST RUN)" if entry["test_run"] else ""
    cost = _parts(entry["cost"]) if entry["cost"] else "not accountable"
    came = "nothing" if entry["kind"] == "nothing" else outcomes.get(entry["number"], "open")
    return [*start, f"{entry['method']}{kind}", cost, came]


def _parts(cost: dict[str, str]) -> str:
    symbols = {"μ²": "mu_squared", "ε": "epsilon", "δ": "delta"}
    parts = {symbol: _short(cost[name]) for symbol, name in symbols.items()}
    return ", ".join(f"{symbol} {part}" for symbol, part in parts.items() if part != "0")


def _short(fraction: str) -> str:
    return f"{float(Fraction(fraction)):.4g}"


def _totals(books: dict[str, Any]) -> list[str]:
    composed, cap = books["composed"], books["cap"]
    reached = composed["epsilon_at_delta"]
    power = "no ε" if reached is None else f"ε = {reached:.4g}"
    lines = [
        f"{books['releases']:,} releases count; what is accountable comes to "
        f"δ = {composed['delta_at_epsilon']:.4g} at ε = {composed['epsilon']:g}, "
        f"{power} at δ = {composed['delta']:g}"
    ]
    if cap is None:
        lines.append("no cap: the ledger records and refuses nothing")
    else:
        lines.append(f"remains: {_room(books['remaining'])}")
        if not cap["came_first"]:
            lines.append(
                "the cap came after a release: it is a promise about all of them only if what "
                "they showed had no part in its choice"
            )
    if books["unaccounted"]:
        lines.append(f"no accounting covers {books['unaccounted']:,} of the releases")
    if books["test_runs"]:
        lines.append(f"{books['test_runs']:,} are test runs, which must not be published")
    return [*lines, f"{books['file']}: every link checks", f"head {books['head']}"]


def _room(remaining: dict[str, Any] | None) -> str:
    if remaining is None:
        return "–"
    room = remaining["one_release"]
    return "nothing" if room is None else f"ε = {room['epsilon']:g} at δ = {room['delta']:g}"
