"""verify(): re-derive a release's guarantee from the two logs and the public manifest alone.

`verify_public()` checks what can be checked without the log.
"""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol, runtime_checkable

from slogan import engines
from slogan.budget import PrivacyBudget
from slogan.engines import EngineSettings
from slogan.errors import LogNotFoundError, OptionError
from slogan.logs.searchlog import SearchLog, Source
from slogan.manifest.certificate import require_query
from slogan.modes import ReleaseKind
from slogan.storage.atomic import check_not_waiting
from slogan.storage.untrusted import similar_file
from slogan.verification.checks import PUBLIC_FILES, REAL_ROWS, WITH_LOG, WITHOUT_REMOVED
from slogan.verification.comparison import Counted, private_database
from slogan.verification.conditions import Check, Verdict, bounds_of
from slogan.verification.events.checks import events
from slogan.verification.evidence import (
    Checks,
    Evidence,
    count_input,
    count_released,
    read_manifest,
    run,
)
from slogan.verification.private_checks import (
    PRIVATE_ROWS,
    PRIVATE_ROWS_ACCOUNT,
    SYNTHETIC_USERS,
    SYNTHETIC_USERS_ACCOUNT,
)
from slogan.verification.public_knowledge import NO_KNOWLEDGE, Knowledge

__all__ = ["Check", "Verdict", "verify", "verify_public"]

_CHECKS: dict[ReleaseKind, Checks] = {
    ReleaseKind.EXACT_COUNTS: REAL_ROWS,
    ReleaseKind.LAPLACE_COUNTS: WITHOUT_REMOVED,
    ReleaseKind.PRIVATE_ROWS: PRIVATE_ROWS,
    ReleaseKind.SYNTHETIC_USERS: SYNTHETIC_USERS,
}
_ACCOUNTS: dict[ReleaseKind, Checks] = {
    ReleaseKind.EXACT_COUNTS: {},
    ReleaseKind.LAPLACE_COUNTS: {},
    ReleaseKind.PRIVATE_ROWS: PRIVATE_ROWS_ACCOUNT,
    ReleaseKind.SYNTHETIC_USERS: SYNTHETIC_USERS_ACCOUNT,
}


@runtime_checkable
class InFolder(Protocol):
    """A release as `sanitize()` or `synthesize()` returned it, without importing either."""

    def in_folder(self) -> AbstractContextManager[Path]:
        """The folder where it was saved, or a temporary private one."""
        ...


def verify(
    log: SearchLog | Source,
    release: str | Path | InFolder,
    *,
    budget: PrivacyBudget | None = None,
    vocabulary: str | Path | None = None,
    hints: str | Path | None = None,
    engine: str | EngineSettings = "duckdb",
) -> Verdict:
    """Check a release against the log it was made from, with independent code for every check.

    Args:
        log: The input log; a path is read with the columns that the manifest names.
        release: A release as `sanitize()` or `synthesize()` returned it, saved or not, or the
            folder of one.
        budget: The agreed budget, which the release must keep in addition to its manifest's.
        vocabulary: The list of public pairs, if the release used one.
        hints: The earlier release that it used, if any.
        engine: An engine's name, or its settings, such as `DuckDB(memory_limit="4GB")`. It reads
            a log that is not in files; files are read line by line, and compared with DuckDB.
    """
    place = release.in_folder() if isinstance(release, InFolder) else nullcontext(Path(release))
    with place as folder:
        _require_release(folder, log)
        if not isinstance(log, SearchLog):
            require_query(folder, "verify", log)
        settings = engines.resolve(engine, log)
        given = {"vocabulary": vocabulary, "hints": hints}
        knowledge = Knowledge(**{name: Path(f) for name, f in given.items() if f is not None})
        public, curator = folder / "public", folder / "curator"
        return _verdict(public, curator, log, budget, settings, knowledge)


def verify_public(folder: str | Path, *, budget: PrivacyBudget | None = None) -> Verdict:
    """Check the public half of a release without the log, as its recipient can.

    It shows that the files are complete and consistent, and that the account fits the budget.
    Only `verify()`, with the log, shows that the release was made as its manifest states.

    Args:
        folder: The folder `public` of a release, or a copy of it.
        budget: The agreed budget, which the release must keep in addition to its manifest's.
    """
    public = Path(folder)
    if not (public / "manifest.json").is_file():
        above = (public / "public/manifest.json").is_file()
        raise OptionError(
            f"{public} is a whole release" if above else f"{public} has no manifest.json",
            hint=f"slogan verify LOG {public}; or, without the log: slogan verify {public}/public"
            if above
            else "give the folder `public` of a release",
        )
    return _verdict(public, None, None, budget, engines.resolve("duckdb"))


def _require_release(folder: Path, log: SearchLog | Source) -> None:
    """Raise an error for a folder that is not a release, with the command that was meant."""
    if (folder / "public").is_dir():
        return
    if (folder / "manifest.json").is_file():
        hint = f"give the folder above it: slogan verify LOG {folder.parent}"
        raise OptionError(f"{folder} is the public half of a release", hint=hint)
    first = None if isinstance(log, SearchLog) else log
    if isinstance(first, list | tuple):
        first = next(iter(first), None)
    if isinstance(first, str | Path) and (Path(first) / "public").is_dir():
        hint = f"the log comes first: slogan verify {folder} {first}"
        raise OptionError(f"{folder} is not a release, but {first} is", hint=hint)
    check_not_waiting(folder)
    hint = similar_file(folder) or "give the folder of a release"
    raise LogNotFoundError(f"no release at {folder}", hint=hint)


def _verdict(
    public: Path,
    curator: Path | None,
    log: SearchLog | Source | None,
    budget: PrivacyBudget | None,
    settings: EngineSettings,
    knowledge: Knowledge = NO_KNOWLEDGE,
) -> Verdict:
    agreed = None if budget is None else bounds_of(budget.parameters())
    manifest, finding = read_manifest(public / "manifest.json")
    checks = [Check(name="manifest", ok=finding[0], detail=finding[1])]
    if manifest is not None:
        with private_database(settings.memory_limit) as (sql, private):
            clicked: Counted | str = "the log was not given"
            if log is not None:
                clicked = count_input(sql, log, manifest, private, settings)
            shown = count_released(sql, public, manifest)
            evidence = Evidence(public, curator, manifest, agreed, sql, clicked, shown, knowledge)
            wanted = {**PUBLIC_FILES, **_ACCOUNTS[manifest.kind]}
            if manifest.log.events is not None:
                wanted["events"] = events
            if log is not None:
                wanted |= {**WITH_LOG, **_CHECKS[manifest.kind]}
            checks += [run(name, check, evidence) for name, check in wanted.items()]
    return Verdict(
        checks=tuple(checks),
        budget=manifest and manifest.budget.model_dump(),
        without_log=log is None,
    )
