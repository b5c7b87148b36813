"""What a run leaves behind and says: nothing of the log but the rows that passed the mechanism.

Texts of the log are marked: `wombat` is on pairs that one user holds, `numbat` in user-IDs,
`quokka` on pairs that can be released.
"""

import gzip
import json
import os
import random
import stat
import tempfile
import traceback
from contextlib import closing
from types import SimpleNamespace

import pytest

import slogan
from slogan import __main__ as command
from slogan.cli.app import app

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
NAMES = ("user", "query", "url", "count")
MARKS = ("wombat", "numbat", "quokka")
EXACT = ["--exp-epsilon", "2", "--delta", "0.5", "--solver", "exact"]
LAPLACE = "--counts laplace --laplace-bound 9 --laplace-epsilon 90"
TOO_LARGE = "--objective frequent_pairs --output-size 99999"
LARGE = ["--epsilon", "8", "--delta", "1e-3"]


def rows(users=30):
    made = [
        (f"numbat-{u}", f"quokka-{n}", f"www.quokka{n}.com", 1)
        for u in range(users)
        for n in range(3)
    ]
    return [*made, *((f"numbat-{u}", f"wombat-{u}", f"www.wombat{u}.com", 2) for u in range(users))]


def many():
    """Users enough for an end-to-end private release."""
    made = [(f"numbat-{u}", f"quokka-{u % 2}", f"www.quokka{u % 2}.com", 1) for u in range(600)]
    return [*made, ("numbat-7", "wombat-7", "www.wombat7.com", 2)]


def write(file, told):
    text = "".join("\t".join(map(str, r)) + "\n" for r in [NAMES, *told])
    data = text.encode()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(data) if file.suffix == ".gz" else data)
    return file


def save(log, target, seed=None, **options):
    with closing(slogan.sanitize(log, BUDGET, solver="exact", seed=seed, **options)) as made:
        made.save(target)
    return target


def marked(data):
    text = data if isinstance(data, bytes) else data.encode()
    return [mark for mark in MARKS if mark.encode() in text.lower()]


