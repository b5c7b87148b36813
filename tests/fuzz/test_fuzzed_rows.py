"""Rows at random, right and wrong: DuckDB and the verifier's plain reader agree on every one.

SLOGAN_FUZZ=SEED runs that seed alone, as the message of a failure says.
"""

import os
from collections import Counter
from random import Random

import pytest
from tests.fuzz.mutation import shrunk
from tests.fuzz.rows import batch, lines_of, read_by_duckdb
from tests.helpers import seeds

from slogan import engines
from slogan.logs.searchlog import read
from slogan.verification import plain_reader

READERS = [
    ("tsv", "utf-8"),
    ("tsv", "latin-1"),
    ("tsv", "cp1252"),
    ("csv", "utf-8"),
    ("csv", "latin-1"),
    ("csv;", "utf-8"),
    ("csv|", "cp1252"),
    ("csv\t", "utf-8"),
    ("jsonl", "utf-8"),
]
LENIENT = "taken or not"
SIGNS = ";|\t"
ON_EVERY_READER = pytest.mark.parametrize(("kind", "encoding"), READERS, ids=map("-".join, READERS))
"""A kind is a format, with the delimiter of CSV if it is not a comma."""


def made(kind, rows, seed):
    return batch(kind.rstrip(SIGNS), rows, Random(seed), sign(kind))


def sign(kind):
    return kind[-1] if kind[-1] in SIGNS else ","


def log_file(folder, kind):
    return folder / f"log.{kind.rstrip(SIGNS)}"


def opinion(reader, line):
    """The row, the reason why it does not count, or None for a line that is not text."""
    try:
        row = reader(line)
    except plain_reader.LenientError:
        return LENIENT
    return None if row.reason == plain_reader.NOT_TEXT else row.reason or row[:4]


def expected(file, **how):
    """What the plain reader says of each line, without the header."""
    log = read(file, on_bad_row="skip", **how)
    lines = lines_of(file.read_bytes())[log.format != "jsonl" :]
    return [(line, opinion(plain_reader.row_reader(log), line)) for line in lines]


def disagreements(data, file, **how):
    """Each line that DuckDB sees in another way, as (line, ours, its)."""
    file.write_bytes(data)
    rows, unread = read_by_duckdb(file, **how)
    verdicts = expected(file, **how)
    readable = [(line, verdict) for line, verdict in verdicts if verdict is not None]
    found = [
        (line, verdict, row)
        for (line, verdict), row in zip(readable, rows, strict=False)
        if verdict not in (row, LENIENT)
    ]
    if (len(readable), len(verdicts) - len(readable)) != (len(rows), len(unread)):
        found.append((b"", f"{len(readable)} of {len(verdicts)} rows", f"{len(rows)} rows"))
    return found


def agree(kind, encoding, seed, rows, file, **how):
    """Compare one batch; returns how many lines were judged, and the bytes."""
    data = made(kind, rows, seed)
    how["encoding"] = encoding
    if disagreements(data, file, **how):
        lines = [part + b"\n" for part in data.split(b"\n")]
        head = (kind != "jsonl") + 1
        some = shrunk(
            lines[head:],
            lambda less: disagreements(b"".join(lines[:head] + less), file, **how),
        )
        least = b"".join(lines[:head] + some)
        found = disagreements(least, file, **how)
        pytest.fail(
            f"{least!r}: {found}\nrepeat: SLOGAN_FUZZ={seed} "
            f"python -m pytest {__file__} -k '{kind}-{encoding}'"
        )
    return len(lines_of(data)), data


@ON_EVERY_READER
def test_every_search_is_read_as_documented(tmp_path, ladder, kind, encoding):
    """With `--searches all` rows without a url count."""
    for seed in seeds(20, 2):
        lines, _ = agree(kind, encoding, seed, 300, log_file(tmp_path, kind), searches="all")
        ladder.count("cases tried", lines)


@ON_EVERY_READER
def test_every_folded_row_is_read_as_documented(tmp_path, ladder, kind, encoding):
    for seed in seeds(30, 2):
        lines, _ = agree(kind, encoding, seed, 300, log_file(tmp_path, kind), fold=True)
        ladder.count("cases tried", lines)


@ON_EVERY_READER
def test_every_row_is_read_as_documented(tmp_path, ladder, kind, encoding):
    for seed in seeds(0, 3):
        lines, data = agree(kind, encoding, seed, 500, log_file(tmp_path, kind))
        ladder.count("cases tried", lines)
        ladder.count("bytes fuzzed", len(data))


@pytest.mark.long
@ON_EVERY_READER
def test_every_row_of_a_million_is_read_as_documented(tmp_path, ladder, kind, encoding):
    """A quarter of a million by each reader."""
    lines = size = 0
    for seed in seeds(1_000, 51):
        judged, data = agree(kind, encoding, seed, 5_000, log_file(tmp_path, kind))
        lines, size = lines + judged, size + len(data)
    ladder.count("cases tried", lines)
    ladder.count("bytes fuzzed", size)
    assert "SLOGAN_FUZZ" in os.environ or lines >= 250_000


@pytest.mark.parametrize("seed", seeds(50, 2))
@ON_EVERY_READER
def test_what_is_counted_and_skipped_adds_up(tmp_path, kind, encoding, seed):
    """The whole engine, on all cores: every good row is in a total, every bad one in a reason."""
    data = made(kind, 300, seed)
    data = data.replace(b"9007199254740991", b"5")  # all clicks together must stay below 2^53
    file = log_file(tmp_path, kind)
    file.write_bytes(data)
    everything = [verdict for _, verdict in expected(file, encoding=encoding)]
    if LENIENT in everything:
        return
    verdicts = [verdict for verdict in everything if verdict != "no click"]
    reasons = Counter(v for v in verdicts if isinstance(v, str))
    good = [v for v in verdicts if isinstance(v, tuple)]
    engine = engines.resolve("duckdb").start()
    try:
        counted = engine.count(read(file, encoding=encoding, on_bad_row="skip"), unique_pairs=True)
    finally:
        engine.close()

    assert counted.clicks == sum(clicks for *_, clicks in good)
    assert counted.users == len({user for user, *_ in good})
    assert counted.pairs == len({(query, url) for _, query, url, _ in good})
    assert {k: n for k, n in counted.bad_rows.items() if k in reasons} == reasons
    assert sum(counted.bad_rows.values()) == len(verdicts) - len(good)


def test_a_wrong_reader_is_caught(tmp_path, monkeypatch):
    """The comparison is worth something: one rule that is a little off shows within a batch."""
    monkeypatch.setattr(plain_reader, "_SIGNS", "never there")
    with pytest.raises(pytest.fail.Exception, match="repeat: SLOGAN_FUZZ"):
        agree("tsv", "utf-8", 1, 2_000, tmp_path / "log.tsv")
