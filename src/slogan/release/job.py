"""A job: what every release starts from, and what is closed and recorded if none comes of it."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

from slogan import engines
from slogan.budget import PrivacyBudget
from slogan.dp.mechanisms import Cost
from slogan.engines import EngineChoice
from slogan.engines.engine import Engine
from slogan.engines.pseudonyms import fresh_pseudonyms
from slogan.errors import OptionError, TooFewUsersError
from slogan.histogram import Output
from slogan.ledger.ledger import Charge
from slogan.logs.searchlog import SearchLog, Source
from slogan.modes import Parameters, ReleaseKind
from slogan.progress import Progress, Steps, shown
from slogan.randomness import Randomness, randomness
from slogan.release.destination import Destination

Pseudonyms = Literal["fresh", "keep"]


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

    def parameters(self) -> Parameters:
        """How the log was read, for the manifest."""
        bad_rows = "skip" if self.log.skip_bad_rows else "error"
        return {"encoding": self.log.encoding, "on_bad_row": bad_rows}

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

    Args:
        kind: What kind of release is made.
        log: A log described by `read()`, or what `read()` takes.
        budget: ε and δ.
        destination: Checked before anything is counted; its ledger is charged for a run whose
            noise left nothing to release, before that is reported.
        planned_cost: What the release will cost the users of the log; None if no accounting
            covers it.
        pseudonyms: "fresh" random user-IDs, or "keep" the log's own.
        seed: Makes a reproducible test run, which `verify` refuses.
        engine: What counts: a name, or settings.
        progress: As `slogan.progress.shown` takes it.
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
