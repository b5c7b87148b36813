"""Write seeded made-up click logs with the shape of the paper's Table 3."""

import math
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import numpy as np

from slogan.arrays import Ints
from slogan.errors import InputError, StorageError
from slogan.generation.crowd import (
    SEARCHES_PER_CHUNK,
    Crowd,
    anon_id,
    chance,
    draw_clicks,
    draw_crowd,
    floor,
    seconds,
)
from slogan.generation.events import BEGINS, draw_events
from slogan.generation.ubi import LINES, searches
from slogan.generation.vocabulary import text_macros
from slogan.progress import Progress, shown
from slogan.storage.atomic import check_outside_releases
from slogan.storage.database import connected, reason
from slogan.storage.folders import scratch_folder

FORMATS = ("tsv", "csv", "jsonl", "parquet", "aol", "ubi")

_FORMAT_OF_SUFFIX = {
    ".aol.tsv": "aol",
    ".txt": "aol",
    ".ubi.jsonl": "ubi",
    **{f".{name}": name for name in FORMATS[:4]},
}
_COMPRESSIONS = {".gz": ", COMPRESSION gzip", ".zst": ", COMPRESSION zstd"}
_COPY_OPTIONS = {
    "tsv": "FORMAT csv, HEADER, DELIMITER '\t'",
    "csv": "FORMAT csv, HEADER",
    "jsonl": "FORMAT json",
    "parquet": "FORMAT parquet, COMPRESSION zstd",
    "aol": "FORMAT csv, HEADER, DELIMITER '\t'",
    "ubi": "FORMAT csv, HEADER false, QUOTE '', ESCAPE ''",
}
_TRIPLETS = 'SELECT "user", query_text(query) AS query, url_text(url) AS url, "count" FROM numbers'
_TIME = f"""TIMESTAMP '{BEGINS}' + to_seconds("time")"""
_RANK, _URL = """nullif("rank", 0)""", """CASE WHEN "rank" > 0 THEN url_text(url) END"""
_AOL = f"""
SELECT "user" AS "AnonID", query_text(query) AS "Query", {_TIME} AS "QueryTime",
       {_RANK} AS "ItemRank", {_URL} AS "ClickURL"
FROM numbers"""
_EVENTS = f"""
SELECT "user", query_text(query) AS query, {_URL} AS url, {_TIME} AS "time", {_RANK} AS "rank",
       "user" || '-' || "session" AS "session"
FROM numbers"""

_IDLE_PAGES = 0.5


def generate(
    target: str | Path,
    *,
    users: int = 2_500,
    seed: int = 0,
    format: str | None = None,
    clicks_per_user: float = 95.1,
    events: bool = False,
    progress: Progress | bool | None = None,
) -> None:
    """Write a synthetic click log; the same arguments give the same bytes.

    The defaults give a log like the paper's: 237,786 clicks of 2,500 users.
    The log is drawn as numbers into a private DuckDB file, and spelt out when copied to the target.

    Args:
        target: The file to write or replace; its suffixes say format and compression.
        users: The number of users; each clicks at least once.
        seed: Any integer.
        format: One of `FORMATS`, where the name of the target does not say.
        clicks_per_user: The mean number of clicks of a user.
        events: Whether to write each click and each search without a click, with time, rank and
            session: sessions about a topic, hours and weekdays, days on which some queries are
            popular, and lower ranks clicked less. The clicks are those of the log without events.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    target = Path(target)
    kind, compression = _kind(target, given=format)
    _check(target, users=users, clicks_per_user=clicks_per_user)
    crowd = draw_crowd(users, seed=seed, clicks_per_user=clicks_per_user)
    with _clearly(target), shown(progress) as on_progress, scratch_folder(target.parent) as private:
        written = private / "log"
        with connected(private / "numbers.duckdb", spill=private) as connection:
            # One thread: the order of rows, and so the bytes, must not depend on the machine.
            connection.execute("SET threads = 1; SET memory_limit = '800MB'")
            connection.execute(text_macros())
            _draw(connection, crowd, _columns(kind, events=events), on_progress)
            source = {"aol": _AOL, "ubi": LINES}.get(kind, _EVENTS if events else _TRIPLETS)
            _spell(connection, source, written, _COPY_OPTIONS[kind] + compression)
        written.replace(target)


def _kind(target: Path, *, given: str | None) -> tuple[str, str]:
    """The format, and DuckDB's option for the compression."""
    name = target.name.lower()
    suffix = next((s for s in _COMPRESSIONS if name.endswith(s)), "")
    plain = name.removesuffix(suffix)
    found = given or next((f for s, f in _FORMAT_OF_SUFFIX.items() if plain.endswith(s)), None)
    if found not in FORMATS:
        raise InputError(
            f"{given!r} is not a format of a log"
            if given
            else f"no format is known for {target.name}",
            hint=f"give --format, one of: {', '.join(FORMATS)}",
        )
    if suffix and found == "parquet":
        raise InputError(
            f"a Parquet file is compressed inside, not by {suffix}",
            hint=f"leave {suffix} out of the name",
        )
    return found, _COMPRESSIONS.get(suffix, "")


