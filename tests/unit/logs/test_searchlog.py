"""Reading: every format, every kind of trouble, and no query text in any message."""

import gzip
import json
import os
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.strategies import nasty_text

import slogan
from slogan import engines, errors
from slogan.logs.searchlog import read

ROWS = [
    ("7", "cheap flights", "www.fly.com", 2),
    ("8", "cheap flights", "www.fly.com", 1),
    ("8", "my secret illness", "www.doc.com", 3),
    ("9", "weather", "www.sky.com", 1),
    ("7", "weather", "www.sky.com", 5),
]
NAMES = ("user", "query", "url", "count")
BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")


def count(source, **options):
    engine = engines.resolve("duckdb").start()
    try:
        counted = engine.count(read(source, **options))
        texts = engine._sql.execute("SELECT query, url FROM pairs ORDER BY pair").fetchall()
        users = engine._sql.execute('SELECT name FROM users ORDER BY "user"').fetchall()
    finally:
        engine.close()
    return counted, texts, [name for (name,) in users]


def triplets(source, **options):
    """What was counted, with its names, as a set."""
    counted, texts, users = count(source, **options)
    hist = counted.hist
    rows = zip(hist.user.tolist(), hist.pair.tolist(), hist.count.tolist(), strict=True)
    return {(users[u], *texts[p], n) for u, p, n in rows}


SHARED = {row for row in ROWS if row[1] != "my secret illness"}


def tsv(rows, names=NAMES):
    lines = ["\t".join(names)] if names else []
    return "".join(f"{line}\n" for line in [*lines, *("\t".join(map(str, r)) for r in rows)])


def write(path, text):
    data = text if isinstance(text, bytes) else text.encode()
    if path.suffix == ".gz":
        data = gzip.compress(data)
    if path.suffix == ".zst":
        data = zstandard.compress(data)
    path.write_bytes(data)
    return path


def csv_text(rows):
    quote = lambda v: '"' + str(v).replace('"', '""') + '"'  # noqa: E731
    return "".join(",".join(map(quote, r)) + "\n" for r in [NAMES, *rows])


def jsonl_text(rows):
    return "".join(json.dumps(dict(zip(NAMES, r, strict=True))) + "\n" for r in rows)


TEXTS = {"tsv": tsv, "csv": csv_text, "jsonl": jsonl_text}


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
@pytest.mark.parametrize("kind", TEXTS)
def test_text_formats_plain_and_packed(tmp_path, kind, packing):
    file = write(tmp_path / f"log.{kind}{packing}", TEXTS[kind](ROWS))

    assert triplets(file) == SHARED


@pytest.fixture
def parquet(tmp_path):
    file = tmp_path / "log.parquet"
    source = write(tmp_path / "for.tsv", tsv(ROWS))
    duckdb.sql(f"SELECT * FROM read_csv('{source}')").write_parquet(str(file))
    source.unlink()
    return file


def test_parquet_is_read(parquet):
    assert triplets(parquet) == SHARED


@pytest.mark.parametrize("name", ["other.parquet", "other.PQ", "other"])
@pytest.mark.parametrize(("packing", "command"), [(".gz", "gunzip"), (".zst", "unzstd")])
def test_parquet_that_is_packed_once_more_is_refused(tmp_path, parquet, name, packing, command):
    file = write(tmp_path / f"{name}{packing}", parquet.read_bytes())

    with pytest.raises(errors.LogFormatError, match="which is not read") as caught:
        read(file, format=None if "." in name else "parquet")
    assert caught.value.hint == f"decompress it: {command} {file.name}"


def test_several_files_and_globs_add_up(tmp_path):
    first = write(tmp_path / "a.tsv", tsv(ROWS[:2]))
    second = write(tmp_path / "b.tsv", tsv(ROWS[2:]))

    assert triplets([first, second]) == triplets(str(tmp_path / "*.tsv")) == SHARED


def test_file_names_that_look_like_patterns_or_sql(tmp_path):
    file = write(tmp_path / "it's [1] *?.tsv", tsv(ROWS))
    write(tmp_path / "it's 1 xy.tsv", tsv(ROWS))

    assert triplets(file) == SHARED