# Every verb that reads a log, as it should be and as it should not, with its exit code.
RUNS = {
    "inspect": (0, "inspect small.tsv"),
    "inspect no column": (2, "inspect small.tsv --user absent"),
    "inspect no header": (2, "inspect bare.tsv"),
    "inspect bad rows": (2, "inspect bad.tsv"),
    "inspect bad json": (2, "inspect bad.jsonl"),
    "inspect bad csv": (2, "inspect bad.csv"),
    "inspect bad utf-8": (2, "inspect latin.tsv"),
    "inspect bad parquet": (2, "inspect bad.parquet"),
    "inspect bad utf-8 in parquet": (2, "inspect latin.parquet"),
    "inspect wrong format": (2, "inspect small.tsv --format jsonl"),
    "inspect wrong limit": (2, "inspect small.tsv --memory-limit much"),
    "sanitize": (0, f"sanitize small.tsv -o r1 {' '.join(EXACT)}"),
    "sanitize json": (0, f"sanitize small.tsv -o r2 --json {' '.join(EXACT)}"),
    "sanitize laplace": (0, f"sanitize small.tsv -o r3 {LAPLACE} {' '.join(EXACT)}"),
    "sanitize private": (0, "sanitize many.tsv -o r4 --counts private --epsilon 4 --delta .5"),
    "sanitize nothing": (3, "sanitize alone.tsv -o r5 --epsilon .1 --delta .01"),
    "sanitize too strict": (
        3,
        "sanitize small.tsv -o r6 --epsilon .001 --delta .001 --solver exact",
    ),
    "sanitize too large": (2, f"sanitize small.tsv -o r7 {TOO_LARGE} {' '.join(EXACT)}"),
    "sanitize no place": (2, f"sanitize small.tsv -o small.tsv {' '.join(EXACT)}"),
    "synthesize": (0, f"synthesize many.tsv -o r8 {' '.join(LARGE)}"),
    "synthesize too few": (3, "synthesize small.tsv -o r9 --epsilon .1 --delta 1e-9"),
    "synthesize no taxonomy": (
        2,
        f"synthesize many.tsv -o r10 --taxonomy small.tsv {' '.join(LARGE)}",
    ),
    "verify": (0, "verify small.tsv release"),
    "verify another": (4, "verify many.tsv release"),
    "verify bad": (2, "verify bad.tsv release"),
    "evaluate": (0, "evaluate small.tsv release --samples 1"),
    "evaluate another": (2, "evaluate bad.tsv release"),
    "audit": (0, f"audit small.tsv --mode sanitize --trials 100 {' '.join(EXACT)}"),
    "audit synthetic": (0, f"audit many.tsv --trials 100 {' '.join(LARGE)}"),
    "audit too little": (2, f"audit small.tsv --trials 20 {' '.join(LARGE)}"),
    "advise": (0, "advise small.tsv"),
    "frontier": (
        0,
        "frontier small.tsv --on-log -o f1 --exp-epsilons 2 --deltas 0.5 --solver exact",
    ),
    "frontier synthetic": (
        0,
        "frontier many.tsv --on-log -o f2 --mode synthesize --epsilons 8 --deltas 1e-3",
    ),
}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("leaks")
    write(folder / "small.tsv", rows())
    write(folder / "many.tsv", many())
    write(folder / "alone.tsv", rows()[-2:])
    write(folder / "bad.tsv", [*rows(), ("numbat-1", "wombat-x", "www.wombat.com", "many")])
    (folder / "bare.tsv").write_text("numbat-1\twombat-1\twww.wombat.com\t1\n")
    (folder / "latin.tsv").write_bytes(b"user\tquery\turl\tcount\nnumbat-1\twombat-\xe9\tu\t1\n")
    (folder / "bad.jsonl").write_text(
        '{"user": "numbat-1", "query": "quokka", "url": "u"}\n{"wombat": 1\n'
    )
    (folder / "bad.csv").write_text('user,query,url\nnumbat-1,"quokka" wombat,www\n')
    (folder / "bad.parquet").write_bytes(b"PAR1numbat-1 wombat quokka PAR1")
    bad_parquet_text(folder / "latin.parquet")
    (folder / "no-manifest/public").mkdir(parents=True)
    (folder / "no-manifest/public/manifest.json").write_text('{"log": "wombat"}')
    save(folder / "small.tsv", folder / "release")
    return folder


