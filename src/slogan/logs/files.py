"""Files of a log: which they are, and what their names and headers tell of format and columns.

Packed files that are not whole, or unpack to far more than a log would, are refused.
"""

import codecs
import csv
import glob
import gzip
import io
import re
import secrets
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import duckdb
import zstandard

from slogan.errors import EmptyLogError, LogFormatError, LogNotFoundError
from slogan.storage.database import connected
from slogan.storage.untrusted import is_sayable, similar_file

ENCODINGS = ("utf-8", "latin-1")
LONGEST_LINE = 64 * 1024 * 1024
NO_DELIMITER = "\x1c\x1d\x1e\x1f"
"""A delimiter that no line should contain: a line that does is reported as unreadable.

Such a line has a second field, be it empty: only a line that is the first sign alone stands for
NULL.
"""
LONE_RETURN = NO_DELIMITER[::-1]
"""What stands for a carriage return inside a line, which is unreadable too."""
_BROKEN = (gzip.BadGzipFile, zlib.error, zstandard.ZstdError, EOFError)
"""What unpacking a file that is not whole raises."""
MOST_TIMES = 100
"""Logs shrink to a tenth, and rarely to a fiftieth."""
ALWAYS_ALLOWED = 1 << 30
"""Bytes that are no danger however tightly they are packed."""

_SUFFIXES = {
    "tsv": (".tsv", ".tab", ".txt"),
    "csv": (".csv",),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
}
_FORMAT_OF = {suffix: name for name, suffixes in _SUFFIXES.items() for suffix in suffixes}
FORMATS = tuple(_SUFFIXES)
_DECOMPRESS = {".gz": "gunzip", ".zst": "unzstd"}
_WILD = "*?["
_CHUNK = 1 << 20
_RETURN = re.compile(rb"\r(?!\n)")
_PIECE = 4096  # a few bytes can unpack to very many
_SHORTEST_ROW = 10
_LENGTHS = {"VARCHAR": "strlen", "JSON": "strlen", "BLOB": "octet_length"}
_NESTED = {"array", "list", "map", "struct", "union", "variant", "geometry"}


def expand(paths: Sequence[str | Path]) -> tuple[Path, ...]:
    """The files meant by paths, directories or glob patterns, in sorted order, each once."""
    files: set[Path] = set()
    for item in paths:
        with reported(Path(item)):
            if Path(item).is_dir():
                found = _files_in(Path(item))
            else:
                found = [item] if Path(item).exists() else glob.glob(str(item), recursive=True)
        if not found:
            raise LogNotFoundError(
                f"no file at {item}",
                hint=similar_file(item) or "check the path; put a glob pattern in quotes",
            )
        files.update(_usable(Path(f)) for f in found)
    return tuple(sorted(files))


def _usable(file: Path) -> Path:
    """The file, if it can be read twice, unlike a pipe, and an engine can be told its name."""
    with reported(file):
        regular = file.is_file()
    if not regular:
        hint = "write what a pipe or device gives to a file first; name a folder itself"
        raise LogNotFoundError(f"{file} is not a regular file", hint=hint)
    whole, fault = str(file.absolute()), None
    if not is_sayable(file):
        fault = f"the name of {file} is not UTF-8"
    elif "\\" in whole and any(c in whole for c in _WILD):
        # Within a pattern DuckDB takes a backslash for the end of a folder's name.
        fault = f"the path of {file} has both a backslash and one of * ? ["
    if fault:
        raise LogNotFoundError(fault, hint="rename it, or give a link to it")
    return file


def _files_in(folder: Path) -> list[Path]:
    """The files of a directory, without those that writers of many files hide there."""
    inside = [(f, f.relative_to(folder).parts) for f in folder.rglob("*") if not f.is_dir()]
    found = [f for f, parts in inside if not any(part.startswith((".", "_")) for part in parts)]
    if not found:
        raise LogNotFoundError(
            f"the directory {folder} holds no file", hint="check the path, or name the files"
        )
    return found


