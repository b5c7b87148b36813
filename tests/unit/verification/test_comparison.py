"""The comparison of two logs, on tables of a few rows whose numbers anybody can count."""

import gzip
import math
from fractions import Fraction
from random import Random

import duckdb
import pandas as pd
import polars as pl
import pytest
from tests.counted_logs import fill

import slogan
from slogan.errors import LogFormatError, OptionError, SloganError
from slogan.logs.rows import NO_CLICK
from slogan.verification.comparison import Comparison, count, private_database, remove_users

HEADER = "user\tquery\turl\tclicks\n"


def compared(sql, clicked, shown):
    fill(sql, "clicked", clicked)
    fill(sql, "shown", shown)
    return Comparison(sql)


def parquet(sql, file, query):
    sql.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
    return file


# --- the private database ---


def test_the_database_obeys_its_memory_limit_and_uses_a_private_folder(monkeypatch):
    connect = duckdb.connect

    def connected(**options):
        """As at a prompt, where DuckDB draws its progress."""
        sql = connect(**options)
        sql.execute("SET enable_progress_bar = true")
        return sql

    monkeypatch.setattr(duckdb, "connect", connected)
    with private_database("300MB") as (sql, folder):
        names = ("memory_limit", "temp_directory", "enable_progress_bar")
        asked = ", ".join(f"current_setting('{name}')" for name in names)
        assert sql.execute(f"SELECT {asked}").fetchall() == [("286.1 MiB", str(folder), False)]
        assert folder.stat().st_mode & 0o777 == 0o700
    assert not folder.exists()
    with pytest.raises(duckdb.ConnectionException):
        sql.execute("SELECT 1")
    with private_database(None) as (sql, _):
        assert sql.execute("SELECT 1").fetchall() == [(1,)]


def test_an_invalid_memory_limit_is_refused():
    with pytest.raises(OptionError, match="memory limit"), private_database("much"):
        pass


def test_the_databases_error_messages_are_not_passed_on():
    with pytest.raises(SloganError) as raised, private_database(None) as (sql, folder):
        sql.execute("SELECT 'a secret'::INTEGER")
    assert "secret" not in str(raised.value)
    assert raised.value.__suppress_context__
    assert not folder.exists()
    with pytest.raises(duckdb.ConnectionException):
        sql.execute("SELECT 1")


# --- counting ---


def counted(sql, source, tmp_path, *, into="shown", ignored="", **options):
    return count(sql, slogan.read(source, **options), into=into, ignored=ignored)


def rows_of(sql, table):
    return sorted(sql.execute(f'SELECT "user", query, url, clicks FROM {table}').fetchall())


def test_rows_are_added_up_and_bad_ones_left_out(sql, tmp_path):
    log = tmp_path / "log.tsv"
    rows = ["a\tq\tu\t2", "a\tq\tu\t3", "b\tq\tu\t1", "b\tq\tu\t0", "b\tq\tu\t0", "c\tq\t\t1", "d"]
    log.write_text(HEADER + "\n".join(rows) + "\n")

    assert counted(sql, log, tmp_path).bad_rows == 4
    assert counted(sql, log, tmp_path, into="clicked", ignored=NO_CLICK).bad_rows == 3
    assert rows_of(sql, "shown") == [("a", "q", "u", 5), ("b", "q", "u", 1)]
    assert rows_of(sql, "clicked") == rows_of(sql, "shown")


def test_unreadable_lines_are_bad_rows_of_their_log_only(sql, tmp_path):
    """One line is too wide, one is not UTF-8: neither is a row, of this log or the next."""
    wide = tmp_path / "wide.csv"
    wide.write_bytes(b"user,query,url,clicks\na,q,u,1\na,q,u,1,2,3\na,\xff,u,1\na,q,u,0\n")
    good = tmp_path / "good.csv"
    good.write_text("user,query,url,clicks\na,q,u,1\n")

    assert counted(sql, wide, tmp_path).bad_rows == 3
    assert counted(sql, good, tmp_path, into="clicked").bad_rows == 0
    assert rows_of(sql, "shown") == rows_of(sql, "clicked") == [("a", "q", "u", 1)]


