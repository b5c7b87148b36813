"""Neighbouring logs as files: a log with planted users, and the same without one of its users.

The user of a line is read from the line alone, without the engines' reader, which is under attack
too. A line that cannot be parsed belongs to no user and stays.
"""

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count, repeat
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import zstandard

from slogan.arrays import Ints
from slogan.engines.engine import Engine
from slogan.histogram import PairHistogram
from slogan.logs import searchlog
from slogan.logs.columns import EVENT_ROLES
from slogan.logs.files import field_sql, identifier, literal, open_bytes, parquet_schema
from slogan.logs.rows import parquet_sql
from slogan.logs.searchlog import SearchLog, declared_table
from slogan.logs.times import AUTO, TimeFormat
from slogan.storage.database import connected
from slogan.verification.comparison import fields_of
from slogan.verification.plain_reader import decoded

Row = tuple[str, str, str, int]
"""User-ID, query, url and clicks."""
Named = dict[str, Any]
"""The values of a row by the names of columns, with records inside those that have fields."""

_SHARED, _HELD = 1_000, 20
"""The number of planted pairs held by two planted users each, and of pairs per such user: few
enough to count in every regime of selection."""
_WIDE = 300
"""Pairs of a planted user who has more pairs than a user may contribute."""
_LADDER = 50
"""Pairs with 1, 2, …, 50 holders: a rule on the raw number of holders separates two of them."""
_CROWD, _EACH = 400, 6
"""Users who click one pair, and how often: its sum is above 2,000 after clipping."""
_MANY, _REPEATED = 1_000_000, 40
"""More clicks than any cap; in a log of events, where a row is a click, the number of rows."""
_BESIDE = (0, 1, 2, 3, 5, 7, 10, 15, 20, 50, 400)
"""Where one pair counts: numbers of users of a pair, who are joined by one more."""
_STEP = 1_000
"""The first of further pairs with 1, 2, … users each, of whom none is removed."""
_STRIDE, _RANKS = 40_009, 35
"""Seconds from a planted row of a user to the next one, and how many ranks such rows have."""
_DAY, _PLAIN = 86_400, "%Y-%m-%d %H:%M:%S"
_APART = 5
"""The number of lines between hostile ones."""
_FIRST_ID = 1_000
_ROLES = ("user", "query", "url", "count")


