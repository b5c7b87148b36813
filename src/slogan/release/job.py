"""A job: the inputs of a release, where it is saved, and the cleanup if it fails."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from slogan import engines
from slogan.budget import PrivacyBudget
from slogan.dp.accounting import Cost
from slogan.engines import EngineChoice
from slogan.engines.engine import Engine
from slogan.engines.pseudonyms import IdKind, fresh_pseudonyms
from slogan.errors import NothingToReleaseError, OptionError, TooFewUsersError
from slogan.histogram import Output
from slogan.ledger.ledger import Charge, Ledger, Reservation
from slogan.logs.searchlog import SearchLog, Source
from slogan.logs.words import ITEMS, PAIRS, worded
from slogan.manifest.labels import Labels, require_label
from slogan.modes import Parameters, ReleaseKind
from slogan.planning.objectives import Objective
from slogan.progress import Progress, Steps, shown
from slogan.randomness import Randomness, WatchedRandomness, randomness
from slogan.storage.atomic import check_outside_releases, check_replaceable
from slogan.storage.untrusted import is_sayable

Pseudonyms = Literal["fresh", "keep"]


@dataclass(frozen=True, kw_only=True)
class Destination:
    """Where a release will be saved, and the ledger that records it."""

    folder: str | Path | None = None
    """None if it is not known before the release is made."""
    force: bool = False
    """Whether an older release may be replaced."""
    ledger: Ledger | None = None
    allow_unaccounted: bool = False
    """Release although the ledger's cap does not cover it."""
    labels: Labels = field(default_factory=Labels)
    """Published with the release; the title is in the ledger too."""
    recipient: str | None = None
    """For whom it is, for the ledger and the memo; never published."""
    approver: str | None = None
    """Who approved it, likewise."""

    def ledger_labels(self) -> dict[str, str | None]:
        """Labels as the ledger keeps them; those that cannot be kept are refused."""
        self.labels.require()
        recipient = require_label("recipient", self.recipient)
        approver = require_label("approver", self.approver)
        return {"title": self.labels.title, "recipient": recipient, "approver": approver}

    def check(self, log: SearchLog, charge: Charge) -> None:
        """Refuse early what `save()` would refuse."""
        if self.ledger is not None:
            self.ledger.check(charge, allow_unaccounted=self.allow_unaccounted)
        if self.folder is not None:
            self.require(log)

    def require(self, log: SearchLog) -> Path:
        """The folder, if writing there overwrites no log, no ledger and no other release."""
        if self.folder is None:
            raise OptionError(
                "a release needs a folder to be saved in", hint='write release.save("out")'
            )
        target = Path(self.folder)
        _require_name(target)
        place = _real(target)
        needed = (*log.files, *(() if self.ledger is None else (self.ledger.file,)))
        paths = (path for file in needed for path in (_real(file), _real(file.parent)))
        if any(path.is_relative_to(place) for path in paths):
            raise OptionError(
                f"a file of the log, or the ledger, is inside {target}, where the release should "
                "go",
                hint="choose another -o",
            )
        if any(place.is_relative_to(_real(folder)) for folder in log.folders):
            raise OptionError(
                f"{target} is inside a directory given as log, which would then hold the release "
                "too",
                hint="choose an -o outside of it, or name the files of the log",
            )
        check_outside_releases(target)
        if os.path.lexists(target):
            check_replaceable(target, force=self.force)
        return target


def _require_name(target: Path) -> None:
    if not is_sayable(target.absolute()):
        raise OptionError(
            "the whole name of the release is not UTF-8, or holds a NUL", hint="choose another -o"
        )
    if target.absolute().name in ("", ".."):
        raise OptionError(
            f"{target} cannot name a new folder", hint="give -o the name of a new folder"
        )


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


@dataclass(frozen=True, kw_only=True, repr=False)
class Job:
    """A log, a budget, an engine that counts, and where the release will be saved."""

    kind: ReleaseKind
    log: SearchLog
    budget: PrivacyBudget
    destination: Destination
    pseudonyms: Pseudonyms
    seed: int | None
    engine: Engine
    rng: Randomness
    steps: Steps
    reservation: Reservation | None
    """The reserved cost; None without a ledger, or if no accounting covers the release."""

    @property
    def test_run(self) -> bool:
        """Whether the random draws come from a seed."""
        return self.seed is not None

    def parameters(
        self, objective: Objective, *choices: Mapping[str, str | int | float | None]
    ) -> Parameters:
        """For the manifest: the objective and its options, other choices, how the log is read."""
        return {
            "objective": objective.name,
            **objective.parameters(),
            **{name: v for choice in choices for name, v in choice.items()},
            "encoding": self.log.encoding,
            "on_bad_row": "skip" if self.log.skip_bad_rows else "error",
            **({"searches": self.log.searches} if self.log.searches != "clicked" else {}),
            **({"fold": "yes"} if self.log.fold else {}),
            **({"click_action": ",".join(actions)} if (actions := self.log.click_actions) else {}),
            **({ITEMS: self.log.items} if self.log.items != PAIRS else {}),
        }

    def id_kind(self) -> IdKind | None:
        """The form of fresh user-IDs, fixed before anything is drawn; None keeps real IDs."""
        return self.engine.id_kind(fresh=self.pseudonyms == "fresh")

    def names_for(self, output: Output, kind: IdKind | None) -> list[str] | None:
        """Fresh user-IDs for the users of an output; None keeps real IDs."""
        return None if kind is None else fresh_pseudonyms(output.users, kind, self.rng)


@contextmanager
def started_job(
    kind: ReleaseKind,
    log: SearchLog | Source,
    budget: PrivacyBudget,
    *,
    destination: Destination,
    planned_cost: Cost | None,
    pseudonyms: Pseudonyms = "fresh",
    seed: int | None,
    engine: EngineChoice,
    progress: Progress | bool | None,
) -> Generator[Job]:
    """Start an engine for a log; close it if the job fails.

    The destination is checked before anything is counted. `planned_cost` is the most that the
    release can cost, or None if no accounting covers it. It is reserved in the ledger before the
    job can draw noise. A job that fails gets it back only if it drew nothing.
    """
    if pseudonyms not in ("fresh", "keep"):
        raise OptionError("pseudonyms are 'fresh' or 'keep'", hint="leave the option out for fresh")
    settings = engines.resolve(engine, log)
    source = settings.describe(log)
    charge = Charge(
        method=str(kind),
        parameters={**budget.parameters()},
        cost=planned_cost,
        test_run=seed is not None,
        **destination.ledger_labels(),
    )
    destination.check(source, charge)
    ledger = None if planned_cost is None else destination.ledger
    with shown(progress) as on_progress:
        host = settings.start(on_progress)
        rng, reservation = WatchedRandomness(randomness(seed)), None
        try:
            reservation = None if ledger is None else ledger.reserve(charge)
            yield Job(
                kind=kind,
                log=source,
                budget=budget,
                destination=destination,
                pseudonyms=pseudonyms,
                seed=seed,
                engine=host,
                rng=rng,
                steps=Steps(on_progress),
                reservation=reservation,
            )
        except BaseException as failure:
            if isinstance(failure, NothingToReleaseError):
                failure.say(lambda text: worded(text, source.items))
            try:
                if reservation is not None:
                    cost = failure.cost if isinstance(failure, TooFewUsersError) else None
                    reservation.end(drawn=rng.drawn, cost=cost)
            finally:
                host.close()
            raise
