"""The verifier's plain reader: no line touches another.

That it reads every line as the engine does is shown by tests/fuzz/test_fuzzed_rows.py.
"""

import json
import math
from random import Random

import pytest
from tests.fuzz.rows import HEADERS, batch, read_by_duckdb

from slogan.logs.searchlog import read
from slogan.verification import plain_reader
from slogan.verification.plain_reader import (
    LenientError,
    Rules,
    csv_fields,
    decoded,
    folded_query,
    folded_url,
    number,
    row_reader,
    rows_of,
    rules_of,
)

READERS = [("tsv", "utf-8"), ("tsv", "latin-1"), ("csv", "utf-8"), ("csv", "latin-1")]
READERS += [("jsonl", "utf-8")]
ON_EVERY_READER = pytest.mark.parametrize(("kind", "encoding"), READERS, ids=map("-".join, READERS))


def judged(row):
    """A row as the other readers give it, or the reason why it does not count."""
    return row.reason or row[:4]


def described(file, kind, encoding, data):
    file.write_bytes(data)
    return read(file, encoding=encoding, on_bad_row="skip")


def test_a_file_is_its_lines_and_a_mark_before_them_is_not_text(tmp_path):
    file = tmp_path / "log.csv"
    lines = b'\xef\xbb\xbfuser,query,url,count\r\n\n1,a,b,2\n2,"a\n3,c,d,1\r\n4,e,,1\n5,g,h,1'
    log = described(file, "csv", "utf-8", lines)
    found = [judged(row) for row in rows_of(log)]
    quote = "a quote that does not close on its line, or text after it"
    assert found == [("1", "a", "b", 2), quote, ("3", "c", "d", 1), "no click", ("5", "g", "h", 1)]


@ON_EVERY_READER
def test_a_further_line_changes_no_other(tmp_path, kind, encoding):
    rng = Random(7)
    whole = batch(kind, 60, rng).replace(b"\r\n", b"\n")
    lines = whole.removesuffix(b"\n").split(b"\n")
    head = 1 + bool(HEADERS[kind])

    def rows(some):
        log = described(tmp_path / f"log.{kind}", kind, encoding, b"\n".join(some))
        reader = row_reader(log)
        for line in filter(None, some[head:]):
            try:
                yield judged(reader(line))
            except LenientError:
                yield None

    everything = list(rows(lines))
    for n in range(head, len(lines), 7):
        less = list(rows([*lines[:n], *lines[n + 1 :]]))
        at = len(list(filter(None, lines[head:n])))
        gone = bool(lines[n])
        assert less == everything[:at] + everything[at + gone :]


NESTED = {"who": {"id": 7, "of": {"place": "x"}}, "hits": ["first", "second"], "q": "maps"}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (NESTED, ("7", "maps", "second", 1)),
        ({**NESTED, "who": 7}, "user missing"),  # a number has no fields
        ({**NESTED, "who": {"id": {"deep": 1}}}, "nested"),
        ({**NESTED, "hits": ["first"]}, "no click"),
        ({**NESTED, "hits": "first"}, "no click"),  # a text has no places
        ({**NESTED, "who": ["id"]}, "user missing"),  # a list has no names
    ],
)
def test_a_path_leads_through_records_and_lists(tmp_path, line, expected):
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps(line) + "\n")
    named = {"user": "who.id", "query": "q", "url": "hits.1", "count": "none"}
    log = read(file, on_bad_row="skip", **named)
    assert [judged(row) for row in rows_of(log)] == [expected]
    assert read_by_duckdb(file, **named)[0] == [expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7.0),
        (" +7 ", 7.0),
        ("-7", -7.0),
        ("1_000", 1000.0),
        ("1e3", 1000.0),
        ("2.5", 2.5),
        ("infinity", math.inf),
        *(
            (none, None)
            for none in (None, "", "+", "-", ".", "_1", "1__0", "7 clicks", "0x10", "٣")
        ),
    ],
)
def test_a_number_is_read_as_documented(text, expected):
    assert number(text) == expected


CLICK = {"user": "u", "query": "q", "url": "w"}


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        ("1", ("u", "q", "w", 1)),
        ("0", "count zero"),
        ("-1", "count negative"),
        ("-0.5", "count negative"),
        ("1.5", "count fractional"),
        ("nan", "count missing"),
        ("many", "count missing"),
        (str(2**53 - 1), ("u", "q", "w", 2**53 - 1)),
        (str(2**53), "count huge"),
    ],
)
def test_a_count_is_a_whole_number_of_clicks(count, expected):
    row = plain_reader.judged({**CLICK, "count": count}, Rules())
    assert judged(row) == expected
    assert row.reason is None or row[:5] == (None, None, None, 0, expected)