def bad_parquet_text(file):
    """A query that is not UTF-8, which DuckDB quotes when it meets it."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    secret = pa.array([b"wombat \xff"]).view(pa.string())
    columns = {"user": ["numbat-1"], "query": secret, "url": ["u"]}
    pq.write_table(pa.table(columns), file, store_schema=False)


@pytest.mark.parametrize("name", RUNS)
def test_no_verb_says_a_text_of_the_log(place, monkeypatch, capfd, name):
    monkeypatch.chdir(place)
    code, words = RUNS[name]
    monkeypatch.setattr(command, "app", SimpleNamespace(meta=lambda: app.meta(words.split())))
    with pytest.raises(SystemExit) as left:
        command.main()
    said = capfd.readouterr()

    assert said.out or said.err
    assert (left.value.code or 0) == code
    assert marked(said.out + said.err) == []
    assert "internal error" not in said.err, said.err


def test_no_traceback_quotes_the_log(place):
    """A Python caller that logs what was raised logs no text either."""
    calls = [
        lambda: slogan.inspect(place / "bare.tsv"),
        lambda: slogan.inspect(place / "small.tsv", engine=slogan.DuckDB(memory_limit="much")),
        lambda: slogan.inspect(slogan.read(place / "small.tsv", format="jsonl")),
        lambda: slogan.sanitize(place / "alone.tsv", BUDGET),
        lambda: slogan.synthesize(
            place / "small.tsv", slogan.PrivacyBudget(epsilon=1, delta="1e-9")
        ),
        *(
            lambda name=name: slogan.inspect(place / name)
            for name in (
                "bad.tsv",
                "bad.jsonl",
                "bad.csv",
                "latin.tsv",
                "bad.parquet",
                "latin.parquet",
            )
        ),
        lambda: slogan.evaluate(place / "small.tsv", place / "no-manifest"),
    ]
    for call in calls:
        with pytest.raises(slogan.errors.SloganError) as caught:
            call()
        assert marked("".join(traceback.format_exception(caught.value))) == []


def test_public_files_hold_released_rows_and_nothing_else_of_the_log(place):
    for file in (place / "release/public").iterdir():
        found = marked(file.read_bytes())
        assert found == (["quokka"] if file.name == "log.tsv" else []), file.name


def test_the_environment_is_not_in_a_release(tmp_path, monkeypatch):
    for name in ("HOME", "USER", "LOGNAME", "HOSTNAME", "SECRET", "LANG_NOTE"):
        monkeypatch.setenv(name, "environment-canary")
    log = write(tmp_path / "path-canary" / "file-canary.tsv", rows())
    monkeypatch.chdir(tmp_path / "path-canary")
    for name, source in (("absolute", log), ("relative", "file-canary.tsv")):
        save(source, tmp_path / "path-canary" / name)
        for file in (tmp_path / "path-canary" / name / "public").iterdir():
            data = file.read_bytes()
            assert b"canary" not in data, file.name
            assert os.uname().nodename.encode() not in data, file.name
            assert str(os.getpid()).encode() + b"," not in data


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_whatever_the_umask_only_the_owner_reads_curator_or_writes_anything(tmp_path, place, mask):
    before = os.umask(mask)
    try:
        save(place / "small.tsv", tmp_path / "out")
        slogan.evaluate(place / "small.tsv", tmp_path / "out", samples=1).save(tmp_path / "out")
    finally:
        os.umask(before)
    modes = {
        str(p.relative_to(tmp_path)): stat.S_IMODE(p.stat().st_mode)
        for p in (tmp_path / "out").rglob("*")
    }

    assert modes["out/curator"] == 0o700
    assert {m for p, m in modes.items() if p.startswith("out/curator/")} == {0o600}
    assert not any(mode & 0o022 for mode in modes.values())
    assert not stat.S_IMODE((tmp_path / "out").stat().st_mode) & 0o022
    if mask == 0o022:
        assert {m for p, m in modes.items() if p.startswith("out/public/")} == {0o644}


def test_no_time_in_public_tells_when_or_how_long(place):
    times = {
        p.stat().st_mtime for p in [place / "release/public", *(place / "release/public").iterdir()]
    }

    assert times == {315_532_800}


def test_a_packed_file_tells_no_name_and_no_time(tmp_path):
    save(write(tmp_path / "my-secret-name.tsv.gz", rows()), tmp_path / "out")
    head = (tmp_path / "out/public/log.tsv.gz").read_bytes()[:10]

    assert head[3] == 0  # no name, no comment, nothing extra
    assert head[4:8] == bytes(4)  # no time


def test_a_parquet_file_knows_only_what_it_shows(tmp_path):
    """Dictionaries and statistics of the input hold texts that are not released."""
    import pandas as pd
    import pyarrow.parquet as pq

    frame = pd.DataFrame(rows(), columns=list(NAMES))
    frame["query"] = frame["query"].astype("category")
    frame.to_parquet(tmp_path / "in.parquet")
    save(tmp_path / "in.parquet", tmp_path / "out")
    file = tmp_path / "out/public/log.parquet"
    about, table = pq.read_metadata(file), pq.read_table(file, read_dictionary=["query", "url"])
    shown = {name: set(table[name].to_pylist()) for name in ("query", "url")}

    assert about.metadata is None  # nothing that pandas noted about the input
    assert about.created_by.startswith("DuckDB version")
    for name in ("query", "url"):
        for chunk in table[name].chunks:
            assert set(chunk.dictionary.to_pylist()) <= shown[name]
    for n in range(about.num_row_groups):
        for c in range(about.num_columns):
            column = about.row_group(n).column(c)
            ends = column.statistics
            if ends is not None and ends.has_min_max and column.path_in_schema in shown:
                assert {ends.min, ends.max} <= shown[column.path_in_schema]
    assert marked(file.read_bytes().replace(b"quokka", b"")) == []


@pytest.mark.parametrize("suffix", ["tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("counts", [slogan.ExactCounts(), slogan.LaplaceCounts(bound=9, epsilon=4)])
def test_the_order_of_the_rows_does_not_show(tmp_path, suffix, counts):
    import polars as pl

    seen = []
    for seed in range(3):
        told = rows(12)
        random.Random(seed).shuffle(told)
        frame = pl.DataFrame(told, schema=list(NAMES), orient="row")
        file = tmp_path / f"{seed}.{suffix}"
        {
            "tsv": lambda f, file=file: write(file, f.rows()),
            "jsonl": lambda f, file=file: f.write_ndjson(file),
            "parquet": lambda f, file=file: f.write_parquet(file),
        }[suffix](frame)
        out = save(file, tmp_path / f"out{seed}", seed=5, counts=counts)
        seen.append({p.name: p.read_bytes() for p in (out / "public").iterdir()})

    assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize("texts", [3, 9])
def test_the_first_row_does_not_say_what_a_user_id_looks_like(tmp_path, texts):
    """Some IDs are numbers in JSON and some are texts: all are released as texts."""
    told = [
        {"user": str(u) if u <= texts else u, "query": f"quokka-{n}", "url": "u", "count": 1}
        for u in range(1, 13)
        for n in range(3)
    ]
    seen = []
    for order in (told, told[::-1]):
        file = tmp_path / "log.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in order))
        out = save(file, tmp_path / f"out{len(seen)}", seed=5)
        seen.append({p.name: p.read_bytes() for p in (out / "public").iterdir()})
    shown = json.loads(seen[0]["log.jsonl"].splitlines()[0])["user"]

    assert seen[0] == seen[1]
    assert isinstance(shown, str)


def test_the_order_of_the_rows_does_not_show_end_to_end(tmp_path):
    for verb in (
        lambda log: slogan.sanitize(
            log, slogan.PrivacyBudget(epsilon=4, delta="0.5"), counts=slogan.PrivateCounts(), seed=5
        ),
        lambda log: slogan.synthesize(log, slogan.PrivacyBudget(epsilon=8, delta="1e-3"), seed=5),
    ):
        seen = []
        for seed in range(2):
            told = many()
            random.Random(seed).shuffle(told)
            with closing(verb(write(tmp_path / f"{seed}.tsv", told))) as made:
                made.save(tmp_path / "out", force=True)
            seen.append({p.name: p.read_bytes() for p in (tmp_path / "out/public").iterdir()})
        assert seen[0] == seen[1]


def test_nothing_of_the_solver_is_public(place):
    """How long it took, how it ended and what it proved depends on the log."""
    told = (place / "release/public/manifest.json").read_text(encoding="utf-8")
    certificate = json.loads((place / "release/curator/certificate.json").read_text())

    assert {"seconds", "bound", "status", "gap", "value"} <= certificate.keys()
    assert not {"seconds", "bound", "status", "value"} & json.loads(told).keys()
    assert not {"seconds", "bound", "status", "value"} & json.loads(told)["parameters"].keys()
    assert json.loads(told)["parameters"]["gap"] == 1e-4  # what was asked for, not what was reached


def test_names_of_folders_say_nothing(tmp_path, monkeypatch):
    """A folder called user=5 is not a column of the log, of a table, or of what is spilled."""
    import polars as pl

    folder = tmp_path / "count=1000" / "user=5" / "pseudonym=7" / "pair=3" / "canary=1"
    folder.mkdir(parents=True)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    pl.DataFrame(rows(), schema=list(NAMES), orient="row").write_parquet(folder / "in.parquet")
    out = save(folder / "in.parquet", folder / "out")

    assert slogan.inspect(folder / "in.parquet").to_dict()["clicks"] == sum(r[3] for r in rows())
    assert not any(b"canary" in file.read_bytes() for file in (out / "public").iterdir())
    assert [c for c in slogan.verify(folder / "in.parquet", out).checks if not c.ok] == []
    assert slogan.evaluate(folder / "in.parquet", out).to_dict()["users_matched"]
