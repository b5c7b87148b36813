"""Does verify() pass what is honest, and fail each dishonesty by the check that is meant for it?"""

import contextlib
import csv
import gzip
import importlib
import json
import math
import shutil
import subprocess
import sys
import tempfile
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from pydantic_core import to_json
from tests.helpers import write_pages
from tests.import_contracts import lint_imports

import slogan
from slogan.budget import PrivacyBudget, exp_rounded_down
from slogan.errors import BadRowError, BudgetError, LogNotFoundError, OptionError
from slogan.manifest.manifest import Manifest
from slogan.manifest.promise import promise_of
from slogan.modes import ReleaseKind
from slogan.storage.atomic import sha256_of
from slogan.verification.conditions import Factor, Verdict, bounds_of, exp_below, judge
from slogan.verification.verify import verify, verify_public

BUDGET = PrivacyBudget(exp_epsilon="2", delta="0.5")
NAMES = [
    *("manifest", "not_a_test_run", "checksum", "columns", "words", "passport", "checksum_file"),
    "manifest_as_written",
    *(
        "rows_as_written",
        "nothing_else_public",
        "budget",
        "schema",
        "withheld",
        "pairs_from_log",
        "user_ids",
    ),
    *("no_unique_pair", "users_from_log", "condition_2", "condition_3", "drawn"),
]
FORM = {"manifest_as_written", "rows_as_written", "user_ids", "drawn", "passport", "checksum_file"}
"""What most edits by hand break too, and test_forgeries.py is about."""
COMPARED = {"no_unique_pair", "pairs_from_log", "users_from_log", "condition_2", "condition_3"}
COLUMNS = ["user", "query", "url", "clicks"]

# Ten users share four pairs, so that six clicks fit the budget and a seventh does not
# (7·log(10/9) > log 2); one user has a unique pair.
ROWS = [(f"person{k}", f"zebra {j}", f"z{j}.example", "1") for k in range(10) for j in range(4)]
ROWS += [("person0", "secret zebra", "s.example", "5")]
# Two crowds that share nothing: no user holds a pair of each.
CROWDS = [
    (f"{c}{k}", f"{c} zebra", f"{c}.example", "1") for c in ("left", "right") for k in range(9)
]


def write(file: Path, rows, columns=COLUMNS) -> Path:
    if ".tsv" in file.suffixes:
        lines = ["\t".join(row) for row in [columns, *rows]]
        data = "\n".join([*lines, ""]).encode()
        file.write_bytes(gzip.compress(data) if file.suffix == ".gz" else data)
    elif file.suffix == ".csv":
        with file.open("w", newline="") as out:
            csv.writer(out).writerows([columns, *rows])
    elif file.suffix == ".jsonl":
        records = [dict(zip(columns, row, strict=True)) for row in rows]
        for record in records:
            record["count"] = int(record.pop("clicks"))
        file.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        with duckdb.connect() as sql:
            sql.execute(
                'CREATE TABLE t ("user" VARCHAR, query VARCHAR, url VARCHAR, clicks INTEGER)'
            )
            sql.executemany("INSERT INTO t VALUES (?, ?, ?, ?)", rows)
            sql.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    return file


def released(log, folder: Path, *, budget=BUDGET, **options) -> Path:
    release = slogan.sanitize(log, budget, time_limit=5, **options)
    release.save(folder)
    release.close()
    return folder


def failed(verdict: Verdict) -> set[str]:
    """The names of the failed checks; no detail may quote the log."""
    assert [check.name for check in verdict.checks] == NAMES
    for check in verdict.checks:
        assert not any(word in check.detail for word in ("zebra", "example", "person", "secret"))
    names = {check.name for check in verdict.checks if not check.ok} - FORM
    # The schema is looked at beside the manifest, and beside the log.
    return {"schema" if name == "columns" else name for name in names}


def edit_manifest(folder: Path, **changes) -> None:
    file = folder / "public/manifest.json"
    manifest = json.loads(file.read_text())
    for key, value in changes.items():
        manifest[key] = {**manifest[key], **value} if isinstance(value, dict) else value
    file.write_bytes(to_json(manifest, indent=2) + b"\n")
    forge_words(folder)