@pytest.mark.parametrize("folder", ["~", "file:", "file:/tmp", "http:/host"])
def test_relative_names_that_look_like_other_places(tmp_path, monkeypatch, folder):
    """Read, checked, released and reported under the name that was given."""
    (tmp_path / "work" / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HOME", str(tmp_path))
    write(tmp_path / "a.tsv", tsv(ROWS[:1]))
    file = write(Path(folder) / "a.tsv", tsv(ROWS))
    bad = write(Path(folder) / "bad.tsv", tsv(ROWS).encode() + b"1\t\xff\tu\t1\n")
    many = write(Path(folder) / "many.tsv", tsv((u, *ROWS[0][1:]) for u in range(20)))
    with closing(slogan.sanitize(many, BUDGET, solver="exact")) as made:
        made.save(Path(folder) / "out")

    assert triplets(file) == SHARED
    with pytest.raises(errors.BadRowError, match=f"^{folder}/bad.tsv, line 7: not UTF-8"):
        count(bad)
    assert slogan.verify(many, Path(folder) / "out").ok


def test_a_backslash_in_a_name(tmp_path):
    """Beside a pattern DuckDB would look into a folder for it."""
    (tmp_path / "a").mkdir()
    write(tmp_path / "a" / "b*.tsv", tsv(ROWS[:1]))

    assert triplets(write(tmp_path / "a\\b.tsv", tsv(ROWS))) == SHARED
    with pytest.raises(errors.LogNotFoundError, match="backslash"):
        count(write(tmp_path / "a\\b*.tsv", tsv(ROWS)))


@pytest.mark.parametrize("packing", [".GZ", ".Zst"])
@pytest.mark.parametrize("kind", TEXTS)
def test_endings_in_capitals(tmp_path, kind, packing):
    packed = write(tmp_path / f"log{packing.lower()}", TEXTS[kind](ROWS))

    assert triplets(packed.rename(tmp_path / f"log.{kind.upper()}{packing}")) == SHARED


@pytest.mark.parametrize("kind", [*TEXTS, "parquet"])
def test_names_of_folders_are_not_columns(tmp_path, parquet, kind):
    folder = tmp_path / "count=1000" / "line=5" / "day=3"
    folder.mkdir(parents=True)
    text = parquet.read_bytes() if kind == "parquet" else TEXTS[kind](ROWS)
    file = write(folder / f"log.{kind}", text)

    assert read(file).columns.names == NAMES
    assert triplets(file) == SHARED


@pytest.mark.parametrize("kind", ["polars", "polars_lazy", "pandas", "arrow", "duckdb"])
def test_tables_from_python(parquet, kind):
    import pandas as pd
    import polars as pl
    import pyarrow.parquet as pq

    connection = duckdb.connect()
    tables = {
        "polars": lambda: pl.read_parquet(parquet),
        "polars_lazy": lambda: pl.scan_parquet(parquet),
        "pandas": lambda: pd.read_parquet(parquet),
        "arrow": lambda: pq.read_table(parquet),
        "duckdb": lambda: connection.read_parquet(str(parquet)),
    }

    assert triplets(tables[kind]()) == SHARED


def test_aol_events_are_counted_and_rows_without_a_click_dropped(tmp_path):
    names = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
    rows = [
        ("1", "maps", "2006-03-01 10:00:00", "1", "www.maps.com"),
        ("1", "maps", "2006-03-02 10:00:00", "1", "www.maps.com"),
        ("2", "maps", "2006-03-02 11:00:00", "2", "www.maps.com"),
        ("2", "nothing clicked", "2006-03-02 11:00:00", "", ""),
    ]
    file = write(tmp_path / "user-ct-test.txt", tsv(rows, names))
    counted, _, _ = count(file)

    assert counted.hist.count.tolist() == [2, 1]
    assert counted.rows_without_click == 1


def test_named_columns_and_files_without_a_header(tmp_path):
    other = write(tmp_path / "a.tsv", tsv(ROWS, ("who", "what", "where", "n")))
    bare = write(tmp_path / "b.tsv", tsv(ROWS, ()))
    roles = {"user": "who", "query": "what", "url": "where", "count": "n"}

    assert triplets(other, **roles) == SHARED
    assert triplets(bare, columns=NAMES) == SHARED


def test_a_byte_order_mark_and_windows_lines(tmp_path):
    text = b"\xef\xbb\xbf" + tsv(ROWS).replace("\n", "\r\n").encode()

    assert triplets(write(tmp_path / "w.tsv", text)) == SHARED
    assert triplets(write(tmp_path / "w.csv", csv_text(ROWS).replace("\n", "\r\n"))) == SHARED


def test_latin_1_is_an_error_with_the_line_or_read_as_such(tmp_path):
    text = tsv([("1", "été", "u", 1), ("2", "été", "u", 1)]).encode("latin-1")
    file = write(tmp_path / "l.tsv", text)

    with pytest.raises(errors.BadRowError, match=r"l\.tsv, line 2: not UTF-8"):
        count(file)
    assert triplets(file, encoding="latin-1") == {("1", "été", "u", 1), ("2", "été", "u", 1)}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
@pytest.mark.parametrize("options", [{}, {"columns": NAMES}, {"encoding": "latin-1"}])
def test_utf_16_is_called_by_its_name(tmp_path, encoding, options):
    mark = "" if encoding == "utf-16" else "\ufeff"
    file = write(tmp_path / "w.csv", (mark + csv_text(ROWS)).encode(encoding))

    with pytest.raises(errors.LogFormatError, match=r"w\.csv is in UTF-16.*\n.*iconv"):
        read(file, **options)


@pytest.mark.parametrize("kind", [*TEXTS, "parquet"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(nasty_text, min_size=1, max_size=4, unique=True))
def test_any_text_survives_reading(tmp_path, kind, texts):
    rows = [(user, text, f"u{text}", 1) for text in texts for user in ("1", "2")]
    file = tmp_path / f"log.{kind}"
    if kind == "parquet":
        import polars as pl

        pl.DataFrame(rows, schema=NAMES, orient="row").write_parquet(file)
    else:
        write(file, TEXTS[kind](rows))

    assert triplets(file) == set(rows)


def test_a_query_of_100_kilobytes(tmp_path):
    rows = [(user, "long " * 20_000, "u", 1) for user in ("1", "2")]
    for kind, text in TEXTS.items():
        assert triplets(write(tmp_path / f"long.{kind}", text(rows))) == set(rows)


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ("-1", "count negative"),
        ("1.5", "count fractional"),
        ("0", "count zero"),
        ("9007199254740994", "count huge"),
        ("1e300", "count huge"),
        ("49_4_836630080084000", "count huge"),  # which DuckDB takes for 49
        ("1__000", "count missing"),
        ("", "count missing"),
        ("many", "count missing"),
        ("nan", "count missing"),
    ],
)
def test_bad_counts_each_have_their_own_reason(tmp_path, kind, bad, reason):
    rows = [*ROWS[:2], ("8", "my secret illness", "www.doc.com", bad), *ROWS[3:]]
    file = write(tmp_path / f"bad.{kind}", TEXTS[kind](rows))

    with pytest.raises(errors.BadRowError, match=r"bad\.\w+, (line 4|line 3|row 3)") as caught:
        count(file)
    assert caught.value.reason == reason
    assert "secret" not in str(caught.value)
    assert caught.value.exit_code == 2
    counted, _, _ = count(file, on_bad_row="skip")
    assert sum(counted.bad_rows.values()) == 1
    assert counted.clicks == 9