def test_an_unreadable_file_gives_slogans_error(sql, tmp_path):
    parquet(sql, tmp_path / "log.parquet", "SELECT 'a' AS \"user\", 'q' AS query, 'u' AS url")
    log = slogan.read(tmp_path / "log.parquet")
    (tmp_path / "log.parquet").write_text("secret")
    with pytest.raises(LogFormatError, match="cannot be read as parquet") as raised:
        count(sql, log, into="shown", ignored="")
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize("suffix", [".tsv", ".tsv.gz", ".parquet"])
def test_packed_files_are_unpacked(sql, tmp_path, suffix):
    plain = tmp_path / f"plain{suffix.removesuffix('.gz')}"
    if plain.suffix == ".tsv":
        plain.write_text(f"{HEADER}a\tq\tu\t2\n")
    else:
        parquet(sql, plain, "SELECT 'a' AS \"user\", 'q' AS query, 'u' AS url, 2 AS clicks")
    log = tmp_path / f"log{suffix}"
    data = plain.read_bytes()
    log.write_bytes(gzip.compress(data) if suffix.endswith(".gz") else data)

    assert counted(sql, log, tmp_path).bad_rows == 0
    assert rows_of(sql, "shown") == [("a", "q", "u", 2)]


@pytest.mark.parametrize("library", ["polars", "lazy polars", "pandas", "arrow"])
def test_tables_are_counted(sql, tmp_path, library):
    rows = {"user": ["a", "a"], "query": ["q", "q"], "url": ["u", "u"], "clicks": [1, 2]}
    table = {
        "polars": lambda: pl.DataFrame(rows),
        "lazy polars": lambda: pl.LazyFrame(rows),
        "pandas": lambda: pd.DataFrame(rows),
        "arrow": lambda: pl.DataFrame(rows).to_arrow(),
    }[library]()

    assert counted(sql, table, tmp_path).bad_rows == 0
    assert rows_of(sql, "shown") == [("a", "q", "u", 3)]


def test_sums_of_an_engine_are_added_up_again(sql, tmp_path):
    """It hands over clicks and numbers of rows, by file; and the types of the columns."""
    rows = """(VALUES ('a', 'q', 'u', NULL, 1, 5, 2), ('a', 'q', 'u', NULL, 2, 1, 1),
        (NULL, 'q', 'u', 'user missing', 1, 9, 3), ('b', 'q', '', 'no click', 1, 4, 4))"""
    added, schema = tmp_path / "added", tmp_path / "schema"
    for folder in (added, schema):
        folder.mkdir()
    names = "t(name, query, url, reason, file, clicks, n)"
    parquet(sql, added / "1.parquet", f"SELECT * FROM {rows} {names}")
    parquet(sql, schema / "1.parquet", "SELECT 'a' AS x, 1::SMALLINT AS y LIMIT 0")

    found = count(sql, None, into="clicked", ignored=NO_CLICK, added_up=(added, schema))

    assert found.bad_rows == 3
    assert rows_of(sql, "clicked") == [("a", "q", "u", 6)]
    assert found.types == ("VARCHAR", "SMALLINT")


class Writes:
    """A table of a library that DuckDB does not know, and that writes Parquet one way."""

    columns = ("user", "query", "url", "clicks")

    def __init__(self, way):
        setattr(self, way, self._write)

    def _write(self, file):
        with duckdb.connect() as sql:
            parquet(sql, file, "SELECT 'a' AS \"user\", 'q' AS query, 'u' AS url, 3 AS clicks")


@pytest.mark.parametrize("way", ["write_parquet", "sink_parquet"])
def test_a_table_that_writes_parquet_itself_is_not_registered(sql, tmp_path, way):
    assert counted(sql, Writes(way), tmp_path).bad_rows == 0
    assert rows_of(sql, "shown") == [("a", "q", "u", 3)]


# --- the schema ---


def test_types_are_those_that_parquet_keeps(sql, tmp_path):
    query = "SELECT 'a' AS \"user\", 'q' AS query, 'u' AS url, 1::SMALLINT AS clicks, 1.5 AS x"
    file = parquet(sql, tmp_path / "log.parquet", query)
    found = counted(sql, file, tmp_path)
    assert found.types == (*["VARCHAR"] * 3, "SMALLINT", "DECIMAL(2,1)")


# --- users who were removed ---


def test_removed_users_are_deleted_and_unknown_ones_are_counted(sql, tmp_path):
    fill(sql, "clicked", [("a", "p", 1), ("a", "q", 1), ("b", "p", 1), ("c", "p", 1)])
    listed = "SELECT unnest(['a', 'b', 'b', 'stranger']) AS \"user\""

    assert remove_users(sql, parquet(sql, tmp_path / "removed.parquet", listed)) == (4, 2)
    assert rows_of(sql, "clicked") == [("c", "p", "p.x", 1)]


def test_an_empty_table_removes_no_user(sql, tmp_path):
    fill(sql, "clicked", [("1", "p", 1)])
    nobody = parquet(sql, tmp_path / "removed.parquet", 'SELECT 1::BIGINT AS "user" WHERE FALSE')

    assert remove_users(sql, nobody) == (0, 0)
    assert rows_of(sql, "clicked") == [("1", "p", "p.x", 1)]


