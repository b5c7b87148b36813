"""Ledger: one private file per population that grants releases, or refuses them.

A run reserves its planned cost before it draws noise. Its release is booked before it gets its name
and settled afterwards, all under one lock. The process that opens the ledger next settles what a
killed run left open, by looking at the disk; in doubt, and for what a killed run had reserved, the
budget counts as spent. Proof: docs/proofs/ledger.md.
"""

import os
import re
import shlex
from collections.abc import Callable, Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from platformdirs import user_data_path

from slogan.budget import short
from slogan.dp.accounting import Cost, rounded_up
from slogan.errors import (
    BudgetRefusedError,
    LedgerError,
    OptionError,
    PopulationError,
    suggestion,
)
from slogan.ledger.cap import Cap
from slogan.ledger.entries import (
    Booked,
    Books,
    CameToNothing,
    CapSet,
    Costs,
    Entry,
    Looked,
    Opened,
    Reserved,
    Returned,
    Settled,
)
from slogan.ledger.hash_chain import Chain
from slogan.storage.atomic import MANIFEST, Attempt, publish, sha256_of, sync
from slogan.storage.untrusted import is_sayable

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SUFFIX = ".ledger"


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a release tells the ledger: its method and public choices, nothing that the log gave."""

    method: str
    parameters: Mapping[str, str | int | float | None]
    cost: Cost | None
    """None if no accounting covers the release."""
    test_run: bool = False
    """Whether a seed was given. A test run is not private, so it has no cost."""
    title: str | None = None
    recipient: str | None = None
    approver: str | None = None

    def fields(self) -> dict[str, Any]:
        """What an entry says of the run. It holds no floats: one number has one spelling."""
        spelled = {
            name: str(value) if isinstance(value, float) else value
            for name, value in self.parameters.items()
        }
        cost = None if self.test_run or self.cost is None else Costs.of(self.cost)
        return {
            "method": self.method,
            "parameters": spelled,
            "cost": cost,
            "test_run": self.test_run,
            "title": self.title,
            "recipient": self.recipient,
            "approver": self.approver,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Where a release is recorded."""

    population: str
    file: str
    head: str
    """The hash of the last entry: note it to notice a ledger whose end was cut off."""


