"""DuckDB connections: no network, no extensions, one folder to spill to; errors without log text.

Messages of DuckDB may quote a text of the log, so failures for want of memory, disk space or a file
are replaced by our messages.
"""

import os
import re
from collections.abc import Generator
from contextlib import contextmanager
from errno import EACCES, EDQUOT, EFBIG, EIO, ENOENT, ENOSPC, EROFS
from pathlib import Path

import duckdb

from slogan.errors import OptionError, SloganError, StorageError
from slogan.storage.limits import threads_limit


def connected(
    file: Path | None = None, *, spill: Path | None = None, read_only: bool = False
) -> duckdb.DuckDBPyConnection:
    """A database in memory or in a file; what does not fit goes to `spill`, or nowhere."""
    sql = duckdb.connect(
        database=":memory:" if file is None else file,
        read_only=read_only,
        config={
            "temp_directory": "" if spill is None else str(spill),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
        },
    )
    # DuckDB would draw its bar on standard output, where --json and a caller's text belong.
    sql.execute("SET enable_progress_bar = false")
    if (most := threads_limit()) is not None:
        sql.execute(f"SET threads = {most}")
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


_OF_THE_DISK = (ENOSPC, EDQUOT, EFBIG, EROFS, EIO, EACCES, ENOENT)


@contextmanager
def clearly() -> Generator[None]:
    """Raise errors of ours for what the database could not hold or write."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise no_room() from None
    except duckdb.IOException as cause:
        raise StorageError(
            f"a file cannot be read or written: {reason(cause) or 'the disk failed'}",
            hint="make room where the release goes and in TMPDIR, or choose other disks",
        ) from None


def reason(cause: duckdb.Error) -> str | None:
    """The operating system's message about the disk, if that is why DuckDB failed."""
    message = str(cause)
    return next((words for words in map(os.strerror, _OF_THE_DISK) if words in message), None)


def no_room() -> SloganError:
    """Neither memory nor the disk was large enough."""
    hint = "raise --memory-limit, or point TMPDIR to a larger disk"
    return StorageError("the database ran out of memory and of room to spill", hint=hint)
