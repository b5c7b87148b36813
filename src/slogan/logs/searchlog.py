"""SearchLog: where a log is, its format, and which column is the user, query, url and count."""

import glob
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from slogan.errors import LogFormatError, OptionError
from slogan.logs.columns import EVENT_ROLES, NONE, Columns, assign_roles, known_names
from slogan.logs.databases import Database, database
from slogan.logs.files import (
    ending_of,
    expand,
    format_of,
    parquet_schema,
    require_flat,
    require_modest,
    require_sound,
)
from slogan.logs.text import (
    check_mark,
    delimiter_from,
    encoding_from,
    first_line,
    layout,
    usual_delimiter,
    with_delimiter,
)
from slogan.logs.times import AUTO, Period, TimeFormat, format_from, period_from
from slogan.logs.ubi import TIME, actions_from, columns_from, iso_from
from slogan.logs.words import PAIRS, QUERIES, SEARCHES
from slogan.storage.database import connected

Source = str | Path | Sequence[str | Path]
Peek = Callable[[tuple[str, ...], str, str], tuple[str, ...] | str]
"""Looks at addresses, given with their format and encoding: names of columns, or a header line."""
_SERVERS = {
    "mysql": "export the table: mysql --batch -e 'SELECT …' DATABASE > log.tsv",
    "mariadb": "export the table: mariadb --batch -e 'SELECT …' DATABASE > log.tsv",
    "mongodb": "export the collection: mongoexport --collection=NAME --out=log.jsonl",
}
_DECLARING = {"parquet": "Parquet", "ubi": "UBI"}
Searches = Literal["clicked", "all"]
Schema = tuple[tuple[str, str], ...]
"""The columns that are declared, in order, and their types; a type that is not declared is text."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Form:
    """Where a log is and how its files are written, whatever its columns mean."""

    files: tuple[Path, ...] = ()
    """The files of the log; empty for a table in memory or a log at an address."""
    folders: tuple[Path, ...] = ()
    """The directories that were given for the files in them."""
    addresses: tuple[str, ...] = ()
    """Where only Spark finds the log, such as s3a://bucket/clicks."""
    table: object | None = None
    """The table in memory or in a database, if the log is one."""
    format: str
    """tsv, csv, jsonl, ubi or parquet; a release of a table is a Parquet file."""
    compression: str = ""
    """The ending of compressed text files, such as ".gz"; empty without compression."""
    header: bool = True
    """Whether the first line of each text file holds the column names."""
    encoding: str = "utf-8"
    """utf-8, cp1252 or latin-1."""
    delimiter: str = ""
    """What separates the fields of TSV and CSV."""

    @property
    def suffix(self) -> str:
        """The ending of a file in this log's format."""
        return ending_of(self.format) + self.compression


@dataclass(frozen=True, kw_only=True, repr=False)
class SearchLog(Form):
    """A search log: files of one format, or a table in memory, and what its columns mean."""

    columns: Columns
    skip_bad_rows: bool = False
    searches: Searches = "clicked"
    """Whether searches without a click are left out, or counted as pairs with an empty url."""
    fold: bool = False
    """Whether case, spaces, and scheme and last slash of urls make no difference."""
    click_actions: tuple[str, ...] = ()
    """The action_names of the events of UBI that are clicks; empty for other formats."""
    period: Period | None = None
    """The declared days of the log; set if it has times."""
    time_format: str = AUTO
    """How times are written, as declared; by the type of the column for auto."""
    undated: str | None = None
    """The column of times that is empty for want of a period."""

    def __repr__(self) -> str:
        parts = len(self.files) + len(self.addresses)
        files = "file" if parts == 1 else "files"
        where = f"{parts} {self.format} {files}" if self.table is None else _called(self.table)
        roles = ", ".join(f"{role}={name!r}" for role, name in self.columns.roles.items())
        return f"<SearchLog: {where}, {roles}>"

    @property
    def numeric_time(self) -> str | None:
        """The column of the time if times are numbers by their declared format."""
        return self.columns.time if TimeFormat(self.time_format).numeric else None

    @property
    def counts_events(self) -> bool:
        """Whether each row is one click, rather than a number of them."""
        return self.columns.count is None

    @property
    def items(self) -> str:
        """What is counted: clicks on pairs, searches for queries, or all searches."""
        if self.columns.url is None:
            return QUERIES
        return SEARCHES if self.searches == "all" else PAIRS

    @property
    def counts_searches(self) -> bool:
        """Whether a row without a url counts."""
        return self.columns.url is None or self.searches == "all"


