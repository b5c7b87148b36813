"""Unpacking: files that are not whole, or unpack to far more than a log would, are refused."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import duckdb
import zstandard

from slogan.detection import identifier, open_bytes, plain_glob, reported, unreadable
from slogan.errors import LogFormatError

MOST_TIMES = 100
"""Logs shrink to a tenth, and rarely to a fiftieth."""
ALWAYS_ALLOWED = 1 << 30
"""Bytes that are no danger however tightly they are packed."""

_CHUNK = 1 << 20
_PIECE = 4096  # a few bytes can unpack to very many
_SHORTEST_ROW = 10
_LENGTHS = {"VARCHAR": "strlen", "JSON": "strlen", "BLOB": "octet_length"}


def require_sound(files: tuple[Path, ...], log_format: str, compression: str) -> None:
    """Refuse packed files that are not whole, and files that look like decompression bombs.

    Reads what they unpack to, once, as a stream and no further than allowed, and keeps nothing.
    """
    for file in files:
        with reported(file):
            with file.open("rb") as packed:
                allowed = max(ALWAYS_ALLOWED, MOST_TIMES * os.fstat(packed.fileno()).st_size)
            if compression:
                _unpack(file, compression, allowed)
            elif log_format == "parquet":
                _add_up(file, allowed)


def _unpack(file: Path, compression: str, allowed: int) -> None:
    """To its end, because engines take what they get of a cut file."""
    seen = 0
    for size in _gzipped(file) if compression == ".gz" else _frames(file):
        seen += size
        if seen > allowed:
            raise _bomb(file, allowed)


def _gzipped(file: Path) -> Generator[int]:
    """How much each part of a file unpacks to; it checks its own end."""
    with open_bytes(file, ".gz") as data:
        while chunk := data.read(_CHUNK):
            yield len(chunk)


def _frames(file: Path) -> Generator[int]:
    """How much each piece of a file of Zstandard unpacks to; its last frame must be complete."""
    unpacking = zstandard.ZstdDecompressor()
    frame, ended = unpacking.decompressobj(), True
    with file.open("rb") as packed:
        while piece := packed.read(_PIECE):
            while piece:
                frame = unpacking.decompressobj() if ended else frame
                yield len(frame.decompress(piece))
                piece, ended = frame.unused_data, frame.eof
    if not ended:
        raise EOFError


def _add_up(file: Path, allowed: int) -> None:
    """What the footer of a Parquet file announces, and the texts that dictionaries repeat."""
    try:
        with duckdb.connect() as connection:
            ((rows, unpacked),) = connection.execute(
                """SELECT (SELECT sum(num_rows) FROM parquet_file_metadata($1)),
                          (SELECT sum(total_uncompressed_size) FROM parquet_metadata($1))""",
                [plain_glob(file)],
            ).fetchall()
            if max(int(rows or 0) * _SHORTEST_ROW, int(unpacked or 0)) > allowed:
                raise _bomb(file, allowed)
            if _texts(connection.read_parquet(plain_glob(file), hive_partitioning=False)) > allowed:
                raise _bomb(file, allowed)
    except duckdb.Error:
        raise unreadable(file) from None  # what DuckDB says may quote the log


def _texts(table: duckdb.DuckDBPyRelation) -> int:
    """The bytes of all texts, each as often as it occurs; their lengths are read, not they."""
    lengths = [
        f"sum({_LENGTHS[str(kind)]}({identifier(name)}))"
        for name, kind in zip(table.columns, table.types, strict=True)
        if str(kind) in _LENGTHS
    ]
    found = table.aggregate(", ".join(lengths)).fetchall()[0] if lengths else ()
    return sum(int(length or 0) for length in found)


def _bomb(file: Path, allowed: int) -> LogFormatError:
    return LogFormatError(
        f"{file.name} would unpack to more than {allowed:,} bytes, {MOST_TIMES} times its size, "
        "as a log does not",
        hint="if it is a log all the same, unpack it yourself and give the plain file",
    )
