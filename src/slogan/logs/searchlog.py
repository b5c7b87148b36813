"""SearchLog: where a log is, its format, and which column is the user, query, url and count."""

import csv
import glob
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from slogan.errors import LogFormatError, MissingColumnError, OptionError
from slogan.logs.files import (
    ENCODINGS,
    expand,
    first_line,
    format_of,
    parquet_schema,
    refuse_utf_16,
    require_modest,
    require_sound,
    split_fields,
)

MOST_COLUMNS = 10_000

_NO_HEADER = "for a file without a header give --columns user,query,url,count"
# Names under which headers call the four roles, compared without case, spaces, "-" and "_".
_KNOWN_AS = {
    "user": ("user", "userid", "anonid", "uid"),
    "query": ("query", "q", "searchquery"),
    "url": ("url", "clickurl", "clickedurl"),
    "count": ("count", "clicks", "frequency"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """All columns of a log in their order, and the names of those the method models."""

    names: tuple[str, ...]
    user: str
    query: str
    url: str
    count: str | None
    """None for a log of events: each row with a url is one click."""

    @property
    def roles(self) -> dict[str, str]:
        """The name of the column for each role that has one."""
        roles = {"user": self.user, "query": self.query, "url": self.url}
        return roles if self.count is None else {**roles, "count": self.count}


def assign_roles(names: tuple[str, ...], given: dict[str, str | None], *, show: bool) -> Columns:
    """Find out which column is the user, the query, the url and the count.

    Args:
        names: The log's column names.
        given: For each role the name the caller gave, or None to detect it.
        show: Whether the names may be quoted in an error; without a header they are data.
    """
    _require_names(names)
    roles: dict[str, Any] = {role: _role(role, names, given[role], show=show) for role in _KNOWN_AS}
    for role, name in roles.items():
        if name is None and role != "count":
            raise _missing(f"the log has no column for the {role}", role, names, show=show)
    chosen = [name for name in roles.values() if name is not None]
    if len(set(chosen)) != len(chosen):
        hint = "--user, --query, --url and --count must name different columns"
        raise OptionError("one column is given two meanings", hint=hint)
    return Columns(names=names, **roles)


def _require_names(names: tuple[str, ...]) -> None:
    """Refuse names that the engines cannot write, or cannot tell apart: they ignore case."""
    if len(names) > MOST_COLUMNS:
        raise LogFormatError(
            f"the log has {len(names):,} columns, more than {MOST_COLUMNS:,}",
            hint="check --format, or leave out columns that are not needed",
        )
    for place, name in enumerate(names, start=1):
        if not name:
            hint = f"name it in the header, or leave it out; {_NO_HEADER}"
            raise MissingColumnError(f"column {place} has no name", hint=hint)
        if "\0" in name:
            raise MissingColumnError(
                f"the name of column {place} holds a zero byte", hint="write the log as UTF-8 text"
            )
    if len({name.lower() for name in names}) != len(names):
        raise MissingColumnError(
            "two columns have the same name, or names that differ in case only",
            hint=f"rename one, or leave it out; {_NO_HEADER}",
        )


def _role(role: str, names: tuple[str, ...], given: str | None, *, show: bool) -> str | None:
    if given in names or (role == "count" and given == ""):
        return given or None
    if given is not None:
        raise _missing(f"there is no column {given!r}", role, names, show=show)
    for known in _KNOWN_AS[role]:
        fitting = [name for name in names if re.sub("[ _-]", "", name.lower()) == known]
        if len(fitting) > 1:
            raise _missing(f"{len(fitting)} columns may be the {role}", role, names, show=show)
        if fitting:
            return fitting[0]
    return None


def _missing(problem: str, role: str, names: tuple[str, ...], *, show: bool) -> MissingColumnError:
    what = f"its columns are {', '.join(names)}" if show else f"it has {len(names)} columns"
    hint = f"name it with --{role} NAME; {_NO_HEADER}"
    return MissingColumnError(f"{problem}; {what}", hint=hint)


Source = str | Path | Sequence[str | Path]
Peek = Callable[[tuple[str, ...], str, str], tuple[str, ...]]
"""The names of the columns at addresses, given with their format and encoding."""


@dataclass(frozen=True, kw_only=True, repr=False)
class SearchLog:
    """A click log: files of one format, or a table in memory, and what its columns mean."""

    files: tuple[Path, ...] = ()
    folders: tuple[Path, ...] = ()
    """The directories that stood for files in them."""
    addresses: tuple[str, ...] = ()
    """Where only Spark finds the log, such as s3a://bucket/clicks."""
    table: object | None = None
    format: str
    compression: str = ""
    header: bool = True
    encoding: str = "utf-8"
    columns: Columns
    skip_bad_rows: bool = False

    def __repr__(self) -> str:
        parts = len(self.files) + len(self.addresses)
        where = f"{parts} {self.format} file(s)" if parts else type(self.table).__name__
        roles = ", ".join(f"{role}={name!r}" for role, name in self.columns.roles.items())
        return f"<SearchLog: {where}, {roles}>"

    @property
    def suffix(self) -> str:
        """The ending of a file in this log's format."""
        return f".{self.format}{self.compression}"

    @property
    def counts_events(self) -> bool:
        """Whether each row is one click, rather than a number of them."""
        return self.columns.count is None


def read(
    source: Source | object,
    *,
    format: str | None = None,
    user: str | None = None,
    query: str | None = None,
    url: str | None = None,
    count: str | None = None,
    columns: tuple[str, ...] | None = None,
    encoding: str = "utf-8",
    on_bad_row: str = "error",
    peek: Peek | None = None,
) -> SearchLog:
    """Describe a log without counting it: files, a glob, or a table of any common library.

    Args:
        source: A path, several, a glob pattern, or a table.
        format: tsv, csv, jsonl or parquet, where the file name does not say.
        user: The column of the user-ID; found in the header if not given, as are the next three. In
            JSON Lines the keys are user, query, url and count unless they are named here.
        query: The column of the query.
        url: The column of the clicked url.
        count: The column of the number of clicks; without one, or for "", each click is a row.
        columns: All column names in order, for a text file that has no header; for JSON Lines the
            keys, where these are not the named columns alone.
        encoding: utf-8 or latin-1, of text files.
        on_bad_row: "error" stops at a row that cannot be read, "skip" counts and reports it.
        peek: Who looks where this process cannot; see `slogan.engines`.
    """
    roles = {"user": user, "query": query, "url": url, "count": count}
    if on_bad_row not in ("error", "skip"):
        raise OptionError(
            "on_bad_row is 'error' or 'skip'", hint="leave it out to stop at bad rows"
        )
    skip = on_bad_row == "skip"
    paths = _paths(source)
    if paths is None:
        found = assign_roles(_table_columns(source), roles, show=True)
        return SearchLog(table=source, format="parquet", columns=found, skip_bad_rows=skip)
    addresses = _addresses(paths)
    files = () if addresses else expand(paths)
    kind, compression = format_of(files or tuple(map(Path, addresses)), given=format)
    if encoding not in ENCODINGS or (encoding != "utf-8" and kind not in ("tsv", "csv")):
        hint = "--encoding latin-1 is for TSV and CSV files; the others are UTF-8"
        raise OptionError(f"{kind} files are not read as {encoding}", hint=hint)
    if columns is not None and kind == "parquet":
        raise OptionError(
            "--columns is for files that do not declare their columns, and Parquet does",
            hint="name single columns with --user, --query, --url, --count",
        )
    here = files or _local(addresses)
    for file in here if compression else ():
        require_sound(file, compression)
    for file in here if kind != "parquet" else ():
        refuse_utf_16(file, compression)
    if columns is not None:
        names = columns
    elif kind == "jsonl":
        # No line declares the columns of JSON Lines, and none may: it belongs to one user.
        names = tuple(name or role for role, name in roles.items() if name != "")
    else:
        names = _names(files, addresses, kind, compression, encoding, peek)
    found = assign_roles(names, roles, show=columns is not None or kind in ("jsonl", "parquet"))
    for file in here if kind == "parquet" else ():
        require_modest(file, found.roles)
    return SearchLog(
        files=files,
        folders=tuple(Path(path) for path in paths if files and Path(path).is_dir()),
        addresses=addresses,
        format=kind,
        compression=compression,
        header=columns is None or kind == "jsonl",
        encoding=encoding,
        columns=found,
        skip_bad_rows=skip,
    )


def _paths(source: object) -> list[str | Path] | None:
    """The paths that a source consists of; None if it is a table."""
    items = cast("Sequence[object]", source if isinstance(source, list | tuple) else [source])
    paths = [item for item in items if isinstance(item, str | Path)]
    return paths if len(paths) == len(items) else None


def _addresses(paths: Sequence[str | Path]) -> tuple[str, ...]:
    found = tuple(str(path) for path in paths if re.match(r"[a-z][a-z0-9+.-]*://", str(path)))
    if found and len(found) < len(paths):
        hint = "write files as addresses too: file:///data/clicks.tsv"
        raise OptionError("some parts of the log are files and some are at addresses", hint=hint)
    return found


def _local(addresses: tuple[str, ...]) -> tuple[Path, ...]:
    """The files of this machine among them, as far as their names are patterns of ours too."""
    names = (a.removeprefix("file://") for a in addresses if a.startswith("file://"))
    return expand([found for name in names for found in glob.glob(name)])


def declared_table(log: SearchLog) -> Any:
    """The table of a log, with types that are declared: pandas' columns of objects are text.

    An engine would look at objects to find a type, and publish what one user's row did to it.
    """
    table: Any = log.table
    if type(table).__module__.partition(".")[0] != "pandas":
        return table
    roles = {name: role for role, name in log.columns.roles.items()}
    texts: dict[str, Any] = {}
    for name in (name for name, kind in table.dtypes.items() if str(kind) == "object"):
        values = table[name]
        known = values.notna() if name in roles else [False] * len(values)
        text = [_text(v, roles[name]) if k else None for v, k in zip(values, known, strict=True)]
        texts[name] = type(values)(text, table.index, "string")
    return table.assign(**texts)


def _text(value: object, role: str) -> str:
    if isinstance(value, dict | list | tuple | set | bytes) or hasattr(value, "__array__"):
        hint = "make it text or a number before you give the table"
        raise LogFormatError(f"the column of the {role} holds a nested value", hint=hint)
    return str(value)


def _table_columns(table: object) -> tuple[str, ...]:
    schema = getattr(table, "collect_schema", None)  # a Polars LazyFrame
    if callable(schema):
        lazy: Any = schema()
        return tuple(lazy.names())
    for attribute in ("column_names", "columns"):
        if (names := getattr(table, attribute, None)) is not None:
            return tuple(str(n) for n in names)
    hint = "give a path, or a Polars, pandas, Arrow or DuckDB table"
    raise LogFormatError(f"a {type(table).__name__} is not a log", hint=hint)


def _names(
    files: tuple[Path, ...],
    addresses: tuple[str, ...],
    kind: str,
    compression: str,
    encoding: str,
    peek: Peek | None,
) -> tuple[str, ...]:
    """The columns that headers or typed schemas declare, the same in all files."""
    if addresses and peek is None:
        scheme = addresses[0].partition(":")[0]
        hint = "give --engine spark; in Python, a Spark DataFrame"
        raise OptionError(f"only Spark reads {scheme}:// addresses", hint=hint)
    if addresses and peek is not None:
        return peek(addresses, kind, encoding)
    schemas = [
        parquet_schema(file)
        if kind == "parquet"
        else [(name, "text") for name in _header(file, kind, compression, encoding)]
        for file in files
    ]
    for file, schema in zip(files, schemas, strict=True):
        if schema != schemas[0]:
            hint = "give files with the same columns, and in Parquet the same types"
            raise LogFormatError(f"{file.name} has other columns than {files[0].name}", hint=hint)
    return tuple(name for name, _ in schemas[0])


def _header(file: Path, kind: str, compression: str, encoding: str) -> tuple[str, ...]:
    try:
        return split_fields(first_line(file, compression, encoding), kind)
    except csv.Error as cause:
        raise LogFormatError(
            f"{file.name}, line 1: not a header of {kind}", hint="check it, and --format"
        ) from cause