def _check(target: Path, *, users: int, clicks_per_user: float) -> None:
    if users < 1:
        raise InputError(
            f"a log needs at least one user, got {users}", hint="the paper's log has 2500"
        )
    if not (math.isfinite(clicks_per_user) and clicks_per_user >= 1):
        raise InputError(
            f"each user clicks at least once, got {clicks_per_user} clicks per user",
            hint="the paper's log has 95.1",
        )
    check_outside_releases(target)
    if target.is_dir() or not target.parent.is_dir():
        raise InputError(
            f"no file can be written at {target}", hint="name a file in a directory that exists"
        )


@contextmanager
def _clearly(target: Path) -> Generator[None]:
    """Report a full disk in the same words, whether DuckDB or Python notices it."""
    try:
        yield
    except (duckdb.OperationalError, OSError) as cause:
        if isinstance(cause, OSError):
            problem = cause.strerror or str(cause)
        elif isinstance(cause, duckdb.OutOfMemoryException):
            problem = "neither memory nor the disk is large enough"
        elif (problem := reason(cause)) is None:  # that is not what went wrong
            raise
        raise StorageError(
            f"no log can be written to {target}: {problem}",
            hint="make room for twice the log, or name a file on another disk",
        ) from cause


def _columns(kind: str, *, events: bool) -> Callable[[Crowd, int, int], dict[str, Ints]]:
    """What draws the columns of some users; UBI has events in any case."""
    if kind == "ubi":
        return searches
    if events:
        return _events
    return _unrelated_events if kind == "aol" else _triplets


def _draw(
    connection: duckdb.DuckDBPyConnection,
    crowd: Crowd,
    columns: Callable[[Crowd, int, int], dict[str, Ints]],
    progress: Progress,
) -> None:
    for first, last in crowd.chunks(SEARCHES_PER_CHUNK):
        connection.register("chunk", columns(crowd, first, last))
        connection.execute("CREATE TABLE IF NOT EXISTS numbers AS SELECT * FROM chunk LIMIT 0")
        connection.execute("INSERT INTO numbers SELECT * FROM chunk")
        connection.unregister("chunk")
        users = len(crowd.searches)
        progress("generate", f"{last:,} of {users:,} users", last / users)


def _spell(connection: duckdb.DuckDBPyConnection, source: str, written: Path, options: str) -> None:
    path = str(written.absolute()).replace("'", "''")
    connection.execute(f"COPY ({source}) TO '{path}' ({options})")


def _triplets(crowd: Crowd, begin: int, end: int) -> dict[str, Ints]:
    """One row for each user and pair, in the order of their first clicks."""
    clicks = draw_clicks(crowd, begin, end)
    first = seconds(crowd, clicks, nth=np.zeros_like(clicks.user))
    rows = clicks.at(np.lexsort((first, clicks.user)))
    user = anon_id(crowd, rows.user)
    return {"user": user, "query": rows.query, "url": rows.url, "count": rows.count}


def _events(crowd: Crowd, begin: int, end: int) -> dict[str, Ints]:
    rows = draw_events(crowd, begin, end)
    user = anon_id(crowd, rows.user)
    numbers = {"user": user, "query": rows.query, "time": rows.searched, "rank": rows.rank}
    return {**numbers, "url": rows.url, "session": rows.session}


def _unrelated_events(crowd: Crowd, begin: int, end: int) -> dict[str, Ints]:
    """One row for each click, and some for pages on which nothing was clicked (rank 0)."""
    each, nth = draw_clicks(crowd, begin, end).one_by_one()
    time = seconds(crowd, each, nth=nth)
    page = crowd.person(each.user) ^ time.astype(np.uint64)
    idle = np.flatnonzero(chance(page, "idle") < _IDLE_PAGES)
    # A page without a click comes a little before one with a click.
    earlier = time[idle] - 5 - floor(chance(page[idle], "earlier") * 90)
    row = np.concatenate((np.arange(len(time)), idle))
    when = np.concatenate((time, np.maximum(0, earlier)))
    rank = np.concatenate((each.rank, np.zeros_like(idle)))
    rows = each.at(row)
    order = np.lexsort((rank, rows.url, rows.query, when, rows.user))
    rows = rows.at(order)
    user = anon_id(crowd, rows.user)
    numbers = {"user": user, "query": rows.query, "time": when[order]}
    return {**numbers, "rank": rank[order], "url": rows.url}
