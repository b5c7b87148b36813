"""The verifier's plain reader: no line touches another.

That it reads every line as the engine does is shown by tests/fuzz/test_fuzzed_rows.py.
"""

import json
from random import Random

import pytest
from tests.fuzz.rows import HEADERS, batch, read_by_duckdb

from slogan.logs.searchlog import read
from slogan.verification.plain_reader import LenientError, row_reader, rows_of

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
    ],
)
def test_a_path_leads_through_records_and_lists(tmp_path, line, expected):
    file = tmp_path / "log.jsonl"
    file.write_text(json.dumps(line) + "\n")
    named = {"user": "who.id", "query": "q", "url": "hits.1", "count": "none"}
    log = read(file, on_bad_row="skip", **named)
    assert [judged(row) for row in rows_of(log)] == [expected]
    assert read_by_duckdb(file, **named)[0] == [expected]