# --- both logs ---

CLICKED = [
    *[("a", "p", 1), ("a", "q", 3), ("a", "own", 9)],
    *[("b", "p", 2), ("b", "q", 1)],
    *[("c", "r", 1), ("d", "r", 4), ("e", "unseen", 7)],
]
SHOWN = [("a", "p", 2), ("b", "p", 1), ("c", "r", 3), ("a", "own", 1)]
SHOWN += [("x", "new", 5), ("x", "newer", 1)]


def test_pairs_users_rows_and_clicks_are_counted(sql):
    found = compared(sql, CLICKED, SHOWN)

    assert (found.pairs, found.unique_pairs, found.unknown_pairs) == (5, 1, 2)
    assert (found.users, found.rows, found.clicks) == (5, 6, 13)


def test_an_empty_release_has_nothing(sql):
    found = compared(sql, CLICKED, [])

    assert (found.pairs, found.unique_pairs, found.unknown_pairs) == (0, 0, 0)
    assert (found.users, found.rows, found.clicks) == (5, 0, 0)
    assert found.strangers() == found.unexplained_pseudonyms() == 0
    assert found.shown_users()[0] == []
    assert found.clipped(6, 10) == []
    assert found.judge(Fraction(2)).broken == 0


def test_a_pair_is_a_query_with_its_url(sql):
    clicked = [("a", "q@u", 1), ("b", "q@u", 1), ("a", "q@v", 1), ("c", "r@u", 1)]
    found = compared(sql, clicked, [(user, pair, 1) for user in "ab" for pair in ("q@v", "r@u")])

    assert (found.pairs, found.unique_pairs, found.unknown_pairs) == (2, 2, 0)
    assert found.strangers() == 3  # a holds q@v
    assert found.unexplained_pseudonyms() == 2
    assert found.judge(Fraction(9)).users == 2  # a and c
    assert found.clipped(6, 9) == [(2, 1.0, 1), (2, 1.0, 1)]


@pytest.mark.parametrize(
    ("shown", "strangers"),
    [
        ([("a", "p", 9)], 0),
        ([("c", "p", 1)], 1),  # a user and a pair of the log, and not together
        ([("x", "p", 1), ("a", "new", 1), ("a", "q", 1)], 2),
    ],
)
def test_rows_of_unknown_users_are_counted(sql, shown, strangers):
    assert compared(sql, CLICKED, shown).strangers() == strangers


@pytest.mark.parametrize(
    ("shown", "unexplained"),
    [
        ([("1", "p", 1), ("1", "q", 1), ("2", "p", 1)], 0),
        ([("1", "p", 1), ("1", "q", 1), ("1", "own", 1)], 0),
        ([("1", "p", 1), ("1", "r", 1)], 1),
        ([("1", "p", 1), ("1", "r", 1), ("2", "r", 1), ("2", "p", 1), ("3", "r", 1)], 2),
        ([("1", "p", 1), ("1", "new", 1)], 1),
        ([("1", "new", 1)], 1),
    ],
)
def test_pseudonyms_whose_pairs_no_single_user_has_are_counted(sql, shown, unexplained):
    assert compared(sql, CLICKED, shown).unexplained_pseudonyms() == unexplained


def test_pseudonyms_are_matched_by_query_and_url_together(sql):
    held = [("q@u", 1), ("q@v", 1), ("r@u", 1)]
    clicked = [(user, *row) for user, row in zip("abc", held, strict=True)]
    shown = [(pseudonym, *row) for pseudonym, row in zip("123", held, strict=True)]

    assert compared(sql, clicked, shown).unexplained_pseudonyms() == 0


@pytest.mark.parametrize(
    ("names", "repeated", "strangers"),
    [
        ("('a', '1'), ('b', '2')", 0, 0),
        ("('b', '1'), ('a', '2')", 0, 0),  # both hold them
        ("('c', '1'), ('b', '2')", 0, 2),
        ("('a', '1')", 0, 1),  # one is left out
        ("('a', '1'), ('a', '2')", 1, 0),
        ("('a', '1'), ('b', '2'), ('c', '2')", 1, 1),
    ],
)
def test_names_behind_pseudonyms_are_one_to_one_and_hold_their_pairs(
    sql, tmp_path, names, repeated, strangers
):
    found = compared(sql, CLICKED, [("1", "p", 1), ("1", "q", 1), ("2", "p", 1)])
    table = f'SELECT * FROM (VALUES {names}) t("user", pseudonym)'

    names = parquet(sql, tmp_path / "pseudonyms.parquet", table)

    assert found.real_names(names) == (repeated, strangers)