@dataclass(frozen=True, kw_only=True)
class Neighbour:
    """One user of a log with planted users, and that log without it."""

    name: str
    user: int
    """Its number in the larger log."""
    log: Callable[[Path], SearchLog]
    """Writes the log without it to a folder."""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A log with planted users, the neighbours to compare it with, and users who hold many pairs.

    Pairs of these users are pushed over the threshold when the noise is recorded.
    """

    log: SearchLog
    neighbours: tuple[Neighbour, ...]
    crowd: Ints


def on_disk(log: SearchLog, folder: Path) -> SearchLog:
    """The log as files: a table in memory becomes a Parquet file."""
    if log.table is None:
        return log
    file, table = folder / "table.parquet", declared_table(log)
    write = getattr(table, "sink_parquet", None) or getattr(table, "write_parquet", None)
    if write is not None:
        write(str(file))
    else:
        with connected() as sql:
            sql.register("source", table)
            sql.execute(f"COPY source TO {literal(str(file))} (FORMAT parquet)")
    return replace(log, table=None, files=(file,))


def planted(
    log: SearchLog, host: Engine, hist: PairHistogram, folder: Path, *, one: bool = False
) -> Experiment:
    """Plant users in an extra file; neighbours are the log without one of them or a heavy user.

    With `one`, only one pair of each user counts, so planted users crowd on few pairs.
    """
    names = user_names(host, hist, folder)
    clicks = _REPEATED if log.counts_events else _MANY
    users, canaries = (
        (_crowd_of_one(), _canaries_of_one(clicks)) if one else (_crowd(), _canaries(clicks))
    )
    known = dict(zip((*users, *canaries), _ids(log, len(users) + len(canaries)), strict=True))
    rows = {
        known[name]: [
            (known[name], f"planted query {pair}", f"www.planted{pair % 30}.example", n)
            for pair, n in held.items()
        ]
        for name, held in (canaries | users).items()
    }
    lines = {} if log.format == "parquet" else {name: _lines(log, rows[name]) for name in rows}

    def write(file: Path, gone: str | None = None) -> Path:
        if log.format == "parquet":
            _write_parquet(log, file, [r for name in rows if name != gone for r in rows[name]])
            return file
        with _packed(file, log) as target:
            if log.header and log.format != "jsonl":
                target.write(_header(log))
            target.write(b"".join(lines[name] for name in lines if name != gone))
        return file

    number = {name: n for n, name in enumerate(sorted((*names, *known.values()), key=str.encode))}
    beside = write(folder / f"planted{log.suffix}")

    def without_planted(gone: str, where: Path) -> SearchLog:
        return _described(log, write(where / f"planted{log.suffix}", gone), *log.files)

    def without_real(gone: str, where: Path) -> SearchLog:
        return _described(log, beside, *_without(log, gone, where))

    def neighbour(name: str, gone: str, log_of: Callable[[str, Path], SearchLog]) -> Neighbour:
        return Neighbour(name=name, user=number[gone], log=lambda where: log_of(gone, where))

    # the user with most clicks may also be the one with most pairs, who is then listed once
    heavy = {
        int(np.bincount(hist.user, hist.count).argmax()): "most clicks of the log",
        int(np.bincount(hist.user, minlength=hist.users).argmax()): "most pairs of the log",
    }
    return Experiment(
        log=_described(log, beside, *log.files),
        neighbours=(
            *(neighbour(name, known[name], without_planted) for name in canaries),
            *(neighbour(name, names[user], without_real) for user, name in heavy.items()),
        ),
        crowd=np.array(sorted(number[known[name]] for name in users)),
    )


def hostile(log: SearchLog, host: Engine, hist: PairHistogram, folder: Path) -> Experiment:
    """The log with lines of one user that a careless reader reads as more than one line each.

    Bad rows are skipped. The neighbour is the log as it is.
    """
    names = user_names(host, hist, folder)
    number = next(n for n in count(_FIRST_ID) if f"{n}.0" not in set(names))
    lines = _hostile_lines(log, number)
    larger = folder / f"hostile{log.suffix}"
    with open_bytes(log.files[0], log.compression) as source, _packed(larger, log) as target:
        target.write(source.readline() if log.header and log.format != "jsonl" else b"")
        waiting = iter(lines)
        for place, line in enumerate(source):
            if place % _APART == 0:
                target.write(next(waiting, b""))
            target.write(line if line.endswith(b"\n") else line + b"\n")
        target.write(b"".join(waiting))
    skipping = replace(log, skip_bad_rows=True)
    user = sum(name.encode() < f"{number}.0".encode() for name in names)
    return Experiment(
        log=_described(skipping, larger, *log.files[1:]),
        neighbours=(
            Neighbour(
                name="hostile lines", user=user, log=lambda _: _described(skipping, *log.files)
            ),
        ),
        crowd=np.zeros(0, dtype=np.int64),
    )


def user_names(host: Engine, hist: PairHistogram, folder: Path) -> list[str]:
    """The IDs of all users, by their numbers, which follow the order of the texts."""
    file = folder / "users.parquet"
    host.write_users(np.arange(hist.users), file)
    with connected() as sql:
        rows = sql.execute(f'SELECT "user"::VARCHAR FROM {parquet_sql(file)}').fetchall()
    return sorted((name for (name,) in rows), key=str.encode)


# --- Planted users ---


def _crowd() -> dict[str, dict[int, int]]:
    """Users who make planted pairs selectable: pairs and clicks, by name."""
    ladder, heavy = range(_SHARED, _SHARED + _LADDER), _SHARED + _LADDER
    sharing = {
        f"holder {n}": range(n * _HELD % _SHARED, n * _HELD % _SHARED + _HELD)
        for n in range(2 * _SHARED // _HELD)
    }
    steps = {f"step {n}": range(ladder[n], ladder.stop) for n in range(_LADDER)}
    wide = {f"wide {n}": range(n * _WIDE // 3, n * _WIDE // 3 + _WIDE) for n in range(3)}
    held = {name: dict.fromkeys(pairs, 1) for name, pairs in (sharing | steps | wide).items()}
    return held | {f"one of a crowd {n}": {heavy: _EACH} for n in range(_CROWD)}


def _canaries(clicks: int) -> dict[str, dict[int, int]]:
    """Worst cases for privacy."""
    everything, own = range(_SHARED + _LADDER), _SHARED + _LADDER + 1
    return {
        "1,000 pairs of S and all rare ones": dict.fromkeys(everything, 1),
        "1,000 heavy pairs of S": dict.fromkeys(reversed(everything[:_SHARED]), clicks),
        "100 heavy pairs of S": dict.fromkeys(everything[50:150], clicks),
        "13 heavy pairs of S": dict.fromkeys(everything[7:20], clicks),
        "1 heavy pair of S": {everything.stop: clicks},
        "clicks outside S only": dict.fromkeys(range(own, own + 200), clicks),
    }


def _crowd_of_one() -> dict[str, dict[int, int]]:
    """Users with one pair each: 0 to 400 of them on a pair, beside the canary."""
    beside = {f"{n} of {k} on a pair": {k: 1} for k in _BESIDE for n in range(k)}
    steps = {f"{n} of {k} on a step": {_STEP + k: 1} for k in range(1, _LADDER) for n in range(k)}
    return beside | steps


def _canaries_of_one(clicks: int) -> dict[str, dict[int, int]]:
    """One more user of each of these pairs, and users of many pairs."""
    own = _STEP + _LADDER
    return {f"one more user than {k}": {k: 1} for k in _BESIDE} | {
        "all pairs, a million clicks each": dict.fromkeys(
            (*_BESIDE, *range(_STEP + 1, own)), clicks
        ),
        "300 pairs that only it has": dict.fromkeys(range(own, own + 300), 1),
    }


def _ids(log: SearchLog, n: int) -> list[str]:
    """IDs that fit the declared type of the user column."""
    column, *inside = log.columns.path(log.columns.user)
    kind = dict(parquet_schema(log.files[0]))[column] if log.format == "parquet" else ""
    for field in inside if kind else ():
        kind = fields_of(kind)[field]
    if kind == "UUID":
        return [f"00000000-0000-4000-8000-{i:012d}" for i in range(n)]
    text = kind in ("", "VARCHAR", "BLOB")
    return [f"slogan-audit-{i}" if text else str(2_000_000_000 + i) for i in range(n)]


# --- Files ---


def _described(log: SearchLog, *files: Path) -> SearchLog:
    """Other files, read with the declared columns and options of the log."""
    known, names = log.columns, log.columns.names
    named = known.filled(EVENT_ROLES).values()
    declared = tuple(dict.fromkeys(known.path(name)[0] for name in named))
    listed = names != declared if log.format == "jsonl" else not log.header
    return searchlog.read(
        list(files),
        format=log.format,
        user=known.user,
        query=known.query,
        url=known.url or "none",
        count=known.count or "none",
        time=known.time or "none",
        rank=known.rank or "none",
        session=known.session or "none",
        period=log.period,
        time_format=log.time_format,
        columns=names if listed and log.format not in ("parquet", "ubi") else None,
        delimiter=log.delimiter or None,
        encoding=log.encoding,
        searches=log.searches,
        fold=log.fold,
        click_action=",".join(log.click_actions) or None,
        on_bad_row="skip" if log.skip_bad_rows else "error",
    )


def _lines(log: SearchLog, rows: list[Row]) -> bytes:
    """Rows in the log's own format; other columns are empty."""
    if log.format == "ubi" and log.columns.url is not None:
        # Everybody has the same query_id for a query.
        named = _named(log, rows)
        return b"".join(_line_of_ubi(log, row, f"of {row[log.columns.query]}") for row in named)
    return b"".join(_line(log, row) for row in _named(log, rows))