def test_counts_that_are_whole_in_spite_of_a_point_are_read(tmp_path):
    rows = [(u, q, w, f"{n}.0") for u, q, w, n in ROWS]

    assert triplets(write(tmp_path / "p.csv", csv_text(rows))) == SHARED


@pytest.mark.parametrize(
    "many", ["9_007_199_254_740_990", "+1_0e1_0", "0" * 30 + "_" + "0" * 30 + "7"]
)
def test_counts_with_underscores_between_digits_are_read(tmp_path, many):
    file = write(tmp_path / "a.tsv", tsv([("1", "q", "u", many), ("2", "q", "u", "1")]))

    assert count(file)[0].clicks == int(float(many)) + 1


def test_counts_that_sum_to_more_than_2_53_are_refused(tmp_path):
    rows = [(str(user), "q", "u", 2**52) for user in range(3)]

    with pytest.raises(errors.BadRowError, match="more than 2\\^53") as caught:
        count(write(tmp_path / "h.tsv", tsv(rows)))
    assert caught.value.reason == "count huge"


@pytest.mark.parametrize(
    ("kind", "line", "words"),
    [
        ("tsv", "8\tmy secret illness\n", "not 4 columns"),
        ("tsv", "8\tmy secret\tillness\twww.doc.com\t1\n", "not 4 columns"),
        ("csv", '8,"my secret illness"\n', "not 4 columns"),
        ("csv", "8,my secret,illness,www.doc.com,1\n", "not 4 columns"),
        ("csv", '8,"my secret" illness,www.doc.com,1\n', "quote"),
        ("jsonl", '{"user": 8, "query": "my secret illness"\n', "not a JSON object"),
        ("jsonl", '["my secret illness"]\n', "not a JSON object"),
        ("tsv", "\tmy secret illness\twww.doc.com\t1\n", "user-ID is missing"),
        ("tsv", "8\t\twww.doc.com\t1\n", "query is missing"),
    ],
)
def test_unreadable_rows_name_file_and_line_but_not_their_text(tmp_path, kind, line, words):
    good = TEXTS[kind](ROWS)
    file = write(tmp_path / f"bad.{kind}", good + line + good.splitlines()[-1] + "\n")
    where = len(good.splitlines()) + 1

    with pytest.raises(
        errors.BadRowError, match=rf"bad\.{kind}, (line|row) {where}: .*{words}"
    ) as caught:
        count(file)
    assert "secret" not in str(caught.value)
    counted, _, _ = count(file, on_bad_row="skip")
    assert sum(counted.bad_rows.values()) == 1


