"""Checks of releases of real rows: whose rows are shown, and whether users stay in bounds."""

from fractions import Fraction
from types import SimpleNamespace

import pytest
from tests.counted_logs import fill

from slogan.verification import checks
from slogan.verification.comparison import Comparison
from slogan.verification.conditions import Bounds, Judgement


def users(sql, tmp_path, shown, *, names=None, pseudonyms="fresh"):
    """What is said of users; the log has a with p and q, b with p, c with r."""
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


KEPT = "{} of 2 users' pairs are not in the input log"
ALONE = "{} pseudonyms have pairs that no user of the input log holds together"
NAMED = ALONE + "; by the curator's table {} pseudonyms are not one-to-one, and " + KEPT


@pytest.mark.parametrize(
    ("shown", "strangers"),
    [
        ([("a", "p", 1), ("b", "p", 1)], 0),
        ([("a", "p", 1), ("b", "q", 1)], 1),
        ([("1", "p", 1), ("2", "p", 1)], 2),
    ],
)
def test_users_who_keep_their_names_hold_what_is_shown(sql, tmp_path, shown, strangers):
    found = users(sql, tmp_path, shown, pseudonyms="keep")
    assert found == (strangers == 0, KEPT.format(strangers))


@pytest.mark.parametrize(
    ("shown", "names", "ok", "said"),
    [
        ([("1", "p", 1), ("1", "q", 1)], None, True, ALONE.format(0)),
        ([("1", "p", 1), ("1", "r", 1)], None, False, ALONE.format(1)),
        ([("1", "p", 1), ("1", "q", 1)], "('a', '1')", True, NAMED.format(0, 0, 0)),
        ([("1", "p", 1), ("2", "p", 1)], "('a', '1'), ('b', '2')", True, NAMED.format(0, 0, 0)),
        ([("1", "p", 1), ("1", "q", 1)], "('b', '1')", False, NAMED.format(0, 0, 1)),
        ([("1", "p", 1), ("2", "p", 1)], "('a', '1'), ('a', '2')", False, NAMED.format(0, 1, 0)),
        # faults of one kind do not make up for those of another
        ([("1", "p", 1), ("2", "p", 1)], "('a', '1'), ('a', '3')", False, NAMED.format(0, 1, 1)),
        (
            [("1", "p", 1), ("1", "r", 1)],
            "('a', '1'), ('a', '2'), ('a', '3')",
            False,
            NAMED.format(1, 2, 1),
        ),
        (
            [("1", "p", 1), ("1", "q", 1)],
            "no table",
            False,
            ALONE.format(0) + "; the curator's table of pseudonyms cannot be read",
        ),
    ],
)
def test_pseudonyms_stand_for_users_who_hold_what_is_shown(sql, tmp_path, shown, names, ok, said):
    assert users(sql, tmp_path, shown, names=names) == (ok, said)


def test_no_pair_may_belong_to_one_user_alone():
    for unique in (0, 1, 2):
        compared = SimpleNamespace(unique_pairs=unique, pairs=3)
        found = checks._no_unique_pair(SimpleNamespace(compared=compared))
        said = f"{unique} of 3 released pairs belong to a single user of the input log"
        assert found == (unique == 0, said)


@pytest.mark.parametrize("broken", [0, 1, 2])
def test_each_condition_is_judged_by_its_own_bound(broken):
    bounds = Bounds(likelihood=Fraction(2), appearance=Fraction(3))
    judged = []

    def judge(bound):
        judged.append(bound)
        return Judgement(users=4, broken=broken, in_integers=1, largest_use=0.25)

    compared = SimpleNamespace(users=9, judge=judge)
    evidence = SimpleNamespace(compared=compared, bounds=bounds)
    said = (
        "9 users checked, 4 of them with released pairs and 1 decided by integers; "
        f"{broken} exceed the bound; the largest use of the budget is 0.250"
    )
    for name in ("condition_2", "condition_3"):
        assert checks.REAL_ROWS[name](evidence) == (broken == 0, said)
    assert judged == [bounds.likelihood, bounds.appearance]


def test_only_users_of_the_log_can_be_removed():
    for in_vain in (0, 1):
        ok, detail = checks._removed_users(SimpleNamespace(removed=(5, in_vain)))
        assert ok == (in_vain == 0)
        assert detail.startswith("5 users were removed beforehand")
        assert f"{in_vain} of them are not in the input log" in detail
