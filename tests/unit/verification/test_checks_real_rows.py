"""Checks of releases of real rows: whose rows are shown, and whether users stay in bounds."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from tests.counted_logs import fill

from slogan.verification import checks
from slogan.verification.comparison import Comparison
from slogan.verification.conditions import Bounds, Judgement


def users(sql, tmp_path, shown, *, names=None, pseudonyms="fresh"):
    """The finding about users; in the log, a has p and q, b has p, c has r."""
    fill(sql, "clicked", [("a", "p", 1), ("a", "q", 1), ("b", "p", 1), ("c", "r", 1)])
    fill(sql, "shown", shown)
    (tmp_path / "curator").mkdir()
    table = tmp_path / "curator/pseudonyms.parquet"
    if names == "no table":
        table.write_text(names)
    elif names:
        values = f'SELECT * FROM (VALUES {names}) t("user", pseudonym)'
        sql.execute(f"COPY ({values}) TO '{table}' (FORMAT parquet)")
    manifest = SimpleNamespace(pseudonyms=pseudonyms)
    found = SimpleNamespace(
        curators=lambda _: table if table.exists() else None,
        manifest=manifest,
        compared=Comparison(sql),
    )
    return checks.users_from_log(found)


KEPT = "{} of 2 rows are not rows of the same user in the input log"
ALONE = "{} new IDs have pairs that no single user of the input log has"
NAMED = (
    ALONE + "; in the curator's table, {} IDs are not one-to-one; "
    "{} of 2 rows are not rows of the user listed there"
)
GOOD = "each new ID has pairs that one user of the input log has"
GOOD_BY_TABLE = "each new ID stands for one user of the input log who has these pairs"


@pytest.mark.parametrize(
    ("shown", "strangers"),
    [
        ([("a", "p", 1), ("b", "p", 1)], 0),
        ([("a", "p", 1), ("b", "q", 1)], 1),
        ([("1", "p", 1), ("2", "p", 1)], 2),
    ],
)
def test_rows_under_original_ids_are_rows_of_these_users(sql, tmp_path, shown, strangers):
    found = users(sql, tmp_path, shown, pseudonyms="keep")
    good = "every row is its user's in the input log"
    assert found == (strangers == 0, KEPT.format(strangers) if strangers else good)


@pytest.mark.parametrize(
    ("shown", "names", "ok", "texts"),
    [
        ([("1", "p", 1), ("1", "q", 1)], None, True, [GOOD]),
        ([("1", "p", 1), ("1", "r", 1)], None, False, [ALONE.format(1)]),
        (
            [("1", "p", 1), ("1", "q", 1)],
            "('a', '1')",
            True,
            [GOOD_BY_TABLE, NAMED.format(0, 0, 0)],
        ),
        (
            [("1", "p", 1), ("2", "p", 1)],
            "('a', '1'), ('b', '2')",
            True,
            [GOOD_BY_TABLE, NAMED.format(0, 0, 0)],
        ),
        ([("1", "p", 1), ("1", "q", 1)], "('b', '1')", False, [NAMED.format(0, 0, 1)]),
        ([("1", "p", 1), ("2", "p", 1)], "('a', '1'), ('a', '2')", False, [NAMED.format(0, 1, 0)]),
        # a fault of one kind does not compensate for one of another
        ([("1", "p", 1), ("2", "p", 1)], "('a', '1'), ('a', '3')", False, [NAMED.format(0, 1, 1)]),
        (
            [("1", "p", 1), ("1", "r", 1)],
            "('a', '1'), ('a', '2'), ('a', '3')",
            False,
            [NAMED.format(1, 2, 1)],
        ),
        (
            [("1", "p", 1), ("1", "q", 1)],
            "no table",
            False,
            ["the curator's table of pseudonyms cannot be read", ALONE.format(0)],
        ),
    ],
)
def test_each_new_id_has_the_pairs_of_one_user(sql, tmp_path, shown, names, ok, texts):
    assert users(sql, tmp_path, shown, names=names) == (ok, *texts)


def test_no_pair_may_belong_to_one_user_alone():
    for unique in (0, 1, 2):
        compared = SimpleNamespace(unique_pairs=unique, pairs=3)
        found = checks._no_unique_pair(SimpleNamespace(compared=compared))
        good = "no released pair belongs to only one user of the input log"
        detail = f"{unique} of 3 released pairs belong to only one user" if unique else good
        assert found == (unique == 0, detail)


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_each_condition_is_judged_by_its_own_bound(broken):
    bounds = Bounds(likelihood=Fraction(2), appearance=Fraction(3))
    judged = []

    def judge(bound):
        judged.append(bound)
        return Judgement(users=4, broken=broken, in_integers=1, largest_use=0.25)

    compared = SimpleNamespace(users=9, judge=judge)
    evidence = SimpleNamespace(compared=compared, bounds=bounds)
    detail = "all 9 users are within the limit (closest: 25.0% of it)"
    if broken:
        detail = f"{broken} of 9 users exceed the limit"
    figures = (
        "9 users, 4 with released pairs, 1 decided by exact integers; "
        "largest use of the budget 0.250"
    )
    for name in ("condition_2", "condition_3"):
        assert checks.REAL_ROWS[name](evidence) == (broken == 0, detail, figures)
    assert judged == [bounds.likelihood, bounds.appearance]


def test_only_users_of_the_log_can_be_removed():
    for in_vain in (0, 1):
        ok, detail = checks._removed_users(SimpleNamespace(removed=(5, in_vain)))
        assert ok == (in_vain == 0)
        assert detail.startswith("5 users were removed before counting")
        assert ("1 of them are not in the input log" in detail) == bool(in_vain)
