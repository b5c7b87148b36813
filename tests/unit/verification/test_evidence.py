"""What verify looks at, and what it makes of it: tiny folders and logs, made by hand."""

import json
import os
from fractions import Fraction
from hashlib import sha256
from types import SimpleNamespace

import pytest
from tests.counted_logs import fill
from tests.helpers import write_pages

import slogan
from slogan.budget import PrivacyBudget
from slogan.errors import BadRowError, LogNotFoundError, OptionError
from slogan.manifest.manifest import Manifest, published_log
from slogan.manifest.promise import promise_of
from slogan.modes import ReleaseKind
from slogan.report.html import wording_digest
from slogan.storage.untrusted import modest
from slogan.verification import evidence
from slogan.verification.comparison import Counted
from slogan.verification.conditions import Bounds
from slogan.verification.evidence import Evidence, NotPossibleError, read_manifest, run
from slogan.verification.verify import verify

HEADER = "user\tquery\turl\tclicks\n"
LOG = f"{HEADER}a\tzebra\tz.x\t1\nb\tzebra\tz.x\t1\n"
BUDGET = PrivacyBudget(exp_epsilon=2, delta="0.5")


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "log.tsv"
    file.write_text(LOG)
    return file


@pytest.fixture
def release(tmp_path, log):
    """One of two clicks, by one of two users: a factor of 2, which is all that the budget holds."""
    return write(tmp_path / "release", manifest(log))


def manifest(log, shown=f"{HEADER}a\tzebra\tz.x\t1\n", **changes):
    promise = promise_of(ReleaseKind.EXACT_COUNTS, {}, BUDGET, pseudonyms="keep")
    described = published_log(
        slogan.read(log), file="log.tsv", sha256=sha256(shown.encode()).hexdigest()
    )
    fields = {
        "slogan_version": "1",
        "wording": wording_digest(),
        "method": "sanitize",
        "counts": "exact",
        "promise": promise.name,
        "guarantees": promise.guarantees,
        "not_guaranteed": promise.not_guaranteed,
        "budget": BUDGET.parameters(),
        "parameters": {},
        "pseudonyms": "keep",
        "test_run": False,
        "log": described.model_dump(),
        "versions": {},
    }
    return Manifest.model_validate(fields | changes)


def write(folder, fields, shown=f"{HEADER}a\tzebra\tz.x\t1\n"):
    (folder / "public").mkdir(parents=True)
    (folder / "public/log.tsv").write_text(shown)
    (folder / "public/manifest.json").write_text(fields.model_dump_json(indent=2) + "\n")
    write_pages(folder / "public", fields)
    return folder


def failed(verdict):
    return {check.name for check in verdict.checks if not check.ok}


# --- verify ---


def test_an_honest_release_passes_every_named_check(log, release):
    verdict = verify(log, release)

    assert failed(verdict) == set()
    assert [check.name for check in verdict.checks] == [
        "manifest",
        *("not_a_test_run", "checksum", "columns", "words", "passport", "checksum_file"),
        "manifest_as_written",
        *(
            "rows_as_written",
            "nothing_else_public",
            "budget",
            "schema",
            "withheld",
            "pairs_from_log",
        ),
        *("user_ids", "no_unique_pair", "users_from_log", "condition_2", "condition_3", "drawn"),
    ]
    assert verdict.checks[0].detail == "version 1"
    engine = slogan.DuckDB(memory_limit="200MB")
    assert verify(slogan.read(log), str(release), budget=BUDGET, engine=engine).ok


def test_an_agreed_budget_is_checked(log, release):
    asked = PrivacyBudget(exp_epsilon="1.5", delta="0.9")
    assert failed(verify(log, release, budget=asked)) == {"budget", "condition_2"}


def test_a_looser_agreed_budget_does_not_replace_the_manifests(log, tmp_path):
    """Readers rely on the manifest, whatever budget the curator agreed on."""
    strict = PrivacyBudget(exp_epsilon="1.0001", delta="0.0001")
    promise = promise_of(ReleaseKind.EXACT_COUNTS, {}, strict, pseudonyms="keep")
    fields = manifest(
        log,
        budget=strict.parameters(),
        promise=promise.name,
        guarantees=promise.guarantees,
        not_guaranteed=promise.not_guaranteed,
    )
    boasting = write(tmp_path / "boasting", fields)
    for asked in (None, BUDGET):
        found = verify(log, boasting, budget=asked)
        assert failed(found) == {"condition_2", "condition_3"}


