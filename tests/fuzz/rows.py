"""Rows of every text format, most of them wrong in one way, and what DuckDB makes of them."""

from __future__ import annotations

import json
from random import Random

import duckdb
from tests.fuzz.mutation import PIECES, mutated

from slogan.logs.rows import fields_of, rows_sql, source_sql, whole_lines
from slogan.logs.searchlog import read

NAMES = ("user", "query", "url", "count")
HEADERS = {
    "tsv": b"user\tquery\turl\tcount",
    "csv": b"user,query,url,count",
    "jsonl": b"",
}
GOOD = {
    "user": ("7", "8", "anna", "00", "6fa459ea-ee8a-3ca4", "9 "),
    "query": ("maps", "cheap flights", "été", "😀", "it's", "a;b", "x" * 300, "=cmd|'/C calc'!A0"),
    "url": ("www.a.com", "http://b.org/?q=%20", "c", "//d"),
    "count": ("1", "2", "17", "3.0", "1e2", "9007199254740991"),
}
BAD_COUNTS = (
    *("", "0", "-1", "-0", "1.5", "nan", "inf", "-inf", "many", "1,5", "0x10", "1_000", "1__0"),
    *("9007199254740992", "1e400", "1e-400", " 4 ", "+5", "5.", ".5e1", "1e", "e1", "--1", "٣"),
    *("0_000_000_000_000_000_017", "49_4_836630080084000", "0" * 40 + "_" + "0" * 40 + "7", "+-5"),
    *("1 2", "1e+2", "1E2", "_1", "1_", "9" * 400, "0" * 400 + "1", "true", "NULL", "\u00a01"),
)


def batch(kind: str, rows: int, rng: Random, sign: str = ",") -> bytes:
    """A file of this many rows: good ones, ones with a wrong value, and broken lines."""
    ends = rng.choice(((b"\n",), (b"\n",), (b"\r\n",), (b"\n", b"\r\n")))
    first = _first(kind, rng, sign)
    made = [_row(kind, rng, sign) for _ in range(rows)]
    header = [HEADERS[kind].replace(b",", sign.encode())] if HEADERS[kind] else []
    whole = b"".join(line + rng.choice(ends) for line in [*header, first, *made])
    return whole if rng.random() < 0.5 else whole.rstrip(b"\r\n")


def _first(kind: str, rng: Random, sign: str) -> bytes:
    fields = [GOOD[name][0] for name in NAMES]
    if kind == "jsonl":
        # Its keys are the columns, and a log is refused whose columns have no names.
        return json.dumps(dict(zip(NAMES, fields, strict=True))).encode()
    return _line(kind, fields, rng, sign)


def _row(kind: str, rng: Random, sign: str) -> bytes:
    fields = [rng.choice(GOOD[name]) for name in NAMES]
    chance = rng.random()
    if chance < 0.3:
        fields[3] = rng.choice(BAD_COUNTS)
    elif chance < 0.5:
        fields[rng.randrange(4)] = rng.choice(PIECES).decode(errors="ignore")
    elif chance < 0.55:
        fields[rng.randrange(4)] = ""
    line = _line(kind, fields, rng, sign)
    if rng.random() < 0.35:
        line = mutated(line, rng, rng.choice((1, 1, 2, 4)))
    return line


def _line(kind: str, fields: list[str], rng: Random, sign: str) -> bytes:
    if kind == "jsonl":
        values: dict[str, object] = dict(zip(NAMES, fields, strict=True))
        if rng.random() < 0.5 and fields[3].isascii() and fields[3].isdigit():
            values["count"] = int(fields[3])
        if rng.random() < 0.1:
            values[rng.choice(NAMES)] = rng.choice((None, True, 12, [1, "a"], {"a": None}))
        if rng.random() < 0.1:
            values[rng.choice(("more", "user ", "User", ""))] = "x"
        return json.dumps(values, ensure_ascii=rng.random() < 0.5).encode(errors="replace")
    if kind == "csv":
        quoted = [rng.random() < 0.3 or set(f) & {*sign, *'"\r\n'} for f in fields]
        cells = zip(fields, quoted, strict=True)
        return sign.join('"' + f.replace('"', '""') + '"' if q else f for f, q in cells).encode()
    return "\t".join(fields).encode()


def lines_of(data: bytes) -> list[bytes]:
    """Every line that is not empty; a return before its end is part of it."""
    return [line for part in data.split(b"\n") if (line := part.removesuffix(b"\r"))]


def read_by_duckdb(file, **options):
    """Each row as slogan's SQL reads it, in order, and the lines the reader gave up on."""
    log = read(file, on_bad_row="skip", **options)
    with duckdb.connect() as sql:
        sql.execute("SET threads = 1; SET enable_progress_bar = false")
        source = source_sql(log, whole_lines(log, file.parent), keep_rejects=True)
        found = sql.execute(rows_sql(source, fields_of(log))).fetchall()
        lines = sql.execute("SELECT DISTINCT line FROM reject_errors ORDER BY line").fetchall()
    rows = [reason or (user, query, url, clicks) for user, query, url, clicks, reason in found]
    return rows, [line for (line,) in lines]
