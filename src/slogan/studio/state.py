"""State: everything that one run of the studio knows, in memory only."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from slogan.errors import OptionError
from slogan.studio.choices import LogChoice
from slogan.studio.guard import Gate
from slogan.studio.work.jobs import Job, Workshop

if TYPE_CHECKING:
    from slogan.ledger.ledger import Ledger
    from slogan.studio.work.facts import Examined, Made, Seen, Sizes, Stop, Stops
    from slogan.studio.work.worker import Task

MOST_CASES = 50


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why the last step did not work, and what to do."""

    text: str
    hint: str


_CANCELLED = Problem(text="It was cancelled", hint="Nothing was changed.")
_CANCELLED_RELEASE = Problem(
    text="It was cancelled",
    hint="The release is either complete or absent. If noise was drawn, the ledger counts it.",
)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is written about a release before it is made."""

    output: str = ""
    title: str = ""
    publisher: str = ""
    contact: str = ""
    period: str = ""
    licence: str = ""
    region: str = ""
    published: str = ""
    recipient: str = ""
    approver: str = ""
    seed: str = ""
    """Of a test run; in the demo only."""


@dataclass
class Case:
    """One log on its way to a release."""

    number: int
    log: LogChoice = field(default_factory=LogChoice)
    seen: Seen | None = None
    person: str = ""
    """Whether one ID is one person: yes, session, shared or several; empty if not answered."""
    sizes: Sizes | None = None
    recipient: str = ""
    population: str = ""
    unaccounted: bool = False
    """Whether a release is wanted that the ledger's cap says nothing about."""
    users: int | None = None
    """Declared."""
    clicks_per_user: str = ""
    """Declared."""
    stops: Stops | None = None
    shown: int = 0
    """The place of the slider."""
    stop: Stop | None = None
    """The budget that was chosen."""
    delta: str = ""
    """Of made-up users, if it is smaller than the one that follows from the declared users."""
    looked: bool = False
    """Whether the budget was compared on the real log."""
    plan: Plan = field(default_factory=Plan)
    confirmation: str = ""
    """Belongs to one page that asks for a release, and is used up by it."""
    made: Made | None = None
    examined: Examined | None = None
    opened: str = ""
    """The folder of an earlier release that was opened."""
    job: Job | None = None
    problem: Problem | None = None

    @property
    def name(self) -> str:
        """What the list calls it."""
        named = self.log.uploaded or self.log.source or self.opened
        return named.rstrip("/").rpartition("/")[2] or "New log"

    @property
    def mode(self) -> str:
        """The verb that makes the release."""
        return "sanitize" if self.recipient == "reproduction" else "synthesize"

    @property
    def release(self) -> str:
        """The folder of the release; empty before there is one."""
        return self.made.folder if self.made else self.opened

    @property
    def working(self) -> bool:
        """Whether something is being done."""
        return self.job is not None and self.job.running

    def require_idle(self) -> None:
        """Refuse a second piece of work."""
        if self.working:
            raise OptionError("something is being done already", hint="wait for it, or cancel it")

    def require_open(self) -> None:
        """Refuse a change after the release."""
        self.require_idle()
        if self.release:
            raise OptionError(
                "the release of this log has been made, and its choices are fixed",
                hint="begin again from the list of logs: another release has its own price",
            )

    def forget_from_inspect(self) -> None:
        """Another log, or another way to read it: nothing that was counted holds."""
        self.sizes = None
        self.forget_budget()

    def forget_budget(self) -> None:
        """Another recipient or another size: no budget is chosen."""
        self.stops = self.stop = None


@dataclass
class Studio:
    """One run: its address, its cases, its private folder."""

    gate: Gate
    folder: Path
    """Closed to others, and removed at the end."""
    workshop: Workshop
    demo: bool = False
    ledgers: Path | None = None
    """Where ledgers are; None for the usual place."""
    problem: Problem | None = None
    """Of the list of logs."""
    form_token: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    cases: dict[int, Case] = field(default_factory=dict[int, Case])
    lock: threading.RLock = field(default_factory=threading.RLock)
    tabs: set[str] = field(default_factory=set[str])
    left: float | None = None
    """When the last tab was closed."""
    ending: bool = False
    """Whether the person ended it."""

    @property
    def base(self) -> str:
        """How every address begins."""
        return self.gate.base

    @property
    def uploads(self) -> Path:
        """Where uploaded files are."""
        return self.folder / "uploads"

    def new_case(self) -> Case:
        """A case with nothing in it."""
        if len(self.cases) >= MOST_CASES:
            raise OptionError("there are too many logs", hint="start the studio again")
        number = 1 + max(self.cases, default=0)
        self.cases[number] = Case(number)
        return self.cases[number]

    def ledger(self, population: str) -> Ledger:
        """The ledger of a population."""
        from slogan.ledger.ledger import Ledger

        file = None if self.ledgers is None else self.ledgers / f"{population}.ledger"
        return Ledger.open(population, file)

    def populations(self) -> list[str]:
        """The populations that have a ledger."""
        from slogan.ledger.ledger import populations

        return populations(self.ledgers)

    def start(
        self,
        case: Case,
        title: str,
        task: Task,
        keep: Callable[[object], None],
        *,
        essential: bool = False,
        following: Callable[[], None] | None = None,
    ) -> None:
        """Have a worker do a task.

        `keep` stores its result in the case; then `following` starts what comes after it.
        """
        case.require_idle()
        case.problem = None

        def finish(job: Job) -> None:
            with self.lock:
                if job.failure is not None:
                    case.problem = Problem(text=job.failure.problem, hint=job.failure.hint)
                elif job.state == "cancelled":
                    case.problem = _CANCELLED_RELEASE if essential else _CANCELLED
                else:
                    keep(job.result)
                job.ended.set()
                if job.state == "done" and following is not None:
                    following()

        case.job = self.workshop.start(title, task, finish, essential=essential)
