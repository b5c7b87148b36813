"""What is released as UBI: valid lines with linked IDs, which are read back as the same rows."""

import gzip
import json
import shutil
from collections import Counter

import pytest
import zstandard
from tests.kinds_of_logs import FORMS
from tests.ubi_lines import click, query, written
from tests.ubi_schema import require_valid

import slogan
from slogan.errors import OptionError
from slogan.logs.searchlog import read

ODD = ('say "hi"', "back\\slash", "a\tb", "\x01\x0b\x1f\x7f", "nul \0 nul", "\u2028\u2029", "😀")
ODD += ("é/../", "null", "{}", "[1]", " spaces ", "'; --", "x" * 5_000)
PLAN = {"exp_epsilon": 8, "delta": "0.9", "objective": "diversity"}


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    """A log of odd texts, and a release of it."""
    folder = tmp_path_factory.mktemp("odd")
    lines = []
    for user in range(40):
        for n, text in enumerate(ODD):
            lines.append(query(f"u{user}", f"{n}", text))
            if n % 3:
                lines.append(click(f"u{user}", f"{n}", text[:256]))
    files = written(folder, lines)
    with slogan.sanitize(read(files, searches="all"), **PLAN) as release:
        release.save(folder / "release")
        rows = release.to_polars()
    return files, folder / "release", rows


def released(folder):
    return (folder / "public/log.ubi.jsonl").read_bytes().decode()


def test_lines_are_valid_and_linked(odd):
    _, folder, rows = odd
    queries, events = require_valid(released(folder))
    texts = {one["query_id"]: one["user_query"] for one in queries}
    shown = Counter(
        (e["client_id"], texts[e["query_id"]], e["event_attributes"]["object"]["object_id"])
        for e in events
    )
    answered = {event["query_id"] for event in events}
    shown.update(
        (q["client_id"], q["user_query"], None) for q in queries if q["query_id"] not in answered
    )

    columns = rows.select("client_id", "user_query", "event_attributes.object.object_id")
    assert Counter(columns.rows()) == shown
    assert {row[1] for row in shown} == {*ODD}
    assert any(row[2] is None for row in shown)
    assert {one["timestamp"] for one in (*queries, *events)} == {"1970-01-01T00:00:00Z"}
    assert {e["event_attributes"]["position"]["ordinal"] for e in events} == {0}


def test_a_release_is_verified_and_read_back(odd):
    files, folder, rows = odd
    verdict = slogan.verify(list(files), folder)
    assert verdict.ok, [(check.name, check.detail) for check in verdict.checks if not check.ok]
    opened = slogan.Release.open(folder / "public")
    assert opened.to_polars().rows() == rows.rows()
    assert opened.summary.rows == len(rows)
    assert slogan.evaluate(list(files), folder).size_ratio > 0


def test_withholding_a_query_leaves_valid_lines(odd, tmp_path):
    files, folder, rows = odd
    copy = shutil.copytree(folder, tmp_path / "copy")
    slogan.review(copy, withhold=[ODD[0]])

    assert slogan.verify(list(files), copy).ok
    queries, _ = require_valid(released(copy))
    assert len(queries) == len(rows.filter(rows["user_query"] != ODD[0]))


def test_names_of_the_user_and_of_the_click_are_kept(tmp_path):
    lines = []
    for user in range(20):
        lines.append(query("client", f"{user}", "maps", user_id=f"u{user}"))
        lines.append(click("client", f"{user}", "o", 'add "x"', user_id=f"u{user}"))
    files = written(tmp_path, lines)
    log = read(files, user="user_id", click_action='add "x",buy')
    with slogan.sanitize(log, **PLAN, pseudonyms="keep") as release:
        release.save(tmp_path / "release")

    first, second = map(json.loads, released(tmp_path / "release").splitlines()[:2])
    assert first.keys() == {"user_id", "query_id", "user_query", "timestamp"}
    assert second["action_name"] == 'add "x"'
    assert first["user_id"] == second["user_id"]
    assert first["user_id"].startswith("u")
    assert slogan.verify(files, tmp_path / "release").ok


@pytest.mark.parametrize("ending", ["", ".gz", ".zst"])
def test_queries_alone_are_released_as_queries(tmp_path, ending):
    """Compressed as the log is."""
    (folder := tmp_path / "in").mkdir()
    FORMS["UBI"].write(folder)
    lines = (folder / "export/ubi_queries.json").read_bytes()
    file = tmp_path / f"all.ubi.jsonl{ending}"
    file.write_bytes(packed(lines, ending))
    log = read(file, url="none")
    with slogan.sanitize(log, **PLAN) as release:
        release.save(tmp_path / "release")

    assert (tmp_path / f"release/public/log.ubi.jsonl{ending}").is_file()
    assert slogan.verify(file, tmp_path / "release").ok
    if not ending:
        queries, events = require_valid(released(tmp_path / "release"))
        assert queries
        assert not events


def packed(data, ending):
    return {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}[ending](data)


def test_spark_and_tables_do_not_read_it(tmp_path):
    with pytest.raises(OptionError, match="from files, not from a table"):
        read({"a": [1]}, format="ubi")
    with pytest.raises(OptionError, match="files on this machine"):
        read("s3a://bucket/ubi_events.jsonl", peek=lambda *_: ())
