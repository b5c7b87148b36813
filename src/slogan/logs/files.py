"""Telling what a log file is from its name and header: format, compression, names of columns."""

from __future__ import annotations

import codecs
import csv
import glob
import gzip
import io
import zlib
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import duckdb
import zstandard

from slogan.errors import (
    EmptyLogError,
    LogFormatError,
    LogNotFoundError,
)
from slogan.storage.database import connected

FORMATS = ("tsv", "csv", "jsonl", "parquet")
ENCODINGS = ("utf-8", "latin-1")
LONGEST_LINE = 64 * 1024 * 1024
BROKEN = (gzip.BadGzipFile, zlib.error, zstandard.ZstdError, EOFError)
"""What unpacking a file that is not whole raises."""

_FORMAT_OF_SUFFIX = {
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "tsv",
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_DECOMPRESS = {".gz": "gunzip", ".zst": "unzstd"}
_WILD = "*?["


def expand(source: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """The files meant by paths, directories or glob patterns, in sorted order, each once."""
    sources = [source] if isinstance(source, str | Path) else source
    files: set[Path] = set()
    for item in sources:
        with reported(Path(item)):
            if Path(item).is_dir():
                found = _files_in(Path(item))
            else:
                found = [item] if Path(item).exists() else glob.glob(str(item), recursive=True)
        if not found:
            raise LogNotFoundError(
                f"no file at {item}", hint="check the path; put a glob pattern in quotes"
            )
        files.update(_sayable(_whole(Path(f))) for f in found)
    return tuple(sorted(files))


def folders_of(source: str | Path | Sequence[str | Path]) -> tuple[Path, ...]:
    """The directories among the paths."""
    sources = [source] if isinstance(source, str | Path) else source
    return tuple(Path(item) for item in sources if Path(item).is_dir())


def _whole(file: Path) -> Path:
    """The file, if it can be read twice: what is checked of a pipe is gone when it is counted."""
    with reported(file):
        if file.is_file():
            return file
    raise LogNotFoundError(
        f"{file} is not a regular file",
        hint="write what a pipe or device gives to a file first; name a folder itself",
    )


def _sayable(file: Path) -> Path:
    """The file, if an engine can be told its name."""
    try:
        str(file).encode()
    except UnicodeEncodeError as cause:
        raise LogNotFoundError(
            f"the name of {file} is not UTF-8", hint="rename it, or give a link to it"
        ) from cause
    whole = str(file.absolute())
    if "\\" in whole and any(c in whole for c in _WILD):
        # Within a pattern DuckDB takes a backslash for the end of a folder's name.
        raise LogNotFoundError(
            f"the path of {file} has both a backslash and one of * ? [",
            hint="rename it, or give a link to it",
        )
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
    kinds = {_kind(f, given=given) for f in files}
    if len(kinds) > 1:
        listed = ", ".join(sorted("".join(k) for k in kinds))
        raise LogFormatError(
            f"the files are of different kinds: {listed}",
            hint="give files of one format and one compression",
        )
    return kinds.pop()


def _kind(file: Path, *, given: str | None) -> tuple[str, str]:
    suffixes = [s.lower() for s in file.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in _DECOMPRESS else ""
    known = given or _FORMAT_OF_SUFFIX.get(suffixes[-1] if suffixes else "")
    if known not in FORMATS:
        raise LogFormatError(
            f"the format of {file.name} cannot be told from its name",
            hint=f"give --format, one of: {', '.join(FORMATS)}",
        )
    if known == "parquet" and compression:
        raise LogFormatError(
            f"{file.name} is Parquet inside {compression}, which is not read",
            hint=f"decompress it: {_DECOMPRESS[compression]} {file.name}",
        )
    return known, compression


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
        raise LogFormatError(
            f"{file.name} is in UTF-16",
            hint="convert it to UTF-8, such as with iconv -f UTF-16 -t UTF-8",
        )


@contextmanager
def reported(file: Path) -> Generator[None]:
    """Say in words of our own that a file cannot be read, or unpacked."""
    try:
        yield
    except BROKEN as cause:
        raise unreadable(file) from cause
    except OSError as cause:
        raise unopened(file, cause) from cause


def unopened(file: Path, cause: OSError) -> LogNotFoundError:
    """The file is there, and not for us to read."""
    return LogNotFoundError(
        f"{file} cannot be opened: {cause.strerror}", hint="check its permissions"
    )


def unreadable(file: Path) -> LogFormatError:
    """The file is not what its name says."""
    return LogFormatError(
        f"{file.name} is not a readable file of its kind",
        hint="check that the file is complete and that its name says what it is",
    )


def split_fields(line: str, log_format: str) -> tuple[str, ...]:
    """The fields of a TSV line (which knows no quotes) or of a CSV line."""
    if log_format == "tsv":
        return tuple(line.split("\t"))
    return tuple(next(csv.reader([line])))


def plain_glob(file: Path) -> str:
    """The file's name for DuckDB, whose readers take every name as a glob pattern.

    The whole path, because DuckDB takes a relative ~ or file: for more than a name.
    """
    return "".join(f"[{c}]" if c in _WILD else c for c in str(file.absolute()))


def identifier(name: str) -> str:
    """The name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def parquet_columns(file: Path) -> tuple[str, ...]:
    """The column names of a Parquet file."""
    with reported(file), file.open("rb"):
        pass  # DuckDB does not say why a file cannot be opened
    try:
        with connected() as connection:
            rows = connection.execute(
                "SELECT column_name FROM "
                "(DESCRIBE SELECT * FROM read_parquet($1, hive_partitioning=false))",
                [plain_glob(file)],
            ).fetchall()
    except duckdb.Error:
        raise unreadable(file) from None  # what DuckDB says may quote the log
    return tuple(row[0] for row in rows)


def open_bytes(file: Path, compression: str) -> IO[bytes]:
    """The decompressed bytes of a file, as a stream."""
    if compression == ".gz":
        return cast("IO[bytes]", gzip.open(file, "rb"))
    if compression == ".zst":
        frames = zstandard.ZstdDecompressor().stream_reader(
            file.open("rb"), read_across_frames=True, closefd=True
        )
        return io.BufferedReader(cast("io.RawIOBase", frames))
    return file.open("rb")
