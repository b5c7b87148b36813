"""Decompression bombs are refused before they are read, and logs that shrink well are not."""

import gzip
import io
from contextlib import closing

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import slogan
from slogan.errors import LogFormatError, LogNotFoundError
from slogan.logs import files
from slogan.logs.searchlog import read

HEADER = b"user\tquery\turl\tcount\n"


def gzipped(file, chunks):
    with gzip.open(file, "wb", compresslevel=6) as packed:
        for chunk in chunks:
            packed.write(chunk)


def zstandarded(file, chunks):
    with file.open("wb") as target, zstandard.ZstdCompressor().stream_writer(target) as packed:
        for chunk in chunks:
            packed.write(chunk)


PACKED = {"tsv.gz": gzipped, "tsv.zst": zstandarded, "jsonl.zst": zstandarded}


@pytest.fixture
def small(monkeypatch):
    """A smaller harmless size, so that a bomb of a test is small too."""
    monkeypatch.setattr(files, "ALWAYS_ALLOWED", 1 << 20)


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("filling", [b"\0", b"\n", b"1\tq\tu\t1\n"])
def test_a_bomb_is_refused_without_keeping_it(tmp_path, small, suffix, filling, ladder):
    file = tmp_path / f"bomb.{suffix}"
    PACKED[suffix](file, [HEADER, *[filling * (1 << 18)] * 20])
    assert file.stat().st_size < (1 << 17)

    ladder.count("attacks run")
    with pytest.raises(LogFormatError, match="would unpack to more than"):
        slogan.read(file)


@pytest.mark.parametrize("suffix", PACKED)
def test_a_log_that_shrinks_to_a_fiftieth_is_read(tmp_path, small, suffix):
    rows = [b"%d\tquery %d\twww.site%d.com\t1\n" % (u, u % 5, u % 5) for u in range(100_000)]
    if suffix.startswith("jsonl"):
        rows = [b'{"user": %d, "query": "q", "url": "u"}\n' % u for u in range(100_000)]
    else:
        rows = [HEADER, *rows]
    file = tmp_path / f"log.{suffix}"
    PACKED[suffix](file, rows)

    assert sum(map(len, rows)) > files.ALWAYS_ALLOWED
    slogan.read(file)


def test_a_small_file_may_be_packed_as_tightly_as_it_likes(tmp_path):
    file = tmp_path / "log.tsv.zst"
    PACKED["tsv.zst"](file, [HEADER, b"1\tq\tu\t1\n" * 200_000])

    assert slogan.read(file).compression == ".zst"


def repeating(file, column="query", kind=None, names=("user", "query", "url")):
    """A hundred kilobytes, written once, stand in every row."""
    text = pa.DictionaryArray.from_arrays(
        pa.array([0] * 1_000, pa.int32()), pa.array(["x" * 100_000], kind or pa.string())
    )
    plain = {name: pa.array(["a"] * 1_000) for name in names}
    pq.write_table(pa.table({**plain, column: text}), file, compression="zstd", store_schema=False)
    footer = pq.read_metadata(file).row_group(0)
    assert footer.total_byte_size < files.ALWAYS_ALLOWED
    return file


@pytest.mark.parametrize("kind", [pa.string(), pa.binary()])
@pytest.mark.parametrize("column", ["query", 'a "quoted" name'])
def test_a_text_that_a_dictionary_repeats(tmp_path, small, kind, column, ladder):
    file = repeating(tmp_path / "bomb.parquet", column, kind)

    ladder.count("attacks run")
    with pytest.raises(LogFormatError, match="would unpack to more than"):
        slogan.read(file)


def test_a_parquet_file_at_an_address_of_this_machine_is_looked_at_too(tmp_path, small):
    repeating(tmp_path / "bomb.parquet")
    names = lambda addresses, kind, encoding: ("user", "query", "url")  # noqa: E731
    for address in ("bomb.parquet", "*.parquet", ""):
        with pytest.raises(LogFormatError, match="would unpack to more than"):
            read(f"file://{tmp_path}/{address}", format="parquet", peek=names)


