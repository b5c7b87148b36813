"""A packed file that is not whole is refused: half a log must not pass for a log."""

import gzip

import pytest
import zstandard

import slogan
from slogan.errors import LogFormatError

ROWS = b"user\tquery\turl\tcount\n" + b"".join(
    b"%d\tq%d\tu\t1\n" % (n % 9, n % 7) for n in range(500)
)
PACK = {
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "two.zst": lambda data: zstandard.compress(data[:4000]) + zstandard.compress(data[4000:]),
    "two.gz": lambda data: gzip.compress(data[:4000]) + gzip.compress(data[4000:]),
}


@pytest.mark.parametrize("suffix", PACK)
def test_every_cut_and_every_flipped_byte_is_noticed(tmp_path, ladder, suffix):
    whole = PACK[suffix](ROWS)
    file = tmp_path / f"log.tsv.{suffix.rpartition('.')[2]}"
    file.write_bytes(whole)
    assert slogan.inspect(file).to_dict()["clicks"] == 500
    first = len(PACK[suffix.rpartition(".")[2]](ROWS[:4000]))  # whole, if there are two parts
    cuts = [n for n in range(1, len(whole), 7) if n != first]
    for cut in cuts:
        file.write_bytes(whole[:cut])
        with pytest.raises(LogFormatError, match="complete"):
            slogan.read(file, on_bad_row="skip")
    ladder.count("cases tried", len(cuts))


def test_a_gzip_file_with_a_wrong_checksum_is_refused(tmp_path):
    whole = bytearray(gzip.compress(ROWS))
    whole[-6] ^= 1
    file = tmp_path / "log.tsv.gz"
    file.write_bytes(whole)
    with pytest.raises(LogFormatError, match="complete"):
        slogan.read(file, on_bad_row="skip")
