"""review(): flagged queries first; what is withheld is recorded, and forged records are refused."""

import json
import shutil

import duckdb
import pytest
from tests.helpers import write

import slogan
from slogan.errors import LogFormatError, OptionError
from slogan.workflows.review import looks_like

PERSON, PHONE = "petra quillfeather", "0171 555 0100"
QUERIES = (PERSON, PHONE, "garden chairs", "mary poppins songs", "train times", "weather")
MODES = {
    "exact": ("sanitize", {"exp_epsilon": 4, "delta": "0.8", "solver": "exact"}),
    "laplace": (
        "sanitize",
        {
            "exp_epsilon": 4,
            "delta": "0.8",
            "solver": "exact",
            "counts": slogan.LaplaceCounts(bound=5, epsilon=2),
        },
    ),
    "private": ("sanitize", {"epsilon": 9, "delta": "0.8", "counts": "private"}),
    "synthetic": ("synthesize", {"epsilon": 9, "delta": "1e-3"}),
}


def rows(users=120):
    """Each user clicks on two urls of each of four to six queries."""
    return [
        (u, query, f"www.{n}-{end}.com", 1 + (u + n) % 2)
        for u in range(1, users + 1)
        for n, query in enumerate(QUERIES)
        if (u + n) % 3
        for end in "ab"
    ]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("review")


@pytest.fixture(scope="module")
def log(place):
    return write(place / "clicks.tsv", rows())


@pytest.fixture(scope="module")
def made(place, log):
    """A release of each mode, each made once."""
    folders = {}
    for mode, (verb, options) in MODES.items():
        with getattr(slogan, verb)(log, **options) as release:
            folders[mode] = release.save(place / mode).folder
    return folders


@pytest.fixture
def release(made, tmp_path, request):
    return shutil.copytree(made[getattr(request, "param", "synthetic")], tmp_path / "release")


def some_query(release):
    return slogan.review(release).queries[0].query


def public_text(release):
    return "".join(
        file.read_text() for file in (release / "public").iterdir() if file.suffix != ".parquet"
    )


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("jd77@example.org", ("e-mail address",)),
        ("jane.doe@example.org", ("e-mail address", "name of a person")),
        ("mail jane at example.com", ("e-mail address",)),
        ("+49 171 5550100", ("phone number", "long number")),
        ("call 0171/555-0100", ("phone number", "long number")),
        ("order 20061234567", ("long number",)),
        ("petra quillfeather", ("name of a person",)),
        ("Anna-Maria o'Brien", ()),
        ("Maria O'Brien", ("name of a person",)),
        ("mary lyrics", ()),
        ("paris hotels", ()),
        ("windows 98", ()),
        ("www.michael.com", ()),
        ("2006 calendar", ()),
    ],
)
def test_what_a_query_looks_like(text, kinds):
    assert looks_like(text) == kinds


def test_flagged_queries_come_first(release):
    found = slogan.review(release)
    flags = [bool(one.looks_like) for one in found.queries]

    assert flags == sorted(flags, reverse=True)
    assert {one.query for one in found.queries} <= {*QUERIES}
    assert {PERSON, PHONE} <= {one.query for one in found.flagged}
    assert found.queries == slogan.review(release / "public").queries
    assert (
        repr(found) == f"<Review: {len(found.queries)} queries, {sum(flags)} flagged, 0 withheld>"
    )
    assert json.loads(json.dumps(found.to_dict()))["withheld"] is None


@pytest.mark.parametrize("release", MODES, indirect=True)
def test_withholding_passes_verify_in_every_mode(log, release):
    before = slogan.review(release)
    gone = before.queries[0]
    after = slogan.review(release, withhold=[gone.query])
    manifest = json.loads((release / "public/manifest.json").read_text())
    verdict = slogan.verify(log, release)

    assert [q.query for q in after.queries] == [
        q.query for q in before.queries if q.query != gone.query
    ]
    assert manifest["withheld"] == {"queries": 1, "pairs": len(gone.urls)}
    assert gone.query not in public_text(release)
    assert [c for c in verdict.checks if not c.ok] == []
    assert slogan.verify_public(release / "public").ok
    assert (release / "curator/withheld.parquet").stat().st_mode & 0o777 == 0o600


