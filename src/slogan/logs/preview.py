"""Preview: the shape of the first rows, so that a person recognises columns without reading rows.

Letters become x and digits 9. Lengths and punctuation stay. It is for the curator alone.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

import duckdb

from slogan.logs.columns import path_of
from slogan.logs.databases import Database
from slogan.logs.files import field_sql, plain_glob, reported, unreadable
from slogan.logs.header import ColumnKind, first_lines, first_objects
from slogan.logs.searchlog import Form
from slogan.logs.text import split_fields
from slogan.storage.database import connected

ROWS = 5
_LONGEST = 48
_KEPT = frozenset(" .,:;-_/@+()[]{}'\"&?=%#!*")
_ELLIPSIS = "…"

Rows = tuple[tuple[str, ...], ...]


def masked(text: str) -> str:
    """The shape of a text: x for letters, 9 for digits, at most 48 characters."""
    shape = "".join("9" if c.isdecimal() else c if c in _KEPT else "x" for c in text[:_LONGEST])
    return shape + _ELLIPSIS if len(text) > _LONGEST else shape


def preview(form: Form, columns: Sequence[ColumnKind], *, rows: int = ROWS) -> Rows:
    """The first rows of a log, masked, with a text for each of its columns or fields."""
    found = islice(_rows(form, [column.name for column in columns]), rows)
    return tuple(tuple(masked(value) for value in row) for row in found)


def _rows(form: Form, names: list[str]) -> Iterator[Sequence[str]]:
    if isinstance(form.table, Database):
        fields = [field_sql(path_of(name, form.table.columns)) for name in names]
        yield from form.table.first_rows(fields, ROWS)
    elif form.format == "parquet":
        yield from _of_parquet(form, names)
    elif form.format in ("jsonl", "ubi"):
        for values in first_objects(form):
            yield [values.get(name, "") for name in names]
    else:
        for line in first_lines(form):
            fields = split_fields(line, form.format, form.delimiter)
            if len(fields) == len(names):
                yield fields


def _of_parquet(form: Form, names: list[str]) -> list[tuple[str, ...]]:
    if not form.files:
        return []
    file = form.files[0]
    try:
        with reported(file), connected() as sql:
            table = sql.read_parquet(plain_glob(file), hive_partitioning=False)
            fields = ", ".join(field_sql(path_of(name, table.columns)) for name in names)
            return [tuple(map(_text, row)) for row in table.project(fields).limit(ROWS).fetchall()]
    except duckdb.Error:
        raise unreadable(file) from None  # DuckDB's message may quote the log


def _text(value: object) -> str:
    return "" if value is None else str(value)
