"""Draws in Spark: the law of `sample_users`, and the same draws however often they are computed."""

import hmac
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from slogan import engines
from slogan.plan import Plan
from slogan.randomness import SeededRandomness, SystemRandomness
from slogan.searchlog import read
from strategies import histogram

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

ALPHA = 1e-6
KEY = bytes(range(100, 132))
CLICKS = [(user, pair, 1 + (user * pair) % 7) for user in range(40) for pair in range(6)]
RELEASED = {0: 5, 2: 300, 3: 1, 5: 4_000}


@pytest.fixture(scope="module")
def drawing(spark):
    from slogan.engines.spark import drawing

    return drawing


def frame(spark, **columns):
    from slogan.engines.spark.sql import frame_of

    return frame_of(spark.session, **columns)


def of_rows(spark, rows, *names):
    columns = np.array(rows, dtype=np.int64).T
    return frame(spark, **dict(zip(names, columns, strict=True)))


def clicks_of(spark, rows=CLICKS):
    return of_rows(spark, rows, "user", "pair", "clicks")


def released_of(spark, released=RELEASED):
    return of_rows(spark, list(released.items()), "pair", "drawn")


def rows_of(found):
    return sorted(tuple(row) for row in found.collect())


# --- the point of a click ---


def expected_point(key, pair, click, total):
    """The same by Python's HMAC and integers of any length."""
    digest = hmac.digest(key, f"{pair} {click}".encode(), "sha256").hex()
    words = (int(digest[15 * n : 15 * n + 15], 16) for n in range(4))
    kept = 2**60 // total * total
    return next((word % total for word in words if word < kept), None)


# From about 2^53 on words are rejected; a log has at most that many clicks, the function need not.
TOTALS = [1, 2, 3, 7, 100, 10**9 + 7, 2**53 - 1, 2**53, 2**59 - 1, 2**59 + 1, 2**60 - 1]


def test_points_are_those_of_the_reference(spark, drawing):
    asked = [(pair, click, total) for pair in (0, 7, 2**40) for click in range(40) for total in TOTALS]
    found = drawing.points(spark.session, of_rows(spark, asked, "pair", "click", "total"), KEY)
    expected = {row: expected_point(KEY, *row) for row in asked}
    missing = [row for row, point in expected.items() if point is None]

    assert {tuple(row)[:3]: row["point"] for row in found.collect()} == expected
    assert missing
    assert {total for *_, total in missing} == {2**59 + 1}


def test_another_key_gives_other_points(spark, drawing):
    asked = of_rows(spark, [(0, click, 2**53) for click in range(50)], "pair", "click", "total")
    one, other = (
        rows_of(drawing.points(spark.session, asked, key)) for key in (KEY, KEY[::-1])
    )

    assert not {row[3] for row in one} & {row[3] for row in other}
