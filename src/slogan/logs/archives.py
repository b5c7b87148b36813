"""Unpacking: files that are not whole, or unpack to far more than a log would, are refused."""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from pathlib import Path

import duckdb
import zstandard

from slogan.errors import LogFormatError
from slogan.logs.files import identifier, open_bytes, plain_glob, reported, unreadable
from slogan.storage.database import connected

MOST_TIMES = 100
"""Logs shrink to a tenth, and rarely to a fiftieth."""
ALWAYS_ALLOWED = 1 << 30
"""Bytes that are no danger however tightly they are packed."""

_CHUNK = 1 << 20
_PIECE = 4096  # a few bytes can unpack to very many
_SHORTEST_ROW = 10
_LENGTHS = {"VARCHAR": "strlen", "JSON": "strlen", "BLOB": "octet_length"}
_NESTED = {"array", "list", "map", "struct", "union", "variant", "geometry"}


def require_sound(file: Path, compression: str) -> None:
    """Refuse a packed file that is not whole, or looks like a decompression bomb.

    Reads what it unpacks to, once, as a stream and no further than allowed, and keeps nothing.
    To its end, because engines take what they get of a cut file.
    """
    with reported(file):
        allowed, seen = _allowed(file), 0
        for size in _gzipped(file) if compression == ".gz" else _frames(file):
            seen += size
            if seen > allowed:
                raise _bomb(file, allowed)


def require_modest(file: Path, asked: Mapping[str, str]) -> None:
    """Refuse a Parquet file that would fill the memory: one of few bytes can stand for very many.

    Args:
        file: The file.
        asked: The columns that will be read as text, by what they mean.
    """
    with reported(file):
        allowed = _allowed(file)
        try:
            with connected() as connection:
                announced = _announced(connection, file)
                table = connection.read_parquet(plain_glob(file), hive_partitioning=False)
                _require_flat(file, table, asked)
                if announced > allowed or _texts(table) > allowed:
                    raise _bomb(file, allowed)
        except duckdb.Error:
            raise unreadable(file) from None  # what DuckDB says may quote the log


def _allowed(file: Path) -> int:
    with file.open("rb") as packed:
        return max(ALWAYS_ALLOWED, MOST_TIMES * os.fstat(packed.fileno()).st_size)


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


def _announced(connection: duckdb.DuckDBPyConnection, file: Path) -> int:
    """The bytes that the footer of a Parquet file tells of; it may tell two numbers of rows."""
    rows, in_groups, unpacked = connection.execute(
        """SELECT (SELECT sum(num_rows) FROM parquet_file_metadata($1)),
                  (SELECT sum(row_group_num_rows) FROM (
                      SELECT DISTINCT row_group_id, row_group_num_rows FROM parquet_metadata($1))),
                  (SELECT sum(total_uncompressed_size) FROM parquet_metadata($1))""",
        [plain_glob(file)],
    ).fetchall()[0]
    return max(_SHORTEST_ROW * max(rows or 0, in_groups or 0), int(unpacked or 0))


def _require_flat(file: Path, table: duckdb.DuckDBPyRelation, asked: Mapping[str, str]) -> None:
    """No lists, records or maps as texts: what they hold cannot be added up without reading it."""
    meanings = {name.lower(): meaning for meaning, name in asked.items()}
    for name, kind in zip(table.columns, table.types, strict=True):
        if kind.id in _NESTED and name.lower() in meanings:
            raise LogFormatError(
                f"{file.name}: the column of the {meanings[name.lower()]} is of a nested type",
                hint="make it a text or a number",
            )


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