def _write_parquet(log: SearchLog, file: Path, rows: list[Row]) -> None:
    values = [_values(log, row, n) for n, row in enumerate(_repeated(log, rows))]
    arrays = {
        role: np.array([str(row[role]) for row in values], dtype=object)
        for role in (*_ROLES, *log.columns.event_roles)
    }
    values = _by_name(log, {role: f"planted.{identifier(role)}" for role in arrays})
    columns = ", ".join(f"{_record(v)} AS {identifier(name)}" for name, v in values.items())
    with connected() as sql:
        sql.execute(f"CREATE TABLE t AS FROM {parquet_sql(*log.files[:1])} LIMIT 0")
        sql.register("planted", arrays)
        sql.execute(f"INSERT INTO t BY NAME SELECT {columns} FROM planted")
        sql.execute(f"COPY t TO {literal(str(file))} (FORMAT parquet)")


def _record(value: Any) -> str:
    """SQL of a value, or of a record of values."""
    if isinstance(value, str):
        return value
    return f"{{{', '.join(f'{literal(field)}: {_record(v)}' for field, v in value.items())}}}"


def _repeated(log: SearchLog, rows: list[Row]) -> Iterator[Row]:
    """The rows; in a log of events, one for each click."""
    for row in rows:
        yield from repeat(row, row[3] if log.counts_events else 1)


