"""The release folder: same schema, atomic, and nothing of the log in public but the log."""

import errno
import json
import stat
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
from tests.helpers import table

import slogan
from slogan import errors
from slogan.randomness import SystemRandomness
from slogan.storage.atomic import publish

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
USERS = range(1001, 1013)
PAIRS = [(f"query {n}", f"www.site{n}.com") for n in range(4)]


def clicks():
    """Twelve users who share four pairs, and one pair that no other user has."""
    rows = [(u, *PAIRS[n], 1 + (u + n) % 3) for u in USERS for n in range(4) if (u + n) % 4]
    return [*rows, (1001, "my secret", "www.only-me.com", 2)]


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "clicks.tsv"
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in clicks())]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def saved(log, target, **options):
    release = slogan.sanitize(log, BUDGET, time_limit=10, **options)
    try:
        return release.save(target).to_dict()
    finally:
        release.close()


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl", "parquet", "tsv.gz", "csv.zst"])
def test_the_output_has_columns_types_and_format_of_the_input(tmp_path, suffix):
    import polars as pl

    schema = {
        "note": pl.String,
        "user": pl.Int32,
        "query": pl.String,
        "count": pl.Int32,
        "url": pl.String,
    }
    rows = [("x", u, q, n, w) for u, q, w, n in clicks()]
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    source = tmp_path / f"in.{suffix}"
    options = {
        "tsv": "DELIMITER '\t', QUOTE '', ESCAPE '', FORMAT csv",
        "csv": "FORMAT csv",
        "jsonl": "FORMAT json",
        "parquet": "FORMAT parquet",
    }[suffix.split(".")[0]]
    view = duckdb.connect()
    view.register("frame", frame.to_arrow())
    view.execute(f"COPY (FROM frame) TO '{source}' ({options})")

    declared = tuple(schema) if suffix == "jsonl" else None
    summary = saved(slogan.read(source, columns=declared), tmp_path / "out")
    released = tmp_path / "out" / "public" / f"log.{suffix}"

    before, after = table(source), table(released)
    assert before.columns == after.columns == list(schema)
    if suffix == "parquet":
        assert [str(t) for t in before.types[1:]] == [str(t) for t in after.types[1:]]
    rows = after.fetchall()
    assert sum(int(row[3]) for row in rows) == summary["clicks_out"] > 0
    assert {row[0] for row in rows} == {None}
    assert {(row[2], row[4]) for row in rows} <= set(PAIRS)
    assert rows == sorted(rows, key=lambda row: (int(row[1]), row[2], row[4]))


@pytest.mark.parametrize("suffix", ["tsv", "csv", "jsonl", "parquet", "tsv.gz", "jsonl.zst"])
def test_tables_hold_the_rows_of_the_saved_file(tmp_path, suffix):
    """As Arrow, Polars and pandas, with the names of users and queries as text."""
    import polars as pl

    source = tmp_path / f"in.{suffix}"
    delimiter = ", DELIMITER '\t', QUOTE '', ESCAPE ''" if "tsv" in suffix else ""
    kind = {"parquet": "parquet", "jsonl": "json"}.get(suffix.split(".")[0], "csv")
    names = ["user", "query", "url", "count"]
    view = duckdb.connect()
    view.register("frame", pl.DataFrame(clicks(), names, orient="row").to_arrow())
    view.execute(f"COPY (FROM frame) TO '{source}' (FORMAT {kind}{delimiter})")
    with slogan.sanitize(source, BUDGET, solver="exact") as release:
        release.save(tmp_path / "out")
        tables = [release.to_polars(), pl.DataFrame(release.to_arrow())]
        tables.append(pl.DataFrame(release.to_pandas().to_dict("list")))

    rows = table(tmp_path / "out" / "public" / f"log.{suffix}").fetchall()
    assert rows
    for frame in tables:
        assert frame.columns == names
        assert frame["count"].dtype == pl.Int64
        assert [tuple(map(str, row)) for row in frame.rows()] == [
            tuple(map(str, row)) for row in rows
        ]


