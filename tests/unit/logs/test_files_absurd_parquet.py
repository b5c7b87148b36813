"""Parquet with absurd schemas: released with the same schema, or refused in our words."""

from contextlib import closing

import duckdb
import pytest

import slogan
from slogan.errors import LogFormatError, SloganError

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
TYPES = {
    "STRUCT(a INTEGER, b VARCHAR)": "{'a': i, 'b': 'x'}",
    "INTEGER[]": "[i]",
    "MAP(VARCHAR, INTEGER)": "MAP {'k': i}",
    "DATE": "DATE '2020-01-01' + i::INTEGER",
    "TIMESTAMP": "TIMESTAMP '2020-01-01' + to_days(i::INTEGER)",
    "TIME": "TIME '00:00:00' + to_seconds(i)",
    "DECIMAL(9,2)": "i",
    "BOOLEAN": "i % 2 = 0",
    "BLOB": "i::VARCHAR::BLOB",
    "UUID": "md5(i::VARCHAR)::UUID",
    "FLOAT": "i",
    "INTERVAL": "to_days(i::INTEGER)",
    "ENUM('0', '1', '2', '3', '4', '5', '6', '7', '8', '9')": "i::VARCHAR",
    "HUGEINT": "i",
}
NESTED = list(TYPES)[:3]
"""A dictionary can hide any length of text in them."""


def attempt(file, target, **options):
    """Release it and verify it, or return the error."""
    try:
        with closing(slogan.sanitize(file, BUDGET, solver="exact", **options)) as made:
            made.save(target, force=True)
    except SloganError as error:
        return error
    bad = [check for check in slogan.verify(file, target).checks if not check.ok]
    assert bad == []
    types = [str(t) for t in duckdb.sql(f"FROM '{target}/public/log.parquet'").types]
    assert types == [str(t) for t in duckdb.sql(f"FROM '{file}'").types]
    return None


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize(
    "role", ["user", "count", *(pytest.param(n, marks=pytest.mark.long) for n in ("query", "url"))]
)
def test_any_type_in_any_role(tmp_path, kind, role):
    """Ten users who share four pairs, one column of them of this type."""
    plain = {"user": "k::VARCHAR", "query": "'q' || i", "url": "'u' || i", "count": "1"}
    numbered = f"SELECT k, {'k' if role == 'user' else 'i'} AS i FROM range(10) a(k), range(4) b(i)"
    columns = {**plain, role: f"({TYPES[kind]})::{kind}"}
    names = ", ".join(f'{value} AS "{name}"' for name, value in columns.items())
    file = tmp_path / "in.parquet"
    duckdb.sql(f"SELECT {names} FROM ({numbered})").write_parquet(str(file))
    for options in ({}, {"pseudonyms": "keep"}):
        error = attempt(file, tmp_path / "out", **options)
        if kind in NESTED:
            assert error is not None
            assert f"the column of the {role} is of a nested type" in error.problem


@pytest.mark.parametrize("kind", NESTED)
def test_nested_types_beside_the_roles_are_kept(tmp_path, kind):
    file = tmp_path / "in.parquet"
    duckdb.sql(
        f"SELECT i AS user, 'q' AS query, 'u' AS url, ({TYPES[kind]})::{kind} AS x "
        "FROM range(9) t(i)"
    ).write_parquet(str(file))

    assert attempt(file, tmp_path / "out") is None


def test_another_type_in_the_second_file_is_refused(tmp_path):
    for name, query in (("a", "'q'"), ("b", "['q']")):
        duckdb.sql(
            f"SELECT i AS user, {query} AS query, 'u' AS url FROM range(9) t(i)"
        ).write_parquet(str(tmp_path / f"{name}.parquet"))
    with pytest.raises(LogFormatError, match=r"b\.parquet has other columns than a\.parquet"):
        slogan.read(tmp_path)


def test_thousands_of_columns(tmp_path):
    file = tmp_path / "wide.parquet"
    more = ", ".join(f"{n} AS x{n}" for n in range(3_000))
    duckdb.sql(
        f"SELECT i AS user, 'q' AS query, 'u' AS url, {more} FROM range(9) t(i)"
    ).write_parquet(str(file))

    assert attempt(file, tmp_path / "out") is None


def test_columns_of_the_same_name(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    numbers = pa.array([str(n) for n in range(9)])
    table = pa.table(
        [numbers, pa.array(["q"] * 9), pa.array(["u"] * 9), numbers],
        names=["user", "query", "url", "user"],
    )
    pq.write_table(table, tmp_path / "twice.parquet")

    error = attempt(tmp_path / "twice.parquet", tmp_path / "out")
    assert error is None or error.exit_code == 2
