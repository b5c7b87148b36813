"""Every engine counts the same, plans the same and writes the same rows."""

import gzip
import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import duckdb
import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import nasty_text

import slogan
from slogan import engines, errors
from slogan.logs.files import open_bytes
from slogan.logs.searchlog import read

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

GOLDEN = Path(__file__).parents[1] / "golden"
NAMES = ("user", "query", "url", "count")
BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
ROWS = [
    (str(3000 + 7 * u), query, f"www.site{n}.com", 1 + (u * n) % 3)
    for u in range(12)
    for n, query in enumerate(["weather", 'say "hi", all', "été", "a b", "a b"])
    if (u + n) % 3
] + [("3007", "only mine", "www.me.com", 2)]
HIDDEN = [("3000", "no click", "", 1)]


def tsv(rows, names=NAMES):
    return "".join("\t".join(map(str, row)) + "\n" for row in [names, *rows])


def csv(rows):
    quote = lambda v: '"' + str(v).replace('"', '""') + '"'  # noqa: E731
    return "".join(",".join(map(quote, row)) + "\n" for row in [NAMES, *rows])


def jsonl(rows):
    return "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in rows)


def events(rows):
    names = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
    each = [(u, q, "2006-03-01", "1", w) for u, q, w, n in rows for _ in range(n)]
    return tsv(each, names)


def save(folder, name, rows):
    """The rows as a log of the kind that the name says."""
    file = folder / name
    kind = file.suffixes[0][1:]
    if kind == "parquet":
        source = folder / "for-parquet.csv"
        source.write_text(csv(rows))
        types = "{'user': 'INTEGER', 'query': 'VARCHAR', 'url': 'VARCHAR', 'count': 'BIGINT'}"
        duckdb.sql(f"SELECT * FROM read_csv('{source}', columns={types})").write_parquet(str(file))
        return file
    texts = {"tsv": tsv, "csv": csv, "jsonl": jsonl, "txt": events}
    data = texts[kind](rows).encode()
    packed = {".gz": gzip.compress, ".zst": zstandard.compress}.get(file.suffix, bytes)
    file.write_bytes(packed(data))
    return file


def counted(engine, log, **options):
    host = engines.resolve(engine, log).start()
    try:
        found = host.count(log, **options)
        assert found.hist  # which may come only as long as the engine is open
        return found, (None if options.get("unique_pairs") else host.sizes())
    finally:
        host.close()


def assert_counted_alike(spark, log, **options):
    (one, sizes), (other, others) = (counted(e, log, **options) for e in ("duckdb", spark))

    assert other.hist.digest() == one.hist.digest()
    assert others == sizes
    for figure in ("clicks", "users", "pairs", "rows_without_click", "bad_rows"):
        assert getattr(other, figure) == getattr(one, figure), figure


# --- counting ---


@pytest.mark.parametrize("unique_pairs", [False, True])
def test_the_golden_log_has_the_same_histogram(spark, unique_pairs, monkeypatch):
    monkeypatch.setattr("slogan.engines.spark.counting.ROWS_PER_STRETCH", 4)

    assert_counted_alike(spark, read(GOLDEN / "clicks.tsv"), unique_pairs=unique_pairs)


