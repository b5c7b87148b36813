"""Tables and queries of databases, and fields inside columns."""

import json
import sqlite3
from contextlib import closing

import duckdb
import psycopg
import pytest
from tests.postgres import server

import slogan
from slogan import errors
from slogan.logs.searchlog import read

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
ROWS = [(u, f"q'{n} é", f"www.s{n}.com", 1 + n) for u in range(30) for n in range(3)]
TABLE = "CREATE TABLE clicks (customer BIGINT, query TEXT, url TEXT, hits INTEGER, day DATE)"


@pytest.fixture(scope="module")
def postgres():
    with server() as address:
        with psycopg.connect(address) as sql:
            sql.execute(TABLE)
            sql.cursor().executemany("INSERT INTO clicks VALUES (%s, %s, %s, %s)", ROWS)
        yield address


@pytest.fixture(scope="module")
def databases(tmp_path_factory, postgres):
    """The address of each database without its table."""
    folder = tmp_path_factory.mktemp("databases")
    with duckdb.connect(str(folder / "log.duckdb")) as sql:
        sql.execute(TABLE)
        sql.executemany("INSERT INTO clicks VALUES (?, ?, ?, ?, NULL)", ROWS)
    with closing(sqlite3.connect(folder / "log.db")) as sql:
        sql.execute(TABLE)
        sql.executemany("INSERT INTO clicks VALUES (?, ?, ?, ?, NULL)", ROWS)
        sql.commit()
    return {
        "DuckDB": str(folder / "log.duckdb"),
        "SQLite": str(folder / "log.db"),
        "PostgreSQL": postgres,
    }


KINDS = ["DuckDB", "SQLite", "PostgreSQL"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("named", [True, False])
def test_a_table_is_read_released_and_verified(databases, tmp_path, kind, named):
    source = databases[kind] + "::clicks" * named
    log = read(source)
    with slogan.sanitize(log, BUDGET, solver="exact", pseudonyms="keep") as release:
        release.save(tmp_path / "out")
        rows = release.to_arrow().to_pylist()
        assert release.log.columns.emptied() == ("day",)

    assert log.columns.roles == {
        "user": "customer",
        "query": "query",
        "url": "url",
        "count": "hits",
    }
    assert slogan.inspect(log).whole.clicks == sum(n for *_, n in ROWS)
    assert {(row["customer"], row["query"], row["url"]) for row in rows} <= {r[:3] for r in ROWS}
    assert all(row["day"] is None for row in rows)
    assert slogan.verify(source, tmp_path / "out").ok
    assert slogan.evaluate(source, tmp_path / "out").size_ratio > 0
    assert repr(log).startswith(f"<SearchLog: table clicks of a {kind} database")


@pytest.mark.parametrize("kind", KINDS)
def test_a_query_takes_the_place_of_a_table(databases, kind):
    asked = "SELECT customer AS user_id, query, hits FROM clicks WHERE customer < 10"
    found = slogan.inspect(read(databases[kind], sql=asked, count="none"))

    assert (found.whole.users, found.whole.pairs, found.whole.clicks) == (10, 3, 30)
    assert found.log.items == "queries"


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_or_query_that_is_not_there(databases, kind):
    for asked in (
        {"sql": "SELECT nothing FROM clicks"},
        {"sql": "DROP TABLE clicks"},
        {"sql": "x"},
    ):
        with pytest.raises(errors.InputError) as caught:
            read(databases[kind], **asked)
        assert caught.value.hint
    with pytest.raises(errors.InputError):
        read(f"{databases[kind]}::nothing")
    with pytest.raises(errors.OptionError, match="both given"):
        read(f"{databases[kind]}::clicks", sql="SELECT 1")
    assert slogan.inspect(read(databases[kind])).whole.users == 30


def test_a_server_that_does_not_answer_is_named_without_its_password():
    with pytest.raises(errors.LogNotFoundError, match=r"server on 127\.0\.0\.1") as caught:
        read("postgresql://me:hidden-word@127.0.0.1:1/logs::clicks")
    assert "hidden-word" not in str(caught.value)
    assert "hidden-word" not in repr(caught.value.__cause__)


def test_without_its_driver_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "psycopg", None)
    with pytest.raises(errors.EngineError, match="psycopg") as caught:
        read("postgresql://localhost/logs::clicks")
    assert caught.value.hint == "pip install 'slogan[postgres]'"


