"""The verifier's plain reader: every line as documented, and no line touches another."""

from random import Random

import pytest
from tests.fuzz import oracle
from tests.fuzz.rows import HEADERS, batch, read_by_duckdb
from tests.helpers import seeds

from slogan.logs.searchlog import read
from slogan.verification.plain_reader import NOT_TEXT, LenientError, row_reader, rows_of

READERS = [("tsv", "utf-8"), ("tsv", "latin-1"), ("csv", "utf-8"), ("csv", "latin-1")]
READERS += [("jsonl", "utf-8")]
ON_EVERY_READER = pytest.mark.parametrize(("kind", "encoding"), READERS, ids=map("-".join, READERS))


def judged(row):
    """A row as the other readers give it, or the reason why it does not count."""
    return row.reason or row[:4]


def described(file, kind, encoding, data):
    file.write_bytes(data)
    return read(file, encoding=encoding, on_bad_row="skip")


@ON_EVERY_READER
def test_every_line_is_read_as_the_engine_reads_it(tmp_path, kind, encoding):
    for seed in seeds(40, 3):
        file = tmp_path / f"{seed}.{kind}"
        data = batch(kind, 400, Random(seed))
        log = described(file, kind, encoding, data)
        by_engine, _ = read_by_duckdb(file, encoding=encoding)
        lines = [line for _, line in oracle.lines(data)[bool(HEADERS[kind]) :]]
        engine, read_line = iter(by_engine), row_reader(log)
        for line in lines:
            try:
                row = read_line(line)
            except LenientError:  # the engine may take it or not
                next(engine)
                continue
            if row.reason != NOT_TEXT:  # such a line is not a row for the engine
                assert judged(row) == next(engine), (seed, line)


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path):
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