def forge_words(folder: Path) -> None:
    """Make promise and report agree with an edited manifest, as a careful forger would."""
    file = folder / "public/manifest.json"
    with contextlib.suppress(ValidationError, BudgetError):
        manifest = Manifest.model_validate_json(file.read_bytes())
        budget = slogan.PrivacyBudget(**manifest.budget.model_dump())
        kind, ids = ReleaseKind.EXACT_COUNTS, manifest.pseudonyms
        promise = promise_of(kind, {}, budget, pseudonyms=ids)
        fields = {"promise": promise.name, "guarantees": promise.guarantees}
        fields["not_guaranteed"] = promise.not_guaranteed
        manifest = manifest.model_copy(update=fields)
        file.write_text(manifest.model_dump_json())
        write_pages(folder / "public", manifest)


def test_a_promise_in_other_words_is_found(case):
    log, folder = case("fresh")
    file = folder / "public/manifest.json"
    manifest = json.loads(file.read_text())
    manifest["guarantees"] = ["No user can ever be recognised."]
    file.write_text(json.dumps(manifest))

    assert failed(verify(log, folder)) == {"words"}


def test_an_edited_report_is_found(case):
    log, folder = case("fresh")
    page = folder / "public/report.html"
    page.write_text(page.read_text().replace("is not covered", "is covered"))

    assert failed(verify(log, folder)) == {"words"}