def read(
    source: Source | object,
    *,
    format: str | None = None,
    user: str | None = None,
    query: str | None = None,
    url: str | None = None,
    count: str | None = None,
    columns: tuple[str, ...] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    on_bad_row: str = "error",
    searches: str = "clicked",
    fold: bool = False,
    click_action: str | None = None,
    time: str | None = None,
    rank: str | None = None,
    session: str | None = None,
    period: Period | str | None = None,
    time_format: str = AUTO,
    sql: str | None = None,
    peek: Peek | None = None,
) -> SearchLog:
    """Describe a log without counting it: files, a glob, or a table of any common library.

    Args:
        source: A path, several, a glob pattern, or a table. A table of a DuckDB or SQLite file is
            FILE::TABLE, one of a PostgreSQL server postgresql://HOST/DATABASE::TABLE.
        format: tsv, csv, jsonl, ubi or parquet, if the file name does not show it.
        user: The column of the user-ID; found in the header if not given, as are the next three. In
            JSON Lines the keys are user, query, url and count unless they are named here. A field
            inside a column of Parquet or JSON Lines is named by its path, such as who.id.
        query: The column of the query.
        url: The column of the clicked url; "none" for a log of queries without clicks, which is
            also meant if the header has no such column. Then the items of the log are queries.
        count: The column of the number of clicks; without one, or for "none", each click is a row.
        columns: All column names in order, for a text file that has no header; for JSON Lines the
            keys, where these are not the named columns alone.
        delimiter: comma, semicolon, pipe or tab, or the sign itself; found in the header line if
            not given. Without a header it is a comma in CSV.
        encoding: utf-8, cp1252 or latin-1, of text files.
        searches: Leave out searches without a click ("clicked"), or count them too ("all").
        fold: Take queries and urls for the same that differ in case, in spaces, or in scheme and
            last slash of the url; they are released folded.
        click_action: The action_name of clicks in UBI, or several with commas between them: click
            if not given. A release has the first.
        time: The column of the time, for `synthesize`; needs `period`. AOL's is found in the header
            if there is a period. "none" leaves it empty, as for the next two.
        rank: The column of the rank of the clicked result; AOL's is found in the header.
        session: The column of the session, if the log has its own.
        period: The first and the last day of the log, FROM/TO, which are published; other times
            count as the nearest in it.
        time_format: iso, epoch, epoch-ms, iso with the offset to write, or a pattern of strftime;
            "auto" for columns with a type of time, and for AOL's.
        sql: A query of a database, in place of a table.
        on_bad_row: "error" stops at a row that cannot be read, "skip" counts and reports it.
        peek: Looks up the columns of a log at an address; see `slogan.engines`.
    """
    roles = {"user": user, "query": query, "url": url, "count": count}
    roles |= {"time": time, "rank": rank, "session": session}
    if on_bad_row not in ("error", "skip"):
        raise OptionError(
            "on_bad_row is 'error' or 'skip'", hint="leave it out to stop at bad rows"
        )
    if searches not in ("clicked", "all"):
        raise OptionError("searches are 'clicked' or 'all'", hint="leave --searches out")
    form, schema = declare(
        source,
        roles,
        format=format,
        columns=columns,
        delimiter=delimiter,
        encoding=encoding,
        sql=sql,
        peek=peek,
    )
    actions = actions_from(click_action, form.format)
    typed = form.format in ("jsonl", "parquet")
    days = period_from(period, None if time in NONE else time)
    if days is None:
        roles["time"] = "none"
    found = (
        columns_from(roles)
        if form.format == "ubi"
        else assign_roles(
            tuple(name for name, _ in schema),
            roles,
            show=typed or columns is not None,
            nested=typed and (form.table is None or isinstance(form.table, Database)),
        )
    )
    for file in _here(form) if form.format == "parquet" else ():
        require_modest(file, found.roles | found.event_roles)
    if isinstance(form.table, Database):
        form = replace(form, table=_only(form.table, found))
    return SearchLog(
        **vars(form),
        columns=found,
        skip_bad_rows=on_bad_row == "skip",
        searches=searches,
        fold=fold,
        click_actions=actions,
        period=None if found.time is None else days,
        time_format=format_from(
            iso_from(time_format) if form.format == "ubi" else time_format,
            found.time,
            typed=form.format == "parquet",
        ),
        undated=_time_of(form, found) if days is None and time is None else None,
    )