def test_several_tables_are_listed(tmp_path):
    with duckdb.connect(str(tmp_path / "log.duckdb")) as sql:
        sql.execute("CREATE TABLE b (x INTEGER); CREATE VIEW a AS FROM b")
    with pytest.raises(errors.OptionError, match="2 tables: a, b") as caught:
        read(tmp_path / "log.duckdb")
    assert "such as log.duckdb::a;" in caught.value.hint


def test_a_value_of_another_type_in_sqlite_is_a_separate_bad_row(tmp_path):
    """Its types are a matter of opinion: a text in a column of integers touches no other row."""
    rows = [*((u, "q", "u", 1) for u in range(9)), ("seven", "q", "u", 1), (b"\xff", "q", "u", 1)]
    with closing(sqlite3.connect(tmp_path / "log.sqlite")) as sql:
        sql.execute("CREATE TABLE t (user INTEGER, query TEXT, url TEXT, count INTEGER)")
        sql.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
        sql.commit()
    found = slogan.inspect(read(tmp_path / "log.sqlite", on_bad_row="skip"))

    assert found.whole.users == 9
    assert found.counted.bad_rows == {"user missing": 2}


def test_large_integers_stay_different_users(tmp_path):
    with duckdb.connect(str(tmp_path / "log.duckdb")) as sql:
        sql.execute(
            "CREATE TABLE t AS SELECT (2::HUGEINT ** 100)::HUGEINT + i AS user, 'q' AS query "
            "FROM range(5) r(i)"
        )
    assert slogan.inspect(read(tmp_path / "log.duckdb")).whole.users == 5


@pytest.mark.parametrize("name", ["log.db", "log.tsv"])
def test_a_file_that_is_not_a_database(tmp_path, name):
    (tmp_path / name).write_text("user\tquery\n")
    with pytest.raises(errors.LogFormatError, match="not a DuckDB or SQLite file"):
        read(tmp_path / name, sql="SELECT 1")
    with pytest.raises(errors.LogNotFoundError):
        read(f"{tmp_path}/nothing.duckdb::clicks")


# --- fields inside columns ---


WHO = "{'id': i % 1000, 'of': {'place': 'x'}} AS who"
NESTED = f"SELECT {WHO}, 'q' AS query, {{'url': 'u'}} AS hit, 5 AS t"


@pytest.fixture(params=["parquet", "jsonl", "duckdb"])
def nested(request, tmp_path):
    rows = f"{NESTED} FROM range(3000) r(i)"  # fewer users may be lost in the noise
    if request.param == "duckdb":
        with duckdb.connect(str(tmp_path / "log.duckdb")) as sql:
            sql.execute(f"CREATE TABLE t AS {rows}")
    else:
        kind = "json" if request.param == "jsonl" else "parquet"
        duckdb.sql(f"COPY ({rows}) TO '{tmp_path}/log.{request.param}' (FORMAT {kind})")
    return tmp_path / f"log.{request.param}"


def test_a_path_leads_into_a_column_and_comes_back_alone(nested, tmp_path):
    log = read(nested, user="who.id", url="hit.url", count="none")
    for verb, asked in ((slogan.sanitize, BUDGET), (slogan.synthesize, None)):
        folder = tmp_path / verb.__name__
        how = {"budget": asked} if asked else {"epsilon": 5, "delta": "1e-3"}
        with closing(verb(log, **how)) as release:
            release.save(folder)
        file = next((folder / "public").glob("log.*"))
        rows = [
            dict(zip(t.columns, r, strict=True))
            for t in [duckdb.sql(f"FROM '{file}'")]
            for r in t.fetchall()
        ]
        assert rows
        for row in rows:
            others = {k: v for k, v in row["who"].items() if k != "id"}
            assert int(row["who"]["id"]) > 0
            assert row["hit"] == {"url": "u"}
            assert not any(others.values())
            assert row.get("t") is None
        assert slogan.verify(nested, folder).ok
    assert slogan.inspect(log).whole.users == 1000


