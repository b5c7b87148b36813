"""Time, rank and session as integers: each row by itself, and as the plain reader reads it."""

import json
from contextlib import closing
from datetime import date

import duckdb
import numpy as np
import pytest

from slogan import engines
from slogan.engines.events import event_types, to_write
from slogan.errors import OptionError
from slogan.histogram import MadeEvents, Output
from slogan.logs.searchlog import read
from slogan.verification.events.reader import Clock, rank_of
from slogan.verification.plain_reader import rows_of

PERIOD = "2006-03-01/2006-05-31"
LAST = 92 * 86_400 - 1
TIMES = {
    "iso": [
        *("2006-03-01T10:00:00Z", "2006-03-01 10:00:00.999", "2006-03-01t10:00:00+14:00"),
        *(
            "2006-03-01T10:00:00-14:00",
            "2006-03-01T10:00+0530",
            "2006-04-01",
            "2006-04-01T23:59:60",
        ),
        *("9999-12-31T23:59:59", "0001-01-01T00:00:00", "0000-01-01T00:00:00", "2006-02-29"),
        *("2006-04-31", "2006-04-01T24:00:00", "2006-04-01T10:60:00", "2006-04-01T10:00:61"),
        *("2006-04-01T10:00:00+15:00", "2006-4-1", " 2006-04-01", "2006-04-01 ", "10000-01-01"),
        *("-2006-04-01", "٢٠٠٦-٠٤-٠١", "２００６-04-01", "2006-04-01T10", "2006-04-01T1:00:00"),
        *("2006-04-01Z", "2006-04-01T10:00:00.", "x" * 1000, "", "NULL", "infinity", "2006-04-01x"),
    ],
    "epoch": [
        *("1141207200", "1141207200.9", "-1", "0", "999999999999999", "-999999999999999", "1e9"),
        *(
            "9" * 30,
            "1_141_207_200",
            "+1141207200",
            " 1141207200",
            "١١٤١٢٠٧٢٠٠",
            "1141207200.x",
            ".",
        ),
    ],
    "epoch-ms": ["1141207200999", "-1500", "-1", "1144000000000.5", "9" * 16],
    "%d/%b/%Y:%H:%M:%S": [
        *("31/Mar/2006:01:02:03", "31/MAR/2006:01:02:03", "31/Apr/2006:01:02:03"),
        *("1/Mar/2006:01:02:03", "31/Mar/2006:01:02:03 +0000", "31/arA/2006:01:02:03"),
    ],
    "%m/%d/%Y %I:%M %p": [
        *("03/05/2006 12:00 AM", "03/05/2006 12:00 PM", "03/05/2006 11:59 PM"),
        *("03/05/2006 13:00 PM", "03/05/2006 00:10 AM", "03/05/2006 11:59 pm"),
    ],
}
RANKS = ["1", "1.0", "007", "0", "-1", "1.5", "999999999", "1000000000", "1e1", "١", "", "x" * 1000]


def opened(log):
    host = engines.resolve("duckdb", log).start()
    host.count(log, unique_pairs=True, with_events=True)
    return closing(host)


def clamped(second):
    return -1 if second is None else max(0, min(second, LAST))


def written(folder, kind, rows, names=("user", "query", "url", "at", "rank", "sid")):
    file = folder / f"log.{kind}"
    if kind == "jsonl":
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
    else:
        sign = {"tsv": "\t", "csv": ","}[kind]
        lines = [sign.join(names), *(sign.join(row) for row in rows)]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.mark.parametrize("form", TIMES)
@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_hostile_times_are_read_as_by_the_plain_reader(tmp_path, kind, form):
    times = [text for text in TIMES[form] if "," not in text]
    rows = [(f"u{i:03}", "q", "w", text, "1", "s") for i, text in enumerate(times)]
    file = written(tmp_path, kind, rows)
    log = read(file, count="none", time="at", time_format=form, period=PERIOD)
    clock = Clock(form, date(2006, 3, 1))

    with opened(log) as host:
        second = host.events().second.tolist()

    assert second == [clamped(clock.second(text)) for text in times]
    assert second == [clamped(row.second) for row in rows_of(log, with_events=True)]
    assert len({*second}) >= 2


def test_a_million_signs_are_neither_time_nor_rank(tmp_path):
    rows = [("7", "q", "w", "2" * 10**6, "1" * 10**6, "s" * 10**6), ("8", "q", "w", "0", "1", "")]
    log = read(
        written(tmp_path, "tsv", rows),
        time="at",
        rank="rank",
        session="sid",
        time_format="epoch",
        period="1970-01-01/1970-01-02",
    )

    with opened(log) as host:
        events = host.events()

    assert events.second.tolist() == [-1, 0]
    assert events.rank.tolist() == [0, 1]
    assert events.session.tolist() == [0, -1]


