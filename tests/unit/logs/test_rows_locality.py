"""Reading is local: without one user's lines, a log has the same rows of everybody else.

A guarantee for any user added or removed holds from bytes to bytes only if no line, whatever its
bytes and wherever it stands, changes how another line is read.
"""

import gzip
import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.fuzz.rows import NAMES, read_by_duckdb

import slogan
from slogan import engines
from slogan.errors import BadRowError

SIGNS = {"tsv": "\t", "csv": ",", "csv;": ";", "csv|": "|", "csv tab": "\t"}
HEADERS = {**{kind: f"{sign.join(NAMES)}\n".encode() for kind, sign in SIGNS.items()}, "jsonl": b""}
"""Kinds of files: formats, with the delimiter of CSV if it is not a comma."""
HOSTILE = {
    "open quote": b'7,"q0,u0.com,1',
    "quote in the middle": b'7,q"0,u0.com,1',
    "text after a quote": b'7,"q"0,u0.com,1',
    "closing quote": b'7,q1",u1.com,1',
    "quotes only": b'""""""""',
    "an odd quote": b'"',
    "a lone return": b"7,q\r8,injected,u.com,9",
    "tabs and a lone return": b"7\tq\tu\t1\r8\tinjected\tu.com\t9",
    "objects and a return": b'{"user":"7"}\r{"user":"8","query":"injected","url":"u","count":9}',
    "returns": b"\r\r\r",
    "a return at the end": b"7,q,u,1\r",
    "zero bytes": b"7,\x00q\x00,u.com,1\x00",
    "a mark of byte order": b"\xef\xbb\xbf7,q,u,1",
    "half a character": b"7,q\xf0\x9f\x98,u.com,1",
    "a continuation": b"\x80\xbf7,q,u,1",
    "the reader's own delimiter": b"7\x1c\x1d\x1e\x1fq,u,1",
    "a separator": b"\x1c",
    "another separator": b"7,q\x85\x0b\x0c,u,1",
    "backslash": b"7,q\\,u,1\\",
    "backslash and quote": b'7,"q\\",u,1',
    "comment": b"# 7,q,u,1",
    "an object": b'{"user": {"id": 7}, "query": "q", "url": "u", "count": 1}',
    "an open object": b'{"user": "7", "query": "',
    "many columns": b"7" + b",x" * 300,
    "a long line": b"7,q" + b"x" * 300_000 + b",u,1",
    "numbers": b"7,q,u,1e400",
    "nothing but blanks": b"   \t ",
}


def line(kind, user, n):
    fields = (str(user), f"q{n}", f"u{n}.com", "2")
    if kind == "jsonl":
        return json.dumps(dict(zip(NAMES, fields, strict=True))).encode()
    return SIGNS[kind].join(fields).encode()


def rows_of(file, **options):
    """The rows that slogan reads from a file."""
    rows, _ = read_by_duckdb(file, **options)
    return Counter(row for row in rows if isinstance(row, tuple))


def written(folder, kind, lines, *, packed=False, end=b"\n"):
    file = folder / f"log.{kind[:3] if kind in SIGNS else kind}{'.gz' if packed else ''}"
    data = HEADERS[kind] + end.join(lines) + end
    file.write_bytes(gzip.compress(data) if packed else data)
    return file


@pytest.mark.parametrize("place", ["first", "middle", "last"])
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("kind", HEADERS)
def test_a_hostile_line_touches_no_other(tmp_path, kind, hostile, place):
    others = [line(kind, 100 + n, n % 7) for n in range(60)]
    at = {"first": 0, "middle": 30, "last": 60}[place]
    alone = rows_of(written(tmp_path, kind, others))
    with_it = rows_of(written(tmp_path, kind, [*others[:at], hostile, *others[at:]]))

    assert sum(alone.values()) == 60
    assert alone <= with_it
    added = with_it - alone
    assert sum(added.values()) <= 1
    assert not {user for user, *_ in added} & {user for user, *_ in alone}
    assert "injected" not in {query for _, query, *_ in added}


@pytest.mark.parametrize("kind", HEADERS)
def test_two_lines_of_one_user_swallow_nothing_between_them(tmp_path, kind):
    """A quote that opens in one line and closes in another is two bad rows, and no record."""
    others = [line(kind, 100 + n, n % 7) for n in range(60)]
    between = [b'7,"q0,u0.com,1', *others, b'7,q1",u1.com,1']

    with_them, alone = (rows_of(written(tmp_path, kind, lines)) for lines in (between, others))
    assert alone <= with_them
    assert {user for user, *_ in with_them - alone} <= {"7"}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("hostile", [b'7,"q0,u0.com,1', b"7,q\r8,injected,u.com,9"])
def test_a_bad_line_of_csv_is_one_bad_row_with_its_number(tmp_path, hostile, packed):
    others = [line("csv", 100 + n, n % 7) for n in range(20)]
    file = written(tmp_path, "csv", [*others[:9], hostile, *others[9:]], packed=packed)
    budget = slogan.PrivacyBudget(exp_epsilon=2, delta=0.5)

    with pytest.raises(BadRowError, match="line 11:"):
        slogan.sanitize(file, budget)
    engine = engines.resolve("duckdb", file).start()
    try:
        counted = engine.count(slogan.read(file, on_bad_row="skip"), unique_pairs=True)
    finally:
        engine.close()
    assert counted.users == 20
    assert sum(counted.bad_rows.values()) == 1


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
@pytest.mark.parametrize("hostile", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_line_touches_no_other_in_other_encodings(tmp_path, hostile, encoding):
    others = [line("csv;", 100 + n, n % 7).replace(b"q", b"\x80\x81\xff") for n in range(20)]
    alone = rows_of(written(tmp_path, "csv;", others), encoding=encoding)
    mixed = [*others[:9], hostile, *others[9:]]

    assert sum(alone.values()) == 20
    assert alone <= rows_of(written(tmp_path, "csv;", mixed), encoding=encoding)


@settings(max_examples=60, deadline=None)
@given(
    data=st.data(),
    kind=st.sampled_from(sorted(HEADERS)),
    hostile=st.lists(st.binary(min_size=1, max_size=40), min_size=1, max_size=4),
    end=st.sampled_from([b"\n", b"\r\n"]),
)
def test_any_bytes_in_separate_lines_touch_no_other(tmp_path_factory, data, kind, hostile, end):
    folder = tmp_path_factory.mktemp("log")
    others = [line(kind, 100 + n, n % 3) for n in range(12)]
    alone = rows_of(written(folder, kind, others, end=end))
    mixed = list(others)
    for one in hostile:
        mixed.insert(data.draw(st.integers(0, len(mixed))), one.replace(b"\n", b" "))

    assert alone <= rows_of(written(folder, kind, mixed, end=end))


@pytest.mark.parametrize("role", ["user", "query", "url", "count"])
@pytest.mark.parametrize("value", [{"id": 1}, [1], {}, []])
def test_an_object_or_list_stands_for_no_value(tmp_path, role, value):
    """One person must not become several users by what else an object holds."""
    row = {"user": "7", "query": "q", "url": "u", "count": 1, role: value}
    file = written(tmp_path, "jsonl", [json.dumps(row).encode(), line("jsonl", 8, 1)])

    with pytest.raises(BadRowError, match=r"line 1: .*object or a list"):
        slogan.inspect(file)
    assert slogan.inspect(slogan.read(file, on_bad_row="skip")).whole.users == 1
