"""Times, ranks and sessions of UBI: read from lines, and written as lines that read the same."""

from collections import Counter
from contextlib import closing
from dataclasses import replace
from random import Random

import numpy as np
import pytest
from tests.ubi_lines import (
    click,
    events_by_duckdb,
    events_read_plainly,
    query,
    random_lines,
    written,
)
from tests.ubi_schema import require_valid

from slogan.engines.duckdb import DuckDB
from slogan.errors import OptionError
from slogan.generation.generate import generate
from slogan.histogram import MadeEvents, Output
from slogan.logs.searchlog import read

PERIOD = "2006-03-01/2006-05-31"
SMALL = {"users": 60, "seed": 3, "clicks_per_user": 20}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    generate(folder / "log.ubi.jsonl", **SMALL)
    generate(folder / "log.tsv", **SMALL, events=True)
    return folder


def counted(log):
    host = DuckDB().start()
    hist = host.count(log, unique_pairs=True, with_events=True).hist
    return host, hist, host.events()


def columns(events, *names):
    return Counter(zip(*(getattr(events, name).tolist() for name in names), strict=True))


def test_lines_have_the_events_of_the_same_log_in_another_format(made):
    """But the time: an event has that of the click."""
    named = {"time": "time", "time_format": "iso", "rank": "rank", "session": "session"}
    logs = (
        read(made / "log.ubi.jsonl", period=PERIOD, session="session_id"),
        read(made / "log.tsv", period=PERIOD, **named),
    )
    found = []
    for log in logs:
        host, _, events = counted(log)
        with closing(host):
            found.append(events)
    ubi, tsv = found

    assert columns(ubi, "user", "pair", "query", "rank", "session") == columns(
        tsv, "user", "pair", "query", "rank", "session"
    )
    idle = [events.second[events.pair < 0] for events in found]
    assert np.array_equal(*map(np.sort, idle))
    clicked = np.sort(ubi.second[ubi.pair >= 0]) - np.sort(tsv.second[tsv.pair >= 0])
    assert 0 < clicked.mean() < 120


@pytest.mark.parametrize("offset", ["auto", "iso+05:30"])
def test_made_events_are_written_and_read_back(made, tmp_path, offset):
    log = read(made / "log.ubi.jsonl", period=PERIOD, session="session_id", time_format=offset)
    host, hist, events = counted(log)
    users = np.unique(hist.user)
    rows = np.isin(events.user, users)
    made_up = MadeEvents(
        user=events.user[rows],
        pair=events.pair[rows],
        query=np.where(events.query < 0, 0, events.query)[rows],
        second=events.second[rows],
        rank=events.rank[rows],
        session=events.session[rows],
    )
    names = [f"{1000 + n}" for n in range(len(users))]
    with closing(host):
        output = Output(user=hist.user, pair=hist.pair, count=hist.count)
        host.write(output, names, tmp_path / "log.ubi.jsonl", made_up)
    queries, clicks = require_valid((tmp_path / "log.ubi.jsonl").read_text(encoding="utf-8"))
    assert len(clicks) == output.clicks
    assert len(queries) == len(made_up.user)
    ending = "Z" if offset == "auto" else "+05:30"
    assert all(one["timestamp"].endswith(ending) for one in (*queries, *clicks))

    again, _, read_back = counted(replace(log, files=(tmp_path / "log.ubi.jsonl",)))
    again.close()
    for one in ("second", "rank"):
        assert columns(read_back, "user", one) == columns(made_up, "user", one)
    sizes = [sorted(columns(one, "session").values()) for one in (read_back, made_up)]
    assert sizes[0] == sizes[1]


@pytest.mark.parametrize("how", [{}, {"searches": "all"}, {"url": "none"}], ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_both_readers_agree_on_the_events_of_any_lines(tmp_path, seed, how):
    lines = random_lines(Random(seed), 500, mutants=0.05)
    files = written(tmp_path, lines[:250], lines[250:])
    found = events_by_duckdb(files, **how)

    assert found == events_read_plainly(files, **how)
    assert len({row[3] for row in found}) > 3
    assert len({row[5] for row in found}) > 2


def test_values_that_are_not_there_have_the_constants_of_the_schema(tmp_path):
    lines = []
    for user in range(4):
        lines.append(query(f"u{user}", "1", "maps", timestamp="2024-01-02T03:04:05Z"))
        lines.append(click(f"u{user}", "1", "o", timestamp=7, session_id=["s"]))
    log = read(written(tmp_path, lines), period="2024-01-01/2024-01-31", session="session_id")
    host, hist, events = counted(log)
    nowhere = np.full(4, -1, dtype=np.int32)
    assert events.second.tolist() == events.session.tolist() == [-1] * 4
    assert events.rank.tolist() == [1] * 4
    made_up = MadeEvents(
        user=hist.user,
        pair=hist.pair,
        query=hist.query[hist.pair],
        second=nowhere,
        rank=np.zeros(4, dtype=np.int32),
        session=nowhere,
    )
    with closing(host):
        output = Output(user=hist.user, pair=hist.pair, count=hist.count)
        host.write(output, list("6789"), tmp_path / "out.ubi.jsonl", made_up)
    queries, clicks = require_valid((tmp_path / "out.ubi.jsonl").read_text(encoding="utf-8"))
    assert {one["timestamp"] for one in (*queries, *clicks)} == {"1970-01-01T00:00:00Z"}
    assert {one["event_attributes"]["position"]["ordinal"] for one in clicks} == {0}
    assert not any("session_id" in one for one in (*queries, *clicks))


def test_times_are_read_within_a_period_only(tmp_path):
    (file,) = written(tmp_path, [])
    assert read(file).columns.time is None
    assert read(file).undated == "timestamp"
    log = read(file, period="2024-01-01/2024-01-31")
    assert log.columns.emptied(("time", "rank")) == ()
    assert read(file, period="2024-01-01/2024-01-31", time="none").columns.time is None
    assert read(file, rank="none").columns.rank is None
    for options in ({"time": "when"}, {"rank": "place"}, {"session": "visit"}):
        with pytest.raises(OptionError, match="UBI calls the"):
            read(file, period="2024-01-01/2024-01-31", **options)
    with pytest.raises(OptionError, match="ISO 8601"):
        read(file, period="2024-01-01/2024-01-31", time_format="epoch")