@pytest.mark.parametrize("ratio", [1, 2, 3])
@pytest.mark.parametrize("inverse", [1, 2, 3])
def test_the_stricter_of_manifest_and_agreed_budget_decides(sql, tmp_path, ratio, inverse):
    found = seen(sql, tmp_path)
    vars(found)["promised"] = Bounds(likelihood=Fraction(2), appearance=Fraction(2))
    assert found.bounds == found.promised
    agreed = Bounds(likelihood=Fraction(ratio), appearance=Fraction(inverse))
    vars(found)["agreed"] = agreed
    assert found.bounds.likelihood == min(ratio, 2)
    assert found.bounds.appearance == min(inverse, 2)


def test_a_folder_without_a_release_is_refused(log, tmp_path):
    with pytest.raises(LogNotFoundError, match="no release"):
        verify(log, tmp_path / "nowhere")
    with pytest.raises(LogNotFoundError, match="no release"):
        verify(log, log)
    (tmp_path / "empty/public").mkdir(parents=True)
    (check,) = verify(log, tmp_path / "empty").checks
    assert (check.name, check.ok) == ("manifest", False)
    assert check.detail == "public/manifest.json is missing or cannot be opened"


def test_a_check_that_cannot_run_fails():
    def nothing(_):
        raise NotPossibleError("it is gone")

    found = run("there", nothing, SimpleNamespace())
    assert (found.name, found.ok, found.detail) == ("there", False, "not possible: it is gone")
    for ok in (True, False):
        found = run("here", lambda _, ok=ok: (ok, "seen"), SimpleNamespace())
        assert (found.ok, found.detail) == (ok, "seen")


# --- files that are read as a whole ---


def test_a_manifest_is_read_or_the_reason_is_given(tmp_path, log):
    file = tmp_path / "manifest.json"
    missing = (None, (False, "public/manifest.json is missing or cannot be opened"))
    assert read_manifest(file) == missing
    fields = manifest(log)
    file.write_text(fields.model_dump_json())
    assert read_manifest(file) == (fields, (True, "version 1"))
    file.write_text(json.dumps({**fields.model_dump(), "manifest_version": 0, "surplus": 1}))
    expected = "public/manifest.json is not a valid manifest (invalid fields: 2)"
    assert read_manifest(file) == (None, (False, expected))
    file.write_text(json.dumps({**fields.model_dump(), "manifest_version": 2}))
    with pytest.raises(OptionError, match="made by a newer slogan"):
        read_manifest(file)
    file.unlink()
    file.symlink_to(log)
    assert read_manifest(file) == missing


def test_only_plain_files_of_modest_size_are_read(tmp_path):
    file = tmp_path / "file"
    with pytest.raises(FileNotFoundError):
        modest(file)
    file.write_bytes(b"text")
    assert modest(file) == b"text"
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    for other in ("link", "pipe", "."):
        with pytest.raises(OSError, match="not a plain file"):
            modest(tmp_path / other)


def test_a_report_of_sixteen_megabytes_is_the_largest(tmp_path):
    file = tmp_path / "file"
    with file.open("wb") as whole:
        whole.truncate(16 * 2**20)
    assert len(modest(file)) == 16 * 2**20
    with file.open("ab") as whole:
        whole.write(b"!")
    with pytest.raises(OSError, match="modest size"):
        modest(file)


# --- logs that were counted, or why not ---


def seen(sql, tmp_path, *, counts="exact", fields=None, clicked=None, shown=None):
    counted = Counted(log=slogan.SearchLog(format="tsv", columns=None), types=(), bad_rows=0)
    return Evidence(
        public=tmp_path / "public",
        curator=tmp_path / "curator",
        manifest=fields
        or SimpleNamespace(kind=ReleaseKind.of("sanitize", counts), withheld=None, parameters={}),
        agreed=None,
        sql=sql,
        clicked=clicked or counted,
        shown=shown or counted,
    )


@pytest.mark.parametrize("which", ["clicked", "shown"])
def test_a_log_that_could_not_be_counted_is_not_compared(sql, tmp_path, which):
    found = seen(sql, tmp_path, **{which: "it is torn"})
    for look in (found.logs, lambda: found.compared, lambda: found.removed):
        with pytest.raises(NotPossibleError, match="it is torn"):
            look()