def test_verify_finds_a_value_beside_the_path(tmp_path):
    file = tmp_path / "log.parquet"
    duckdb.sql(f"{NESTED} FROM range(90) r(i)").write_parquet(str(file))
    log = read(file, user="who.id", url="hit.url", count="none")
    with slogan.sanitize(log, BUDGET, solver="exact") as release:
        release.save(tmp_path / "out")
    released = tmp_path / "out/public/log.parquet"
    with duckdb.connect() as sql:
        sql.execute(f"CREATE TABLE t AS FROM '{released}'")
        sql.execute("UPDATE t SET who = {'id': who.id, 'of': {'place': 'at home'}}")
        sql.execute(f"COPY t TO '{released}' (FORMAT parquet)")
    failed = {check.name for check in slogan.verify(log, tmp_path / "out").checks if not check.ok}
    assert failed == {"checksum", "checksum_file", "rows_as_written"}


def test_a_record_is_not_a_user_and_a_wrong_path_is_named(tmp_path):
    file = tmp_path / "log.parquet"
    duckdb.sql(f"{NESTED} FROM range(9) r(i)").write_parquet(str(file))
    with pytest.raises(errors.LogFormatError, match="nested type") as caught:
        read(file, user="who", url="none")
    assert "--user who.FIELD" in caught.value.hint
    for wrong in ("who.name", "who.id.x", "query.x"):
        with pytest.raises(errors.MissingColumnError, match=f"no field '{wrong}'"):
            read(file, user=wrong, url="none")


def test_a_key_with_a_dot_is_declared_with_the_columns(tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text("".join(json.dumps({"who.id": u, "query": "q"}) + "\n" for u in range(9)))
    log = read(file, columns=("who.id", "query"), user="who.id")

    assert slogan.inspect(log).whole.users == 9


def test_ids_inside_a_record_that_name_people_are_reported(tmp_path):
    file = tmp_path / "log.jsonl"
    rows = [{"who": {"mail": f"u{u}@x.org"}, "query": "q"} for u in range(30)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    log = read(file, user="who.mail", url="none", count="none")
    with slogan.sanitize(log, BUDGET, solver="exact", pseudonyms="keep") as release:
        saved = release.save(tmp_path / "out")

    assert any("e-mail addresses" in warning for warning in saved.summary.warnings)


@pytest.mark.parametrize(
    ("name", "words", "command"),
    [
        ("a b.xlsx", "is a workbook", "libreoffice --headless --convert-to csv"),
        ("log.arrow", "is an Arrow file", "write_parquet"),
        ("log.zip", "is an archive", "unzip"),
        ("log.csv.xz", "is packed with xz", "unxz"),
    ],
)
def test_what_is_not_read_comes_with_a_command(tmp_path, name, words, command):
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(errors.LogFormatError, match=words) as caught:
        read(tmp_path / name)
    assert command in caught.value.hint


@pytest.mark.parametrize(
    ("address", "command"),
    [("mysql://host/logs", "mysql --batch"), ("https://host/log.csv", "curl -LO")],
)
def test_addresses_that_are_not_read_come_with_a_command(address, command):
    with pytest.raises(errors.OptionError) as caught:
        read(address)
    assert command in caught.value.hint


def test_verify_and_evaluate_say_which_query_they_need(tmp_path):
    """The query is the curator's, and is shown with the command that runs it."""
    place = tmp_path / "log.duckdb"
    with duckdb.connect(str(place)) as sql:
        sql.execute(
            "CREATE TABLE clicks AS SELECT i AS id, 'q' AS query, 'u' AS url FROM range(90) r(i)"
        )
    log = read(place, user="id", sql="SELECT * FROM clicks WHERE id < 80")
    with slogan.sanitize(log, BUDGET, solver="exact") as release:
        release.save(tmp_path / "out")

    command = f"slogan verify {place} {tmp_path}/out --sql 'SELECT * FROM clicks WHERE id < 80'"
    with pytest.raises(errors.OptionError, match="made from a query") as caught:
        slogan.verify(place, tmp_path / "out")
    assert caught.value.hint == f"run: {command} --user id --query query --url url --count none"
    with pytest.raises(errors.OptionError, match="made from a query"):
        slogan.evaluate(str(place), tmp_path / "out")
    assert slogan.verify(log, tmp_path / "out").ok
    public = "".join(file.read_text() for file in (tmp_path / "out/public").glob("*.[jh]*"))
    assert "WHERE" not in public
