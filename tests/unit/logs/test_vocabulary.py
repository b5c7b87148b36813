"""Lists of public pairs: what a line means, and what is refused."""

import hashlib

import pytest

from slogan.errors import OptionError
from slogan.logs.vocabulary import Vocabulary, in_order


def vocabulary(folder, text):
    file = folder / "words.txt"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return Vocabulary.read(file)


def test_a_line_is_a_pair_or_a_site_where_the_log_has_urls(tmp_path):
    found = vocabulary(tmp_path, "weather\twww.wetter.de\nwww.Mail.com\n\nhttps://news.org/a\n")

    assert found.pairs(urls=True) == (
        ("mail", "www.Mail.com"),
        ("mail.com", "www.Mail.com"),
        ("news", "https://news.org/a"),
        ("news.org", "https://news.org/a"),
        ("weather", "www.wetter.de"),
        ("www.mail.com", "www.Mail.com"),
    )


def test_a_line_is_a_query_where_the_log_has_no_urls(tmp_path):
    found = vocabulary(tmp_path, "b word\r\na\r\na\r\n www.x.com ")

    assert found.pairs(urls=False) == (("a", ""), ("b word", ""), ("www.x.com", ""))


def test_name_and_checksum_are_those_of_the_file(tmp_path):
    found = vocabulary(tmp_path, "\ufeffa\n")

    assert found.name == "words.txt"
    assert found.sha256 == hashlib.sha256("\ufeffa\n".encode()).hexdigest()
    assert found.pairs(urls=False) == (("a", ""),)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("u\tq\twww.x.com\n", "line 1"),
        ("a\n\tx.com\n", "line 2"),
        ("a\tx.com\nb\x00\tx.com\n", "line 2"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_other_files_are_refused(tmp_path, text, problem):
    with pytest.raises(OptionError, match=problem):
        vocabulary(tmp_path, text)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(OptionError, match="cannot be read"):
        Vocabulary.read(tmp_path / "none.txt")


@pytest.mark.parametrize("line", ["weather", "how to write. a letter", "word."])
def test_a_query_alone_is_refused_where_the_log_has_urls(tmp_path, line):
    with pytest.raises(OptionError, match="not a site"):
        vocabulary(tmp_path, line).pairs(urls=True)


def test_a_pair_is_refused_where_the_log_has_none(tmp_path):
    with pytest.raises(OptionError, match="no urls"):
        vocabulary(tmp_path, "a\tb").pairs(urls=False)


def test_too_many_pairs_are_refused(monkeypatch):
    monkeypatch.setattr("slogan.logs.vocabulary.MOST_PAIRS", 2)
    assert in_order([("b", ""), ("a", ""), ("b", "")]) == (("a", ""), ("b", ""))
    with pytest.raises(OptionError, match="3 public pairs"):
        in_order([("a", ""), ("b", ""), ("c", "")])
