"""evaluate(): any release folder or log beside the log, and nothing of it in public."""

import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pytest

import slogan
from slogan import engines, errors
from slogan.searchlog import read

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
PAIRS = [(f"query {n // 2}", f"www.site{n}.com") for n in range(6)]
SECRET = (1001, "my secret illness", "www.only-me.com", 2)


def rows():
    """Forty users who share six pairs of three queries, and one pair nobody else has."""
    shared = [
        (1000 + u, *PAIRS[n], 1 + (u + n) % 3)
        for u in range(40)
        for n in range(6)
        if u % 3 != n % 3
    ]
    return [*shared, SECRET]


def write(file, lines, header=("user", "query", "url", "count")):
    file.write_text("".join("\t".join(map(str, line)) + "\n" for line in (header, *lines)))
    return file


@pytest.fixture
def log(tmp_path):
    return write(tmp_path / "clicks.tsv", rows())


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """One release, made once."""
    folder = tmp_path_factory.mktemp("made")
    release = slogan.sanitize(write(folder / "clicks.tsv", rows()), BUDGET, solver="exact")
    try:
        release.save(folder / "release")
    finally:
        release.close()
    return folder / "release"


@pytest.fixture
def release(tmp_path, made):
    """A copy of it that a test may change."""
    return Path(shutil.copytree(made, tmp_path / "release"))


def test_the_log_beside_itself_is_perfect(log):
    found = slogan.evaluate(log, log, min_support=["1/10", "1/100"]).summary()

    assert (found["precision"], found["recall"], found["diversity"]) == (1, 1, 1)
    assert found["sum_support_distance"] == found["average_support_distance"] == 0
    assert found["size_ratio"] == 1
    assert found["method"] is found["counts"] is None
    assert found["users_matched"]
    assert found["diff_ratio_histogram"]["below"][0] == found["diff_ratio_histogram"]["triplets"]
    assert [one["min_support"] for one in found["frequent_pairs"]] == ["1/10", "1/100"]
    # A sample as large as the log is the log.
    assert found["yardstick"]["recall"] == 1


def test_a_release_is_measured_with_its_pseudonyms(log, release):
    found = slogan.evaluate(log, release, samples=7).summary()
    clicks = duckdb.sql(f"SELECT sum(count) FROM '{release}/public/log.tsv'").fetchall()[0][0]

    assert (found["method"], found["users_matched"], found["coverage"]) == ("sanitize", True, None)
    assert found["counts"] == "exact"
    assert found["size"] == found["yardstick"]["size"] == clicks
    assert found["size_ratio"] == clicks / (sum(r[3] for r in rows()) - 2)
    assert found["log"]["shared"]["pairs"] == 6
    assert found["log"]["pairs"] == 7
    assert found["diff_ratio_histogram"]["samples"] == 7
    assert found["unknown_pairs"] == 0


def test_without_the_table_of_pseudonyms_triplets_are_still_drawn_anew(log, release):
    (release / "curator" / "pseudonyms.parquet").unlink()

    found = slogan.evaluate(log, release).summary()

    assert not found["users_matched"]
    assert found["diff_ratio_histogram"]["samples"] == 10


def synthetic(release, coverage):
    """The release made to look like one of synthetic users."""
    file = release / "public" / "manifest.json"
    told = json.loads(file.read_text())
    account = {"stages": [], "cost": {}, "delta_at_epsilon": 0.0, "epsilon_at_delta": 0.0}
    outputs = {"coverage": coverage, "association": "domains", "association_rank": 1, "users": 1}
    told |= {"method": "synthesize", "counts": "private", "pseudonyms": "synthetic"}
    file.write_text(json.dumps({**told, "account": account, "outputs": outputs}))


def test_synthetic_users_are_nobodys_and_supports_are_of_the_whole_log(log, release):
    synthetic(release, 0.5)
    whole = sum(row[3] for row in rows())
    found = slogan.evaluate(log, release, min_support="1/100").summary()

    assert (found["method"], found["coverage"], found["users_matched"]) == (
        "synthesize",
        0.5,
        False,
    )
    assert found["counts"] is None
    assert found["diff_ratio_histogram"] is None
    assert found["yardstick"]["diff_ratio_histogram"] is not None
    assert found["size_ratio"] == found["size"] / whole
    # All clicks are 1 and the release has them all on pairs of D: κ = 1/2 leaves half away.
    assert found["all_pairs"]["sum_support_distance"] >= 0.5


@pytest.mark.parametrize("coverage", [1.5, -0.1, float("nan")])
def test_a_coverage_that_is_no_share_is_refused(log, release, coverage):
    synthetic(release, coverage)
    with pytest.raises(errors.LogFormatError):
        slogan.evaluate(log, release)


def test_the_supports_of_the_release_come_first(tmp_path, log):
    made = slogan.sanitize(
        log,
        BUDGET,
        objective=slogan.FrequentPairs(min_support="1/7", output_size=5),
        solver="exact",
    )
    try:
        made.save(tmp_path / "frequent")
    finally:
        made.close()

    found = slogan.evaluate(log, tmp_path / "frequent").summary()

    assert found["frequent_pairs"][0]["min_support"] == "1/7"
    assert found["sum_support_distance"] == pytest.approx(made.value)


def test_the_same_seed_gives_the_same_figures(log, release):
    first, again, other = (slogan.evaluate(log, release, seed=n).summary() for n in (1, 1, 2))
    for found in (first, again, other):
        del found["seconds"]

    assert first == again != other