def test_line_numbers_count_blank_lines_too(tmp_path):
    file = write(tmp_path / "b.tsv", tsv(ROWS) + "\n\n8\tx\ty\t-2\n")

    with pytest.raises(errors.BadRowError, match="line 9: the count is negative"):
        count(file)


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        ("empty.tsv", "", errors.EmptyLogError),
        ("header.tsv", tsv([]), errors.EmptyLogError),
        ("noclick.tsv", tsv([("1", "q", "", "")]), errors.EmptyLogError),
        ("column.tsv", tsv(ROWS, ("who", "query", "page", "count")), errors.MissingColumnError),
        ("what.dat", tsv(ROWS), errors.LogFormatError),
        ("not.parquet", "PAR1 not really", errors.LogFormatError),
        ("not.tsv.gz", b"plain text", errors.LogFormatError),
        ("list.jsonl", "[1]\n", errors.BadRowError),
    ],
)
def test_logs_that_are_none(tmp_path, name, text, error):
    file = tmp_path / name
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(error, match="hint:") as caught:
        count(file)
    assert caught.value.exit_code == 2


def test_a_header_that_is_data_is_not_quoted(tmp_path):
    file = write(tmp_path / "n.tsv", tsv([("8", "my secret illness", "w", 1)], ()))

    with pytest.raises(errors.MissingColumnError, match="columns=\\('user'") as caught:
        read(file)
    assert "secret" not in str(caught.value)


BAD_NAMES = [
    ("user,query,url,", "column 4 has no name"),
    (",user,query,url", "column 1 has no name"),
    ("user,query,url,a\0b", "column 4 holds a zero byte"),
    ("user,query,url,Query", "differ in case only"),
    ("user,query,url,x,X", "differ in case only"),
    ("user_id,query,url,userid", "2 columns may be the user"),
    (",".join(["user", "query", "url", *(f"x{n}" for n in range(10_000))]), "10,003 columns"),
]
TWICE = ("user,query,url,url", "two columns have the same name")


@pytest.mark.parametrize(
    ("kind", "names", "words"),
    [(kind, *bad) for kind in ("tsv", "csv", "jsonl", "table") for bad in [*BAD_NAMES, TWICE]],
)
def test_names_of_columns_that_cannot_be_kept(tmp_path, kind, names, words):
    listed = names.split(",")
    made = {"tsv": "\t".join(listed), "csv": names, "jsonl": "{}"}
    source = (
        SimpleNamespace(columns=listed)
        if kind == "table"
        else write(tmp_path / f"log.{kind}", made[kind] + "\n")
    )
    with pytest.raises(errors.InputError, match=words) as caught:
        read(source, columns=tuple(listed) if kind == "jsonl" else None)
    assert caught.value.hint