@pytest.mark.parametrize("rules", [Rules(), Rules(searches=True), Rules(fold=True)])
def test_a_row_needs_a_user_a_query_and_a_click_unless_searches_count(rules):
    for role in CLICK:
        row = judged(plain_reader.judged({**CLICK, role: None}, rules))
        missing = ("u", "q", "", 1) if rules.searches else "no click"
        assert row == (missing if role == "url" else f"{role} missing")


def test_texts_are_folded_only_if_asked_for():
    raw = {"user": "U", "query": " New\u3000 YORK ", "url": "HTTP://Maps.example/a//"}
    assert judged(plain_reader.judged(raw, Rules())) == (*raw.values(), 1)
    folded = judged(plain_reader.judged(raw, Rules(fold=True)))
    assert folded == ("U", "new york", "maps.example/a", 1)


@pytest.mark.parametrize(
    ("text", "query", "url"),
    [
        ("Straße İstanbul", "straße istanbul", "straße istanbul"),
        ("http://", "http://", "http://"),
        ("ftp://HTTPS://a.example/ ", "ftp://https://a.example/", "a.example"),
        ("a.example", "a.example", "a.example"),
    ],
)
def test_folding_leaves_something_of_every_text(text, query, url):
    assert (folded_query(text), folded_url(text)) == (query, url)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("a,b", ["a", "b"]),
        (",", ["", ""]),
        (",b,", ["", "b", ""]),
        ('"a,""b"""," c"', ['a,"b"', " c"]),
        ('a"b,c', ['a"b', "c"]),
        ('"a"b,c', None),
        ('"a', None),
        ('""', [""]),
    ],
)
def test_fields_of_a_line(text, fields):
    assert csv_fields(text, ",") == fields


def test_bytes_of_windows_are_letters_and_the_others_stay_controls():
    assert decoded(b"\x80\x9f\x81\xa0\x7f", "cp1252") == "€Ÿ\x81\xa0\x7f"
    assert decoded(b"\x80", "latin-1") == "\x80"


@pytest.mark.parametrize("line", ["a\rb", "a\x1c\x1d\x1e\x1fb", "a\x1f\x1e\x1d\x1cb"])
def test_a_line_with_a_return_or_the_sign_of_an_engine_is_unreadable(tmp_path, line):
    log = described(tmp_path / "log.tsv", "tsv", "utf-8", b"user\tquery\turl\tcount\n")
    row = f"1\t{line}\tw\t1".encode()
    assert row_reader(log)(row).reason == "unreadable"
    assert row_reader(log)(b"1\ta\tw\t1\t2").reason == "unreadable"
    assert row_reader(log)(b"1\ta\x1cb\tw\t1").query == "a\x1cb"


def test_a_mark_is_removed_from_the_first_line_alone(tmp_path):
    mark = b"\xef\xbb\xbf"
    file = tmp_path / "log.tsv"
    file.write_bytes(mark + b"user\tquery\turl\tcount\n" + mark + b"1\ta\tw\t1\n")
    assert [row.user for row in rows_of(read(file))] == ["\ufeff1"]

    file = tmp_path / "log.jsonl"
    file.write_bytes(mark + b'{"user":1,"query":"q","url":"w","count":1}\n')
    assert [row.user for row in rows_of(read(file))] == ["1"]


OTHER_JSON = {
    '{"user":1e999,"query":"q","url":"w","count":1}': "1e999",
    '{"user":"é","user":"later","query":"q","url":"w","count":1}': "é",
    '{"user":true,"query":"q","url":"w","count":1}': "true",
    '{"user":"\\ud800","query":"q","url":"w","count":1}': "unreadable",
    '["user"]': "unreadable",
    '{"user":': "unreadable",
    '{"user":NaN,"query":"q","url":"w","count":1}': LenientError,
    '{"user":1,"query":"q","url":"w","count":1,}': LenientError,
}


@pytest.mark.parametrize(("line", "user"), OTHER_JSON.items(), ids=map(str, OTHER_JSON.values()))
def test_json_is_read_by_its_standard(tmp_path, line, user):
    file = tmp_path / "log.jsonl"
    file.write_text('{"user":1,"query":"q","url":"w","count":1}\n')
    reader = row_reader(read(file, on_bad_row="skip"))
    if user is LenientError:
        with pytest.raises(LenientError):
            reader(line.encode())
    else:
        row = reader(line.encode())
        assert (row.reason or row.user) == user


def test_a_log_without_urls_counts_every_search(tmp_path):
    file = tmp_path / "log.tsv"
    file.write_text("user\tquery\n1\ta\n")
    assert rules_of(read(file)) == Rules(searches=True)
    file.write_text("user\tquery\turl\n1\ta\tw\n")
    assert rules_of(read(file)) == Rules()
    assert rules_of(read(file, searches="all")) == Rules(searches=True)
