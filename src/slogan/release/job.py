"""A job: what every release starts from, where it goes, and what is left if none comes of it."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from slogan import engines
from slogan.budget import PrivacyBudget
from slogan.dp.accounting import Cost
from slogan.engines import EngineChoice
from slogan.engines.engine import Engine
from slogan.engines.pseudonyms import fresh_pseudonyms
from slogan.errors import OptionError, TooFewUsersError
from slogan.histogram import Output
from slogan.ledger.ledger import Charge, Ledger
from slogan.logs.searchlog import SearchLog, Source
from slogan.modes import Parameters, ReleaseKind
from slogan.planning.objectives import Objective
from slogan.progress import Progress, Steps, shown
from slogan.randomness import Randomness, randomness
from slogan.storage.atomic import check_replaceable
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
    """Release although the ledger's cap says nothing about it."""

    def check(self, log: SearchLog, charge: Charge) -> None:
        """Refuse now what saving would refuse in the end."""
        if self.ledger is not None:
            self.ledger.check(charge, allow_unaccounted=self.allow_unaccounted)
        if self.folder is not None:
            self.require(log)

    def require(self, log: SearchLog) -> Path:
        """The folder, if writing there loses no log, no ledger and no other release."""
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
            f"{target} is no name for a folder of its own", hint="write -o as a new folder's name"
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

    @property
    def test_run(self) -> bool:
        """Whether the random draws come from a seed."""
        return self.seed is not None

    def parameters(
        self, objective: Objective, *choices: Mapping[str, str | int | float | None]
    ) -> Parameters:
        """For the manifest: the objective with its options, other choices, how the log was read."""
        own = {name: value for name, value in vars(objective).items() if value is not None}
        return {
            "objective": objective.name,
            **{name: v if isinstance(v, int) else str(v) for name, v in own.items()},
            **{name: v for choice in choices for name, v in choice.items()},
            "encoding": self.log.encoding,
            "on_bad_row": "skip" if self.log.skip_bad_rows else "error",
        }

    def names_for(self, output: Output) -> list[str] | None:
        """Fresh names for the users of an output, drawn for them alone; None keeps real IDs."""
        if self.pseudonyms == "keep":
            return None
        return fresh_pseudonyms(output.users, self.engine.id_kind(output), self.rng)


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
    """Start an engine for a log; close it unless a release comes of the job.

    The destination is checked before anything is counted. Its ledger is charged for a run whose
    noise left nothing to release, before that is reported. `planned_cost` is what the release will
    cost the users of the log; None if no accounting covers it.
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
    )
    destination.check(source, charge)
    with shown(progress) as on_progress:
        host = settings.start(on_progress)
        try:
            yield Job(
                kind=kind,
                log=source,
                budget=budget,
                destination=destination,
                pseudonyms=pseudonyms,
                seed=seed,
                engine=host,
                rng=randomness(seed),
                steps=Steps(on_progress),
            )
        except BaseException as failure:
            try:
                if isinstance(failure, TooFewUsersError) and destination.ledger is not None:
                    destination.ledger.book_nothing(replace(charge, cost=failure.cost))
            finally:
                host.close()
            raise
