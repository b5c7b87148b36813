"""Databases: DuckDB, which opens no connection, loads no extension, and spills where it is told."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb

from slogan.errors import OptionError


def connected(file: Path | None = None, *, spill: Path | None = None) -> duckdb.DuckDBPyConnection:
    """A database in memory or in a file; what does not fit goes to `spill`, or nowhere."""
    sql = duckdb.connect(
        database=":memory:" if file is None else file,
        config={
            "temp_directory": "" if spill is None else str(spill),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    # DuckDB would draw its bar on standard output, where --json and a caller's text belong.
    sql.execute("SET enable_progress_bar = false")
    return sql


def limit_memory(sql: duckdb.DuckDBPyConnection, limit: str) -> None:
    """Have a database keep to a positive size; DuckDB takes -1 and none for no limit at all."""
    try:
        if not re.match(r"\s*[0-9.]*[1-9]", limit):
            raise ValueError(limit)
        sql.execute("SET memory_limit = $1", [limit])
    except (ValueError, duckdb.Error):
        raise OptionError(
            f"a memory limit of {limit[:20]!r} is not understood", hint="write it as 4GB or 500MB"
        ) from None
