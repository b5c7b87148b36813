"""Rows that DuckDB cannot read: which file, which line, and why, without their text."""

from dataclasses import dataclass
from pathlib import Path

import duckdb

from slogan.errors import BadRowError
from slogan.logs import ubi_sql
from slogan.logs.files import open_bytes, reported
from slogan.logs.rows import (
    BAD_ROW_HINT,
    NO_CLICK,
    NOT_UTF8,
    bad_row_error,
    fields_of,
    literal,
    rows_sql,
)
from slogan.logs.searchlog import SearchLog
from slogan.logs.text import decoded

_WORDS_FOR = {
    "INVALID ENCODING": NOT_UTF8,
    "INVALID UNICODE": NOT_UTF8,
    "LINE SIZE OVER MAXIMUM": "a line of more than 64 MB",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BadRows:
    """Rows that cannot be counted, by reason, and their users as far as they can be read."""

    reasons: dict[str, int]
    users: int


def raise_if_bad(
    sql: duckdb.DuckDBPyConnection, log: SearchLog, sources: dict[str, str], places: dict[str, Path]
) -> BadRows:
    """Raise for the first bad row of a log that was read, or count all if they may be skipped.

    The `rows` as read are in the database; the SQL of sources reads each file again, by its name,
    and `places` has the file of the log behind each path that DuckDB read.
    """
    unread = _unread(sql)
    counted = sql.execute(
        f"SELECT reason, count(*) FROM rows WHERE reason <> {literal(NO_CLICK)} "
        "GROUP BY reason ORDER BY reason"
    ).fetchall()
    reasons = {reason: int(n) for reason, n in counted}
    for _, _, what in unread:
        reasons[what] = reasons.get(what, 0) + 1
    ((users,),) = sql.execute(
        f"SELECT count(DISTINCT bad_user) FROM rows WHERE reason <> {literal(NO_CLICK)}"
    ).fetchall()
    bad = BadRows(reasons=reasons, users=users)
    if reasons and not log.skip_bad_rows:
        file, line, what = unread[0] if unread else ("", 0, "")
        first = _unread_error(log, places[file], line, what) if unread else None
        error = first or _located(sql, log, sources)
        error.say_how_many(sum(reasons.values()), users)
        raise error
    return bad


def _unread(sql: duckdb.DuckDBPyConnection) -> list[tuple[str, int, str]]:
    """File name, line and reason for each row that DuckDB's reader gave up on."""
    tables = sql.execute(
        "SELECT count(*) FROM duckdb_tables() WHERE table_name IN ('reject_errors', 'reject_scans')"
    ).fetchall()
    if tables[0][0] < 2:
        return []
    rejects = sql.execute("""
        SELECT s.file_path, e.line, min(e.error_type::VARCHAR)
        FROM reject_errors e JOIN reject_scans s USING (scan_id, file_id)
        GROUP BY s.file_path, e.line ORDER BY s.file_path, e.line""").fetchall()
    return [(file, line, _WORDS_FOR.get(kind) or kind.lower()) for file, line, kind in rejects]


def _unread_error(log: SearchLog, file: Path, line: int, what: str) -> BadRowError:
    if what == NOT_UTF8:
        line = _undecodable_line(file, log) or line
    return bad_row_error(what, f"{file}, line {line}", log)


def _located(
    sql: duckdb.DuckDBPyConnection, log: SearchLog, sources: dict[str, str]
) -> BadRowError:
    """Read again, in order, up to the first bad row."""
    sql.execute("SET threads = 1")
    if log.format == "ubi":
        return _located_beside(sql, log, sources)
    for name, source in sources.items():
        rows = rows_sql(source, fields_of(log))
        found = sql.execute(f"""
            SELECT row, reason FROM (SELECT row_number() OVER () AS row, reason FROM ({rows}))
            WHERE reason <> {literal(NO_CLICK)} LIMIT 1""").fetchall()
        if found:
            row, reason = found[0]
            where = f"row {row}"
            if log.format != "parquet":
                where = f"line {_line_of_row(Path(name), log, row)}"
            return bad_row_error(reason, f"{name}, {where}", log)
    return BadRowError("a row cannot be read", hint=BAD_ROW_HINT)


def _located_beside(
    sql: duckdb.DuckDBPyConnection, log: SearchLog, sources: dict[str, str]
) -> BadRowError:
    """Read all files again, because lines of one file may decide about those of another."""
    whole = " UNION ALL ".join(f"SELECT line, rest FROM {source}" for source in sources.values())
    rows = ubi_sql.rows_sql(f"({whole})", log, number="row_number() OVER ()")
    found = sql.execute(f"""
        SELECT line, reason FROM ({rows}) WHERE reason <> {literal(NO_CLICK)}
        ORDER BY line LIMIT 1""").fetchall()
    row, reason = found[0] if found else (0, "")
    for name, source in sources.items():
        ((lines,),) = sql.execute(f"SELECT count(*) FROM {source}").fetchall()
        if 0 < row <= lines:
            where = f"{name}, line {_line_of_row(Path(name), log, row)}"
            return bad_row_error(reason, where, log)
        row -= lines
    return BadRowError("a row cannot be read", hint=BAD_ROW_HINT)


def _line_of_row(file: Path, log: SearchLog, row: int) -> int:
    """The line number of a file's n-th row; blank lines are not rows."""
    left = row + int(log.format != "jsonl" and log.header)
    with reported(file), open_bytes(file, log.compression) as lines:
        for number, line in enumerate(lines, start=1):
            left -= bool(line.rstrip(b"\n").removesuffix(b"\r"))
            if left <= 0:
                return number
    return row


def _undecodable_line(file: Path, log: SearchLog) -> int | None:
    with reported(file), open_bytes(file, log.compression) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                decoded(line, log.encoding)
            except UnicodeDecodeError:
                return number
    return None
