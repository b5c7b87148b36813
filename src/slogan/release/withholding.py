"""Withhold queries from a saved release: post-processing that is recorded and can be verified.

The public half says how much was withheld. The rows themselves go to the curator's folder, from
which `verify` puts them back before it checks the release.
"""

import shlex
import shutil
from collections.abc import Collection
from importlib.metadata import version
from pathlib import Path

import duckdb
from pydantic import ValidationError

from slogan.errors import LogFormatError, OptionError
from slogan.ledger.ledger import settled
from slogan.logs.columns import EVENT_ROLES
from slogan.logs.files import field_sql
from slogan.logs.rows import copy_options, literal, parquet_sql
from slogan.logs.searchlog import SearchLog
from slogan.logs.ubi_sql import lines_sql
from slogan.manifest.manifest import Manifest, Withheld, described, released_file
from slogan.release.base import clicked_sql, open_to_readers, reader_sql
from slogan.release.publication import write_public
from slogan.report.html import wording_digest
from slogan.storage.atomic import publish, sha256_of
from slogan.storage.database import connected
from slogan.storage.untrusted import modest

RECORD = "withheld.parquet"
"""The curator's file of withheld rows."""


def released_log(public: Path) -> tuple[Manifest, SearchLog]:
    """The manifest of a release and its log, as a recipient reads them."""
    try:
        manifest = Manifest.model_validate_json(modest(public / "manifest.json"))
    except (OSError, ValidationError):  # the latter quotes what it read
        raise LogFormatError(
            f"{public} holds no manifest of a release", hint="give the folder of a release"
        ) from None
    return manifest, described(released_file(public, manifest), manifest)


def rewrite_without(folder: Path, queries: Collection[str]) -> Withheld:
    """Write a release again without these queries, whole or not at all.

    Args:
        folder: The release, with its curator's folder.
        queries: Texts of released queries; every one must be in the release.
    """
    manifest, log = released_log(folder / "public")
    _require_rewritable(folder, manifest)
    whole: list[Withheld] = []

    def fill(target: Path) -> None:
        public, curator = target / "public", target / "curator"
        shutil.copytree(folder / "curator", curator, symlinks=True)
        curator.chmod(0o700)
        public.mkdir()
        file = public / manifest.log.file
        whole.append(_divide(folder, log, queries, kept=file, record=curator / RECORD))
        changed = manifest.model_copy(
            update={
                "withheld": whole[0],
                "log": manifest.log.model_copy(update={"sha256": sha256_of(file)}),
            }
        )
        write_public(public, changed)
        (curator / RECORD).chmod(0o600)
        open_to_readers(target)

    publish(folder, fill, force=True, settled=settled)
    return whole[0]


def _require_rewritable(folder: Path, manifest: Manifest) -> None:
    if not (folder / "curator").is_dir() or (folder / "curator").is_symlink():
        raise OptionError(
            f"{folder} has no curator/ folder, in which withheld rows are recorded",
            hint="give the whole release, not a copy of its public half",
        )
    if released_file(folder / "public", manifest).is_dir():
        raise OptionError(
            "this release is a folder of part files, as Spark writes them; queries are withheld "
            "from a single file only, and nothing was changed",
            hint="leave these queries out of the log, or count with --engine duckdb; a new release "
            "spends budget again",
        )
    if (manifest.slogan_version, manifest.wording) != (version("slogan"), wording_digest()):
        raise OptionError(
            f"this release was made by another version of slogan ({manifest.slogan_version[:20]})",
            hint="withhold with the version that made it",
        )


def _divide(
    folder: Path, log: SearchLog, queries: Collection[str], *, kept: Path, record: Path
) -> Withheld:
    """Write the rows that stay and the rows that go, with those that went before."""
    place = {role: field_sql(log.columns.path(name)) for role, name in log.columns.roles.items()}
    user, query = place["user"], place["query"]
    url = f"coalesce({place['url']}::VARCHAR, '')" if "url" in place else "''"
    clicks = f"{place['count']}::BIGINT" if "count" in place else "1"
    with connected() as sql:
        sql.execute("CREATE TABLE gone (query VARCHAR)")
        sql.executemany("INSERT INTO gone VALUES (?)", [[text] for text in sorted({*queries})])
        sql.execute(
            f"CREATE TABLE released AS SELECT row_number() OVER () AS slogan_row, * "
            f"FROM {reader_sql(log.files[0], log)}"
        )
        chosen = f"{query}::VARCHAR IN (SELECT query FROM gone)"
        found = _number(sql, f"SELECT count(DISTINCT {query}) FROM released WHERE {chosen}")
        if found < len({*queries}):
            raise OptionError(
                f"{len({*queries}) - found} of {len({*queries})} queries to withhold are not in "
                "the release, and nothing was changed",
                hint="copy the queries exactly from: slogan review "
                f"{shlex.quote(str(folder))} --json",
            )
        if not _number(sql, f"SELECT count(*) FROM released WHERE NOT {chosen}"):
            raise OptionError(
                "nothing would be left of the release, and nothing was changed",
                hint="do not publish it",
            )
        sql.execute(f"""
            CREATE TABLE withheld AS
            SELECT {user}::VARCHAR AS "user", {query}::VARCHAR AS query, {url} AS url,
                   sum({clicks})::BIGINT AS clicks
            FROM released WHERE {chosen} AND {clicked_sql(log)} GROUP BY ALL""")
        before = folder / "curator" / RECORD
        if before.is_file():
            sql.execute(f"INSERT INTO withheld BY NAME FROM {parquet_sql(before)}")
        options = copy_options(log)
        rows = f"SELECT * EXCLUDE (slogan_row) FROM released WHERE NOT {chosen} ORDER BY slogan_row"
        if log.format == "ubi":
            filled = log.columns.filled(EVENT_ROLES)
            values = {role: field_sql((name,)) for role, name in filled.items()}
            rows = lines_sql(log, values, f"released WHERE NOT {chosen}", "slogan_row")
        sql.execute("SET preserve_insertion_order = true")
        sql.execute(f"""
            COPY ({rows})
            TO {literal(str(kept.absolute()))} ({options})""")
        sql.execute(f"""
            COPY (SELECT * FROM withheld ORDER BY ALL)
            TO {literal(str(record.absolute()))} (FORMAT parquet, COMPRESSION zstd)""")
        return Withheld(
            queries=_number(sql, "SELECT count(DISTINCT query) FROM withheld"),
            pairs=_number(sql, "SELECT count(DISTINCT (query, url)) FROM withheld"),
        )


def _number(sql: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(sql.execute(query).fetchall()[0][0])