def test_withholding_twice_adds_up(log, release, tmp_path):
    first, second = (one.query for one in slogan.review(release).queries[:2])
    slogan.review(release, withhold=[first])
    (tmp_path / "list.txt").write_text(f"{second}\n", encoding="utf-8")
    after = slogan.review(release, withhold_from=tmp_path / "list.txt")

    assert after.withheld.queries == 2
    assert slogan.verify(log, release).ok


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "tsv.gz", "csv.zst"])
def test_every_format_is_written_again(place, log, tmp_path, kind):
    file = tmp_path / f"clicks.{kind}"
    text = "columns={'user': 'BIGINT', 'query': 'VARCHAR', 'url': 'VARCHAR', 'count': 'BIGINT'}"
    form = {"csv": "FORMAT csv", "tsv": "FORMAT csv, DELIMITER '\t'", "jsonl": "FORMAT json"}
    packing = {"gz": ", COMPRESSION gzip", "zst": ", COMPRESSION zstd"}
    start, _, end = kind.partition(".")
    duckdb.sql(
        f"""COPY (SELECT "user", query || CASE WHEN query = 'weather' THEN ', "today"' ELSE '' END
                  AS query, url, "count" FROM read_csv('{log}', delim='\t', header=true, {text}))
            TO '{file}' ({form.get(start, "FORMAT parquet")}{packing.get(end, "")})"""
    )
    with slogan.synthesize(file, epsilon=9, delta="1e-3") as made:
        folder = made.save(tmp_path / "release").folder
    slogan.review(folder, withhold=[PERSON])

    assert [c for c in slogan.verify(file, folder).checks if not c.ok] == []
    assert PERSON not in {one.query for one in slogan.review(folder).queries}


def test_what_cannot_be_withheld_changes_nothing(release, tmp_path):
    before = {f: f.read_bytes() for f in release.rglob("*") if f.is_file()}
    everything = [one.query for one in slogan.review(release).queries]

    for wrong in (["not there"], [PERSON, "not there"], everything):
        with pytest.raises(OptionError, match="nothing was changed"):
            slogan.review(release, withhold=wrong)
    with pytest.raises(OptionError, match="public half"):
        slogan.review(release / "public", withhold=[PERSON])
    with pytest.raises(OptionError, match="UTF-8"):
        slogan.review(release, withhold_from=tmp_path / "none.txt")
    with pytest.raises(LogFormatError):
        slogan.review(tmp_path)
    assert before == {f: f.read_bytes() for f in release.rglob("*") if f.is_file()}


# --- forged records of withheld rows ---


def record(release, change):
    """Change the curator's record of withheld rows by SQL on a table `withheld`."""
    file = release / "curator/withheld.parquet"
    with duckdb.connect() as sql:
        sql.execute(f"CREATE TABLE withheld AS FROM '{file}'")
        sql.execute(change)
        sql.execute(f"COPY withheld TO '{file}' (FORMAT parquet)")


def failed(log, release):
    return {check.name for check in slogan.verify(log, release).checks if not check.ok}


def test_a_record_that_is_missing_or_not_announced_is_refused(log, release):
    slogan.review(release, withhold=[PERSON])
    file = release / "curator/withheld.parquet"
    kept = file.read_bytes()
    file.unlink()
    assert "withheld" in failed(log, release)
    file.write_bytes(b"PAR1")
    assert "withheld" in failed(log, release)
    file.write_bytes(kept)
    assert failed(log, release) == set()


def test_a_record_without_a_word_in_the_manifest_is_refused(log, made, release):
    slogan.review(release, withhold=[PERSON])
    shutil.rmtree(release / "public")
    shutil.copytree(made["synthetic"] / "public", release / "public")
    assert "withheld" in failed(log, release)


@pytest.mark.parametrize(
    "change",
    [
        f"DELETE FROM withheld WHERE query = '{PERSON}'",
        "UPDATE withheld SET clicks = 0",
        "INSERT INTO withheld FROM withheld LIMIT 1",
        "UPDATE withheld SET query = 'weather'",
        "INSERT INTO withheld VALUES ('1', 'train times', 'www.4-a.com', 3)",
    ],
    ids=["fewer queries", "no clicks", "a row twice", "a public query", "one more query"],
)
def test_a_record_that_does_not_fit_is_refused(log, release, change):
    slogan.review(release, withhold=[PERSON])
    record(release, change)
    assert "withheld" in failed(log, release)


@pytest.mark.parametrize("release", MODES, indirect=True)
def test_withheld_pairs_must_be_pairs_of_the_log(log, release):
    slogan.review(release, withhold=[some_query(release)])
    record(release, "UPDATE withheld SET query = 'a message'")
    assert "pairs_from_log" in failed(log, release)


def test_withheld_rows_do_not_hide_that_noise_is_missing(log, release):
    slogan.review(release, withhold=[PERSON])
    record(release, "UPDATE withheld SET clicks = clicks * 40")
    assert failed(log, release) - {"withheld"}


@pytest.mark.parametrize("release", ["exact"], indirect=True)
def test_withheld_rows_do_not_hide_a_broken_budget(log, release):
    gone = some_query(release)
    slogan.review(release, withhold=[gone])
    record(release, "UPDATE withheld SET clicks = clicks * 400")
    assert failed(log, release) & {"condition_2", "condition_3"}