def test_a_role_that_is_given_is_not_ambiguous(tmp_path):
    rows = [(*row, "x") for row in ROWS]
    file = write(tmp_path / "log.tsv", tsv(rows, ("user_id", *NAMES[1:], "userid")))

    assert triplets(file, user="user_id") == SHARED


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"user": "absent"}, errors.MissingColumnError),
        ({"user": "url"}, errors.OptionError),
        ({"encoding": "klingon"}, errors.OptionError),
        ({"on_bad_row": "guess"}, errors.OptionError),
    ],
)
def test_options_that_do_not_fit(tmp_path, options, error):
    with pytest.raises(error):
        read(write(tmp_path / "a.tsv", tsv(ROWS)), **options)


def test_files_that_do_not_belong_together(tmp_path):
    a = write(tmp_path / "a.tsv", tsv(ROWS))
    b = write(tmp_path / "b.csv", csv_text(ROWS))
    c = write(tmp_path / "c.tsv", tsv(ROWS, ("user", "query", "url", "n")))

    with pytest.raises(errors.LogFormatError, match="different kinds"):
        read([a, b])
    with pytest.raises(errors.LogFormatError, match="other columns"):
        read([a, c])
    with pytest.raises(errors.LogNotFoundError):
        read(tmp_path / "nowhere.tsv")
    with pytest.raises(errors.LogFormatError, match="different kinds"):
        read(tmp_path)


def test_a_directory_stands_for_its_files_without_what_writers_hide_there(tmp_path):
    folder = tmp_path / "clicks.tsv"
    for hidden in (folder / "day=1", folder / "_temporary"):
        hidden.mkdir(parents=True)
    write(folder / "part-00000.tsv", tsv(ROWS[:2]))
    write(folder / "day=1" / "part-00000.tsv", tsv(ROWS[2:]))
    for name in ("_SUCCESS", ".part-00000.tsv.crc", "_temporary/part-00000.tsv"):
        write(folder / name, "not a row")

    assert triplets(folder) == SHARED


@pytest.mark.parametrize("within", ["alone", "a directory", "a pattern", "a link"])
def test_a_pipe_is_not_a_log(tmp_path, within):
    """It can be read once, and a log is read twice."""
    pipe = tmp_path / "clicks.tsv"
    os.mkfifo(pipe)
    (tmp_path / "link.tsv").symlink_to(pipe)
    source = {"alone": pipe, "a directory": tmp_path, "a pattern": tmp_path / "cl*.tsv"}
    with pytest.raises(errors.LogNotFoundError, match="not a regular file"):
        read(source.get(within, tmp_path / "link.tsv"))


def test_a_link_to_a_log_is_a_log(tmp_path):
    (tmp_path / "link.tsv").symlink_to(write(tmp_path / "log.tsv", tsv(ROWS)))

    assert triplets(tmp_path / "link.tsv") == SHARED


def test_a_directory_without_files_is_not_a_log(tmp_path):
    with pytest.raises(errors.LogNotFoundError, match="directory"):
        read(tmp_path)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(ROWS), cut=st.integers(0, 5))
def test_row_and_file_order_do_not_change_the_constraint_matrix(tmp_path, order, cut):
    whole, _, _ = count(write(tmp_path / "one.tsv", tsv(ROWS)))
    write(tmp_path / "p1.tsv", tsv(order[:cut]))
    write(tmp_path / "p2.tsv", tsv(order[cut:]))
    parts, _, _ = count(str(tmp_path / "p?.tsv"))

    for name in ("user", "pair", "count", "query"):
        assert np.array_equal(getattr(whole.hist, name), getattr(parts.hist, name))


def test_table_3_of_a_log(tmp_path):
    found = slogan.inspect(write(tmp_path / "a.tsv", tsv(ROWS))).to_dict()

    assert [found[n] for n in ("clicks", "users", "queries", "urls", "pairs")] == [12, 3, 3, 3, 3]
    assert found["shared"] == {"clicks": 9, "users": 3, "queries": 2, "urls": 2, "pairs": 2}
