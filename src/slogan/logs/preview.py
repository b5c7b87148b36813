"""Preview: the shape of the first rows, so that a person recognises columns without reading rows.

Letters become x and digits 9. Lengths and punctuation stay. It is for the curator alone.
"""

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import cast

import duckdb

from slogan.logs.databases import Database
from slogan.logs.files import plain_glob, reported, unreadable
from slogan.logs.header import first_lines
from slogan.logs.searchlog import Form, Schema
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


def preview(form: Form, schema: Schema, *, rows: int = ROWS) -> Rows:
    """The first rows of a log, masked, with a text for each column of the schema."""
    found = islice(_rows(form, schema), rows)
    return tuple(tuple(masked(value) for value in row) for row in found)


def _rows(form: Form, schema: Schema) -> Iterator[Sequence[str]]:
    if isinstance(form.table, Database):
        yield from form.table.first_rows(ROWS)
    elif form.format == "parquet":
        yield from _of_parquet(form)
    elif form.format in ("jsonl", "ubi"):
        names = [name for name, _ in schema]
        yield from (_fields(line, names) for line in first_lines(form))
    else:
        for line in first_lines(form):
            fields = split_fields(line, form.format, form.delimiter)
            if len(fields) == len(schema):
                yield fields


def _of_parquet(form: Form) -> list[tuple[str, ...]]:
    if not form.files:
        return []
    file = form.files[0]
    try:
        with reported(file), connected() as sql:
            table = sql.read_parquet(plain_glob(file), hive_partitioning=False)
            return [tuple(map(_text, row)) for row in table.limit(ROWS).fetchall()]
    except duckdb.Error:
        raise unreadable(file) from None  # DuckDB's message may quote the log


def _fields(line: str, names: Sequence[str]) -> tuple[str, ...]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    values = cast("dict[str, object]", row) if isinstance(row, dict) else {}
    return tuple(_text(values.get(name)) for name in names)


def _text(value: object) -> str:
    return "" if value is None else str(value)
