"""Lines of UBI, most of them right, and what slogan makes of them."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from random import Random

import duckdb
from tests.fuzz.mutation import PIECES, mutated

from slogan.engines.duckdb import DuckDB
from slogan.logs.rows import source_sql, whole_lines
from slogan.logs.searchlog import read
from slogan.logs.ubi_sql import rows_sql
from slogan.verification import plain_reader
from slogan.verification.ubi import reader

PLACES = (1, 2, 3, 0, "4", 5.0, -1, None, [6])
TIMES = (
    *("2024-01-05T06:07:08Z", "2024-01-06T06:07:08.9+02:00", "2024-01-07", "2023-01-01T00:00:00Z"),
    *("1970-01-01T00:00:00Z", "2024-13-01T00:00:00Z", "", None, 1704067200, ["2024-01-01"]),
)
PERIOD = "2024-01-01/2024-01-31"
ACTIONS = ("click", "click", "click", "impression", "", None, 5)


def query(user, query_id, text, **more):
    return _line(client_id=user, query_id=query_id, user_query=text, **more)


def click(user, query_id, object_id, action="click", place=1, **more):
    attributes = {"object": {"object_id": object_id}, "position": {"ordinal": place}}
    event = {"action_name": action, "client_id": user, "query_id": query_id}
    return _line(**event, event_attributes=attributes, **more)


def _line(**values):
    return json.dumps(
        {name: value for name, value in values.items() if value is not None}, ensure_ascii=False
    ).encode()


def random_lines(rng: Random, n: int, *, mutants: float = 0.2) -> list[bytes]:
    """Lines of a few users who share query_ids, in any order."""
    lines: list[bytes] = []
    for _ in range(n):
        user = rng.choice((*"aaabbbccc", 7, 7.5, "", None, ["a"], {"id": 1}, "x" * 101))
        query_id = rng.choice((*"qrstuvwxyz", 7, "", None, ["q"]))
        text = rng.choice(("maps", "maps", "maps", "MAPS ", "été", "", None, ["maps"], "x" * 300))
        more = {
            "timestamp": rng.choice(TIMES),
            "session_id": rng.choice(("s", "t", 7, "", None, [1])),
        }
        more |= {"user_query": text} if rng.random() < 0.3 else {}
        thing = rng.choice(("o", "o", "http://O/", 12, 12, "", None, {"a": 1}, "y" * 257))
        line = (
            query(user, query_id, text, **{k: v for k, v in more.items() if k != "user_query"})
            if rng.random() < 0.5
            else click(user, query_id, thing, rng.choice(ACTIONS), place=rng.choice(PLACES), **more)
        )
        if rng.random() < 0.2:
            line = b'{"_index":"ubi","_source":' + line + b"}"
        if rng.random() < mutants:
            line = mutated(line, rng, rng.choice((1, 2)))
        elif rng.random() < mutants / 4:
            line = rng.choice(PIECES)
        lines.append(line.replace(b"\n", b" "))
    return [line for line in lines if line.strip(b"\r") and not _lenient(line)]


def _lenient(line: bytes) -> bool:
    """Whether readers disagree on what JSON the line is."""
    try:
        text, fault = plain_reader.text_of(line.removesuffix(b"\r"), "utf-8")
        _ = None if fault else plain_reader.json_object(text)
    except plain_reader.LenientError:
        return True
    return fault == plain_reader.NOT_TEXT


def written(folder, *files):
    """The files of a log, each of these lines."""
    paths = [folder / f"{n}.ubi.jsonl" for n in range(len(files))]
    for path, lines in zip(paths, files, strict=True):
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    return paths


def read_by_duckdb(files, **options):
    """How often each row, or the reason against it, is read."""
    log = read(files, on_bad_row="skip", **options)
    with duckdb.connect() as sql:
        source = source_sql(log, whole_lines(log, files[0].parent), keep_rejects=False)
        found = sql.execute(rows_sql(source, log)).fetchall()
    return Counter(reason or (user, text, url) for user, text, url, _, reason, _ in found)


def events_by_duckdb(files, **options):
    """How often each row is read, with its second, rank and session."""
    log = read(files, on_bad_row="skip", period=PERIOD, session="session_id", **options)
    with closing(DuckDB().start()) as host:
        host.count(log, with_events=True)
        rank = "0" if log.columns.rank is None else "rank"
        rows = host._sql.execute(f"""
            SELECT name, query, CASE WHEN search THEN '' ELSE url END, second, {rank}, session,
                   search
            FROM rows WHERE reason IS NULL OR search""").fetchall()
    return Counter(rows)


def events_read_plainly(files, **options):
    """The same, as verify reads it; it does not clamp times into the period."""
    log = read(files, on_bad_row="skip", period=PERIOD, session="session_id", **options)
    last = log.period.days * 86_400 - 1
    return Counter(
        (
            *(row.user, row.query, row.url),
            *(-1 if row.second is None else max(0, min(last, row.second)), row.rank or 0),
            *(row.session, row.is_search),
        )
        for row in reader.rows_of(log, with_events=True)
        if row.user is not None
    )


def read_plainly(files, **options):
    """The same, as verify reads it."""
    rows = reader.rows_of(read(files, on_bad_row="skip", **options))
    return Counter(row.reason or row[:3] for row in rows)