def test_users_are_clipped_before_their_clicks_are_added(sql):
    """a has 3 of p and 4 of q, a norm of 5; b's 9 count as 8; only released pairs count."""
    clicked = [("a", "p", 3), ("a", "q", 4), ("a", "unseen", 99), ("b", "p", 9), ("c", "p", 1)]
    found = compared(sql, clicked, [("x", "p", 7), ("y", "p", 1), ("x", "q", 5)])

    assert sorted(found.clipped(2, 8)) == [
        (5, pytest.approx(4 * 2 / 5), 4),
        (8, pytest.approx(3 * 2 / 5 + 2 + 1), 13),
    ]


def test_pair_weights_are_the_most_their_users_can_contribute(sql):
    """a has two pairs, b one: each gives its weight for that number, at most the last."""
    clicked = [("a", "p", 3), ("a", "q", 4), ("b", "p", 1), ("c", "x", 1), ("c", "y", 1)]
    clicked += [("c", "z", 1), ("c", "w", 1)]
    found = compared(sql, clicked, [("s", "p", 7)])

    weight, inclusion, released, public = found.weights([9.0, 1.0, 0.5])
    assert sorted(zip(weight, inclusion, released, strict=True)) == [
        *[(0.5, 0.5, False)] * 4,  # c contributes two of its four pairs
        (0.5, 1.0, False),
        (1.5, 1.0, True),
    ]
    assert not any(public)
    assert found.holders == 2
    assert found.most_held(0.7, [9.0, 1.0, 0.5]) == 1
    assert found.most_held(0.4, [9.0, 1.0, 0.5]) == 4
    assert found.covered(4) == (pytest.approx(3 * 4 / 7 + 1), 4 + 1 + 4)


def test_the_chance_to_appear_is_that_of_sampling_with_replacement(sql):
    """Of p, 2 clicks are released: a has 1 of 3 clicks, b the others."""
    found = compared(sql, [("a", "p", 1), ("b", "p", 2)], [("s", "p", 2)])
    (users, chances, shown), (rows, by_row, drawn) = found.exposure()
    assert (users, rows, shown, drawn) == ("users", "rows", 1, 1)
    assert sorted(chances) == sorted(by_row) == pytest.approx([1 - (2 / 3) ** 2, 1 - (1 / 3) ** 2])


def test_users_are_charged_for_their_clicks_on_each_pair(sql):
    """Of p 2 clicks are released, of q 1: a has 1 of 3 and 3 of 4, b 2 of 3 and 1 of 4."""
    clicked = [("a", "p", 1), ("a", "q", 3), ("b", "p", 2), ("b", "q", 1), ("c", "unseen", 1)]
    found = compared(sql, clicked, [("x", "p", 2), ("y", "q", 1)])
    charges = {"a": Fraction(3, 2) ** 2 * 4, "b": Fraction(9) * Fraction(4, 3)}

    for bound, broken in ((Fraction(12), 0), (Fraction(9), 1), (Fraction("8.9"), 2)):
        assert broken == sum(charge > bound for charge in charges.values())
        judged = found.judge(bound)
        assert (judged.users, judged.broken) == (2, broken)


@pytest.mark.parametrize("more", [1, 2])
def test_pairs_with_equal_factors_are_charged_separately(sql, more):
    """Each of three users has a third of two pairs: 3/2 for each click, neither more nor less."""
    clicked = [(user, pair, 1) for user in "abc" for pair in "pq"]
    found = compared(sql, clicked, [("a", "p", 1), ("b", "q", more)])
    charge = Fraction(3, 2) ** (1 + more)

    for bound, broken in ((charge, 0), (charge - Fraction(1, 1000), 3)):
        judged = found.judge(bound)
        assert (judged.users, judged.broken) == (3, broken)


@pytest.mark.parametrize("seed", range(3))
def test_every_user_is_charged_for_their_own_pairs(sql, seed):
    """Against plain fractions: as many users exceed each user's own charge as it says."""
    random = Random(seed)
    held = {(user, pair): random.randrange(5) for user in "abcdefghi" for pair in "pqrst"}
    clicked = [(user, pair, n) for (user, pair), n in held.items() if n]
    released = {pair: random.randrange(1, 4) for pair in "pqrs"}
    found = compared(sql, clicked, [("x", pair, n) for pair, n in released.items()])

    total = {pair: sum(n for (_, p), n in held.items() if p == pair) for pair in released}
    charge = [
        math.prod(Fraction(total[p], total[p] - held[u, p]) ** n for p, n in released.items())
        for u in "abcdefghi"
        if any(held[u, p] for p in released)
    ]
    for bound in charge:
        assert found.judge(bound).broken == sum(other > bound for other in charge)