def format_of(files: tuple[Path, ...], *, given: str | None) -> tuple[str, str]:
    """The format and compression suffix that all the files share."""
    kinds = {_kind(f, given) for f in files}
    if len(kinds) > 1:
        raise LogFormatError(
            f"the files are of different kinds: {', '.join(sorted(map(''.join, kinds)))}",
            hint="give files of one format and one compression",
        )
    return kinds.pop()


def _kind(file: Path, given: str | None) -> tuple[str, str]:
    suffixes = [s.lower() for s in file.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in _DECOMPRESS else ""
    log_format = given or _FORMAT_OF.get(suffixes[-1] if suffixes else "")
    if log_format not in FORMATS:
        hint = f"give --format, one of: {', '.join(FORMATS)}"
        raise LogFormatError(f"the format of {file.name} cannot be told from its name", hint=hint)
    if log_format == "parquet" and compression:
        raise LogFormatError(
            f"{file.name} is Parquet inside {compression}, which is not read",
            hint=f"decompress it: {_DECOMPRESS[compression]} {file.name}",
        )
    return log_format, compression


def first_line(file: Path, compression: str, encoding: str) -> str:
    """The first line of a text file."""
    with reported(file), open_bytes(file, compression) as data:
        whole = data.readline(LONGEST_LINE)
    if len(whole) == LONGEST_LINE:
        raise LogFormatError(
            f"{file.name}, line 1: more than 64 MB", hint="a log has a line for each row"
        )
    try:
        line = whole.removeprefix(codecs.BOM_UTF8).decode(encoding)
    except UnicodeDecodeError:
        raise LogFormatError(
            f"{file.name}, line 1: not {encoding}", hint="give --encoding latin-1"
        ) from None  # the cause carries the line along
    if not line.strip():
        raise EmptyLogError(f"{file.name} is empty", hint="a log needs a header and rows")
    return line.rstrip("\r\n")


def refuse_utf_16(file: Path, compression: str) -> None:
    """Refuse a text file that begins with UTF-16's mark of byte order."""
    with reported(file), open_bytes(file, compression) as data:
        mark = data.read(2)
    if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        hint = "convert it to UTF-8, such as with iconv -f UTF-16 -t UTF-8"
        raise LogFormatError(f"{file.name} is in UTF-16", hint=hint)


@contextmanager
def reported(file: Path) -> Generator[None]:
    """Say in words of our own that a file cannot be read, or unpacked."""
    try:
        yield
    except _BROKEN as cause:
        raise unreadable(file) from cause
    except OSError as cause:
        raise LogNotFoundError(
            f"{file} cannot be opened: {cause.strerror}", hint="check its permissions"
        ) from cause


def unreadable(file: Path) -> LogFormatError:
    """The file is not what its name says."""
    hint = "check that the file is complete and that its name says what it is"
    return LogFormatError(f"{file.name} is not a readable file of its kind", hint=hint)


def split_fields(line: str, log_format: str) -> tuple[str, ...]:
    """The fields of a TSV line (which knows no quotes) or of a CSV line."""
    return tuple(line.split("\t") if log_format == "tsv" else next(csv.reader([line], strict=True)))


def plain_glob(file: Path) -> str:
    """The file's name for DuckDB, whose readers take every name as a glob pattern.

    The whole path, because DuckDB takes a relative ~ or file: for more than a name.
    """
    return "".join(f"[{c}]" if c in _WILD else c for c in str(file.absolute()))


def identifier(name: str) -> str:
    """The name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def parquet_schema(file: Path) -> list[tuple[str, str]]:
    """The columns of a Parquet file and their types."""
    with _parquet(file) as (_, table):
        return list(zip(table.columns, map(str, table.types), strict=True))


@contextmanager
def _parquet(file: Path) -> Generator[tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation]]:
    """A Parquet file as a table of a database."""
    with reported(file), file.open("rb"):
        pass  # DuckDB does not say why a file cannot be opened
    try:
        with connected() as connection:
            yield connection, connection.read_parquet(plain_glob(file), hive_partitioning=False)
    except duckdb.Error:
        raise unreadable(file) from None  # what DuckDB says may quote the log


def open_bytes(file: Path, compression: str) -> IO[bytes]:
    """The decompressed bytes of a file, as a stream."""
    if compression == ".gz":
        return cast("IO[bytes]", gzip.open(file, "rb"))
    if compression == ".zst":
        unpacking = zstandard.ZstdDecompressor()
        frames = unpacking.stream_reader(file.open("rb"), read_across_frames=True, closefd=True)
        return io.BufferedReader(cast("io.RawIOBase", frames))
    return file.open("rb")


def require_sound(file: Path, compression: str) -> None:
    """Refuse a packed file that is not whole, or looks like a decompression bomb.

    Reads what it unpacks to, once, as a stream and no further than allowed, and keeps nothing.
    To its end, because engines take what they get of a cut file.
    """
    allowed, seen = _allowed(file), 0
    with reported(file):
        for size in _unpacked_sizes(file, compression):
            seen += size
            if seen > allowed:
                raise _bomb(file, allowed)


def require_modest(file: Path, asked: Mapping[str, str]) -> None:
    """Refuse a Parquet file of few bytes that stand for very many; `asked`: columns by meaning."""
    allowed = _allowed(file)
    with _parquet(file) as (connection, table):
        _require_flat(file, table, asked)
        if _announced(connection, file) > allowed or _texts(table) > allowed:
            raise _bomb(file, allowed)


def _allowed(file: Path) -> int:
    with reported(file):
        return max(ALWAYS_ALLOWED, MOST_TIMES * file.stat().st_size)


def _unpacked_sizes(file: Path, compression: str) -> Generator[int]:
    """How much each piece of a file unpacks to; gzip checks its own end, Zstandard's is checked."""
    if compression == ".gz":
        with open_bytes(file, ".gz") as data:
            while chunk := data.read(_CHUNK):
                yield len(chunk)
        return
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
    sums = table.aggregate(", ".join(lengths)).fetchall()[0] if lengths else ()
    return sum(int(length or 0) for length in sums)


def _bomb(file: Path, allowed: int) -> LogFormatError:
    return LogFormatError(
        f"{file.name} would unpack to more than {allowed:,} bytes, {MOST_TIMES} times its size, "
        "as a log does not",
        hint="if it is a log all the same, unpack it yourself and give the plain file",
    )


def as_whole_lines(file: Path, compression: str, encoding: str, folder: Path) -> Path:
    """The file, if DuckDB reads it line by line; else a private copy in `folder` that it does.

    A line ends with a line feed, after a carriage return or not. DuckDB also ends one at a return
    alone, which would let a line write rows of other users, so there a return makes its line
    unreadable. It refuses a whole file for a byte that an encoding lacks, so any other encoding
    becomes UTF-8 here.
    """
    with reported(file):
        if encoding == "utf-8" and not any(lone for _, lone in _pieces(file, compression)):
            return file
        copy = folder / f"lines-{secrets.token_hex(8)}"
        decoder = codecs.getincrementaldecoder(encoding)("strict")
        with _packed(copy, compression) as target:
            for piece, lone in _pieces(file, compression):
                text = _RETURN.sub(LONE_RETURN.encode(), piece) if lone else piece
                target.write(text if encoding == "utf-8" else decoder.decode(text).encode())
    return copy


def _pieces(file: Path, compression: str) -> Generator[tuple[bytes, bool]]:
    """The bytes of a file, and whether a return alone is among them; no piece ends with one."""
    held = b""
    with open_bytes(file, compression) as data:
        while piece := data.read(_CHUNK):
            piece, held = held + piece, b""
            if piece.endswith(b"\r"):
                piece, held = piece[:-1], b"\r"
            yield piece, piece.count(b"\r") != piece.count(b"\r\n")
    yield held, False  # at the very end it ends the last line


def _packed(file: Path, compression: str) -> IO[bytes]:
    if compression == ".gz":
        return cast("IO[bytes]", gzip.open(file, "wb", compresslevel=1))
    if compression == ".zst":
        return cast("IO[bytes]", zstandard.open(file, "wb"))
    return file.open("wb")
