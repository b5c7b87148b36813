"""Files of a log: which they are, and what their names and headers tell of format and columns.

Packed files that are not whole, or unpack to far more than a log would, are refused.
"""

import glob
import gzip
import io
import shlex
import zlib
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast

import duckdb
import zstandard

from slogan.errors import LogFormatError, LogNotFoundError, MissingColumnError, suggestion
from slogan.logs.columns import path_of
from slogan.storage.database import connected
from slogan.storage.untrusted import is_sayable, similar_file

_BROKEN = (gzip.BadGzipFile, zlib.error, zstandard.ZstdError, EOFError)
"""What unpacking a file that is not whole raises."""
MOST_TIMES = 100
"""Logs shrink to a tenth, and rarely to a fiftieth."""
ALWAYS_ALLOWED = 1 << 30
"""Unpacked bytes that are always allowed."""

_SUFFIXES = {
    "tsv": (".tsv", ".tab", ".txt"),
    "csv": (".csv",),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "parquet": (".parquet", ".pq"),
    "ubi": (".ubi.jsonl", ".ubi.ndjson", ".ubi.json"),
}
UBI_OBJECT = "event_attributes.object.object_id"
_UBI_FILES = ("ubi_queries", "ubi_events")
"""How files with the indices of UBI are called that declare their format by their names."""
_FORMAT_OF = {suffix: name for name, suffixes in _SUFFIXES.items() for suffix in suffixes}
FORMATS = tuple(_SUFFIXES)
_EXCEL = (
    "a workbook",
    "save the sheet as 'CSV UTF-8', or: libreoffice --headless --convert-to csv {name}",
)
_ARROW = (
    "an Arrow file",
    'make it Parquet: python -c "import polars; '
    "polars.read_ipc('{name}').write_parquet('{stem}.parquet')\"",
)
_OTHERS = {
    ".xlsx": _EXCEL,
    ".xls": _EXCEL,
    ".ods": _EXCEL,
    ".arrow": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
    ".zip": ("an archive", "unpack it: unzip {name}"),
    ".bz2": ("packed with bzip2", "unpack it: bunzip2 {name}"),
    ".xz": ("packed with xz", "unpack it: unxz {name}"),
    ".sql": ("a dump of a database", "load it into its database, and read a table of that"),
}
"""Endings of files that people have and that are not read, with the command that helps."""
_DECOMPRESS = {".gz": "gunzip", ".zst": "unzstd"}
_WILD = "*?["
_CHUNK = 1 << 20
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
    """The file, if it can be read twice, unlike a pipe, and has a name that engines can open."""
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


def ending_of(log_format: str) -> str:
    """The ending of files that are written in this format."""
    return _SUFFIXES[log_format][0]


def _kind(file: Path, given: str | None) -> tuple[str, str]:
    suffixes = [s.lower() for s in file.suffixes]
    compression = suffixes.pop() if suffixes and suffixes[-1] in _DECOMPRESS else ""
    ending = suffixes[-1] if suffixes else ""
    log_format = given or _FORMAT_OF.get("".join(suffixes[-2:])) or _FORMAT_OF.get(ending)
    if given is None and log_format == "jsonl" and file.name.lower().startswith(_UBI_FILES):
        log_format = "ubi"
    if given is None and ending in _OTHERS:
        what, command = _OTHERS[ending]
        raise LogFormatError(
            f"{file.name} is {what}, which is not read",
            hint=command.format(name=shlex.quote(str(file)), stem=shlex.quote(file.stem)),
        )
    if log_format not in FORMATS:
        hint = f"give --format, one of: {', '.join(FORMATS)}"
        problem = f"the name of {file.name} does not show its format"
        if given is not None:
            meant = suggestion(given[:20], FORMATS)
            problem = f"there is no format {given[:20]!r}" + (f"; {meant}" if meant else "")
            hint += "; a database is named by its ending: log.duckdb::TABLE"
        raise LogFormatError(problem, hint=hint)
    if log_format == "parquet" and compression:
        raise LogFormatError(
            f"{file.name} is Parquet inside {compression}, which is not read",
            hint=f"decompress it: {_DECOMPRESS[compression]} {file.name}",
        )
    return log_format, compression


@contextmanager
def reported(file: Path) -> Generator[None]:
    """Raise slogan's own error for a file that cannot be opened or unpacked."""
    try:
        yield
    except _BROKEN as cause:
        raise unreadable(file) from cause
    except OSError as cause:
        raise LogNotFoundError(
            f"{file} cannot be opened: {cause.strerror}", hint="check its permissions"
        ) from cause


