"""Logs at the limits: ten million users, one user with ten million rows, counts near 2^63."""

import json

import duckdb
import pytest

import slogan
from slogan.errors import BadRowError

MANY = 10**7
GIGABYTE = 1_000_000  # in kilobytes, as the kernel tells them


@pytest.fixture
def large(site):
    """Run a verb on a log that a query describes; its answer, and what it printed."""

    def perform(query, *command):
        log = site.folder / "large.parquet"
        duckdb.sql(query).write_parquet(str(log))
        run = site.run("sanitize", "release")
        run["command"] = [command[0], str(log), *command[1:], "--json"]
        (answer,) = site.perform(run)
        said = site.say()
        site.check_nothing_left()
        return answer, said

    return perform


# DuckDB's gigabyte, a quarter for what is loaded, and buffers of threads, which it does not count;
# 1.3 GB were measured.
COUNTING = 2 * GIGABYTE
# And the arrays of the histogram, the constraints and the solver: 140 bytes for each of the users
# were measured, 2.7 GB in all; one more copy of everything does not fit.
SOLVING = 4 * GIGABYTE
BUDGET = ("--exp-epsilon", "2", "--delta", "0.5", "--time-limit", "20", "--memory-limit", "2GB")


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_ten_million_users_with_a_row_each(large, site, ladder):
    query = f"""
        SELECT i AS user, 'q' || i % 1000 AS query, 'u' || i % 1000 AS url
        FROM range({MANY}) t(i)"""
    target = str(site.releases / "release")
    answer, said = large(query, "sanitize", "-o", target, "--solver", "packing", *BUDGET)

    ladder.count("attacks run")
    assert answer["code"] == 0, said
    assert json.loads(said)["users"] == MANY
    assert answer["kilobytes"] < SOLVING


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_ten_million_users_who_share_nothing(large, site, ladder):
    query = f"SELECT i AS user, 'q' || i AS query, 'u' || i AS url FROM range({MANY}) t(i)"
    target = str(site.releases / "release")
    answer, said = large(query, "sanitize", "-o", target, *BUDGET)

    ladder.count("attacks run")
    assert answer["code"] == 3, said
    assert answer["kilobytes"] < COUNTING


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("others", [0, 50])
def test_one_user_with_ten_million_rows(large, site, ladder, others):
    """Every second of the others shares ten pairs with that user, the rest share ten others.

    Next to this many clicks no user can be hidden, so none of the shared pairs is released.
    """
    query = f"""
        SELECT CASE WHEN i < {others} * 10 THEN i // 10 + 2 ELSE 1 END AS user,
               i % CASE WHEN i < {others} * 10 THEN 20 ELSE 10 END AS pair,
               'q' || pair AS query, 'u' || pair AS url FROM range({MANY}) t(i)"""
    query = f"SELECT * EXCLUDE (pair) FROM ({query})"
    target = site.releases / "release"
    answer, said = large(query, "sanitize", "-o", str(target), *BUDGET)

    ladder.count("attacks run")
    assert answer["code"] == (0 if others else 3), said
    assert answer["kilobytes"] < COUNTING
    if others:
        released = duckdb.read_parquet(str(target / "public/log.parquet")).fetchall()
        assert {int(query[1:]) for _, query, *_ in released} <= {*range(10, 20)}


HUGE = (2**53, 2**63 - 1, 2**63, 2**64, 10**30, "1e308", "9" * 400)


@pytest.mark.parametrize("count", HUGE, ids=lambda count: str(count)[:12])
@pytest.mark.parametrize("kind", ["tsv", "jsonl"])
def test_counts_beyond_2_to_the_53_are_refused(tmp_path, ladder, count, kind):
    rows = [(1, "q", "u", 1), (2, "q", "u", count)]
    log = tmp_path / f"huge.{kind}"
    if kind == "tsv":
        lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    else:
        lines = [
            f'{{"user": {u}, "query": "{q}", "url": "{w}", "count": {n}}}' for u, q, w, n in rows
        ]
    log.write_text("".join(f"{line}\n" for line in lines))

    ladder.count("attacks run")
    with pytest.raises(BadRowError):
        slogan.inspect(log)


@pytest.mark.parametrize("kind", ["BIGINT", "UBIGINT", "HUGEINT", "UHUGEINT", "DOUBLE"])
@pytest.mark.parametrize("count", ["most", "many"])
def test_counts_of_every_type_that_add_up_to_more_are_refused(tmp_path, ladder, kind, count):
    """One count near the largest of its type, or many that are fine alone."""
    most = {"BIGINT": 2**63 - 1, "UBIGINT": 2**64 - 1, "HUGEINT": 2**127 - 1}.get(kind, 2**127)
    value, rows = (most, 2) if count == "most" else (2**53 - 1, 3)
    log = tmp_path / "huge.parquet"
    duckdb.sql(f"""
        SELECT i AS user, 'q' AS query, 'u' AS url, {value}::{kind} AS count
        FROM range({rows}) t(i)""").write_parquet(str(log))

    ladder.count("attacks run")
    with pytest.raises(BadRowError) as raised:
        slogan.inspect(log)
    assert raised.value.reason == "count huge"