def test_events_come_back_as_events(tmp_path):
    source = tmp_path / "aol.txt"
    lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL"]
    for user, query, url, n in clicks():
        lines += [f"{user}\t{query}\t2006-03-01\t1\t{url}"] * n
    source.write_text("".join(f"{line}\n" for line in lines))

    summary = saved(source, tmp_path / "out")
    released = (tmp_path / "out" / "public" / "log.tsv").read_text().splitlines()

    assert released[0] == lines[0]
    assert len(released) - 1 == summary["clicks_out"]
    assert all(line.split("\t")[2:4] == ["", ""] for line in released[1:])


def test_fresh_ids_are_new_and_of_the_same_kind_and_kept_ids_are_kept(tmp_path, log):
    saved(log, tmp_path / "fresh")
    saved(log, tmp_path / "kept", pseudonyms="keep")
    fresh = {int(row[0]) for row in table(tmp_path / "fresh/public/log.tsv").fetchall()}
    kept = {int(row[0]) for row in table(tmp_path / "kept/public/log.tsv").fetchall()}

    assert kept <= set(USERS)
    assert not fresh & set(USERS)  # a chance of 1 in 10^7 to coincide
    names = dict(table(tmp_path / "fresh/curator/pseudonyms.parquet").fetchall())
    assert {int(n) for n in names.values()} == fresh
    assert {int(n) for n in names} <= set(USERS)


@pytest.mark.parametrize("prefix", ["ann", "00", "6fa459ea-ee8a-3ca4-894e-db77e160"])
def test_fresh_ids_in_a_text_file_are_digits_whatever_the_ids_were(tmp_path, prefix):
    source = tmp_path / "t.csv"
    rows = [f"{prefix}{u},{q},{w},{n}" for u, q, w, n in clicks()]
    source.write_text("\n".join(["user,query,url,count", *rows]))

    saved(source, tmp_path / "out")
    released = (tmp_path / "out/public/log.csv").read_text().splitlines()[1:]
    shown = [line.split(",")[0] for line in released]

    assert shown
    assert all(user.isdigit() for user in shown)


def test_the_kind_of_pseudonyms_does_not_depend_on_users_who_are_not_shown(tmp_path, log):
    """One user with an ID of letters and an unshared pair: nothing may tell that she exists."""
    log.write_text(log.read_text() + "ann\tsomething\twww.ann.com\t1\n")
    saved(log, tmp_path / "out")
    released = (tmp_path / "out/public/log.tsv").read_text().splitlines()[1:]

    assert all(line.split("\t")[0].isdigit() for line in released)


@pytest.mark.parametrize("role", ["user", "count"])
@pytest.mark.parametrize("kind", ["TINYINT", "SMALLINT", "USMALLINT", "FLOAT", "DECIMAL(9,0)"])
def test_narrow_types_are_refused_before_anything_is_drawn(tmp_path, monkeypatch, role, kind):
    """By the declared type alone: whether a value fits would depend on the noise."""
    source = tmp_path / "in.parquet"
    wide = {"user": "u::INTEGER", "count": "1::INTEGER"}
    narrow = wide | {role: f"{wide[role].split(':')[0]}::{kind}"}
    duckdb.sql(
        f"SELECT {narrow['user']} AS user, 'q' AS query, 'u' AS url, {narrow['count']} AS count "
        "FROM range(1, 100) t(u)"
    ).write_parquet(str(source))
    monkeypatch.setattr(SystemRandomness, "words", None)
    for verb in (slogan.sanitize, slogan.synthesize):
        with pytest.raises(errors.OptionError, match=f"the {role} column is declared"):
            verb(source, epsilon=1, delta="1e-3")


@pytest.mark.parametrize("kind", ["DOUBLE", "DECIMAL(10,0)", "HUGEINT", "UUID", "INTEGER"])
def test_fresh_ids_fit_the_type_of_the_user_column(tmp_path, kind):
    source = tmp_path / "in.parquet"
    value = "uuid()" if kind == "UUID" else f"u::{kind}"
    people = duckdb.sql(f"SELECT {value} AS user FROM range(1, 30) t(u)").fetchall()
    sql = duckdb.connect()
    sql.execute(f'CREATE TABLE log ("user" {kind}, query VARCHAR, url VARCHAR)')
    sql.executemany("INSERT INTO log VALUES (?, 'q', 'u')", people)
    sql.execute(f"COPY log TO '{source}'")

    saved(source, tmp_path / "out")

    assert [str(t) for t in table(tmp_path / "out/public/log.parquet").types] == [
        str(t) for t in table(source).types
    ]