def _named(log: SearchLog, rows: list[Row]) -> Iterator[Named]:
    for n, row in enumerate(_repeated(log, rows)):
        yield _by_name(log, _values(log, row, n))


def _values(log: SearchLog, row: Row, n: int) -> Named:
    """The values of a user's row n by their roles: times all over the period, and any rank."""
    values: Named = dict(zip(_ROLES, row, strict=True))
    if log.period is not None:
        moment = log.period.begin + n * _STRIDE % (log.period.days * _DAY)
        form = TimeFormat(log.time_format if log.time_format != AUTO else _PLAIN)
        written = datetime.fromtimestamp(moment, UTC).strftime(form.written)
        values["time"] = moment * form.units if form.numeric else written
    return values | {"rank": 1 + n % _RANKS, "session": n // _RANKS}


def _by_name(log: SearchLog, values: dict[str, Any]) -> Named:
    """The values of the roles by the names of columns, and of the fields inside them."""
    named: Named = {}
    for role, name in log.columns.filled(EVENT_ROLES).items():
        if role not in values:
            continue
        *records, field = log.columns.path(name)
        place = named
        for record in records:
            place = place.setdefault(record, {})
        place[field] = values[role]
    return named


def _header(log: SearchLog) -> bytes:
    """The header line of the log's own files."""
    with open_bytes(log.files[0], log.compression) as source:
        return source.readline().rstrip(b"\r\n") + b"\n"


def _line(log: SearchLog, row: Named) -> bytes:
    if log.format == "jsonl":
        return json.dumps(row).encode() + b"\n"
    if log.format == "ubi":
        return _line_of_ubi(log, row)
    text = io.StringIO()
    fields = [str(row.get(name, "")) for name in log.columns.names]
    if log.format == "tsv":
        return "\t".join(fields).encode() + b"\n"
    csv.writer(text, delimiter=log.delimiter, lineterminator="\n").writerow(fields)
    return text.getvalue().encode()


def _line_of_ubi(log: SearchLog, row: Named, query_id: str | None = None) -> bytes:
    """A click with its query beside it, or in a line before; a search, where nothing is clicked."""
    known = log.columns
    shared = {known.user: row[known.user]} | ({"query_id": query_id} if query_id else {})
    shared |= {name: row[name] for name in (known.time, known.session) if name in row}
    words = {known.query: row[known.query]}
    if known.url is None:
        return json.dumps(shared | words).encode() + b"\n"
    position = {"ordinal": row.get(known.rank or "", 1)}
    attributes = {"object": {"object_id": row[known.url]}, "position": position}
    event = {"action_name": log.click_actions[0], **shared, "event_attributes": attributes}
    if query_id is None:
        return json.dumps(event | words).encode() + b"\n"
    return f"{json.dumps(shared | words)}\n{json.dumps(event)}\n".encode()


def _without(log: SearchLog, gone: str, folder: Path) -> tuple[Path, ...]:
    """Copies of the log's files without the lines of one user."""
    copies = tuple(folder / f"{n}-without{log.suffix}" for n in range(len(log.files)))
    for file, copy in zip(log.files, copies, strict=True):
        if log.format == "parquet":
            user = field_sql(log.columns.path(log.columns.user))
            target = literal(str(copy))
            rows = (
                f"FROM {parquet_sql(file)} WHERE {user}::VARCHAR IS DISTINCT FROM {literal(gone)}"
            )
            with connected() as sql:
                sql.execute(f"COPY ({rows}) TO {target} (FORMAT parquet)")
            continue
        with open_bytes(file, log.compression) as source, _packed(copy, log) as target:
            for line in source:
                if _owner(log, line) != gone:
                    target.write(line)
    return copies


def _owner(log: SearchLog, line: bytes) -> str | None:
    """The user of a line."""
    try:
        text = decoded(line, log.encoding).rstrip("\r\n")
        if log.format in ("jsonl", "ubi"):
            value = json.loads(text, parse_int=str, parse_float=str)
            if log.format == "ubi" and isinstance(value.get("_source"), dict):
                value = value["_source"]
            for field in log.columns.path(log.columns.user):
                value = value[field]
            return value if isinstance(value, str) else None
        fields = (
            text.split("\t")
            if log.format == "tsv"
            else next(csv.reader([text], delimiter=log.delimiter, strict=True))
        )
        return fields[log.columns.names.index(log.columns.user)]
    except (ValueError, LookupError, TypeError, AttributeError, StopIteration, csv.Error):
        return None


def _packed(file: Path, log: SearchLog) -> IO[bytes]:
    if log.compression == ".gz":
        return cast("IO[bytes]", gzip.open(file, "wb", compresslevel=1))
    if log.compression == ".zst":
        return cast("IO[bytes]", zstandard.open(file, "wb"))
    return file.open("wb")


def _hostile_lines(log: SearchLog, number: int) -> list[bytes]:
    """Lines of one user: some are rows, some are not, and none may affect another line."""

    def line(beside: Named | None = None, **values: Any) -> bytes:
        usual = {"user": f"{number}.0", "query": "planted", "url": "planted.example", "count": 1}
        named = _by_name(log, usual | values)
        if log.format == "ubi" and beside:
            return json.dumps(json.loads(_line(log, named)) | beside).encode() + b"\n"
        return _line(log, named | (beside or {}))

    plain, forged = line(), line(user="slogan-audit-forged")
    first, tail = plain[:-1], ()
    if log.format in ("jsonl", "ubi"):
        more, nested = line({"planted": "yes"}, query='"'), line(user={"planted": [1]})
        odd = (more, line(user=float(number)), nested, first[:-8] + b"\n")
        tail = (b"[" + plain, b'"\n', b"{\n")
    else:
        sign = log.delimiter.encode()
        opened = plain.replace(sign, sign + b'"', 1)
        # a quote that opens in one line and closes in a later one, which a reader may join
        second = plain.replace(b"planted" + sign, b'planted"' + sign, 1)
        odd = (opened, second, opened, first + sign + b"x\n", b'"\n', b"\\N\n", first + b"\\\n")
        tail = () if log.format == "tsv" else (b'"' + plain,)
    mark = plain.replace(b"planted", b"\xef\xbb\xbfplanted", 1)
    broken = (first + b"\r" + forged, mark, first + b"\0\n", first + b"\xc3\n")
    return [*odd, *broken, *tail, plain]
