"""SearchLog: where a log is, its format, and which column means what."""

from __future__ import annotations

import csv
import glob
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from slogan.columns import Columns, assign_roles
from slogan.detection import (
    ENCODINGS,
    expand,
    first_line,
    folders_of,
    format_of,
    parquet_columns,
    refuse_utf_16,
    split_fields,
)
from slogan.errors import LogFormatError, OptionError
from slogan.unpacking import require_modest, require_sound

Source = str | Path | Sequence[str | Path]
Peek = Callable[[tuple[str, ...], str, str], tuple[str, ...]]
"""The names of the columns at addresses, given with their format and encoding."""


@dataclass(frozen=True, kw_only=True)
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

    @property
    def suffix(self) -> str:
        """The ending of a file in this log's format; Parquet compresses inside."""
        return f".{self.format}{'' if self.format == 'parquet' else self.compression}"

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
        user: The column of the user-ID; found in the header if not given. So are the next three.
        query: The column of the query.
        url: The column of the clicked url.
        count: The column of the number of clicks; without one, or for "", each click is a row.
        columns: All column names in order, for a text file that has no header.
        encoding: utf-8 or latin-1, of text files.
        on_bad_row: "error" stops at a row that cannot be read, "skip" counts and reports it.
        peek: Who looks where this process cannot; see `slogan.engines.described`.
    """
    roles = {"user": user, "query": query, "url": url, "count": count}
    if on_bad_row not in ("error", "skip"):
        raise OptionError(
            "on_bad_row is 'error' or 'skip'", hint="leave it out to stop at bad rows"
        )
    skip = on_bad_row == "skip"
    if not _is_path(source):
        found = assign_roles(_table_columns(source), roles, show=True)
        return SearchLog(table=source, format="parquet", columns=found, skip_bad_rows=skip)
    addresses = _addresses(source)
    files = () if addresses else expand(source)  # pyright: ignore[reportArgumentType]
    kind, compression = format_of(files or tuple(map(Path, addresses)), given=format)
    if encoding not in ENCODINGS or (encoding != "utf-8" and kind not in ("tsv", "csv")):
        raise OptionError(
            f"{kind} files are not read as {encoding}",
            hint="--encoding latin-1 is for TSV and CSV files; the others are UTF-8",
        )
    if columns is not None and kind not in ("tsv", "csv"):
        raise OptionError(
            f"--columns is for text files without a header, not for {kind}",
            hint="name single columns with --user, --query, --url, --count",
        )
    here = files or _local(addresses)
    for file in here if compression else ():
        require_sound(file, compression)
    for file in here if kind != "parquet" else ():
        refuse_utf_16(file, compression)
    if columns is None and addresses:
        names = _looked_up(addresses, kind, encoding, peek)
    else:
        names = _names(files, kind, compression, encoding, columns)
    found = assign_roles(names, roles, show=columns is not None or kind in ("jsonl", "parquet"))
    for file in here if kind == "parquet" else ():
        require_modest(file, compression, found.roles)
    return SearchLog(
        files=files,
        folders=folders_of(source) if files else (),  # pyright: ignore[reportArgumentType]
        addresses=addresses,
        format=kind,
        compression=compression,
        header=columns is None,
        encoding=encoding,
        columns=found,
        skip_bad_rows=skip,
    )


def _addresses(source: object) -> tuple[str, ...]:
    if not _is_path(source):
        return ()
    several = isinstance(source, list | tuple)
    items = [str(item) for item in cast("list[object]", source)] if several else [str(source)]
    found = tuple(item for item in items if re.match(r"[a-z][a-z0-9+.-]*://", item))
    if found and len(found) < len(items):
        raise OptionError(
            "some parts of the log are files and some are at addresses",
            hint="write files as addresses too: file:///data/clicks.tsv",
        )
    return found


def _local(addresses: tuple[str, ...]) -> tuple[Path, ...]:
    """The files of this machine among them, as far as their names are patterns of ours too."""
    names = (a.removeprefix("file://") for a in addresses if a.startswith("file://"))
    return expand([found for name in names for found in glob.glob(name)])


def _looked_up(
    addresses: tuple[str, ...], kind: str, encoding: str, peek: Peek | None
) -> tuple[str, ...]:
    if peek is None:
        raise OptionError(
            f"only Spark reads {addresses[0].partition(':')[0]}:// addresses",
            hint="give --engine spark; in Python, a Spark DataFrame",
        )
    return peek(addresses, kind, encoding)


def _is_path(source: object) -> bool:
    if isinstance(source, list | tuple):
        return all(isinstance(item, str | Path) for item in source)  # pyright: ignore[reportUnknownVariableType]
    return isinstance(source, str | Path)


def _table_columns(table: object) -> tuple[str, ...]:
    schema = getattr(table, "collect_schema", None)  # a Polars LazyFrame
    if callable(schema):
        lazy: Any = schema()
        return tuple(lazy.names())
    for attribute in ("column_names", "columns"):
        if (names := getattr(table, attribute, None)) is not None:
            return tuple(str(n) for n in names)
    raise LogFormatError(
        f"a {type(table).__name__} is not a log",
        hint="give a path, or a Polars, pandas, Arrow or DuckDB table",
    )


def _names(
    files: tuple[Path, ...],
    kind: str,
    compression: str,
    encoding: str,
    given: tuple[str, ...] | None,
) -> tuple[str, ...]:
    if given is not None:
        return given
    if kind == "parquet":
        return parquet_columns(files[0], compression)
    headers = {f: _header(f, kind, compression, encoding) for f in files}
    names = headers[files[0]]
    for file, other in headers.items():
        same = set(other) == set(names) if kind == "jsonl" else other == names
        if not same:
            raise LogFormatError(
                f"{file.name} has other columns than {files[0].name}",
                hint="give files with the same header",
            )
    return names


def _header(file: Path, kind: str, compression: str, encoding: str) -> tuple[str, ...]:
    line = first_line(file, compression, encoding)
    if kind != "jsonl":
        try:
            return split_fields(line, kind)
        except csv.Error as cause:
            raise LogFormatError(
                f"{file.name}, line 1: not a header of {kind}", hint="check it, and --format"
            ) from cause
    try:
        first = json.loads(line)
        json.dumps(first, ensure_ascii=False).encode()  # half a character is no text
    except (ValueError, RecursionError):
        first = None
    if not isinstance(first, dict):
        raise LogFormatError(
            f"{file.name}, line 1: not a JSON object", hint="JSON Lines has one object a line"
        )
    return tuple(str(key) for key in first)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
