"""The masked preview: shapes of rows, and nothing that could be read."""

import sqlite3

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.errors import OptionError
from slogan.logs.header import header_of
from slogan.logs.preview import masked, preview
from slogan.logs.searchlog import declare

ROWS = [("u17", "jane doe+1", "www.x.com/é", 12), ("u2", "", "ß", 3)]
SHAPES = (("x99", "xxxx xxx+9", "xxx.x.xxx/x", "99"), ("x9", "", "x", "9"))
ROLES = dict.fromkeys(("user", "query", "url", "count"))


@given(st.text())
def test_no_letter_and_no_digit_is_left(text):
    shape = masked(text)

    assert len(shape) <= 49
    assert not {c for c in shape if c.isalnum()} - {"x", "9"}
    assert len(shape) == min(len(text), 49)


def test_punctuation_and_length_are_kept():
    assert masked("jane.doe@example.org") == "xxxx.xxx@xxxxxxx.xxx"
    assert masked("0171 5550100") == "9999 9999999"
    assert masked("٣ अ 漢") == "9 x x"
    assert masked("a\tb\x1b[31m\u202e") == "xxxx[99xx"


def shown(file):
    form, schema = declare(str(file), ROLES)
    return preview(form, header_of(form, schema, ROLES).columns)


def test_fields_inside_columns_are_beside_their_paths(tmp_path):
    lines = tmp_path / "log.jsonl"
    lines.write_text('{"who": {"id": 17}, "query": "jane"}\n{"query": "doe", "more": [1]}\n')
    assert shown(lines) == (("99", "xxxx", ""), ("", "xxx", "[9]"))

    with duckdb.connect() as sql:
        sql.execute("CREATE TABLE t AS SELECT {'id': 'u1'} AS who, 'jane' AS query")
        sql.execute(f"COPY t TO '{tmp_path}/log.parquet'")
    assert shown(tmp_path / "log.parquet") == (("x9", "xxxx"),)


def saved(folder, kind):
    rows = [tuple(map(str, row)) for row in ROWS]
    head = ("user", "query", "url", "count")
    if kind in ("tsv", "csv"):
        between = {"tsv": "\t", "csv": ";"}[kind]
        file = folder / f"log.{kind}"
        file.write_text("".join(between.join(row) + "\n" for row in (head, *rows)))
        return file
    if kind == "jsonl":
        import json

        file = folder / "log.jsonl"
        lines = (json.dumps(dict(zip(head, row, strict=True))) for row in ROWS)
        file.write_text("".join(f"{line}\n" for line in lines))
        return file
    if kind == "sqlite":
        file = folder / "log.sqlite"
        with sqlite3.connect(file) as sql:
            sql.execute('CREATE TABLE clicks ("user" TEXT, query TEXT, url TEXT, "count" INTEGER)')
            sql.executemany("INSERT INTO clicks VALUES (?, ?, ?, ?)", ROWS)
        sql.close()
        return file
    file = folder / f"log.{kind}"
    with duckdb.connect(str(file) if kind == "duckdb" else ":memory:") as sql:
        sql.execute('CREATE TABLE clicks ("user" TEXT, query TEXT, url TEXT, "count" BIGINT)')
        sql.executemany("INSERT INTO clicks VALUES (?, ?, ?, ?)", ROWS)
        if kind == "parquet":
            sql.execute(f"COPY clicks TO '{file}'")
    return file


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl", "parquet", "duckdb", "sqlite"])
def test_every_format_has_a_preview(tmp_path, kind):
    assert shown(saved(tmp_path, kind)) == SHAPES


def test_a_preview_ends_after_a_few_rows(tmp_path):
    file = tmp_path / "log.tsv"
    file.write_text("user\tquery\n" + "a\tb\n" * 100)

    assert len(shown(file)) == 5


@pytest.mark.parametrize(
    "query",
    [
        "SELECT 1; COPY (SELECT 1) TO '{}'",
        "COPY (SELECT 1) TO '{}'",
        "SELECT * FROM clicks; DROP TABLE clicks",
        "ATTACH '{}'",
        "",
    ],
)
def test_a_log_is_one_select(tmp_path, query):
    """More than one statement could write files, over the log itself too."""
    file, other = saved(tmp_path, "duckdb"), tmp_path / "other.csv"

    with pytest.raises(OptionError, match="one SELECT"):
        declare(str(file), ROLES, sql=query.format(other))
    assert not other.exists()