def unreadable(file: Path) -> LogFormatError:
    """The error for a file that is not of the format of its name."""
    hint = "check that the file is complete and that its name ends with its format"
    return LogFormatError(f"{file.name} is not a readable file of its kind", hint=hint)


def plain_glob(file: Path) -> str:
    """The file's name for DuckDB, whose readers take every name as a glob pattern.

    The whole path, because DuckDB takes a relative ~ or file: for more than a name.
    """
    return "".join(f"[{c}]" if c in _WILD else c for c in str(file.absolute()))


def identifier(name: str) -> str:
    """The name as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """The text as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def field_sql(path: Sequence[str]) -> str:
    """The column, or the field inside a column, at a path."""
    sql = identifier(path[0])
    for field in path[1:]:
        sql = f"struct_extract({sql}, {literal(field)})"
    return sql


def parquet_schema(file: Path) -> list[tuple[str, str]]:
    """The columns of a Parquet file and their types."""
    with _parquet(file) as (_, table):
        return list(zip(table.columns, map(str, table.types), strict=True))


@contextmanager
def _parquet(file: Path) -> Generator[tuple[duckdb.DuckDBPyConnection, duckdb.DuckDBPyRelation]]:
    """A Parquet file as a table of a database."""
    with reported(file), file.open("rb"):
        pass  # DuckDB does not give the reason if a file cannot be opened
    try:
        with connected() as connection:
            yield connection, connection.read_parquet(plain_glob(file), hive_partitioning=False)
    except duckdb.Error:
        raise unreadable(file) from None  # DuckDB's message may quote the log


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


def require_modest(file: Path, columns: Mapping[str, str]) -> None:
    """Refuse a small Parquet file that unpacks to very much; `columns`: names by role."""
    allowed = _allowed(file)
    with _parquet(file) as (connection, table):
        kinds = dict(zip(table.columns, table.types, strict=True))
        leaves = require_flat(file.name, kinds, columns)
        if _announced(connection, file) > allowed or _texts(table, leaves) > allowed:
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


def require_flat(
    where: str, kinds: Mapping[str, Any], columns: Mapping[str, str]
) -> dict[str, tuple[str, ...]]:
    """Refuse lists, records and maps as texts: they cannot be added up without reading them.

    Args:
        where: The name of the file or table.
        kinds: The types of its columns.
        columns: Names of columns, or paths to fields inside them, by meaning.

    Returns:
        The paths to fields that are texts, by meaning.
    """
    texts: dict[str, tuple[str, ...]] = {}
    for meaning, name in columns.items():
        column, *fields = path_of(name, tuple(kinds)) or (name,)
        kind = next((k for n, k in kinds.items() if n.lower() == column.lower()), None)
        before = column
        for field in fields:
            inside = dict(kind.children) if kind is not None and kind.id == "struct" else {}
            kind = inside.get(field)
            if kind is None:
                meant = suggestion(f"{before}.{field}", [f"{before}.{one}" for one in inside])
                raise MissingColumnError(
                    f"{where}: there is no field {name!r} for the {meaning}"
                    + (f"; {meant}" if meant else ""),
                    hint="slogan inspect LOG --show-header lists the columns and their fields",
                )
            before = f"{before}.{field}"
        if kind is not None and kind.id in _NESTED:
            raise LogFormatError(
                f"{where}: the column of the {meaning} is of a nested type",
                hint=f"make it a text or a number, or name a field in it: --{meaning} {name}.FIELD",
            )
        if fields and str(kind) in _LENGTHS:
            texts[meaning] = (column, *fields)
    return texts


def _texts(table: duckdb.DuckDBPyRelation, leaves: Mapping[str, tuple[str, ...]]) -> int:
    """The bytes of all texts, each as often as it occurs; their lengths are read, not they."""
    lengths = [
        f"sum({_LENGTHS[str(kind)]}({identifier(name)}))"
        for name, kind in zip(table.columns, table.types, strict=True)
        if str(kind) in _LENGTHS
    ]
    lengths += [f"sum(strlen(({field_sql(path)})::VARCHAR))" for path in leaves.values()]
    sums = table.aggregate(", ".join(lengths)).fetchall()[0] if lengths else ()
    return sum(int(length or 0) for length in sums)


def _bomb(file: Path, allowed: int) -> LogFormatError:
    return LogFormatError(
        f"{file.name} would unpack to more than {allowed:,} bytes, {MOST_TIMES} times its size, "
        "as a log does not",
        hint="if it is a log all the same, unpack it yourself and give the plain file",
    )