@dataclass(frozen=True, slots=True)
class Ledger:
    """The ledger of a population: `create` it once, then book every release in it."""

    file: Path
    population: str

    @classmethod
    def open(cls, population: str | None = None, file: str | Path | None = None) -> "Ledger":
        """Find a ledger by the name of its population, in the user's own folder, or by its file."""
        if population is None and file is None:
            raise OptionError(
                "a ledger needs a name or a place", hint="give --population NAME, or --ledger FILE"
            )
        name = Path(file or "").stem if population is None else population
        if not _NAME.fullmatch(name):
            raise OptionError(
                "the name of a population has letters, digits, '.', '_' and '-', at most 100",
                hint="such as web-users-2026",
            )
        place = folder() / f"{name}{_SUFFIX}" if file is None else Path(file)
        if not is_sayable(place):
            raise OptionError(
                "the name of the ledger is not UTF-8, or holds a NUL",
                hint="choose another --ledger",
            )
        real = Path(os.path.realpath(place))
        return cls(real, _population(real) if population is None and real.exists() else name)

    def create(self) -> Books:
        """Start the ledger of a population that has none."""
        with self._chain.locked():
            if self.file.exists():
                raise PopulationError(
                    f"{self.file} already exists", hint="a ledger is created once"
                )
            return self._add(Books(self.file, ()), Opened(population=self.population))

    def books(self) -> Books:
        """Everything it says, after settling what a killed run left open."""
        with self._settled() as books:
            return books

    def set_cap(self, cap: Cap, *, allow_raise: bool = False) -> Books:
        """Set the cap, or change it; both are entries. Raising it must be asked for."""
        with self._settled() as books:
            old = books.cap
            if old == cap:
                return books
            raised = old is not None and cap.exceeds(old)
            if raised and not allow_raise:
                raise BudgetRefusedError(
                    f"population {self.population!r} has a cap that this one would raise",
                    hint="users were promised the old cap; to break that, add --raise-cap, "
                    "which is recorded",
                )
            entry = CapSet(
                epsilon=cap.epsilon, delta=cap.delta, limits=Costs.of(cap.limits), raised=raised
            )
            return self._add(books, entry)

    def note_look(self) -> Books:
        """Record that budgets were compared on the log: one that is chosen now depends on it."""
        with self._settled() as books:
            return self._add(books, Looked())

    def check(self, charge: Charge, *, allow_unaccounted: bool = False) -> None:
        """Refuse early what would be refused in the end."""
        with self._settled() as books:
            _require(books, charge, allow_unaccounted=allow_unaccounted)

    def reserve(self, charge: Charge) -> "Reservation":
        """Count the planned cost of a run from now on, before it draws anything."""
        with self._settled() as books:
            _require(books, charge, allow_unaccounted=False)
            longer = self._add(books, Reserved(**charge.fields()))
            return Reservation(self, charge, len(books.links), longer.head)

    def booking(
        self,
        charge: Charge,
        ended: list[Books],
        *,
        reservation: "Reservation | None" = None,
        allow_unaccounted: bool = False,
    ) -> Callable[[Attempt], AbstractContextManager[Books]]:
        """For `publish`: book the release, let it be published, and settle it.

        Args:
            charge: What the release tells the ledger.
            ended: Receives the books after the entry, so that they need not be read again.
            reservation: What was granted to the run before it drew: the cap is not asked again.
            allow_unaccounted: Whether a release may be one that no accounting covers.
        """

        @contextmanager
        def booked(attempt: Attempt) -> Generator[Books]:
            with self._settled() as books:
                if reservation is not None:
                    reservation.require(books, charge)
                if reservation is None or charge.test_run:
                    _require(books, charge, allow_unaccounted=allow_unaccounted)
                entry = Booked(
                    **charge.fields(),
                    reservation=None if reservation is None else reservation.number,
                    allow_unaccounted=allow_unaccounted,
                    manifest_sha256=sha256_of(attempt.partial / MANIFEST),
                    target=str(attempt.target),
                    token=attempt.token,
                )
                attempt.name_ledger(self.file)
                longer = self._add(books, entry)
                try:
                    yield longer
                finally:
                    ended.append(self._settle(longer))

        return booked

    def settle(self, reservation: "Reservation", entry: Returned | CameToNothing) -> None:
        """Have an entry stand for a reservation, unless another one does already."""
        with self._settled() as books:
            books.require_link(reservation.link)
            if reservation.number in books.reserved:
                self._add(books, entry)

    @contextmanager
    def _settled(self) -> Generator[Books]:
        """The books under an exclusive lock, with no release left open."""
        if not self.file.exists():
            name = shlex.quote(self.population)
            raise PopulationError(
                f"population {self.population!r} has no ledger at {self.file}",
                hint=suggestion(self.population, populations())
                or f"check the name; to start it: slogan ledger --population {name} --create",
            )
        with self._chain.locked():
            books = Books(self.file, tuple(self._chain.read()))
            if books.population != self.population:
                raise PopulationError(
                    f"{self.file} is the ledger of {books.population!r}, not of "
                    f"{self.population!r}",
                    hint="one ledger belongs to one population: check --population and --ledger",
                )
            try:
                books = self._settle(books)
            except OSError as cause:
                raise LedgerError(
                    f"{self.file} cannot settle what became of a release: {cause.strerror}",
                    hint="the disk of the release fails; until it can be written, the release "
                    "counts as published",
                ) from cause
            yield books

    def _settle(self, books: Books) -> Books:
        """Decide by the disk what became of releases without outcome, and clean up after them."""
        for number, entry in books.booked():
            attempt = entry.attempt
            if number not in books.outcomes:
                outcome = attempt.outcome(entry.manifest_sha256)
                if outcome == "published":
                    sync(attempt.target.parent)  # a killed run may not have done so
                books = self._add(books, Settled(release=number, outcome=outcome))
            attempt.clean_up()  # only now: what is left beside the target is the evidence
        return books

    def _add(self, books: Books, entry: Entry) -> Books:
        links = self._chain.append(books.links, entry.model_dump(mode="json"))
        return Books(self.file, tuple(links))

    @property
    def _chain(self) -> Chain:
        return Chain(self.file)