text = nasty_text.filter(lambda t: "\x00" not in t and t.strip("\ufeff"))
rows = st.lists(
    st.tuples(st.sampled_from(["7", "8", "alice", "ål", "😀"]), text, text, st.integers(1, 9)),
    min_size=1,
    max_size=12,
)


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=rows, kind=st.sampled_from(["tsv", "csv", "jsonl"]), stretch=st.integers(1, 6))
def test_any_log_has_the_same_histogram(spark, tmp_path, monkeypatch, rows, kind, stretch):
    monkeypatch.setattr("slogan.engines.spark.counting.ROWS_PER_STRETCH", stretch)
    shared = [("9", query, url, n) for _, query, url, n in rows[: len(rows) // 2]]

    assert_counted_alike(spark, read(save(tmp_path, f"log.{kind}", [*rows, *shared])))


BAD = {
    "tsv": b"7\tq\tu\t-1\n7\tq\tu\t0\n7\tq\tu\t1.5\n7\tq\tu\tx\n7\tq\tu\t1d\n7\tq\tu\t1_0\n"
    b"7\tq\tu\t9007199254740992\n\tq\tu\t1\n7\t\tu\t1\n7\tq\tu\n7\t\xff\tu\t1\n\n7\tq\t\t1\n",
    "csv": b'7,q,u\n7,q,u,1,2\n7,q,u,1,2,3\n7,"q" x,u,1\n7,\xff,u,1\n7,q,u,-1\n',
    "jsonl": b'nonsense\n[1]\n{"user": 7} x\n{"user":7,"query":"q","url":"u","count":-1}\n'
    b'{"user":7,"query":"q","url":"u","count":"2"}\n{"user":null,"query":"q","url":"u","count":1}\n',
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_rows_are_skipped_for_the_same_reasons(spark, tmp_path, kind):
    file = save(tmp_path, f"log.{kind}", ROWS + HIDDEN)
    file.write_bytes(file.read_bytes() + BAD[kind])

    assert_counted_alike(spark, read(file, on_bad_row="skip"))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("7\tsecret\tu\t-1", "count negative"),
        ("7\tsecret\tu\t1.5", "count fractional"),
        ("7\tsecret\tu", "unreadable"),
        ("user\tquery\turl\tcount", "unreadable"),  # the header once more
    ],
)
def test_a_bad_row_stops_counting_without_being_quoted(spark, tmp_path, row, reason):
    file = save(tmp_path, "log.tsv", ROWS)
    file.write_text(file.read_text() + row + "\n")

    with pytest.raises(errors.BadRowError, match=r"log\.tsv") as raised:
        counted(spark, read(file))
    assert raised.value.reason == reason
    assert "secret" not in str(raised.value)


def test_what_comes_to_the_driver_is_announced_and_must_fit(spark, tmp_path):
    log, said = read(save(tmp_path, "log.tsv", ROWS)), []
    little = replace(spark, memory_limit="1KB")
    host = engines.resolve(little, log).start(lambda *words: said.append(words))

    with pytest.raises(errors.SloganError, match="does not fit"):
        host.count(log)
    host.close()
    assert any("MB" in note for _, note in said)


# --- releases ---


def released_rows(folder):
    """The lines or rows of a released log, whether one file or a folder of parts."""
    told = json.loads((folder / "public/manifest.json").read_text())["log"]
    log = folder / "public" / told["file"]
    parts = sorted(log.iterdir()) if log.is_dir() else [log]
    if told["format"] == "parquet":
        return [row for p in parts for row in duckdb.read_parquet(str(p)).fetchall()]
    texts = []
    for part in parts:
        with open_bytes(part, told["compression"]) as data:
            texts.append(data.read().decode().splitlines())
    skip = int(told["header"] and told["format"] != "jsonl")
    return texts[0][:skip] + [line for lines in texts for line in lines[skip:]]


KINDS = [
    *("log.tsv.gz", "log.parquet"),
    *(pytest.param(n, marks=pytest.mark.long) for n in ("log.csv", "log.jsonl.zst", "events.txt")),
]


@pytest.mark.parametrize("name", KINDS)
def test_the_same_seed_gives_the_same_plan_and_the_same_rows(spark, tmp_path, name):
    file = save(tmp_path, name, ROWS)
    plans, rows = [], []
    for place, engine in (("a", "duckdb"), ("b", spark)):
        release = slogan.sanitize(read(file), BUDGET, seed=3, engine=engine)
        release.save(tmp_path / place)
        release.close()
        plans.append((release.plan.counts.tolist(), release.output.user.tolist()))
        rows.append(released_rows(tmp_path / place))

    assert plans[0] == plans[1]
    assert rows[0] == rows[1]


def test_user_ids_in_json_are_text_and_counts_are_numbers_in_any_order(spark, tmp_path):
    """Whether a user-ID of the log is in quotes or not, and whichever row comes first."""
    told = [(str(u) if u % 4 else u, f"q{n}", "u", 1) for u in range(1, 13) for n in range(3)]
    seen = []
    for order, engine in ((told, "duckdb"), (told[::-1], spark)):
        file = save(tmp_path, "log.jsonl", order)
        with closing(slogan.sanitize(read(file), BUDGET, seed=3, engine=engine)) as release:
            release.save(tmp_path / str(len(seen)))
        seen.append(released_rows(tmp_path / str(len(seen))))

    assert seen[0] == seen[1] != []
    for row in map(json.loads, seen[0]):
        assert {name: type(value) for name, value in row.items()} == {
            "user": str,
            "query": str,
            "url": str,
            "count": int,
        }


def test_names_of_folders_at_an_address_are_not_columns(spark, tmp_path):
    folder = tmp_path / "logs" / "canary=5"
    folder.mkdir(parents=True)
    save(tmp_path, "log.parquet", ROWS).rename(folder / "log.parquet")
    log = read(f"file://{tmp_path}/logs", peek=spark.peek, format="parquet")

    assert log.columns.names == NAMES


def test_the_golden_log_gives_the_golden_output(spark, tmp_path):
    release = slogan.sanitize(GOLDEN / "clicks.tsv", BUDGET, solver="exact", seed=7, engine=spark)
    release.save(tmp_path / "out")
    release.close()

    assert released_rows(tmp_path / "out") == (GOLDEN / "output_size.tsv").read_text().splitlines()


def test_a_spark_release_verifies_and_is_measured_alike_on_both_engines(spark, tmp_path):
    file = save(tmp_path, "log.tsv", ROWS)
    release = slogan.sanitize(read(file), BUDGET, engine=spark)
    release.save(tmp_path / "out")
    release.close()
    found = []
    for engine in ("duckdb", spark):
        verdict = slogan.verify(file, tmp_path / "out", engine=engine)
        assert verdict.ok, verdict.to_dict()
        found.append(slogan.evaluate(file, tmp_path / "out", engine=engine).to_dict())

    assert {**found[0], "seconds": 0} == {**found[1], "seconds": 0}


def test_verify_sees_what_was_put_among_the_parts(spark, tmp_path):
    release = slogan.sanitize(save(tmp_path, "log.tsv", ROWS), BUDGET, engine=spark)
    release.save(tmp_path / "out")
    release.close()
    (tmp_path / "out/public/log.tsv/.extra").write_text("real names")

    failed = {
        check.name
        for check in slogan.verify(tmp_path / "log.tsv", tmp_path / "out").checks
        if not check.ok
    }
    assert {"checksum", "nothing_else_public"} <= failed


def test_synthetic_and_capped_logs_are_the_same(spark, tmp_path, monkeypatch):
    from slogan.engines.spark.sums import SparkHistogram

    def stay(self):
        raise AssertionError("rows came to the driver")

    many = [(str(u), f"q{n}", f"www.s{n}.com", 1 + n) for u in range(150) for n in range(3)]
    log = read(save(tmp_path, "log.tsv", many))
    budget, large = (slogan.PrivacyBudget(epsilon=6, delta=d) for d in ("1e-3", "0.9"))
    runs = {
        "synthesize": lambda e: slogan.synthesize(log, budget, seed=5, engine=e),
        "private": lambda e: slogan.sanitize(
            log, large, seed=5, engine=e, counts=slogan.PrivateCounts(), pseudonyms="keep"
        ),
    }
    for name, run in runs.items():
        rows = []
        for place, engine in (("a", "duckdb"), ("b", spark)):
            with monkeypatch.context() as patched:
                if name == "synthesize":
                    patched.setattr(SparkHistogram, "brought", stay)
                release = run(engine)
                release.save(tmp_path / f"{name}-{place}")
            release.close()
            rows.append(released_rows(tmp_path / f"{name}-{place}"))
        assert rows[0] == rows[1], name
        assert len(rows[0]) > 1


def test_a_spark_frame_is_a_log(spark, tmp_path):
    file = save(tmp_path, "log.parquet", ROWS)
    frame = spark.session.read.parquet(str(file))
    release = slogan.sanitize(frame, BUDGET)
    release.save(tmp_path / "out")
    release.close()

    assert slogan.inspect(frame).counted.hist.digest() == slogan.inspect(file).counted.hist.digest()
    assert slogan.verify(frame, tmp_path / "out").ok
    assert slogan.verify(file, tmp_path / "out").ok
    types = [np.asarray(duckdb.read_parquet(f"{p}").types).tolist() for p in (file,)]
    parts = str(tmp_path / "out/public/log.parquet/*.parquet")
    assert np.asarray(duckdb.read_parquet(parts).types).tolist() == types[0]


def test_a_statement_leaves_what_is_persisted(spark):
    from slogan.engines.spark.sql import one

    frame = spark.session.range(5).selectExpr("id % 2 AS parity").persist()
    try:
        assert one("SELECT sum(parity) FROM {frame}", frame=frame) == [2]
        assert frame.storageLevel.useMemory
    finally:
        frame.unpersist()
