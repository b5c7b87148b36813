"""Files that are read whole: none without a limit, whatever its origin."""

from pathlib import Path

import pytest

from slogan.cli import config
from slogan.cli.app import VERBS
from slogan.dp.grouping import read_taxonomy
from slogan.errors import ConfigError, LedgerError, OptionError
from slogan.ledger.hash_chain import Chain
from slogan.ledger.ledger import Ledger
from slogan.storage.untrusted import modest

DEVICE = Path("/dev/null")
"""As good as /dev/zero, and kinder to the machine if a test fails."""
READ = {
    "configuration": (lambda file: config.load(file, VERBS), ConfigError, 16 * 2**10),
    "taxonomy": (read_taxonomy, OptionError, 256 * 2**20),
    "ledger": (lambda file: Chain(file).read(), LedgerError, 64 * 2**20),
}


@pytest.mark.parametrize("what", READ)
def test_a_device_is_refused_for_what_it_is(tmp_path, what):
    read, error, _ = READ[what]
    (tmp_path / "linked").symlink_to(DEVICE)
    for file in (DEVICE, tmp_path / "linked"):
        with pytest.raises(error, match="not a plain file of modest size"):
            read(file)


@pytest.mark.parametrize("what", READ)
def test_what_is_too_large_is_not_read(tmp_path, what):
    read, error, most = READ[what]
    with (tmp_path / "large").open("wb") as file:
        file.truncate(most + 1)

    with pytest.raises(error, match=f"at most {most:,} bytes"):
        read(tmp_path / "large")


def test_a_link_to_a_plain_file_is_followed_where_that_is_asked(tmp_path):
    (tmp_path / "hosts.tsv").write_text("a.com\tnews\n")
    (tmp_path / "linked").symlink_to("hosts.tsv")

    assert read_taxonomy(tmp_path / "linked") == read_taxonomy(tmp_path / "hosts.tsv")


def test_a_file_that_is_longer_than_it_says_is_not_read_to_its_end():
    says_nothing = Path("/proc/self/status")
    assert says_nothing.stat().st_size == 0

    with pytest.raises(OSError, match="at most 100 bytes"):
        modest(says_nothing, most=100)


def test_names_that_no_file_has_are_refused(tmp_path):
    with pytest.raises(OptionError, match="not a file name"):
        read_taxonomy(tmp_path / "a\0b")
    for name in ("a\0b", "a\udcff"):
        with pytest.raises(OptionError, match="the name of the ledger"):
            Ledger.open("web", tmp_path / name)
