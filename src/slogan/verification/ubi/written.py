"""The bytes of a released UBI log: two lines for each row, and nothing that is not computed."""

import hashlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import duckdb

from slogan.logs.files import open_bytes
from slogan.verification.comparison import Counted
from slogan.verification.events.written import order_of, values_of
from slogan.verification.ubi.reader import NO_TIME

_ESCAPES = {n: f"\\u{n:04X}" for n in range(32)} | {
    ord(sign): "\\" + letter for sign, letter in zip('"\\\b\f\n\r\t', '"\\bfnrt', strict=True)
}
"""How characters are written that JSON does not allow in a text as they are."""


def ubi_fault(sql: duckdb.DuckDBPyConnection, shown: Counted, released: Path) -> str | None:
    """Whether a released file has other bytes than its rows, written again in their order."""
    log, kinds = shown.log, dict.fromkeys(shown.log.columns.event_roles, "VARCHAR")
    events = dict.fromkeys(("time", "rank", "session"), "NULL") | values_of(log, kinds)
    values = ", ".join(['"user"', "query", "url", *events.values()])
    rows = sql.execute(f"SELECT {values} FROM shown_rows s ORDER BY {order_of(log)}")
    expected = _lines(rows, shown.log.columns.user, shown.log.click_actions[0])
    with open_bytes(released, shown.log.compression) as data:
        same = all(line == next(expected, None) for line in data)
    if same and next(expected, None) is None:
        return None
    return "writing the rows again, in order, gives other bytes"


def _lines(rows: duckdb.DuckDBPyConnection, user: str, action: str) -> Iterator[bytes]:
    n = 0
    while some := rows.fetchmany(10_000):
        for name, query, url, time, rank, session in some:
            n += 1
            digest = hashlib.sha256(f"{name}/{n}".encode()).hexdigest()
            shared = {user: name, "query_id": str(uuid.UUID(digest[:32]))}
            shared |= {} if session is None else {"session_id": session}
            timed = {"timestamp": time or NO_TIME}
            yield _line({**shared, "user_query": query, **timed})
            if url:
                attributes = {"object": {"object_id": url}, "position": {"ordinal": rank or 0}}
                event = {"action_name": action, **shared, **timed}
                yield _line({**event, "event_attributes": attributes})


def _line(values: dict[str, Any]) -> bytes:
    return _json(values).encode() + b"\n"


def _json(value: Any) -> str:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value).items()
        return "{" + ",".join(f"{_json(name)}:{_json(inside)}" for name, inside in fields) + "}"
    return f'"{value.translate(_ESCAPES)}"' if isinstance(value, str) else str(value)
