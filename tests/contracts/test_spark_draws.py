"""Draws in Spark: the law of `sample_users`, and the same draws however often they are computed."""

import hmac
import re
from base64 import b64encode
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from slogan import engines
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
    asked = [
        (pair, click, total) for pair in (0, 7, 2**40) for click in range(40) for total in TOTALS
    ]
    found = drawing.points(spark.session, of_rows(spark, asked, "pair", "click", "total"), KEY)
    expected = {row: expected_point(KEY, *row) for row in asked}
    missing = [row for row, point in expected.items() if point is None]

    assert {tuple(row)[:3]: row["point"] for row in found.collect()} == expected
    assert missing
    assert {total for *_, total in missing} == {2**59 + 1}


def test_another_key_gives_other_points(spark, drawing):
    asked = of_rows(spark, [(0, click, 2**53) for click in range(50)], "pair", "click", "total")
    one, other = (rows_of(drawing.points(spark.session, asked, key)) for key in (KEY, KEY[::-1]))

    assert not {row[3] for row in one} & {row[3] for row in other}


# --- the same draws, whoever computes them ---


def owners(spark, drawing, *, partitions=None, shuffles="2", rows=CLICKS):
    clicks, released = clicks_of(spark, rows), released_of(spark)
    if partitions:
        clicks, released = clicks.repartition(partitions), released.repartition(partitions)
    spark.session.conf.set("spark.sql.shuffle.partitions", shuffles)
    try:
        return rows_of(drawing.owners(spark.session, clicks, released, KEY))
    finally:
        spark.session.conf.set("spark.sql.shuffle.partitions", "2")


def expected_owners(rows):
    """The same by the reference and a walk along the clicks of each pair."""
    drawn = Counter()
    for pair, clicks in RELEASED.items():
        line = [user for user, p, n in sorted(rows) if p == pair for _ in range(n)]
        for click in range(clicks):
            drawn[line[expected_point(KEY, pair, click, len(line))], pair] += 1
    return sorted((user, pair, n) for (user, pair), n in drawn.items())


def test_the_same_key_draws_the_same_however_the_work_is_divided(spark, drawing):
    once = owners(spark, drawing)

    assert once == expected_owners(CLICKS)
    assert once == owners(spark, drawing, partitions=5, shuffles="3", rows=CLICKS[::-1])


def test_batches_of_clicks_change_nothing(spark, drawing, monkeypatch):
    assert str(drawing._BATCH) in drawing._EACH_CLICK
    shorter = drawing._EACH_CLICK.replace(str(drawing._BATCH), "7")
    monkeypatch.setattr(drawing, "_EACH_CLICK", shorter)

    assert owners(spark, drawing) == expected_owners(CLICKS)


def test_a_click_without_a_word_has_all_drawn_anew(spark, drawing, monkeypatch):
    """With a total of 2^59 + 1 every second word is rejected; a click has four."""
    huge = [(0, 0, 2**59 - 4), (1, 0, 5)]
    clicks, keys = clicks_of(spark, huge), []
    real = drawing.owners

    def noted(session, clicks, released, key):
        keys.append(key)
        return real(session, clicks, released, key)

    monkeypatch.setattr(drawing, "owners", noted)
    drawn = drawing.draw_users(
        spark.session, clicks, np.array([0]), np.array([12]), SeededRandomness(1)
    )
    words = [[expected_point(key, 0, n, 2**59 + 1) for n in range(12)] for key in keys]

    assert (drawn.user.tolist(), drawn.count.tolist()) == ([0], [12])
    assert len(keys) > 1
    assert [None in tried for tried in words] == [True] * (len(keys) - 1) + [False]


# --- the law ---

DRAWS = 60_000
HELD = [40, 25, 20, 10, 5]


