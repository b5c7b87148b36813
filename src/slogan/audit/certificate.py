"""verify(): re-derive a release's guarantee from the two logs and the public manifest alone."""

from __future__ import annotations

from pathlib import Path

from slogan.audit import capped, sampled, synthesized
from slogan.audit import folder as folder_checks
from slogan.audit.comparison import private_database
from slogan.audit.conditions import Check, Verdict, bounds_of
from slogan.audit.evidence import (
    Checks,
    Evidence,
    count_input,
    count_released,
    read_manifest,
    run,
)
from slogan.engines import Spark
from slogan.errors import LogNotFoundError
from slogan.privacy import PrivacyBudget
from slogan.searchlog import SearchLog, Source
from slogan.waiting import check_not_waiting

__all__ = ["Check", "Verdict", "verify"]

_CHECKS: dict[tuple[str, str], Checks] = {
    ("sanitize", "exact"): {**folder_checks.CHECKS, **sampled.CHECKS},
    ("sanitize", "laplace"): {**folder_checks.CHECKS, **sampled.WITHOUT_REMOVED},
    ("sanitize", "private"): {**folder_checks.CHECKS, **capped.CHECKS},
    ("synthesize", "private"): {**folder_checks.CHECKS, **synthesized.CHECKS},
}


def verify(
    log: SearchLog | Source,
    release: str | Path,
    *,
    budget: PrivacyBudget | None = None,
    engine: str | Spark = "duckdb",
    memory_limit: str | None = None,
) -> Verdict:
    """Check a release against the log it was made from, with code of its own for every check.

    Args:
        log: The input log; a path is read with the columns that the manifest names.
        release: The release folder.
        budget: What the release must obey, beside its manifest's own budget.
        engine: Who reads the input log: "duckdb", or "spark" or where Spark runs. The comparison is
            DuckDB's.
        memory_limit: What counting may use before it spills to disk, such as "4GB".
    """
    folder = Path(release)
    if not folder.is_dir():
        check_not_waiting(folder)
        raise LogNotFoundError(f"no release at {folder}", hint="give the folder of a release")
    asked = None if budget is None else bounds_of(budget.parameters())
    manifest, finding = read_manifest(folder / "public/manifest.json")
    checks = [Check(name="manifest", ok=finding[0], detail=finding[1])]
    if manifest is not None:
        with private_database(memory_limit) as (sql, private):
            evidence = Evidence(
                folder=folder,
                manifest=manifest,
                asked=asked,
                sql=sql,
                clicked=count_input(sql, log, manifest, private, engine),
                shown=count_released(sql, folder, manifest, private),
            )
            wanted = _CHECKS[manifest.method, manifest.counts]
            checks += [run(name, check, evidence) for name, check in wanted.items()]
    return Verdict(checks=tuple(checks))
