"""Unpacking: files that unpack to far more than a log would are refused before they are read."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import duckdb
import zstandard

from slogan.detection import open_bytes, plain_glob, unopened, unreadable
from slogan.errors import LogFormatError

MOST_TIMES = 100
"""Logs shrink to a tenth, and rarely to a fiftieth."""
ALWAYS_ALLOWED = 1 << 30
"""Bytes that are no danger however tightly they are packed."""

_GZIP_AT_MOST = 1032  # DEFLATE spends two bits at least on 258 bytes
_CHUNK = 1 << 20
_SHORTEST_ROW = 10


def require_modest(files: tuple[Path, ...], log_format: str, compression: str) -> None:
    """Refuse files that look like decompression bombs.

    Reads what they unpack to, as a stream and no further than allowed, and keeps nothing.
    """
    for file in files:
        try:
            _check(file, log_format, compression)
        except OSError as cause:
            raise unopened(file, cause) from cause


def _check(file: Path, log_format: str, compression: str) -> None:
    with file.open("rb") as packed:
        size = os.fstat(packed.fileno()).st_size
    allowed = max(ALWAYS_ALLOWED, MOST_TIMES * size)
    if compression == ".gz" and size * _GZIP_AT_MOST <= allowed:
        return
    if compression:
        _unpack(file, compression, allowed)
    elif log_format == "parquet":
        _add_up(file, allowed)


def _unpack(file: Path, compression: str, allowed: int) -> None:
    seen = 0
    try:
        with open_bytes(file, compression) as data:
            while chunk := data.read(_CHUNK):
                seen += len(chunk)
                if seen > allowed:
                    raise _bomb(file, allowed)
    except (gzip.BadGzipFile, zlib.error, zstandard.ZstdError, EOFError) as cause:
        raise unreadable(file) from cause


def _add_up(file: Path, allowed: int) -> None:
    """What the footer of a Parquet file announces, which is what a reader would make room for."""
    try:
        with duckdb.connect() as connection:
            ((rows, unpacked),) = connection.execute(
                """SELECT (SELECT sum(num_rows) FROM parquet_file_metadata($1)),
                          (SELECT sum(total_uncompressed_size) FROM parquet_metadata($1))""",
                [plain_glob(file)],
            ).fetchall()
    except duckdb.Error as cause:
        raise unreadable(file) from cause
    if max(int(rows or 0) * _SHORTEST_ROW, int(unpacked or 0)) > allowed:
        raise _bomb(file, allowed)


def _bomb(file: Path, allowed: int) -> LogFormatError:
    return LogFormatError(
        f"{file.name} would unpack to more than {allowed:,} bytes, {MOST_TIMES} times its size, "
        "as a log does not",
        hint="if it is a log all the same, unpack it yourself and give the plain file",
    )