@pytest.fixture
def removed(sql, tmp_path):
    """A log of three users, and the place of the table of those who were removed."""
    fill(sql, "clicked", [("a", "q", 1), ("b", "q", 1), ("c", "q", 1)])
    fill(sql, "shown", [("a", "q", 1)])
    (tmp_path / "curator").mkdir()
    return tmp_path / "curator/removed.parquet"


def test_removed_users_are_left_out_of_the_comparison(sql, tmp_path, removed):
    sql.execute(f"COPY (SELECT 'c' AS \"user\") TO '{removed}' (FORMAT parquet)")
    found = seen(sql, tmp_path, counts="laplace")
    assert found.compared.users == 2
    assert found.removed == (1, 0)


def test_without_removal_no_table_of_removed_users_is_read(sql, tmp_path, removed):
    assert seen(sql, tmp_path).compared.users == 3


def test_a_missing_table_of_removed_users_stops_the_comparison(sql, tmp_path, removed):
    with pytest.raises(NotPossibleError, match="is missing"):
        _ = seen(sql, tmp_path, counts="laplace").compared
    removed.write_text("no table")
    with pytest.raises(NotPossibleError, match="cannot be read"):
        _ = seen(sql, tmp_path, counts="laplace").compared


def test_the_manifests_budget_is_parsed_again(sql, log, tmp_path):
    found = seen(sql, tmp_path, fields=manifest(log))
    assert found.promised == Bounds(likelihood=Fraction(2), appearance=Fraction(2))
    all_of_it = manifest(log, budget=BUDGET.parameters() | {"delta": "1"})
    with pytest.raises(NotPossibleError, match="the manifest's budget"):
        _ = seen(sql, tmp_path, fields=all_of_it).promised


def count_input(sql, log, fields, tmp_path):
    return evidence.count_input(sql, log, fields, tmp_path, slogan.DuckDB())


def test_the_input_is_read_as_the_manifest_says(sql, log, tmp_path):
    log.write_bytes(LOG.encode() + "a\tzébra\tz.x\t1\nc\tno click\t\t1\n".encode("latin-1"))
    fields = manifest(log)
    with pytest.raises(BadRowError, match="unreadable rows: 1"):
        count_input(sql, log, fields, tmp_path)
    sql.execute("DROP TABLE clicked; DROP TABLE clicked_rows")
    skipping = manifest(log, parameters={"on_bad_row": "skip"})
    assert count_input(sql, log, skipping, tmp_path).bad_rows == 1
    sql.execute("DROP TABLE clicked; DROP TABLE clicked_rows")
    latin = manifest(log, parameters={"encoding": "latin-1"})
    assert count_input(sql, log, latin, tmp_path).bad_rows == 0
    assert sql.execute("SELECT count(*) FROM clicked").fetchall() == [(3,)]


def test_a_log_that_was_described_is_read_as_it_says(sql, log, tmp_path):
    log.write_text(f"{LOG}a\tzebra\tz.x\tmany\n")
    with pytest.raises(BadRowError, match="unreadable rows: 1"):
        count_input(sql, slogan.read(log), manifest(log), tmp_path)
    sql.execute("DROP TABLE clicked; DROP TABLE clicked_rows")
    found = count_input(sql, slogan.read(log, on_bad_row="skip"), manifest(log), tmp_path)
    assert (found.bad_rows, found.log.skip_bad_rows) == (1, True)


def test_logs_that_cannot_be_read(sql, log, release, tmp_path):
    with pytest.raises(LogNotFoundError):
        count_input(sql, tmp_path / "nowhere.tsv", manifest(log), tmp_path)
    fields = manifest(log)
    log.write_text("user\ttext\turl\tclicks\na\tzebra\tz.x\t1\n")
    cannot = "log cannot be read with the format and columns of the manifest"
    assert count_input(sql, log, fields, tmp_path) == f"the input {cannot}"
    assert evidence.count_released(sql, release / "public", fields).bad_rows == 0
    (release / "public/log.tsv").unlink()
    found = evidence.count_released(sql, release / "public", fields)
    assert found == f"the released {cannot}"


def test_a_release_that_was_moved_aside_is_reported(tmp_path, log, release):
    aside = tmp_path / ".release.partial-a"
    aside.mkdir()
    release.rename(aside / "replaced")

    with pytest.raises(LogNotFoundError, match="moved aside"):
        verify(log, release)