def edit_log(folder: Path, change, *, sign: bool) -> None:
    """Change the lines of a released text file; signed, the manifest agrees with the new file."""
    file = next((folder / "public").glob("log.*"))
    lines = file.read_text().splitlines()
    file.write_text("\n".join([*change(lines), ""]))
    if sign:
        edit_manifest(folder, log={"sha256": sha256_of(file)})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A log and honest releases of it, to be copied before they are tampered with."""
    folder = tmp_path_factory.mktemp("made")
    log = write(folder / "log.tsv", ROWS)
    released(log, folder / "fresh")
    released(log, folder / "keep", pseudonyms="keep")
    crowds = write(folder / "crowds.tsv", CROWDS)
    released(crowds, folder / "crowds")
    return folder


@pytest.fixture
def case(made, tmp_path):
    """Copy an honest release: case("keep") gives the log and the copy."""

    def copied(name: str) -> tuple[Path, Path]:
        shutil.copytree(made / name, tmp_path / name)
        return made / ("crowds.tsv" if name == "crowds" else "log.tsv"), tmp_path / name

    return copied


@pytest.mark.parametrize("suffix", [".tsv", ".tsv.gz", ".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("pseudonyms", ["fresh", "keep"])
def test_an_honest_release_passes_every_check(tmp_path, suffix, pseudonyms):
    log = write(tmp_path / f"clicks{suffix}", ROWS)
    folder = released(log, tmp_path / "release", pseudonyms=pseudonyms)

    verdict = verify(log, folder)

    assert failed(verdict) == set()
    assert verdict.ok
    assert verdict.to_dict()["ok"]
    first = {"name": "manifest", "ok": True, "detail": "version 1", "figures": ""}
    assert verdict.to_dict()["checks"][0] == first


AOL = ["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]
EVENTS = [(u.removeprefix("person") + "7", q, "2006-03-01", "1", url) for u, q, url, _ in ROWS]
EVENTS += [("77", "zebra without a click", "2006-03-02", "", "")]


@pytest.mark.parametrize("pseudonyms", ["fresh", "keep"])
def test_an_honest_release_of_events_passes(tmp_path, pseudonyms):
    log = write(tmp_path / "aol.tsv", EVENTS, AOL)
    assert failed(verify(log, released(log, tmp_path / "r", pseudonyms=pseudonyms))) == set()


def test_an_honest_release_of_a_file_without_header_passes(tmp_path):
    log = tmp_path / "clicks.tsv"
    log.write_text("".join(f"{u}\t{c}\t{url}\t{q}\n" for u, q, url, c in ROWS))
    described = slogan.read(log, columns=("user", "clicks", "url", "query"))
    folder = released(described, tmp_path / "release")

    assert failed(verify(described, folder)) == set()
    assert failed(verify(log, folder)) == set()  # the manifest names the columns


def test_an_honest_release_of_several_files_passes(tmp_path):
    write(tmp_path / "a.tsv", ROWS[:20])
    write(tmp_path / "b.tsv", ROWS[20:])
    folder = released(str(tmp_path / "[ab].tsv"), tmp_path / "release")
    assert failed(verify(str(tmp_path / "[ab].tsv"), folder)) == set()


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_an_honest_release_of_a_table_passes(tmp_path, library):
    frames = importlib.import_module(library)
    rows = [(k, f"zebra {j}", f"z{j}.example", 1) for k in range(10) for j in range(4)]
    columns = {name: [row[i] for row in rows] for i, name in enumerate(COLUMNS)}
    table = frames.DataFrame(columns)
    log = slogan.read(table)
    assert failed(verify(log, released(log, tmp_path / "release"))) == set()


texts = st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1, max_size=6
).filter(lambda text: text.strip() == text)


@settings(max_examples=15)
@given(
    pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=4, unique=True),
    suffix=st.sampled_from([".tsv", ".csv", ".jsonl", ".parquet"]),
    data=st.data(),
)
def test_honest_releases_pass_for_any_texts(pairs, suffix, data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("any")
    counts = st.lists(st.integers(0, 3), min_size=4, max_size=8)
    rows = [
        (f"u{user}", query, url, str(n))
        for query, url in pairs
        for user, n in enumerate([1, 1, 1, *data.draw(counts)])
        if n
    ]
    log = write(folder / f"clicks{suffix}", rows)
    loose = PrivacyBudget(epsilon="1.5", delta="0.9")
    assert failed(verify(log, released(log, folder / "release", budget=loose))) == set()


# --- tampering with the released log -------------------------------------------------------------


def raise_first_count(lines):
    user, query, url, _ = lines[1].split("\t")
    return [lines[0], f"{user}\t{query}\t{url}\t100", *lines[2:]]


@pytest.mark.parametrize("name", ["fresh", "keep"])
@pytest.mark.parametrize("sign", [True, False])
def test_a_raised_count_breaks_both_conditions(case, name, sign):
    log, folder = case(name)
    edit_log(folder, raise_first_count, sign=sign)
    unsigned = set() if sign else {"checksum"}
    assert failed(verify(log, folder)) == {"condition_2", "condition_3", *unsigned}


def test_a_single_click_too_many_breaks_both_conditions(case):
    log, folder = case("keep")
    edit_log(folder, lambda lines: [*lines, "person3\tzebra 1\tz1.example\t1"], sign=True)
    assert failed(verify(log, folder)) == {"condition_2", "condition_3"}


def test_a_unique_pair_is_found(case):
    log, folder = case("keep")
    edit_log(folder, lambda lines: [*lines, "person0\tsecret zebra\ts.example\t1"], sign=False)
    expected = {"checksum", "no_unique_pair", "condition_2", "condition_3"}
    assert failed(verify(log, folder)) == expected


def test_an_unknown_pair_is_found(case):
    log, folder = case("keep")
    edit_log(folder, lambda lines: [*lines, "person0\tnew zebra\tn.example\t1"], sign=False)
    assert failed(verify(log, folder)) == {"checksum", "pairs_from_log", "users_from_log"}


@pytest.mark.parametrize("name", ["person99", "person 3", "PERSON3"])
def test_an_unknown_user_is_found(case, name):
    log, folder = case("keep")
    stranger = lambda lines: [lines[0], name + "\t" + lines[1].split("\t", 1)[1], *lines[2:]]  # noqa: E731
    edit_log(folder, stranger, sign=False)
    assert failed(verify(log, folder)) == {"checksum", "users_from_log"}


def test_a_known_user_with_the_pair_of_another_is_found(tmp_path):
    log = write(tmp_path / "crowds.tsv", CROWDS)
    folder = released(log, tmp_path / "release", pseudonyms="keep")
    swap = lambda lines: [lines[0], "right1\t" + lines[1].split("\t", 1)[1], *lines[2:]]  # noqa: E731
    edit_log(folder, swap, sign=True)
    assert failed(verify(log, folder)) == {"users_from_log"}


def test_a_pseudonym_with_the_pairs_of_two_users_is_found(case):
    log, folder = case("crowds")
    shutil.rmtree(folder / "curator")
    assert failed(verify(log, folder)) == set()

    def merge(lines):
        rows = [line.split("\t") for line in lines[1:]]
        left = next(row[0] for row in rows if row[1] == "left zebra")
        right = next(row for row in rows if row[1] == "right zebra")
        right[0] = left
        return [lines[0], *("\t".join(row) for row in rows)]

    edit_log(folder, merge, sign=True)
    verdict = verify(log, folder)
    assert failed(verdict) == {"users_from_log"}
    assert verdict.checks[NAMES.index("users_from_log")].detail.startswith("1 new IDs have pairs")


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT min("user") OVER () AS "user", pseudonym FROM t',  # all are one person
        "SELECT 'left0' AS \"user\", min(pseudonym) AS pseudonym FROM t",  # most are left out
        "SELECT CASE WHEN \"user\" LIKE 'left%' THEN 'right' ELSE 'left' END "  # the wrong crowd
        '|| right("user", 1) AS "user", pseudonym FROM t',
        "SELECT * FROM t UNION ALL SELECT \"user\", pseudonym || '0' FROM t",  # two for each
        'SELECT "user" FROM t',  # none
    ],
)
def test_a_wrong_table_of_pseudonyms_is_found(case, sql):
    log, folder = case("crowds")
    table = folder / "curator/pseudonyms.parquet"
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE t AS FROM read_parquet('{table}')")
        db.execute(f"COPY ({sql}) TO '{table}' (FORMAT parquet)")
    assert failed(verify(log, folder)) == {"users_from_log"}


def test_the_log_of_another_release_is_found(case):
    log, folder = case("fresh")
    _, other = case("crowds")
    shutil.copy(other / "public/log.tsv", folder / "public/log.tsv")
    assert failed(verify(log, folder)) == {"checksum", "pairs_from_log", "users_from_log"}


def test_another_release_of_the_same_log_has_another_checksum(case, tmp_path):
    log, folder = case("keep")
    other = released(log, tmp_path / "other")
    shutil.copy(other / "public/log.tsv", folder / "public/log.tsv")
    edit_manifest(folder, pseudonyms="fresh")
    assert failed(verify(log, folder)) == {"checksum"}


def test_pseudonyms_are_not_users(case):
    log, folder = case("fresh")
    edit_manifest(folder, pseudonyms="keep")
    assert failed(verify(log, folder)) == {"users_from_log"}


@pytest.mark.parametrize(
    "line",
    [
        "person1\tzebra 1\tz1.example\t0",
        "person1\tzebra 1\tz1.example\t-1",
        "person1\tzebra 1\tz1.example\t.5",
        "person1\tzebra 1\tz1.example\tsecret",
        "person1\tzebra 1\tz1.example",
        "person1\tzebra 1\tz1.example\t1\tsecret",
        "person1\tsecret zebra\t\t1",  # a query without a click is not a released click
        "\tsecret zebra\tz1.example\t1",
    ],
)
def test_a_released_row_that_counts_no_clicks_is_found(case, line):
    log, folder = case("keep")
    edit_log(folder, lambda lines: [*lines, line], sign=True)
    assert failed(verify(log, folder)) == {"schema"}


def test_a_row_that_is_not_utf8_is_found(case):
    log, folder = case("keep")
    with (folder / "public/log.tsv").open("ab") as file:
        file.write(b"person1\tzebra \xff\tz1.example\t1\n")
    assert failed(verify(log, folder)) == {"checksum", "schema"}


def test_a_truncated_or_missing_log_is_found(case):
    log, folder = case("keep")
    file = folder / "public/log.tsv"
    file.write_text("")
    assert failed(verify(log, folder)) == {"checksum", "schema", *COMPARED}
    file.unlink()
    assert failed(verify(log, folder)) == {"checksum", "schema", "nothing_else_public", *COMPARED}


@pytest.mark.parametrize("file", ["../../log.tsv", "/etc/hostname", "..", ""])
def test_a_log_outside_the_release_is_not_read(case, file):
    log, folder = case("keep")
    edit_manifest(folder, log={"file": file})
    expected = {"checksum", "schema", "nothing_else_public", *COMPARED}
    assert failed(verify(log, folder)) == expected


# --- tampering with the schema -------------------------------------------------------------------


def test_a_renamed_column_is_found(case):
    log, folder = case("keep")
    edit_log(folder, lambda lines: [lines[0].replace("query", "text"), *lines[1:]], sign=True)
    verdict = verify(log, folder)
    assert failed(verdict) == {"schema", *COMPARED}
    assert all(c.detail.startswith("not possible") for c in verdict.checks if c.name in COMPARED)


def test_a_column_renamed_in_log_and_manifest_is_found(case):
    log, folder = case("keep")
    edit_log(folder, lambda lines: [lines[0].replace("query", "text"), *lines[1:]], sign=True)
    edit_manifest(folder, log={"columns": ["user", "text", "url", "clicks"], "query": "text"})
    assert failed(verify(log, folder)) == {"schema", *COMPARED}
    assert failed(verify(slogan.read(log), folder)) == {"schema"}  # with the schema of the input


def test_columns_in_another_order_are_found(case):
    log, folder = case("keep")
    swap = lambda lines: ["\t".join(line.split("\t")[::-1]) for line in lines]  # noqa: E731
    edit_log(folder, swap, sign=True)
    assert failed(verify(log, folder)) == {"schema"}


@pytest.mark.parametrize(
    ("suffix", "change"),
    [
        (".tsv", lambda row: row.replace("\t\t", "\t2006-03-01\t", 1)),  # when
        (".tsv", lambda row: row.replace("\t\t\t", "\t\t1\t", 1)),  # which rank
        (".tsv", lambda row: "1\tzebra without a click\t\t\t"),  # a query without a click
        (".jsonl", lambda row: row.replace("}", ', "note": "zebra"}')),
        (".jsonl", lambda row: row.replace("{", '{"user": "zebra", ', 1)),
        (".jsonl", lambda row: "zebra"),
    ],
)
def test_a_value_in_an_unread_column_is_found(tmp_path, suffix, change):
    aol = suffix == ".tsv"
    log = write(tmp_path / f"x{suffix}", EVENTS if aol else ROWS, AOL if aol else COLUMNS)
    loose = PrivacyBudget(epsilon=5, delta="0.99")  # for some forty rows
    folder = released(log, tmp_path / "release", budget=loose, pseudonyms="keep")
    edit_log(folder, lambda lines: [*lines[:-1], change(lines[-1])], sign=True)
    verdict = verify(log, folder)
    assert "rows_as_written" in {check.name for check in verdict.checks if not check.ok}
    assert failed(verdict) <= {"schema", "users_from_log"}


def test_another_format_is_found(case):
    log, folder = case("keep")
    file = folder / "public/log.csv"
    (folder / "public/log.tsv").rename(file)
    file.write_text(file.read_text().replace("\t", ","))
    fields = {"file": "log.csv", "format": "csv", "sha256": sha256_of(file)}
    edit_manifest(folder, log=fields)
    assert failed(verify(slogan.read(log), folder)) == {"schema"}
    assert "schema" in failed(verify(log, folder))


def test_other_types_of_parquet_are_found(tmp_path):
    log = write(tmp_path / "clicks.parquet", ROWS)
    folder = released(log, tmp_path / "release")
    file = folder / "public/log.parquet"
    with duckdb.connect() as db:
        db.execute(f"CREATE TABLE t AS SELECT * REPLACE (clicks::BIGINT AS clicks) FROM '{file}'")
        db.execute(f"COPY t TO '{file}' (FORMAT parquet)")
    edit_manifest(folder, log={"sha256": sha256_of(file)})
    assert failed(verify(log, folder)) == {"schema"}


# --- tampering with the folder and the manifest --------------------------------------------------


def test_a_test_run_is_refused(made, tmp_path):
    log = made / "log.tsv"
    folder = released(log, tmp_path / "release", seed=7)
    assert failed(verify(log, folder)) == {"not_a_test_run"}


@pytest.mark.parametrize(
    ("budget", "check"),
    [
        ({"exp_epsilon": "1.5"}, "condition_2"),
        ({"exp_epsilon": None, "epsilon": "0.6"}, "condition_2"),
        ({"delta": "0.3"}, "condition_3"),
    ],
)
def test_a_manifest_that_promises_more_is_found(case, budget, check):
    log, folder = case("fresh")
    edit_manifest(folder, budget=budget)
    assert failed(verify(log, folder)) == {check}


@pytest.mark.parametrize(
    "budget",
    [
        {"exp_epsilon": None},
        {"epsilon": "1"},  # beside exp_epsilon
        {"exp_epsilon": "1"},
        {"exp_epsilon": None, "epsilon": "0"},
        {"exp_epsilon": None, "epsilon": "1e300"},
        {"exp_epsilon": None, "epsilon": "1e999999999"},
        {"delta": "1"},
        {"delta": "0"},
        {"delta": "1/0"},
        {"delta": "nan"},
        {"delta": "0." + "1" * 5_000},
        {"delta": "secret"},
    ],
)
def test_a_manifest_without_a_budget_is_found(case, budget):
    log, folder = case("fresh")
    edit_manifest(folder, budget=budget)
    assert failed(verify(log, folder)) == {"words", "budget", "condition_2", "condition_3"}


def test_unexpected_files_in_public_are_found(case):
    log, folder = case("fresh")
    extra = folder / "public/.notes"
    extra.write_text("")
    assert failed(verify(log, folder)) == {"nothing_else_public"}
    extra.unlink()
    extra.mkdir()
    assert failed(verify(log, folder)) == {"nothing_else_public"}
    extra.rmdir()
    assert failed(verify(log, folder)) == set()
    (folder / "public/report.html").unlink()
    assert failed(verify(log, folder)) == {"nothing_else_public", "words"}
    (folder / "public/report.html").symlink_to(log)
    assert failed(verify(log, folder)) == {"nothing_else_public", "words"}


@pytest.mark.parametrize("damage", ["missing", "truncated", "empty", "list", "version", "surplus"])
def test_a_damaged_manifest_is_the_only_check(case, damage):
    log, folder = case("fresh")
    file = folder / "public/manifest.json"
    text = file.read_text()
    if damage == "missing":
        file.unlink()
    elif damage in ("version", "surplus"):
        edit_manifest(folder, **{"version": {"manifest_version": 0}, "surplus": {"x": 1}}[damage])
    else:
        file.write_text({"truncated": text[: len(text) // 2], "empty": "", "list": "[]"}[damage])

    verdict = verify(log, folder)

    assert [(check.name, check.ok) for check in verdict.checks] == [("manifest", False)]
    assert not verdict.ok


def test_a_release_by_a_newer_slogan_is_not_judged(case):
    log, folder = case("fresh")
    file = folder / "public/manifest.json"
    file.write_text(file.read_text().replace('"manifest_version": 1', '"manifest_version": 2'))
    with pytest.raises(OptionError, match="made by a newer slogan") as raised:
        verify(log, folder)
    assert raised.value.exit_code == 2


def test_the_wrong_folder_gets_the_right_command(case):
    log, folder = case("fresh")
    with pytest.raises(OptionError, match="the public half") as raised:
        verify(log, folder / "public")
    assert str(folder) in raised.value.hint
    with pytest.raises(OptionError, match="is not a release, but") as raised:
        verify(folder, log)
    assert f"slogan verify {log} {folder}" in raised.value.hint
    with pytest.raises(OptionError, match="is a whole release") as raised:
        verify_public(folder)
    assert f"{folder}/public" in raised.value.hint


def test_a_recipient_verifies_the_public_half_without_the_log(case):
    _, folder = case("fresh")
    public = folder / "public"
    verdict = verify_public(public)
    assert verdict.ok
    assert "a check against the log" in verdict.conclusion
    assert {check.name for check in verdict.checks} < set(NAMES)
    edit_log(folder, lambda lines: lines[:-1], sign=False)
    assert {check.name for check in verify_public(public).checks if not check.ok} >= {"checksum"}


def test_a_missing_release_or_log_is_bad_input(made, tmp_path):
    with pytest.raises(LogNotFoundError) as raised:
        verify(made / "log.tsv", tmp_path / "nowhere")
    assert raised.value.exit_code == 2
    with pytest.raises(LogNotFoundError):
        verify(tmp_path / "nowhere.tsv", made / "fresh")


# --- another log ---------------------------------------------------------------------------------


def test_another_log_is_found(made):
    verdict = verify(made / "crowds.tsv", made / "fresh")
    assert failed(verdict) == {"pairs_from_log", "users_from_log"}


def test_a_log_with_a_heavier_user_breaks_the_conditions(made, tmp_path):
    heavier = [(u, q, url, "9" if u == "person1" else n) for u, q, url, n in ROWS]
    log = write(tmp_path / "log.tsv", heavier)
    assert failed(verify(log, made / "keep")) == {"condition_2", "condition_3"}


def test_a_log_with_other_columns_is_found(made, tmp_path):
    log = write(tmp_path / "aol.tsv", EVENTS, AOL)
    assert failed(verify(log, made / "fresh")) == {"schema", *COMPARED}


def test_bad_rows_of_the_input_are_skipped_only_on_request(made, tmp_path):
    log = tmp_path / "log.tsv"
    log.write_bytes((made / "log.tsv").read_bytes() + b"person1\tzebra 1\tz1.example\tmany\n\xff\n")
    with pytest.raises(BadRowError, match="unreadable rows: 2"):
        verify(log, made / "fresh")
    assert failed(verify(slogan.read(log, on_bad_row="skip"), made / "fresh")) == set()


# --- the budget that was asked for ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (PrivacyBudget(exp_epsilon="2.0", delta="1/2"), set()),
        (PrivacyBudget(exp_epsilon=2, delta=0.5), set()),
        (PrivacyBudget(exp_epsilon=3, delta=0.9), set()),  # made for a stricter one
        (PrivacyBudget(epsilon="0.69314718055994530941723212146", delta=0.5), set()),  # > log 2
        (PrivacyBudget(epsilon="0.69314718055994530941723212145", delta=0.5), {"budget"}),
        (PrivacyBudget(exp_epsilon=3, delta="0.4999"), {"budget"}),  # looser in delta alone
        (PrivacyBudget(exp_epsilon="1.5", delta="0.9"), {"budget", "condition_2"}),
        (PrivacyBudget(exp_epsilon=3, delta="0.1"), {"budget", "condition_3"}),
    ],
)
def test_the_agreed_budget_decides(made, asked, expected):
    assert failed(verify(made / "log.tsv", made / "fresh", budget=asked)) == expected


@given(st.fractions(min_value=Fraction(1, 10**70), max_value=700))
@settings(max_examples=60)
def test_the_bound_of_e_to_epsilon_is_below_it_and_above_that_of_the_gate(power):
    found = exp_below(power)
    digits = Context(prec=160)
    true = Fraction(digits.divide(Decimal(power.numerator), Decimal(power.denominator)).exp(digits))
    assert found <= true * (1 + Fraction(1, 10**150))
    assert found >= true * (1 - Fraction(1, 10**100))
    assert found >= max(exp_rounded_down(power), 1 + power)
    assert exp_below(power * (1 - Fraction(1, 10**200))) < found


def test_a_budget_is_parsed_from_its_text():
    bounds = bounds_of({"epsilon": None, "exp_epsilon": "1.1", "delta": "1e-1"})
    assert (bounds.likelihood, bounds.appearance) == (Fraction(11, 10), Fraction(10, 9))
    with pytest.raises(BudgetError):
        bounds_of({"epsilon": None, "exp_epsilon": None, "delta": "0.1"})


# --- exactness -----------------------------------------------------------------------------------


@pytest.fixture
def tie(tmp_path):
    """Two users with one click each: one released click is worth exactly a factor of 2."""
    log = write(
        tmp_path / "two.tsv", [("a", "zebra", "z.example", "1"), ("b", "zebra", "z.example", "1")]
    )
    return log, released(log, tmp_path / "tie")


def test_a_charge_at_the_bound_passes_and_is_decided_by_integers(tie):
    log, folder = tie
    verdict = verify(log, folder)
    assert failed(verdict) == set()
    assert verdict.checks[-2].detail == "all 2 users are within the limit (closest: 100.0% of it)"
    assert "2 decided by exact integers" in verdict.checks[-2].figures


@pytest.mark.parametrize(
    ("budget", "check"),
    [
        ({"delta": "0.4999999999999999999999"}, "condition_3"),
        ({"exp_epsilon": "1.9999999999999999999999"}, "condition_2"),
        ({"exp_epsilon": "1." + "9" * 200}, "condition_2"),  # beyond what logarithms can tell
        ({"delta": "0.4" + "9" * 200}, "condition_3"),
    ],
)
def test_a_charge_slightly_above_the_bound_fails(tie, budget, check):
    log, folder = tie
    edit_manifest(folder, budget=budget)
    assert failed(verify(log, folder)) == {check}


factors = st.builds(
    lambda total, own, x: Factor(total=total, own=min(own, total), released=x),
    st.integers(2, 12),
    st.integers(1, 12),
    st.integers(1, 4),
)


@given(
    profiles=st.lists(st.tuples(st.lists(factors, max_size=4), st.integers(1, 3)), max_size=5),
    bound=st.fractions(min_value="1.025", max_value=9, max_denominator=40),
    tie=st.booleans(),
)
def test_judgement_agrees_with_plain_fractions(profiles, bound, tie):
    products = []
    for own, users in profiles:
        ratios = [
            math.inf if f.own == f.total else Fraction(f.total, f.total - f.own) ** f.released
            for f in own
        ]
        products.append((math.inf if math.inf in ratios else math.prod(ratios), users))
    if tie and products and 1 < products[0][0] < math.inf:
        bound = products[0][0]
    pool = [factor for own, _ in profiles for factor in own]
    numbers = iter(range(len(pool)))
    numbered = [([next(numbers) for _ in own], users) for own, users in profiles]

    found = judge(bound, numbered, pool)

    assert found.users == sum(users for _, users in profiles)
    assert found.broken == sum(users for product, users in products if product > bound)
    assert found.in_integers >= sum(users for product, users in products if product == bound)


@given(st.integers(1, 10**18), st.integers(1, 10**18), st.integers(1, 10**6))
def test_logarithms_stay_between_their_bounds(own, others, released):
    low, high = Factor(total=own + others, own=own, released=released).log
    digits = Context(prec=120)
    ratio = digits.divide(Decimal(own + others), Decimal(others))
    true = Fraction(ratio.ln(digits)) * released * 10**60
    assert low <= true <= high
    assert high - low <= 2 + 10**13 * released  # some 10^-47 for each click


@pytest.mark.timeout(60)
def test_large_counts_do_not_stall():
    # x = 10^5 clicks of 2,000 pairs with 10^7 clicks each: the products have 5·10^9 bits.
    heavy = [Factor(total=10**7 + i, own=1, released=10**5) for i in range(2_000)]
    whole = [(range(len(heavy)), 65_000)]
    assert judge(exp_below(Fraction("20.1")), whole, heavy).broken == 0
    assert judge(exp_below(Fraction("19.9")), whole, heavy).broken == 65_000

    # Nor does a bound written so close to one such product that only integers can decide.
    digits = Context(prec=80)
    close = Fraction(digits.power(digits.divide(Decimal(10**7), Decimal(10**7 - 1)), 10**5))
    for hair, broken in ((Fraction(1, 10**70), 0), (-Fraction(1, 10**70), 1)):
        found = judge(close * (1 + hair), [([0], 1)], heavy)
        assert (found.in_integers, found.broken) == (1, broken)


@pytest.mark.timeout(60)
def test_a_case_that_needs_enormous_powers_fails():
    digits = Context(prec=80)
    factor = Factor(total=10**7, own=1, released=10**6)
    true = digits.power(digits.divide(Decimal(10**7), Decimal(10**7 - 1)), 10**6)
    found = judge(Fraction(true) * (1 + Fraction(1, 10**70)), [([0], 3)], [factor])
    assert (found.in_integers, found.broken) == (3, 3)


def test_products_that_cancel_are_formed_without_their_powers():
    # c/(c−1) · (c−1)/(c−2) · … = c/(c−n): a tie over a thousand pairs.
    chain = [Factor(total=10**6 - i, own=1, released=7) for i in range(1_000)]
    tie = Fraction(10**6, 10**6 - 1_000) ** 7
    profile = [(range(len(chain)), 1)]
    assert judge(tie, profile, chain).broken == 0
    assert judge(tie - Fraction(1, 10**80), profile, chain).broken == 1


# --- independence and tidiness -------------------------------------------------------------------

PACKAGE = Path(slogan.__file__).parent
LIGHT = """
import sys, types
package = types.ModuleType("slogan")
package.__path__ = [{source!r}]
sys.modules["slogan"] = package
import slogan.verification.verify
print(*sys.modules)
"""


def test_the_verifier_shares_no_code_with_what_made_the_release():
    status, words = lint_imports(PACKAGE.parent, "verifier")
    assert status == 0, words


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("verification/verify.py", "import slogan.planning.plan"),
        ("verification/checks.py", "from slogan.dp import accounting"),
        ("verification/conditions.py", "from ..release.base import Publication"),
        ("verification/evidence.py", "def f():\n    from slogan.workflows import sanitize"),
        ("manifest/manifest.py", "from slogan.planning.solvers import Effort"),
        ("logs/rows.py", "from slogan.dp.sums import AnyHistogram"),
        ("engines/__init__.py", "from slogan.engines.engine import Engine"),
    ],
)
def test_shared_code_would_be_noticed(tmp_path, file, line):
    """Directly, or by way of something that the verifier imports."""
    shutil.copytree(PACKAGE, tmp_path / "slogan", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "slogan" / file).open("a") as source:
        source.write(f"\n{line}\n")
    status, words = lint_imports(tmp_path, "verifier")

    assert status == 1
    assert "slogan.verification is not allowed to import" in words


def test_no_code_of_a_release_is_loaded_with_the_verifier():
    code = LIGHT.format(source=str(PACKAGE))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    shared = tuple(f"slogan.{name}" for name in ("planning", "dp", "release", "workflows"))

    assert "slogan.verification.verify" in loaded
    assert [name for name in loaded if name.startswith((*shared, "highspy", "numba"))] == []


def test_nothing_is_left_behind(made, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert verify(made / "log.tsv", made / "fresh", engine=slogan.DuckDB(memory_limit="200MB")).ok
    with pytest.raises(OptionError):
        verify(made / "log.tsv", made / "fresh", engine=slogan.DuckDB(memory_limit="much"))
    assert list(tmp_path.iterdir()) == []


def test_temporary_files_are_private(made, monkeypatch):
    seen = []
    connect = duckdb.connect

    def watching(*args, **options):
        if options["config"]["temp_directory"]:
            seen.append(Path(options["config"]["temp_directory"]).stat().st_mode & 0o777)
        return connect(*args, **options)

    monkeypatch.setattr(duckdb, "connect", watching)
    verify(made / "log.tsv", made / "fresh")
    assert seen == [0o700]