def test_ranks_are_whole_numbers_from_one(tmp_path):
    rows = [(f"u{i:03}", "q", "w", "", text, "s") for i, text in enumerate(RANKS)]
    log = read(written(tmp_path, "tsv", rows), rank="rank")

    with opened(log) as host:
        events = host.events()

    assert events.rank.tolist() == [rank_of(text) or 0 for text in RANKS]
    assert (events.second, events.session, events.days) == (None, None, 0)


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_what_one_user_writes_touches_no_other(tmp_path, kind):
    """Locality: time, rank and session of all others are the same without a user's lines."""
    others = [
        (
            f"u{n % 40:02}",
            f"q{n % 5}",
            f"w{n % 5}",
            f"2006-03-{1 + n % 28:02}",
            str(n % 12),
            f"s{n % 3}",
        )
        for n in range(200)
    ]
    hostile = [("zz", "q1", "w1", text, text, text) for text in TIMES["iso"] if "," not in text]
    hostile += [("zz", "q1", "", "2006-04-01", "1", "s1"), ("zz", "only mine", "", "", "", "s2")]

    def found(rows):
        options = {"count": "none", "time": "at", "rank": "rank", "session": "sid"}
        log = read(written(tmp_path, kind, rows), **options, time_format="iso", period=PERIOD)
        with opened(log) as host:
            e = host.events()
        names = ("user", "pair", "query", "count", "second", "rank", "session")
        return [
            row for row in zip(*(getattr(e, n).tolist() for n in names), strict=True) if row[0] < 40
        ]

    alone = found(others)
    assert len(alone) == 200
    assert found([*hostile, *others]) == found([*others, *hostile]) == alone


def test_searches_without_a_click_are_rows_and_their_users_come_last(tmp_path):
    rows = [
        *(("b", "news", "n.com", "10", "1", ""), ("b", "news", "", "20", "", "")),
        *(("a", "news", "", "30", "", ""), ("a", "mine", "", "40", "", "")),
    ]
    log = read(
        written(tmp_path, "tsv", rows),
        time="at",
        time_format="epoch",
        period="1970-01-01/1970-01-01",
    )

    with opened(log) as host:
        events = host.events()

    assert events.user.tolist() == [0, 0, 1, 1]
    assert events.pair.tolist() == [0, -1, -1, -1]
    assert events.query.tolist() == [0, 0, 0, -1]
    assert (events.users, events.days, events.weekday) == (2, 1, 3)


@pytest.mark.parametrize(
    ("kind", "value", "second"),
    [
        ("TIMESTAMP", "2006-03-01 10:00:00.5", 36_000),
        ("TIMESTAMP", "infinity", -1),
        ("TIMESTAMP", "0044-03-15 (BC)", 0),
        ("TIMESTAMP", "290000-01-01", LAST),
        ("TIMESTAMP_S", "2006-03-01 10:00:00", 36_000),
        ("TIMESTAMP_NS", "2006-03-01 10:00:00", 36_000),
        ("TIMESTAMPTZ", "2006-03-01 10:00:00+02", 28_800),
        ("DATE", "2006-03-02", 86_400),
        ("DATE", "5000000-01-01", LAST),
        ("DATE", "-infinity", -1),
    ],
)
def test_types_of_time_declare_themselves(tmp_path, kind, value, second):
    file = tmp_path / "log.parquet"
    table = duckdb.sql(f"SELECT '7' AS user, 'q' AS query, 'w' AS url, '{value}'::{kind} AS at")
    held = value.startswith("2006") and not kind.startswith("TIMESTAMP_")
    if held:  # what not every file can hold is read as a table
        table.write_parquet(str(file))
    log = read(file if held else table, time="at", period=PERIOD)

    with opened(log) as host:
        assert host.events().second.tolist() == [second]


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("VARCHAR", {}),
        ("BIGINT", {}),
        ("TIMESTAMP", {"time_format": "epoch"}),
        ("BIGINT", {"time_format": "iso"}),
        ("BOOLEAN", {"time_format": "epoch"}),
    ],
)
def test_types_that_cannot_hold_such_times_are_refused(tmp_path, kind, options):
    file = tmp_path / "log.parquet"
    duckdb.sql(f"SELECT '7' AS user, 'q' AS query, 'w' AS url, NULL::{kind} AS at").write_parquet(
        str(file)
    )

    with (
        pytest.raises(OptionError, match="the column"),
        opened(read(file, time="at", period=PERIOD, **options)),
    ):
        pass


def test_rows_are_written_as_finely_as_their_format(tmp_path):
    log = read(
        written(tmp_path, "tsv", [("7", "q", "w", "", "", "")]),
        time="at",
        session="sid",
        time_format="%Y-%m-%d %H:%M",
        period=PERIOD,
    )
    types = event_types(log, dict.fromkeys(log.columns.names, "VARCHAR"))
    three = np.array([0, 0, 1])
    made = MadeEvents(
        user=three,
        pair=np.zeros(3, dtype=np.int64),
        query=np.zeros(3, dtype=np.int64),
        second=np.array([3_599, 61, 125], dtype=np.int32),
        rank=None,
        session=np.array([4, 9, 4], dtype=np.int32),
    )
    output = Output(user=np.array([0, 1]), pair=np.array([0, 0]), count=np.array([2, 1]))

    found = to_write(made, output, ["30", "4"], log.columns, types)

    assert found.second.tolist() == [3_540, 60, 120]
    assert found.session.tolist() == [3, 2, 1]
    with pytest.raises(ValueError, match="number of clicks"):
        to_write(
            made,
            Output(user=output.user, pair=output.pair, count=output.user),
            ["1", "2"],
            log.columns,
            types,
        )
