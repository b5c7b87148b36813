"""verify(): re-derive a release's guarantee from the two logs and the public manifest alone."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol, runtime_checkable

from slogan import engines
from slogan.budget import PrivacyBudget
from slogan.engines import EngineSettings
from slogan.errors import LogNotFoundError
from slogan.logs.searchlog import SearchLog, Source
from slogan.modes import ReleaseKind
from slogan.storage.atomic import check_not_waiting
from slogan.verification.checks import EVERY_RELEASE, REAL_ROWS, WITHOUT_REMOVED
from slogan.verification.comparison import private_database
from slogan.verification.conditions import Check, Verdict, bounds_of
from slogan.verification.evidence import (
    Checks,
    Evidence,
    count_input,
    count_released,
    read_manifest,
    run,
)
from slogan.verification.private_checks import PRIVATE_ROWS, SYNTHETIC_USERS

__all__ = ["Check", "Verdict", "verify"]

_CHECKS: dict[ReleaseKind, Checks] = {
    ReleaseKind.EXACT_COUNTS: REAL_ROWS,
    ReleaseKind.LAPLACE_COUNTS: WITHOUT_REMOVED,
    ReleaseKind.PRIVATE_ROWS: PRIVATE_ROWS,
    ReleaseKind.SYNTHETIC_USERS: SYNTHETIC_USERS,
}


@runtime_checkable
class InFolder(Protocol):
    """A release as `sanitize()` or `synthesize()` returned it; what makes one is unknown here."""

    def in_folder(self) -> AbstractContextManager[Path]:
        """The folder where it was saved, or a private one as long as it is looked at."""
        ...


def verify(
    log: SearchLog | Source,
    release: str | Path | InFolder,
    *,
    budget: PrivacyBudget | None = None,
    engine: str | EngineSettings = "duckdb",
) -> Verdict:
    """Check a release against the log it was made from, with code of its own for every check.

    Args:
        log: The input log; a path is read with the columns that the manifest names.
        release: A release as `sanitize()` or `synthesize()` returned it, saved or not, or the
            folder of one.
        budget: What the release must obey, beside its manifest's own budget.
        engine: An engine's name, or its settings, such as `DuckDB(memory_limit="4GB")`. It reads
            the input log if nobody else can; the comparison is DuckDB's.
    """
    place = release.in_folder() if isinstance(release, InFolder) else nullcontext(Path(release))
    with place as folder:
        return _verdict(log, folder, budget, engine)


def _verdict(
    log: SearchLog | Source,
    folder: Path,
    budget: PrivacyBudget | None,
    engine: str | EngineSettings,
) -> Verdict:
    if not folder.is_dir():
        check_not_waiting(folder)
        raise LogNotFoundError(f"no release at {folder}", hint="give the folder of a release")
    asked = None if budget is None else bounds_of(budget.parameters())
    manifest, finding = read_manifest(folder / "public/manifest.json")
    checks = [Check(name="manifest", ok=finding[0], detail=finding[1])]
    if manifest is not None:
        settings = engines.resolve(engine, log)
        with private_database(settings.memory_limit) as (sql, private):
            clicked = count_input(sql, log, manifest, private, settings)
            shown = count_released(sql, folder, manifest, private)
            evidence = Evidence(folder, manifest, asked, sql, clicked, shown)
            wanted = {**EVERY_RELEASE, **_CHECKS[manifest.kind]}
            checks += [run(name, check, evidence) for name, check in wanted.items()]
    return Verdict(checks=tuple(checks), budget=manifest and manifest.budget.model_dump())
