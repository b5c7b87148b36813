"""Header: the columns of a log and their kinds, for a person who has to name the roles.

Shown to the curator alone, and no value with them: where no type is declared, the kind of a column
comes from a look at its first rows. Nothing else may depend on it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, cast

from slogan.logs.columns import EVENT_ROLES, NONE, known_names
from slogan.logs.files import open_bytes, reported
from slogan.logs.searchlog import Form, Schema
from slogan.logs.text import LONGEST_LINE, decoded, split_fields
from slogan.logs.ubi import columns_from
from slogan.storage.database import connected

ROWS = 1_000
_MOST = 0.9
_KINDS = {
    "number": r"[+-]?[0-9]+([.,][0-9]+)?",
    "date or time": r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*|[0-9]{1,2}[./][0-9]{1,2}[./][0-9]{2,4}.*"
    r"|[0-9]{1,2}:[0-9]{2}.*",
    "e-mail address": r"[^@\s]+@[^@\s]+\.[^@\s]+",
    "url": r"[a-z][a-z0-9+.-]*://\S+|[\w-]+(\.[\w-]+)+(:[0-9]+)?(/\S*)?",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnKind:
    """A column, what its values are, and what it would be read as."""

    name: str
    kind: str
    role: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The columns of a log, in order."""

    columns: tuple[ColumnKind, ...]
    declared: bool
    """Whether the kinds are declared types, not guessed from rows."""
    keys: bool
    """Whether the columns are keys of JSON Lines, which are read by their exact names."""

    def to_dict(self) -> dict[str, Any]:
        """The fields of `inspect --show-header --json`."""
        return asdict(self)


def header_of(form: Form, schema: Schema, roles: dict[str, str | None]) -> Header:
    """The columns of a log with their kinds and roles; fields of nested ones by their paths."""
    if form.format == "parquet":
        kinds = dict(_leaves(schema))
    elif form.format in ("jsonl", "ubi"):
        kinds = {name: _kind(values) for name, values in _keys(form).items()}
    else:
        rows = list(_rows(form, len(schema)))
        kinds = {name: _kind([row[i] for row in rows]) for i, (name, _) in enumerate(schema)}
    names, keys = tuple(kinds), form.format == "jsonl"
    taken = {
        given if given in names else _detected(role, names, keys=keys): role
        for role, given in roles.items()
        if given not in NONE
    }
    if form.format == "ubi":
        taken = {name: role for role, name in columns_from(roles).roles.items()}
    columns = (ColumnKind(name=n, kind=k, role=taken.get(n)) for n, k in kinds.items())
    return Header(columns=tuple(columns), declared=form.format == "parquet", keys=keys)


def _detected(role: str, names: tuple[str, ...], *, keys: bool) -> str | None:
    """The column that is read for a role without being named."""
    if keys:
        return None if role in EVENT_ROLES else role
    return next(iter(known_names(role, names)), None)


def _kind(values: list[str]) -> str:
    """The kind that nearly all values are of."""
    known = [value for value in values if value]
    for name, pattern in _KINDS.items():
        fitting = sum(bool(re.fullmatch(pattern, value.strip().lower())) for value in known)
        if known and fitting >= _MOST * len(known):
            return name
    return "text" if known else "empty"


def first_lines(form: Form) -> Iterator[str]:
    """The first lines of the log's files that can be decoded, without their headers."""
    for file in form.files:
        with reported(file), open_bytes(file, form.compression) as data:
            beginning = int(form.header and form.format != "jsonl")
            for line in islice(iter(lambda: data.readline(LONGEST_LINE), b""), beginning, ROWS):
                try:
                    yield decoded(line, form.encoding).rstrip("\r\n")
                except UnicodeDecodeError:
                    continue


def _rows(form: Form, width: int) -> Iterator[tuple[str, ...]]:
    for line in islice(first_lines(form), ROWS):
        fields = split_fields(line, form.format, form.delimiter)
        if len(fields) == width:
            yield fields


def _keys(form: Form) -> dict[str, list[str]]:
    """The keys of the first objects and their values; those of objects inside by their paths."""
    found: dict[str, list[str]] = {}
    for values in first_objects(form):
        for path, text in values.items():
            found.setdefault(path, []).append(text)
    return found


def first_objects(form: Form) -> Iterator[dict[str, str]]:
    """The first objects of JSON Lines: their values, also of objects inside, by their paths."""
    for line in islice(first_lines(form), ROWS):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        yield dict(_flat(value, ""))


def _flat(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inside in cast("dict[str, object]", value).items():
            yield from _flat(inside, f"{path}.{key}" if path else key)
    elif path:
        yield path, "" if value is None else str(value)


def _leaves(schema: Schema) -> Iterator[tuple[str, str]]:
    """The columns with their declared types; the fields of a record by their paths."""
    with connected() as sql:
        waiting: list[tuple[str, Any]] = [
            (name, None if kind == "text" else sql.sqltype(kind)) for name, kind in reversed(schema)
        ]
        while waiting:
            name, kind = waiting.pop()
            if kind is not None and kind.id == "struct":
                waiting += [(f"{name}.{field}", inner) for field, inner in reversed(kind.children)]
            else:
                yield name, "text" if kind is None else str(kind).lower()
