"""Text files as people have them: delimiters, encodings, line ends."""

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

import slogan
from slogan import errors
from slogan.logs.searchlog import read
from slogan.logs.text import DELIMITERS, decoded, layout

ROWS = [(str(u), "a,b;c|d", "www.s.com", 1 + u % 2) for u in range(20)]
NAMES = ("user", "query", "url", "count")
BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")


def csv(sign, rows=ROWS, *, quoted=True):
    quote = (lambda v: f'"{v}"') if quoted else str
    return "".join(sign.join(map(quote, row)) + "\n" for row in [NAMES, *rows])


@pytest.mark.parametrize("name", ["log.csv", "log.txt", "log.tsv"])
@pytest.mark.parametrize("sign", DELIMITERS.values(), ids=DELIMITERS)
def test_the_header_says_what_separates_fields_and_the_release_has_the_same(tmp_path, sign, name):
    file = tmp_path / name
    tsv = sign == "\t" and name != "log.csv"
    file.write_text(csv(sign, quoted=not tsv))
    log = read(file)
    with slogan.sanitize(log, BUDGET, solver="exact") as release:
        release.save(tmp_path / "out")
        table = release.to_arrow()

    assert (log.format, log.delimiter, log.columns.names) == ("tsv" if tsv else "csv", sign, NAMES)
    released = tmp_path / f"out/public/log.{log.format}"
    assert released.read_text().splitlines()[0] == sign.join(NAMES)
    assert len(released.read_text().splitlines()) == table.num_rows + 1
    assert set(table["query"].to_pylist()) == {"a,b;c|d"}
    assert slogan.verify(file, tmp_path / "out").ok
    assert slogan.evaluate(file, tmp_path / "out").size_ratio > 0


@pytest.mark.parametrize("given", [*DELIMITERS, *DELIMITERS.values(), r"\t"])
def test_a_delimiter_is_given_by_name_or_sign(tmp_path, given):
    sign = DELIMITERS.get(given, given.replace(r"\t", "\t"))
    file = tmp_path / "log.csv"
    file.write_text(csv(sign).partition("\n")[2])

    found = slogan.inspect(read(file, delimiter=given, columns=NAMES))
    assert (found.whole.users, found.whole.queries) == (20, 1)


@pytest.mark.parametrize(
    ("name", "options", "words"),
    [
        ("log.csv", {"delimiter": ":"}, "not separated by ':'"),
        ("log.csv", {"delimiter": ""}, "not separated by ''"),
        ("log.tsv", {"delimiter": ";", "format": "tsv"}, "TSV has tabs"),
        ("log.jsonl", {"delimiter": ";"}, "have no delimiter"),
        ("log.csv", {"encoding": "cp1250"}, "not read as cp1250"),
        ("log.csv", {"encoding": "no such thing"}, "not read as no such thing"),
        ("log.jsonl", {"encoding": "cp1252"}, "not read as cp1252"),
    ],
)
def test_what_is_not_read_is_refused_with_a_way_on(tmp_path, name, options, words):
    (tmp_path / name).write_text(csv(";"))
    with pytest.raises(errors.OptionError, match=words) as caught:
        read(tmp_path / name, **options)
    assert caught.value.hint


def test_a_header_that_fits_two_delimiters_is_not_guessed(tmp_path):
    file = tmp_path / "log.csv"
    file.write_text("user;query,url\n1;q,u\n")
    with pytest.raises(errors.LogFormatError, match="separated by comma or semicolon") as caught:
        read(file)
    assert caught.value.hint == "name it: --delimiter comma"


def test_rows_do_not_decide_about_the_delimiter(tmp_path):
    """Whatever stands below the header, and however often."""
    file = tmp_path / "log.csv"
    file.write_text("user;query;url\n" + "1,q,u,v,w\n" * 50 + "2;q;u\n")

    assert read(file).delimiter == ";"
    assert sum(slogan.inspect(read(file, on_bad_row="skip")).counted.bad_rows.values()) == 50


@given(
    line=st.text(st.characters(exclude_characters="\n"), max_size=40),
    kind=st.sampled_from(["tsv", "csv"]),
)
def test_a_layout_is_a_function_of_the_header_line(line, kind):
    try:
        found, sign, names = layout(line, kind, None, fixed=False, where="log")
    except errors.LogFormatError:
        return
    assert found in ("tsv", "csv")
    assert (found == "tsv") <= (sign == "\t")
    assert layout(line, kind, sign, fixed=False, where="log") == (found, sign, names)


@pytest.mark.parametrize("end", ["\n", "\r\n", "mixed"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("columns", [None, NAMES])
def test_line_ends_and_byte_order_marks(tmp_path, end, mark, columns):
    lines = csv(";").splitlines()[columns is not None :]
    ends = ["\r\n" if end == "\r\n" or (end == "mixed" and n % 2) else "\n" for n in range(30)]
    text = "".join(line + end for line, end in zip(lines, ends, strict=False))
    file = tmp_path / "log.csv"
    file.write_bytes(mark + text.encode())

    found = slogan.inspect(read(file, columns=columns, delimiter=";"))
    assert (found.whole.users, found.whole.queries, found.whole.pairs) == (20, 1, 1)


@pytest.mark.parametrize("name", ["cp1252", "windows-1252", "latin-1", "iso-8859-1", "UTF8"])
def test_encodings_by_any_of_their_names(tmp_path, name):
    file = tmp_path / "log.csv"
    rows = [(u, "café" + ("€ “x”" if "1252" in name else ""), "u", 1) for u in (1, 2)]
    file.write_bytes("".join(f"{a};{b};{c};{d}\n" for a, b, c, d in [NAMES, *rows]).encode(name))
    with slogan.sanitize(read(file, encoding=name), BUDGET, solver="exact", pseudonyms="keep") as r:
        r.save(tmp_path / "out")

    released = (tmp_path / "out/public/log.csv").read_text(encoding="utf-8")
    assert all(line.split(";")[1] == rows[0][1] for line in released.splitlines()[1:])
    assert slogan.verify(file, tmp_path / "out").ok


@given(data=st.binary(max_size=50))
def test_every_byte_is_a_character_of_cp1252(data):
    text = decoded(data, "cp1252")
    assert len(text) == len(data)
    assert decoded(data, "latin-1") == data.decode("latin-1")
    defined = bytes(byte for byte in data if byte not in b"\x81\x8d\x8f\x90\x9d")
    assert decoded(defined, "cp1252") == defined.decode("cp1252")


def test_a_mark_of_utf_8_contradicts_another_encoding(tmp_path):
    file = tmp_path / "log.csv"
    file.write_bytes(b"\xef\xbb\xbf" + csv(";").encode())
    with pytest.raises(errors.LogFormatError, match="mark of UTF-8") as caught:
        read(file, encoding="cp1252")
    assert caught.value.hint == "leave --encoding out"


def test_files_with_different_delimiters_are_not_one_log(tmp_path):
    for name, sign in (("a.csv", ","), ("b.csv", ";")):
        (tmp_path / name).write_text(csv(sign))
    with pytest.raises(errors.LogFormatError, match=r"b\.csv has other columns than a\.csv"):
        read(tmp_path)


def test_a_released_file_of_csv_is_read_by_others(tmp_path):
    (tmp_path / "log.csv").write_text(csv("|"))
    with slogan.sanitize(tmp_path / "log.csv", BUDGET, solver="exact") as release:
        release.save(tmp_path / "out")

    table = duckdb.read_csv(str(tmp_path / "out/public/log.csv"), sep="|", header=True)
    assert table.columns == list(NAMES)