def p_value(drawing, spark, monkeypatch, broken=None):
    rows = [(user, 7, n) for user, n in enumerate(HELD)] + [(5, 8, 9)]
    if broken:
        monkeypatch.setattr(drawing, *broken)
    drawn = drawing.draw_users(
        spark.session,
        clicks_of(spark, rows),
        np.array([7, 8]),
        np.array([DRAWS, 0]),
        SystemRandomness(),
    )
    assert set(drawn.pair.tolist()) == {7}
    shown = np.zeros(len(HELD))
    np.add.at(shown, drawn.user, drawn.count)
    return stats.chisquare(shown, DRAWS * np.array(HELD) / sum(HELD)).pvalue


def test_users_are_drawn_in_proportion_to_their_clicks(spark, drawing, monkeypatch):
    assert p_value(drawing, spark, monkeypatch) > ALPHA


def test_the_same_test_rejects_draws_that_start_one_click_late(spark, drawing, monkeypatch):
    late = drawing._OWNERS.replace("- c.clicks AS place", "- c.clicks + 1 AS place")
    late = late.replace("coalesce(owner, -1L)", "coalesce(owner, 0L)")

    assert p_value(drawing, spark, monkeypatch, ("_OWNERS", late)) < ALPHA


# --- the key ---


def explained(frame):
    """All that Spark says of a plan: in its pages and its log of events."""
    query = frame._jdf.queryExecution()
    return query.toString() + query.executedPlan().treeString() + query.simpleString()


def spellings(key):
    """The key and its padded forms as text: hexadecimal, base 64, decimal bytes."""
    for mask in (0, 0x36, 0x5C):
        form = bytes(byte ^ mask for byte in key)
        signed = ", ".join(str(byte - 256 * (byte > 127)) for byte in form[:8])
        yield from (form[:8].hex().upper(), b64encode(form[:9]).decode(), signed)
        yield form[:8].decode("latin-1").upper()


def shown(text, key):
    return any(spelling in text.upper() for spelling in map(str.upper, spellings(key)))


def test_no_plan_shows_the_key(spark, drawing, capsys):
    from slogan.engines.spark.sql import run

    found = drawing.owners(spark.session, clicks_of(spark), released_of(spark), KEY)
    careless = run(spark.session, "SELECT sha2(:key, 256) FROM {c}", {"key": KEY}, c=found)

    assert not shown(explained(found), KEY)
    assert "sha2" in explained(found)
    assert shown(explained(careless), KEY)
    found.explain("formatted")
    shuffled = re.findall(r"\) Exchange\nInput .*", capsys.readouterr().out)
    assert len(shuffled) == 3
    assert not any("inner" in columns or "outer" in columns for columns in shuffled)


# --- the engine ---


def test_an_engine_draws_for_a_part_of_its_pairs(spark, tmp_path):
    table = [[3, 1, 0, 2], [1, 1, 4, 0], [0, 2, 1, 5]]
    lines = ["user\tquery\turl\tcount"] + [
        f"u{user}\tq{pair}\twww.x.com\t{n}"
        for user, row in enumerate(table)
        for pair, n in enumerate(row)
        if n
    ]
    (tmp_path / "log.tsv").write_text("".join(f"{line}\n" for line in lines))
    log, said = read(tmp_path / "log.tsv"), []
    host = engines.start(spark, log, watcher=lambda *words: said.append(words))
    try:
        hist = host.count(log).hist
        drawn = host.draw(np.array([1, 3]), np.array([50, 70]), SystemRandomness())
    finally:
        host.close()
    held = {*zip(hist.user.tolist(), hist.pair.tolist(), strict=True)}

    assert hist.digest() == histogram(table, [0, 1, 2, 3]).digest()
    assert np.bincount(drawn.pair, weights=drawn.count).tolist() == [0, 50, 0, 70]
    assert {*zip(drawn.user.tolist(), drawn.pair.tolist(), strict=True)} <= held
    assert ("sample", "120 draws at most, as integers: 0.0 MB") in said