def test_a_footer_that_lies_about_its_rows(tmp_path, small, ladder):
    """The number for the file is 1; those of its row groups are what is read."""
    file = tmp_path / "bomb.parquet"
    duckdb.sql("SELECT 1 AS user, '' AS query, '' AS url FROM range(3000000)").write_parquet(
        str(file), compression="zstd", row_group_size=3_000_000
    )
    data = bytearray(file.read_bytes())
    told = bytes([0x16, *varint(6_000_000)])  # a 64-bit integer of Thrift, written zigzag
    place = data.index(told, len(data) - 8 - int.from_bytes(data[-8:-4], "little"))
    data[place : place + len(told)] = bytes([0x16, 0x82, 0x80, 0x80, 0x00])  # 1, in as many bytes
    file.write_bytes(data)
    told = duckdb.sql(f"SELECT num_rows FROM parquet_file_metadata('{file}')").fetchall()
    assert told == [(1,)]

    ladder.count("attacks run")
    with pytest.raises(LogFormatError, match="would unpack to more than"):
        slogan.read(file)


def varint(number):
    while number >= 0x80:
        yield number % 0x80 | 0x80
        number //= 0x80
    yield number


def test_the_curators_table_of_pseudonyms_is_looked_at_too(tmp_path, small, ladder):
    rows = [b"%d\tquery %d\twww.site.com\t1\n" % (u, u % 2) for u in range(40)]
    log = tmp_path / "log.tsv"
    log.write_bytes(HEADER + b"".join(rows))
    budget = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
    with closing(slogan.sanitize(log, budget, solver="exact")) as made:
        made.save(tmp_path / "out")
    table = tmp_path / "out/curator/pseudonyms.parquet"
    repeating(table, "user", names=("pseudonym",))

    ladder.count("attacks run")
    with pytest.raises(LogFormatError, match="would unpack to more than"):
        slogan.evaluate(log, tmp_path / "out")
    (check,) = [c for c in slogan.verify(log, tmp_path / "out").checks if not c.ok]
    assert check.detail.endswith("the curator's table of pseudonyms cannot be read")


@pytest.mark.parametrize("what", ["rows", "texts"])
def test_parquet_that_announces_more_than_a_log_would(tmp_path, small, what):
    file = tmp_path / "bomb.parquet"
    query = {
        "rows": "SELECT 1 AS user, 'q' AS query, 'u' AS url FROM range(3000000)",
        "texts": "SELECT r AS user, repeat('x', 100000) || r AS query, 'u' AS url "
        "FROM range(200) t(r)",
    }[what]
    duckdb.sql(query).write_parquet(str(file), compression="zstd")

    with pytest.raises(LogFormatError, match="would unpack to more than"):
        slogan.read(file)


@pytest.mark.parametrize("suffix", ["tsv.gz", "tsv.zst"])
def test_damaged_files_are_not_bombs(tmp_path, suffix):
    whole = io.BytesIO()
    if suffix.endswith("gz"):
        whole.write(gzip.compress(HEADER * 3_000_000, 1))
    else:
        whole.write(zstandard.ZstdCompressor(level=1).compress(HEADER * 3_000_000))
    content = bytearray(whole.getvalue())
    content[len(content) // 2 :] = bytes(len(content) // 2)
    file = tmp_path / f"log.{suffix}"
    file.write_bytes(content)
    try:
        slogan.read(file)
    except LogFormatError as error:
        assert "not a readable file" in error.problem  # noqa: PT017 - it may also be read later


def test_a_folder_is_not_a_log(tmp_path):
    (tmp_path / "log.tsv").mkdir()
    with pytest.raises(LogNotFoundError):
        slogan.read(str(tmp_path / "*.tsv"))


def test_a_real_bomb_of_zstandard(tmp_path, ladder):
    """A hundred gigabytes of one line in a few megabytes: refused after the first of them."""
    file = tmp_path / "bomb.tsv.zst"
    zeros = zstandard.ZstdCompressor(level=1).compress(bytes(1 << 26))
    file.write_bytes(zstandard.ZstdCompressor().compress(HEADER) + zeros * 1600)

    ladder.count("attacks run")
    with pytest.raises(LogFormatError, match="would unpack to more than"):
        slogan.read(file)