def _time_of(form: Form, columns: Columns) -> str | None:
    """The column that has times by its name."""
    return TIME if form.format == "ubi" else next(iter(known_names("time", columns.names)), None)


def declare(
    source: Source | object,
    roles: dict[str, str | None],
    *,
    format: str | None = None,
    columns: tuple[str, ...] | None = None,
    delimiter: str | None = None,
    encoding: str = "utf-8",
    sql: str | None = None,
    peek: Peek | None = None,
) -> tuple[Form, Schema]:
    """What names, header lines, typed schemas and options declare about a log; see `read`."""
    paths = _paths(source)
    if paths and (stored := database(str(paths[0]), sql)) is not None:
        if len(paths) > 1:
            raise OptionError("a log is one table of a database", hint="name one, or give --sql")
        of_files = {"--format": format not in (None, "parquet"), "--columns": columns is not None}
        of_files |= {"--delimiter": delimiter is not None, "--encoding": encoding != "utf-8"}
        _refuse_options_of_files(of_files)
        files = () if stored.kind == "PostgreSQL" else (Path(stored.place),)
        return Form(files=files, table=stored, format="parquet"), stored.schema
    if paths is None:
        return _declared_by_table(source, format)
    addresses = _addresses(paths)
    files = () if addresses else expand(paths)
    kind, compression = format_of(files or tuple(map(Path, addresses)), given=format)
    sign = None if delimiter is None else delimiter_from(delimiter)
    if sign is not None and kind not in ("tsv", "csv"):
        raise OptionError(f"{kind} files have no delimiter", hint="leave --delimiter out")
    if columns is not None and kind in _DECLARING:
        raise OptionError(
            f"--columns is for files that do not declare their columns, and {_DECLARING[kind]} "
            "does",
            hint="name single columns with --user, --query, --url, --count",
        )
    form = Form(
        files=files,
        folders=tuple(Path(path) for path in paths if files and Path(path).is_dir()),
        addresses=addresses,
        format=kind,
        compression=compression,
        header=kind == "jsonl" or (columns is None and kind != "ubi"),
        encoding=encoding_from(encoding, kind),
    )
    for file in _here(form) if kind != "parquet" else ():
        if compression:
            require_sound(file, compression)
        check_mark(file, compression, form.encoding)
    if columns is not None and kind != "jsonl":
        sign = sign or usual_delimiter(kind)
        kind = with_delimiter(kind, sign, fixed=format is not None)
        return replace(form, format=kind, delimiter=sign), _texts(columns)
    if kind in ("jsonl", "ubi"):
        return form, _texts(columns or _keys(form, roles))
    return _declared_by_files(form, sign, peek, fixed=format is not None)


def _declared_by_table(table: object, format: str | None) -> tuple[Form, Schema]:
    """The columns of a table in memory."""
    if format == "ubi":
        hint = "give the files of queries and events; a table of clicks needs no --format"
        raise OptionError("UBI is read from files, not from a table", hint=hint)
    return Form(table=table, format="parquet"), _texts(_table_columns(table))


def _keys(form: Form, roles: dict[str, str | None]) -> tuple[str, ...]:
    """The keys of JSON Lines that are read: no line may declare them, as it belongs to one user."""
    if form.format == "ubi":
        if form.addresses:
            hint = "download the files first, or join them in Spark and give a DataFrame of clicks"
            raise OptionError("UBI is read from files on this machine", hint=hint)
        return columns_from(roles).names
    named = (
        (name or role).partition(".")[0]
        for role, name in roles.items()
        if name not in NONE and (name is not None or role not in EVENT_ROLES)
    )
    return tuple(dict.fromkeys(named))


def _refuse_options_of_files(given: dict[str, bool]) -> None:
    """Refuse options that would do nothing for a database."""
    if useless := next((option for option, present in given.items() if present), None):
        raise OptionError(
            f"a database declares its columns and texts, so {useless} has no meaning",
            hint=f"leave out {useless}",
        )


def _texts(names: tuple[str, ...]) -> Schema:
    return tuple((name, "text") for name in names)