def test_a_log_with_pairs_and_people_of_its_own(tmp_path, log):
    """What the log does not have is counted, and hurts precision."""
    strange = [(7, "query 0", "www.elsewhere.com", 50), (7, "new", "www.new.com", 50), rows()[0]]
    found = slogan.evaluate(
        log, write(tmp_path / "other.tsv", strange), min_support="1/20"
    ).summary()

    assert found["unknown_pairs"] == 2
    assert (found["frequent_pairs"][0]["frequent_after"], found["precision"]) == (2, 0)
    assert found["users_matched"]


def test_an_empty_release_is_measured_as_nothing(tmp_path, log):
    found = slogan.evaluate(log, write(tmp_path / "none.tsv", [])).summary()

    assert (found["size"], found["recall"], found["diversity"]) == (0, 0, 0)
    assert found["yardstick"]["size"] == 0


@pytest.mark.parametrize("options", [{"samples": 0}, {"min_support": "2"}, {"min_support": []}])
def test_options_that_make_no_sense_are_refused(log, options):
    with pytest.raises(errors.OptionError):
        slogan.evaluate(log, log, **options)


def test_a_folder_that_is_no_release_is_refused(tmp_path, log):
    (tmp_path / "folder").mkdir()
    with pytest.raises(errors.LogFormatError):
        slogan.evaluate(log, tmp_path / "folder")


# --- the engine numbers a second log like the first ---


def counted(log, other, users):
    host = engines.load("duckdb")()
    try:
        first = host.count(read(log), unique_pairs=True).hist
        return first, host.count_beside(read(other), users)
    finally:
        host.close()


def clicks(hist):
    return dict(
        zip(zip(hist.user.tolist(), hist.pair.tolist(), strict=True), hist.count, strict=True)
    )


def test_the_same_log_gets_the_same_numbers(log):
    first, second = counted(log, log, "same")

    assert clicks(first) == clicks(second)
    assert (first.query == second.query).all()


def test_other_people_get_numbers_of_their_own(log):
    first, second = counted(log, log, "others")

    assert second.user.min() == first.users
    assert second.pair_total.tolist() == first.pair_total.tolist()


def test_a_table_of_pseudonyms_leads_back(tmp_path, log):
    masked = write(tmp_path / "masked.tsv", [(f"p{u}", q, w, n) for u, q, w, n in rows()])
    names = tmp_path / "it's names.parquet"
    duckdb.sql(
        f"COPY (SELECT u AS \"user\", 'p' || u AS pseudonym FROM range(1000, 1040) t(u)) TO "
        f"'{str(names).replace(chr(39), chr(39) * 2)}'"
    )
    first, second = counted(log, masked, names)

    assert clicks(first) == clicks(second)


def test_new_pairs_and_queries_come_after(tmp_path, log):
    new = [(1, "query 1", "www.b.com", 1), (1, "zzz", "www.a.com", 2), (1, "zzz", "www.b.com", 3)]
    first, second = counted(log, write(tmp_path / "new.tsv", [*new, rows()[0]]), "same")
    queries = int(first.query.max()) + 1

    assert second.pairs == first.pairs + 3
    assert second.query[: first.pairs].tolist() == first.query.tolist()
    known = first.query[[q for q, _ in sorted({r[1:3] for r in rows()})].index("query 1")]
    assert second.query[first.pairs :].tolist() == [known, queries, queries]
    assert second.pair_total[first.pairs :].tolist() == [1, 2, 3]


def test_texts_that_break_readers_are_matched(tmp_path):
    import polars as pl

    texts = ["it's", '"', "a\tb", "été", "%s $1", "nul\x00inside", " lead and trail ", "NULL"]
    queries = sorted(texts * 2)
    frame = pl.DataFrame({"user": ["ann", "bob"] * len(texts), "query": queries, "url": "u"})
    found = slogan.evaluate(read(frame), read(frame.reverse())).summary()

    assert found["unknown_pairs"] == 0
    assert found["recall"] == 1


# --- the command line ---


def run(*words, cwd):
    return subprocess.run(
        [sys.executable, "-m", "slogan", *map(str, words)],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip


def test_the_command_prints_the_fields_of_the_design(tmp_path, log, release):
    before = {file: file.read_bytes() for file in (release / "public").iterdir()}
    done = run("evaluate", log, release, "--min-support", "1/10,1/4", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)

    asked = """precision recall sum_support_distance average_support_distance diversity size_ratio
        diff_ratio_histogram yardstick"""
    assert set(asked.split()) <= told.keys()
    assert [one["min_support"] for one in told["frequent_pairs"]] == ["1/10", "1/4"]
    assert SECRET[1] not in done.stdout + done.stderr
    assert {file: file.read_bytes() for file in (release / "public").iterdir()} == before


def test_the_command_in_words_names_its_reader(tmp_path, log):
    done = run("evaluate", log, log, cwd=tmp_path)

    assert done.returncode == 0
    assert "not for publication" in done.stderr
    assert done.stdout == ""


def test_figures_are_exact_fractions_of_what_was_asked(log):
    """A support typed as a float is the decimal that was typed."""
    found = slogan.evaluate(log, log, min_support=0.1)

    assert found.release.frequent[0].min_support == str(Fraction(1, 10))
    assert np.isfinite(found.release.size_ratio)
