"""Books: what the entries of a ledger say together. Names and meanings of entries never change."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    TypeAdapter,
    model_validator,
)
from pydantic import ValidationError as NotAnEntryError

from slogan.dp.accounting import NOTHING, Cost, delta_at, epsilon_at, rounded_down, rounded_up
from slogan.errors import BudgetError, LedgerError
from slogan.ledger.cap import Cap, Room
from slogan.ledger.hash_chain import Link, head
from slogan.manifest.labels import LONGEST_LABEL
from slogan.storage.atomic import MANIFEST, Attempt, Outcome
from slogan.storage.untrusted import is_sayable

_DEFAULT_EPSILON = Fraction(1)
_DEFAULT_DELTA = Fraction(1, 10**6)

_LARGEST = 10**100
_MOST_BITS = 2**13
"""Of a numerator or denominator; those of releases have hundreds."""
_MOST_BITS_TOGETHER = 2**18
"""Of the denominator of a sum: budgets of some thousand kinds have one."""
_LONGEST_NAME, _LONGEST_PATH = 255, 4_095
_FRACTION = re.compile(r"[0-9]+(/0*[1-9][0-9]*)?")


def _fraction(number: object) -> Fraction:
    if isinstance(number, str) and len(number) <= _MOST_BITS and _FRACTION.fullmatch(number):
        number = Fraction(number)
    if not isinstance(number, Fraction):
        raise ValueError("not a non-negative fraction")  # noqa: TRY004 - for pydantic
    if max(number.numerator.bit_length(), number.denominator.bit_length()) > _MOST_BITS:
        raise ValueError("a fraction of too many digits")
    if number > _LARGEST:
        raise ValueError("not a number of reasonable size")
    return number


Exact = Annotated[Fraction, BeforeValidator(_fraction), PlainSerializer(str)]


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Costs(_Entry):
    """A cost, part by part, as exact fractions."""

    mu_squared: Exact
    epsilon: Exact
    delta: Exact

    @classmethod
    def of(cls, cost: Cost) -> "Costs":
        """The entry of a cost."""
        try:
            return cls(**cost.parts())
        except NotAnEntryError as cause:
            raise LedgerError(
                "the cost of the release has more digits than a ledger keeps",
                hint="write epsilon, delta and shares with fewer digits",
            ) from cause

    @property
    def cost(self) -> Cost:
        """The cost of an entry."""
        return Cost(mu_squared=self.mu_squared, epsilon=self.epsilon, delta=self.delta)


class Opened(_Entry):
    """The first entry: whose ledger this is."""

    kind: Literal["opened"] = "opened"
    version: Literal[1] = 1
    population: str


class CapSet(_Entry):
    """From here on, this is the cap."""

    kind: Literal["cap"] = "cap"
    epsilon: Exact
    delta: Exact
    limits: Costs
    raised: bool

    @property
    def cap(self) -> Cap:
        """The cap of an entry."""
        return Cap(epsilon=self.epsilon, delta=self.delta, limits=self.limits.cost)


def _label(text: str) -> str:
    if len(text) > LONGEST_LABEL or not text.isprintable():
        raise ValueError("not one short line")
    return text


Label = Annotated[str, AfterValidator(_label)]


class _Run(_Entry):
    method: str
    parameters: dict[str, str | int | None]
    cost: Costs | None
    """None for a test run, or if no accounting covers the release."""
    test_run: bool
    title: Label | None = None
    recipient: Label | None = None
    approver: Label | None = None


class Reserved(_Run):
    """A run that may draw noise from now on. Its planned cost counts until the run is settled."""

    kind: Literal["reserved"] = "reserved"


class Returned(_Entry):
    """A run ended before it drew anything: its reservation does not count."""

    kind: Literal["returned"] = "returned"
    reservation: int
    """The number of its entry."""


class Booked(_Run):
    """A release that is about to be published. Without a later outcome it counts as published."""

    kind: Literal["release"] = "release"
    reservation: int | None = None
    """The number of the entry that it replaces."""
    allow_unaccounted: bool
    manifest_sha256: str = Field(pattern="^[0-9a-f]{64}$")
    target: str
    token: str = Field(pattern="^[0-9a-f]+$")

    @property
    def attempt(self) -> Attempt:
        """Where it was to appear."""
        return Attempt(Path(self.target), self.token)

    @model_validator(mode="after")
    def _could_be_attempted(self) -> Self:
        target = Path(self.target)
        if not (is_sayable(target) and target.is_absolute() and target.name not in ("", "..")):
            raise ValueError("not the path of a folder")
        place = self.attempt.replaced / MANIFEST
        longest = max(len(name.encode()) for name in place.parts)
        if longest > _LONGEST_NAME or len(str(place).encode()) > _LONGEST_PATH:
            raise ValueError("a path longer than any")
        return self


class CameToNothing(_Run):
    """A run that drew noise and published nothing: it counts, or one could try again and again."""

    kind: Literal["nothing"] = "nothing"
    reservation: int | None = None
    """The number of the entry that it replaces."""


class Settled(_Entry):
    """What became of a booked release."""

    kind: Literal["outcome"] = "outcome"
    release: int
    """The number of its entry."""
    outcome: Outcome


class Looked(_Entry):
    """Budgets were compared on the log itself, so later choices depend on it. It has no cost."""

    kind: Literal["looked"] = "looked"


Entry = Opened | CapSet | Reserved | Returned | Booked | CameToNothing | Settled | Looked
_ENTRIES: TypeAdapter[Entry] = TypeAdapter(Annotated[Entry, Field(discriminator="kind")])


class Composed(NamedTuple):
    """What all costs would mean had they been fixed beforehand."""

    epsilon: float
    delta_at_epsilon: float
    delta: float
    epsilon_at_delta: float | None


@dataclass(frozen=True, repr=False)
class Books:
    """A ledger as it stood at one moment, checked link by link."""

    file: Path
    links: tuple[Link, ...]

    @cached_property
    def entries(self) -> tuple[Entry, ...]:
        """The entries in order."""
        try:
            return tuple(_ENTRIES.validate_python(link.entry) for link in self.links)
        except NotAnEntryError as cause:
            raise LedgerError(
                f"{self.file} holds an entry that this version of slogan does not know",
                hint="use the version that wrote it, or a newer one",
            ) from cause

    @property
    def population(self) -> str:
        """Whose ledger it is."""
        first = self.entries[0] if self.entries else None
        return first.population if isinstance(first, Opened) else ""

    @property
    def head(self) -> str:
        """The hash that stands for the whole ledger."""
        return head(self.links)

    @cached_property
    def outcomes(self) -> dict[int, Outcome]:
        """What became of each booked release, by the number of its entry."""
        return {e.release: e.outcome for e in self.entries if isinstance(e, Settled)}

    def booked(self) -> list[tuple[int, Booked]]:
        """All releases that were ever about to be published, with the numbers of their entries."""
        return [(n, entry) for n, entry in enumerate(self.entries) if isinstance(entry, Booked)]

    @cached_property
    def releases(self) -> list[Booked]:
        """The releases that count: all but those known not to have been published."""
        return [e for number, e in self.booked() if self.outcomes.get(number) != "abandoned"]

    @property
    def nothings(self) -> list[tuple[int, CameToNothing]]:
        """The runs that released nothing, with the numbers of their entries."""
        return [(n, e) for n, e in enumerate(self.entries) if isinstance(e, CameToNothing)]

    @cached_property
    def runs(self) -> dict[int, Reserved | Booked | CameToNothing]:
        """For each run that counts, by the number of its first entry, the entry with its cost.

        A reservation counts until it is returned, ends without a release, or a release that
        counts replaces it. Further releases of the same run show the same draws and cost nothing.
        """
        runs: dict[int, Reserved | Booked | CameToNothing] = {}
        reserved: set[int] = set()
        for number, entry in enumerate(self.entries):
            if isinstance(entry, Reserved):
                reserved.add(number)
                runs[number] = entry
            elif isinstance(entry, Returned):
                if isinstance(runs.get(entry.reservation), Reserved):
                    del runs[entry.reservation]
            elif isinstance(entry, Booked | CameToNothing):
                if self.outcomes.get(number) == "abandoned" and isinstance(entry, Booked):
                    continue
                run = entry.reservation if entry.reservation in reserved else None
                if run is None or not isinstance(runs.get(run), Booked):
                    runs[number if run is None else run] = entry
        return runs

    @property
    def reserved(self) -> dict[int, Reserved]:
        """The reservations of runs that go on, or were killed, by the numbers of their entries."""
        return {n: entry for n, entry in self.runs.items() if isinstance(entry, Reserved)}

    @cached_property
    def spent(self) -> Cost:
        """What all runs cost together, as far as there is an accounting for them."""
        costs = [e.cost.cost for e in self.runs.values() if e.cost is not None]
        self._require_sums(costs)
        return sum(costs, NOTHING)

    def __repr__(self) -> str:
        return f"<Books: {len(self.links):,} entries of {self.file}, head {self.head}>"

    def _require_sums(self, costs: list[Cost]) -> None:
        """Refuse fractions that have so little in common that adding them up takes hours."""
        for name in Cost().parts():
            common = 1
            for denominator in {cost.parts()[name].denominator for cost in costs}:
                common = math.lcm(common, denominator)
                if common.bit_length() > _MOST_BITS_TOGETHER:
                    raise LedgerError(
                        f"{self.file} holds costs of too many digits to be added up",
                        hint="restore the file from a backup; until then nothing is released",
                    )

    @cached_property
    def cap(self) -> Cap | None:
        """The cap in force."""
        caps = [entry for entry in self.entries if isinstance(entry, CapSet)]
        try:
            return caps[-1].cap if caps else None
        except BudgetError as cause:
            raise LedgerError(
                f"{self.file} holds a cap that is none: {cause.problem}",
                hint="restore the file from a backup; until then nothing is released",
            ) from cause

    @property
    def cap_came_first(self) -> bool:
        """Whether no run could have influenced the choice of the cap."""
        last = max(n for n, entry in enumerate(self.entries) if isinstance(entry, CapSet))
        return all(n > last for n in self.runs)

    def require_link(self, noted: str) -> None:
        """Refuse a ledger that no longer holds the link whose hash was noted elsewhere."""
        if noted not in {link.hash for link in self.links}:
            raise LedgerError(
                f"{self.file} checks link by link, but does not hold the link {noted[:64]}",
                hint="its end was cut off, or it is another ledger: restore it from a backup",
            )

    def to_dict(self) -> dict[str, Any]:
        """Everything `slogan ledger` shows."""
        limits = remaining = None
        if (cap := self.cap) is not None:
            limits = {
                "epsilon": float(cap.epsilon),
                "delta": float(cap.delta),
                "limits": _numbers(cap.limits, rounded_down),
                "came_first": self.cap_came_first,
            }
            left, one = cap.remaining(self.spent), self.room and self.room._asdict()
            remaining = {**_numbers(left, rounded_down), "one_release": one}
        return {
            "population": self.population,
            "file": str(self.file),
            "head": self.head,
            "entries": [
                {"number": link.number, "time": link.time, **link.entry, "hash": link.hash}
                for link in self.links
            ],
            "releases": len(self.releases),
            "nothings": len(self.nothings),
            "reserved": len(self.reserved),
            "unaccounted": self.unaccounted,
            "test_runs": self.test_runs,
            "spent": _numbers(self.spent),
            "composed": self.composed._asdict(),
            "cap": limits,
            "remaining": remaining,
        }

    @property
    def unaccounted(self) -> int:
        """How many releases no accounting covers."""
        return sum(e.cost is None and not e.test_run for e in self.releases)

    @property
    def test_runs(self) -> int:
        """How many releases come from a seed."""
        return sum(e.test_run for e in self.releases)

    @property
    def room(self) -> Room | None:
        """The largest release that still fits; None if none does, or without a cap."""
        return None if self.cap is None else self.cap.room(self.spent)

    @cached_property
    def composed(self) -> Composed:
        """What was spent, at the ε and at the δ of the cap."""
        epsilon = self.cap.epsilon if self.cap else _DEFAULT_EPSILON
        delta = self.cap.delta if self.cap else _DEFAULT_DELTA
        try:
            reached = rounded_up(epsilon_at(delta, self.spent))
        except BudgetError:  # the stages set aside all of this δ
            reached = None
        return Composed(
            epsilon=float(epsilon),
            delta_at_epsilon=rounded_up(delta_at(epsilon, self.spent)),
            delta=float(delta),
            epsilon_at_delta=reached,
        )


def _numbers(cost: Cost, rounded: Callable[[Fraction], float] = rounded_up) -> dict[str, float]:
    return {name: rounded(part) for name, part in cost.parts().items()}