def test_a_column_type_without_fresh_ids_is_refused(tmp_path):
    source = tmp_path / "in.parquet"
    duckdb.sql(
        "SELECT DATE '2006-03-01' + d::INT AS user, 'q' AS query, 'u' AS url FROM range(9) t(d)"
    ).write_parquet(str(source))

    with pytest.raises(errors.OptionError, match='pseudonyms="keep"'):
        slogan.sanitize(source, BUDGET)
    saved(source, tmp_path / "out", pseudonyms="keep")


def test_a_category_does_not_carry_its_other_values_into_the_release(tmp_path):
    """A pandas category knows all values of the log; the release may know those it shows."""
    import pandas as pd

    frame = pd.DataFrame(clicks(), columns=["user", "query", "url", "count"])
    frame["note"] = "private remark"
    for name in ("query", "url", "note"):
        frame[name] = frame[name].astype("category")
    saved(frame, tmp_path / "out")
    released = (tmp_path / "out/public/log.parquet").read_bytes()

    assert b"secret" not in released
    assert b"remark" not in released


def test_counts_in_json_are_numbers_and_ids_are_text_whatever_the_rows_have(tmp_path):
    source = tmp_path / "in.jsonl"
    rows = [{"user": u, "query": q, "url": w, "count": float(n)} for u, q, w, n in clicks()]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    mixed = tmp_path / "mixed.jsonl"
    for row in rows[1:]:
        row["user"] = f"a{row['user']}"
    mixed.write_text("".join(json.dumps(row) + "\n" for row in rows))

    saved(source, tmp_path / "numbers", pseudonyms="keep")
    saved(mixed, tmp_path / "mixed", pseudonyms="keep")
    numbers, texts = (
        [json.loads(r) for r in (tmp_path / n / "public/log.jsonl").read_text().splitlines()]
        for n in ("numbers", "mixed")
    )

    for row in (*numbers, *texts):
        assert isinstance(row["user"], str)
        assert isinstance(row["count"], int)


def test_the_same_seed_writes_the_same_bytes(tmp_path, log):
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        saved(log, tmp_path / name, seed=seed)
    first, again, other = ((tmp_path / n / "public/log.tsv").read_bytes() for n in "abc")

    assert first == again != other


def test_a_seeded_run_is_marked(tmp_path, log):
    saved(log, tmp_path / "out", seed=1)

    assert json.loads((tmp_path / "out/public/manifest.json").read_text())["test_run"] is True
    for page in ("public/report.html", "curator/report.html"):
        assert "Test run" in (tmp_path / "out" / page).read_text()


def test_unseeded_runs_differ(tmp_path, log):
    saved(log, tmp_path / "a")
    saved(log, tmp_path / "b")

    assert (tmp_path / "a/public/log.tsv").read_bytes() != (
        tmp_path / "b/public/log.tsv"
    ).read_bytes()


def test_the_curators_folder_is_private(tmp_path, log):
    saved(log, tmp_path / "out")

    assert stat.S_IMODE((tmp_path / "out/curator").stat().st_mode) == 0o700
    assert sorted(p.name for p in (tmp_path / "out/public").iterdir()) == [
        "SHA256SUMS",
        "croissant.json",
        "data-card.html",
        "deployment.yaml",
        "log.tsv",
        "manifest.json",
        "report.html",
    ]


def test_nothing_public_but_the_log_depends_on_the_log(tmp_path, log):
    """Two very different logs give the same manifest and report, up to the checksum."""
    other = tmp_path / "other.tsv"
    rows = [f"{u}\tanother {n}\twww.b{n}.org\t1" for u in range(40) for n in range(9)]
    other.write_text("\n".join(["user\tquery\turl\tcount", *rows]) + "\n")
    pages = []
    for source, name in ((log, "a"), (other, "b")):
        saved(source, tmp_path / name)
        manifest = (tmp_path / name / "public/manifest.json").read_text()
        checksum = json.loads(manifest)["log"]["sha256"]
        report = (tmp_path / name / "public/report.html").read_text()
        pages.append((manifest.replace(checksum, ""), report.replace(checksum, "")))

    assert pages[0] == pages[1]