def _declared_by_files(
    form: Form, sign: str | None, peek: Peek | None, *, fixed: bool
) -> tuple[Form, Schema]:
    """The columns that header lines or typed schemas declare, the same in all files."""
    seen: list[tuple[str, str, Schema]] = []
    for name, found in _looked_up(form, peek):
        if isinstance(found, str):
            kind, between, names = layout(found, form.format, sign, fixed=fixed, where=name)
            seen.append((kind, between, _texts(names)))
        else:
            seen.append((form.format, "", found))
        if seen[-1] != seen[0]:
            hint = "give files with the same columns, and in Parquet the same types"
            raise LogFormatError(f"{name} has other columns than {form.files[0].name}", hint=hint)
    kind, between, schema = seen[0]
    return replace(form, format=kind, delimiter=between), schema


def _looked_up(form: Form, peek: Peek | None) -> Iterator[tuple[str, str | Schema]]:
    """Each file with its header line, or its typed schema; addresses count as one."""
    if not form.addresses:
        for file in form.files:
            typed = form.format == "parquet"
            line = None if typed else first_line(file, form.compression, form.encoding)
            yield file.name, tuple(parquet_schema(file)) if line is None else line
    elif peek is None:
        scheme = form.addresses[0].partition(":")[0]
        raise OptionError(
            f"only Spark reads {scheme}:// addresses",
            hint="download the files first (curl -LO ADDRESS), or give --engine spark; "
            "in Python, a Spark DataFrame",
        )
    else:
        found = peek(form.addresses, form.format, form.encoding)
        yield form.addresses[0], found if isinstance(found, str) else _texts(found)


def _only(table: Database, columns: Columns) -> Database:
    """The table with the columns that are needed, none of which is nested."""
    with connected() as sql:
        kinds = {name: sql.sqltype(kind) for name, kind in table.schema}
        roles = columns.roles | columns.event_roles
        require_flat(str(table), kinds, roles)
    wanted = dict.fromkeys(columns.path(name)[0] for name in roles.values())
    return replace(table, wanted=tuple(wanted))


def _here(form: Form) -> tuple[Path, ...]:
    """The files of this machine, as far as the names of addresses are patterns of ours too."""
    local = (a.removeprefix("file://") for a in form.addresses if a.startswith("file://"))
    if form.table is not None:
        return ()
    return form.files or expand([found for name in local for found in glob.glob(name)])


def _called(table: object) -> str:
    return str(table) if isinstance(table, Database) else type(table).__name__


def _paths(source: object) -> list[str | Path] | None:
    """The paths that a source consists of; None if it is a table."""
    items = cast("Sequence[object]", source if isinstance(source, list | tuple) else [source])
    paths = [item for item in items if isinstance(item, str | Path)]
    return paths if len(paths) == len(items) else None


def _addresses(paths: Sequence[str | Path]) -> tuple[str, ...]:
    found = tuple(str(path) for path in paths if re.match(r"[a-z][a-z0-9+.-]*://", str(path)))
    for address in found:
        if hint := _SERVERS.get(address.partition("://")[0]):
            raise OptionError(f"{address.partition('://')[0]} servers are not read", hint=hint)
    if found and len(found) < len(paths):
        hint = "write files as addresses too: file:///data/clicks.tsv"
        raise OptionError("some parts of the log are files and some are at addresses", hint=hint)
    return found


def declared_table(log: SearchLog) -> Any:
    """The table of a log, with types that are declared: pandas' columns of objects are text.

    An engine would look at objects to find a type, and publish what one user's row did to it.
    """
    table: Any = log.table
    if type(table).__module__.partition(".")[0] != "pandas":
        return table
    named = log.columns.roles | log.columns.event_roles
    roles = {name: role for role, name in named.items()}
    texts: dict[str, Any] = {}
    for name in (name for name, kind in table.dtypes.items() if str(kind) == "object"):
        values = table[name]
        known = values.notna() if name in roles else [False] * len(values)
        text = [_text(v, roles[name]) if k else None for v, k in zip(values, known, strict=True)]
        texts[name] = type(values)(text, table.index, "string")
    return table.assign(**texts)


def _text(value: object, role: str) -> str | None:
    if isinstance(value, dict | list | tuple | set | bytes) or hasattr(value, "__array__"):
        if role in EVENT_ROLES:
            return None
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
