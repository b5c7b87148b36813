"""Every engine reads the same times, ranks and sessions, and writes the same rows of them."""

import json
from contextlib import closing
from datetime import UTC, datetime, timedelta

import duckdb
import numpy as np
import polars as pl
import pytest
from tests.rows_in_time import people
from tests.unit.engines.test_events import RANKS, TIMES

import slogan
from slogan import engines
from slogan.logs.searchlog import read

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

PERIOD = "2026-02-01/2026-02-28"
BEGIN = datetime(2026, 2, 1, tzinfo=UTC)
NAMES = ("user", "query", "url", "at", "rank", "sid")
COLUMNS = ("user", "pair", "query", "count", "second", "rank", "session")


def events_of(engine, log):
    with closing(engines.resolve(engine, log).start()) as host:
        host.count(log, unique_pairs=True, with_events=True)
        return host.events()


def assert_read_alike(spark, log):
    one, other = (events_of(engine, log) for engine in ("duckdb", spark))

    assert (one.users, one.days, one.weekday) == (other.users, other.days, other.weekday)
    for name in COLUMNS:
        mine, theirs = getattr(one, name), getattr(other, name)
        assert (mine is None) == (theirs is None), name
        assert mine is None or np.array_equal(mine, theirs), name
    return one


def written(folder, kind, rows):
    file = folder / f"log.{kind}"
    sign = {"tsv": "\t", "csv": ","}.get(kind, "")
    if kind == "jsonl":
        lines = [json.dumps(dict(zip(NAMES, row, strict=True))) for row in rows]
    else:
        lines = [sign.join(row) for row in (NAMES, *rows)]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.mark.parametrize("form", TIMES)
@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_hostile_times_ranks_and_sessions_are_read_alike(spark, tmp_path, kind, form):
    texts = [text for text in (*TIMES[form], *RANKS) if "," not in text]
    rows = [(f"u{i % 7}", f"q{i % 3}", "w" * (i % 4 > 0), t, t, t) for i, t in enumerate(texts)]
    rows += [("only searches", "q1", "", texts[0], "1", "s"), ("z", "", "w", texts[0], "1", "s")]
    log = read(
        written(tmp_path, kind, rows),
        count="none",
        time="at",
        rank="rank",
        session="sid",
        time_format=form,
        period="2006-03-01/2006-05-31",
        on_bad_row="skip",
    )

    found = assert_read_alike(spark, log)

    assert len({*found.second.tolist()}) >= 2
    assert (found.pair < 0).any()


@pytest.mark.parametrize("kind", ["TIMESTAMP", "TIMESTAMPTZ", "DATE", "BIGINT"])
def test_types_declare_times(spark, tmp_path, kind):
    values = ["2026-02-01 10:11:12.9", "2026-02-20 23:59:59", "1969-01-01", "2999-01-01"]
    moments = [f"TIMESTAMP '{v}'" for v in values]
    value = {"BIGINT": "epoch_ms(t)"}.get(kind, f"t::{kind}")
    rows = ", ".join(f"({i}, {m})" for i, m in enumerate(moments))
    duckdb.sql(
        f"""SELECT 100 + i::BIGINT AS user, 'q' AS query, 'w' AS url, {value} AS at,
                   i + 1 AS rank, i % 2 AS sid FROM (VALUES {rows}, (9, NULL)) v(i, t)"""
    ).write_parquet(str(tmp_path / "log.parquet"))
    form = {"time_format": "epoch-ms"} if kind == "BIGINT" else {}
    log = read(
        tmp_path / "log.parquet",
        count="none",
        time="at",
        rank="rank",
        session="sid",
        period=PERIOD,
        **form,
    )

    assert len({*assert_read_alike(spark, log).second.tolist()}) >= 4


def test_objects_of_json_are_neither_time_nor_rank(spark, tmp_path):
    values = [{"a": 1}, [2], None, 3, "4", 5.0, True]
    rows = [{"user": "u", "query": "q", "url": "w", "at": v, "rank": v, "sid": v} for v in values]
    file = tmp_path / "log.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    assert_read_alike(
        spark,
        read(
            file,
            count="none",
            time="at",
            rank="rank",
            session="sid",
            time_format="epoch",
            period="1970-01-01/1970-01-01",
        ),
    )


@pytest.fixture(scope="module")
def rows():
    """Rows of people who search, as integers."""
    _, made = people(400, pairs=12)
    columns = [getattr(made, n).tolist() for n in ("user", "pair", "query", "second", "rank")]
    return [
        (str(1000 + u), f"query {q}", "" if p < 0 else f"site{p}.example", s, r or "", s // 86400)
        for u, p, q, s, r in zip(*columns, strict=True)
    ]


def log_of(folder, kind, rows):
    moments = [BEGIN + timedelta(seconds=row[3]) for row in rows]
    if kind == "parquet":
        users, queries, urls, _, ranks, sessions = zip(*rows, strict=True)
        table = {
            "user": [int(user) for user in users],
            "query": queries,
            "url": [url or None for url in urls],
            "at": [moment.replace(tzinfo=None) for moment in moments],
            "rank": [rank or None for rank in ranks],
            "sid": sessions,
        }
        pl.DataFrame(table).write_parquet(folder / "log.parquet")
        file, form = folder / "log.parquet", {}
    else:
        texts = [f"{moment:%d/%b/%Y %I:%M %p}" for moment in moments]
        told = [
            (*row[:3], text, str(row[4]), str(row[5]))
            for row, text in zip(rows, texts, strict=True)
        ]
        file, form = written(folder, kind, told), {"time_format": "%d/%b/%Y %I:%M %p"}
    return read(file, count="none", time="at", rank="rank", session="sid", period=PERIOD, **form)


def released(folder):
    place = folder / "public"
    if (place / "log.parquet").is_dir():
        return pl.concat([pl.read_parquet(f) for f in sorted((place / "log.parquet").iterdir())])
    if (place / "log.parquet").is_file():
        return pl.read_parquet(place / "log.parquet")
    (log,) = place.glob("log.*")
    parts = sorted(log.iterdir()) if log.is_dir() else [log]
    header = log.suffix != ".jsonl"
    lines = [part.read_text().splitlines() for part in parts]
    return [*lines[0][:header], *(line for part in lines for line in part[header:])]


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet"])
def test_the_same_seed_makes_the_same_rows(spark, tmp_path, rows, kind, monkeypatch):
    monkeypatch.setattr("slogan.engines.spark.writing.ROWS_PER_PART", 200)
    log = log_of(tmp_path, kind, rows)
    found = {}
    for name, engine in (("duckdb", "duckdb"), ("spark", spark)):
        with slogan.synthesize(log, epsilon=6, delta="1e-3", seed=5, engine=engine) as release:
            release.save(tmp_path / name)
        found[name] = released(tmp_path / name)
        judged = slogan.verify(log, tmp_path / name)
        assert {check.name for check in judged.checks if not check.ok} == {"not_a_test_run"}
    log_files = tmp_path / "spark/public" / f"log.{kind}"

    assert len(list(log_files.iterdir())) > 1
    if kind == "parquet":
        assert found["duckdb"].equals(found["spark"])
        assert not found["spark"]["at"].has_nulls()
    else:
        assert found["duckdb"] == found["spark"]
    measured = [
        slogan.evaluate(log, tmp_path / "spark", engine=engine).to_dict()
        for engine in ("duckdb", spark)
    ]
    for name in ("times", "ranks", "sessions", "next_query", "trends"):
        assert measured[0][name] == measured[1][name], name