def test_an_existing_target_is_kept_unless_forced(tmp_path, log):
    saved(log, tmp_path / "out")
    with closing(slogan.sanitize(log, BUDGET, time_limit=5)) as release:
        with pytest.raises(errors.ReleaseExistsError, match="force=True"):
            release.save(tmp_path / "out")
        release.save(tmp_path / "out", force=True)
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine/thesis.txt").write_text("years of work")
        with pytest.raises(errors.ReleaseExistsError, match="not a release"):
            release.save(tmp_path / "mine", force=True)
    assert (tmp_path / "mine/thesis.txt").exists()


def test_a_failure_while_writing_leaves_nothing_behind(tmp_path):
    def fail(folder):
        (folder / "half").write_text("half a release")
        raise OSError("disk full")

    with pytest.raises(errors.StorageError, match="disk full"):
        publish(tmp_path / "out", fail, force=False)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_while_replacing_keeps_the_old_release(tmp_path, log):
    saved(log, tmp_path / "out")
    before = (tmp_path / "out/public/log.tsv").read_bytes()

    def fail(folder):
        raise OSError("disk full")

    with pytest.raises(errors.StorageError, match="disk full"):
        publish(tmp_path / "out", fail, force=True)
    assert (tmp_path / "out/public/log.tsv").read_bytes() == before


def test_an_older_release_that_cannot_be_put_back_waits_for_the_next_run(
    tmp_path, log, monkeypatch
):
    """On a disk that stays full from the moment on when the older one was moved aside."""
    saved(log, tmp_path / "out")
    before, rename = (tmp_path / "out/public/log.tsv").read_bytes(), Path.rename

    def full(path, other):
        if other == tmp_path / "out":
            raise OSError(errno.ENOSPC, "disk full")
        return rename(path, other)

    with monkeypatch.context() as disk:
        disk.setattr(Path, "rename", full)
        with pytest.raises(errors.StorageError, match="disk full"):
            publish(tmp_path / "out", lambda folder: None, force=True)
    for look in (slogan.verify, slogan.evaluate):
        with pytest.raises(errors.LogNotFoundError, match="moved aside"):
            look(log, tmp_path / "out")
    saved(log, tmp_path / "other")

    assert (tmp_path / "out/public/log.tsv").read_bytes() == before
    assert {p.name for p in tmp_path.iterdir()} == {"clicks.tsv", "out", "other"}


def test_closing_a_release_removes_its_private_folder(log):
    release = slogan.sanitize(log, BUDGET, time_limit=5)
    folder = release.job.engine._folder

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    release.close()
    assert not folder.exists()


def test_logs_from_which_nothing_can_be_released(tmp_path):
    def attempt(rows, budget=BUDGET):
        file = tmp_path / "few.tsv"
        file.write_text(
            "".join(
                "\t".join(map(str, r)) + "\n" for r in [("user", "query", "url", "count"), *rows]
            )
        )
        return slogan.sanitize(file, budget)

    with pytest.raises(errors.SingleUserError) as single:
        attempt([(1, "q", "u", 1)])
    with pytest.raises(errors.AllPairsUniqueError) as unique:
        attempt([(1, "q", "u", 1), (2, "r", "u", 1)])
    with pytest.raises(errors.EmptyPlanError) as empty:
        attempt(
            [(1, "q", "u", 1), (2, "q", "u", 1)], slogan.PrivacyBudget(epsilon="0.1", delta="0.1")
        )
    assert [e.value.exit_code for e in (single, unique, empty)] == [3, 3, 3]


def test_an_output_size_above_lambda_is_refused_with_lambda_named(log):
    with pytest.raises(errors.OutputSizeError, match="the largest found") as caught:
        slogan.sanitize(
            log, BUDGET, objective=slogan.FrequentPairs(output_size=10_000), time_limit=5
        )
    largest = caught.value.largest
    release = slogan.sanitize(
        log, BUDGET, objective=slogan.FrequentPairs(output_size=largest), time_limit=5
    )
    assert release.plan.size == largest
    half = slogan.sanitize(log, BUDGET, objective=slogan.FrequentPairs(), time_limit=5)
    assert half.plan.size == largest // 2


def test_a_table_in_memory_is_sanitized_too(tmp_path):
    import pandas as pd

    frame = pd.DataFrame(clicks(), columns=["user", "query", "url", "count"])
    summary = saved(frame, tmp_path / "out")

    assert table(tmp_path / "out/public/log.parquet").columns == list(frame.columns)
    assert summary["clicks_out"] > 0