@dataclass(frozen=True, slots=True)
class Reservation:
    """What a run may cost. It counts until the run is settled, and for ever if it is killed."""

    ledger: Ledger
    charge: Charge
    number: int
    """Of its entry."""
    link: str
    """The hash of its entry, by which a ledger that was restored from a backup is noticed."""

    def require(self, books: Books, charge: Charge) -> None:
        """Refuse to book under it what it was not for."""
        books.require_link(self.link)
        if not isinstance(books.runs.get(self.number), Reserved | Booked):
            raise LedgerError(
                "the release was closed, and the ledger has counted its run as ended",
                hint="save a release before it is closed",
            )
        planned, cost = self.charge.cost, charge.cost
        if planned is None or cost is None or not planned.covers(cost):
            raise LedgerError(
                "the release costs more than its run had reserved", hint="please report it"
            )

    def end(self, *, drawn: bool, cost: Cost | None = None) -> None:
        """Settle a run of which no release comes; one that was settled stays as it is.

        If the ledger cannot be written, the planned cost goes on to count.

        Args:
            drawn: Whether noise was drawn. It then counts, whatever the run ended with.
            cost: What was drawn, if that is known; else all that was planned.
        """
        with suppress(LedgerError):
            entry = Returned(reservation=self.number)
            if drawn:
                drew = self.charge if cost is None else replace(self.charge, cost=cost)
                entry = CameToNothing(**drew.fields(), reservation=self.number)
            self.ledger.settle(self, entry)


def publish_recorded(
    target: Path,
    fill: Callable[[Path], None],
    *,
    force: bool,
    charge: Charge,
    ledger: Ledger | None,
    reservation: Reservation | None = None,
    allow_unaccounted: bool = False,
) -> Recorded | None:
    """Publish a folder as a release; returns where that is recorded, None without a ledger."""
    if ledger is None:
        publish(target, fill, force=force, settled=settled)
        return None
    ended: list[Books] = []
    booking = ledger.booking(
        charge, ended, reservation=reservation, allow_unaccounted=allow_unaccounted
    )
    publish(target, fill, force=force, booked=booking, settled=settled)
    return Recorded(population=ledger.population, file=str(ledger.file), head=ended[0].head)


def settled(file: Path) -> bool:
    """Whether the ledger in this file has no release left open; False while it cannot be used."""
    try:
        Ledger(file, _population(file)).books()
    except LedgerError:
        return False
    return True


def folder() -> Path:
    """Where ledgers are kept that are found by name: a team's folder, or the user's own."""
    if shared := os.environ.get("SLOGAN_LEDGER_DIR"):
        return Path(shared)
    try:
        return user_data_path("slogan") / "ledgers"
    except RuntimeError as cause:
        raise LedgerError(
            "this user has no home folder in which ledgers are kept",
            hint="give --ledger FILE, or set HOME or XDG_DATA_HOME to an absolute path",
        ) from cause


def populations(place: Path | None = None) -> list[str]:
    """The populations whose ledgers are found by name, or are in another folder."""
    files = sorted((place or folder()).glob(f"[!.]*{_SUFFIX}"))
    return [file.name.removesuffix(_SUFFIX) for file in files]


def known() -> list[Ledger]:
    """All ledgers that are found by name."""
    return [Ledger.open(population) for population in populations()]


def _population(file: Path) -> str:
    return Books(file, tuple(Chain(file).read())).population


def _require(books: Books, charge: Charge, *, allow_unaccounted: bool) -> None:
    cap, name = books.cap, books.population
    if cap is None:
        return
    if charge.test_run:
        raise BudgetRefusedError(
            f"population {name!r} has a cap, and a seeded test run protects no user",
            hint="leave out --seed, or test with a made-up log and without --population",
        )
    if charge.cost is None:
        if allow_unaccounted:
            return
        raise BudgetRefusedError(
            f"population {name!r} has a cap, and no accounting covers this release: its guarantee "
            "is given the counts, and the counts are not private",
            hint="release it with synthesize, or add --allow-unaccounted: then it is recorded, and "
            "the cap says nothing about it",
        )
    if cap.admits(books.spent + charge.cost):
        return
    left = "no further release"
    if room := cap.room(books.spent):
        left = f"one release with epsilon = {short(room.epsilon)} and delta = {short(room.delta)}"
    raise BudgetRefusedError(
        f"the release would exceed the cap of population {name!r}: it costs {_words(charge.cost)}, "
        f"and what remains is {_words(cap.remaining(books.spent))}; that is room for {left}",
        hint=f"spend less; slogan ledger --population {name} shows what was spent",
    )


def _words(cost: Cost) -> str:
    parts = cost.parts().items()
    named = [
        f"{name.replace('_', ' ')} = {short(rounded_up(part), 4)}" for name, part in parts if part
    ]
    return ", ".join(named) or "nothing"
