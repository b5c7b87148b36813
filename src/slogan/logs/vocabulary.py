"""A vocabulary: a public list of pairs, queries or sites that was not made from the log."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from slogan.errors import OptionError
from slogan.storage.untrusted import modest

Pair = tuple[str, str]
"""A query and a url, which is empty in a log without urls."""

MOST_PAIRS = 2_000_000
_LARGEST = 256 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, repr=False)
class Vocabulary:
    """The lines of a list, each a pair or a single text, and the checksum of its file."""

    name: str
    lines: tuple[tuple[str, ...], ...]
    sha256: str

    @classmethod
    def read(cls, file: str | Path) -> "Vocabulary":
        """Read a list: UTF-8, one entry per line, a tab between query and url."""
        place = Path(file)
        try:
            content = modest(place, most=_LARGEST, links=True)
            lines = content.decode("utf-8-sig").split("\n")
        except (OSError, ValueError) as cause:
            why = cause.strerror if isinstance(cause, OSError) else "not UTF-8, or not a file name"
            raise OptionError(
                f"the vocabulary {place} cannot be read: {why}",
                hint="give a UTF-8 file with --vocabulary",
            ) from None  # the cause may quote a log
        entries = tuple(_entry(line.removesuffix("\r"), n) for n, line in enumerate(lines, 1))
        found = tuple(entry for entry in entries if entry != ("",))
        if not found:
            raise OptionError(
                "the vocabulary is empty", hint="write one pair, query or site per line"
            )
        return cls(name=place.name, lines=found, sha256=hashlib.sha256(content).hexdigest())

    def pairs(self, *, urls: bool) -> tuple[Pair, ...]:
        """The pairs that it lists, for a log with urls or without, in order and once each."""
        return in_order(pair for entry in self.lines for pair in _pairs_of(entry, urls=urls))


def in_order(pairs: Iterable[Pair]) -> tuple[Pair, ...]:
    """Each pair once, in order; refuses more than selection can handle."""
    found = tuple(sorted(set(pairs)))
    if len(found) > MOST_PAIRS:
        raise OptionError(
            f"{len(found):,} public pairs are listed, and {MOST_PAIRS:,} are the most",
            hint="keep the pairs that are searched most",
        )
    return found


def _entry(line: str, number: int) -> tuple[str, ...]:
    parts = tuple(part.strip() for part in line.split("\t"))
    # A file with more columns is most likely a log, which is not public.
    full = len(parts) == 1 or (len(parts) == 2 and all(parts))
    if not full or any(ord(sign) < ord(" ") for part in parts for sign in part):
        raise OptionError(
            f"line {number} of the vocabulary is not a pair, a query or a site",
            hint="write it as weather<TAB>www.example.org, as weather, or as www.example.org",
        )
    return parts


def _pairs_of(entry: tuple[str, ...], *, urls: bool) -> list[Pair]:
    if urls and len(entry) == 1:
        return _of_site(entry[0])
    if not urls and len(entry) == 2:
        raise OptionError(
            "the vocabulary lists pairs, and the log has no urls",
            hint="write one query per line",
        )
    return [(entry[0], entry[1] if urls else "")]


def _of_site(site: str) -> list[Pair]:
    """The pairs of people who search for a site by its name: its host, shorter, shortest."""
    host = site.lower().partition("://")[2] or site.lower()
    host = host.partition("/")[0]
    if " " in site or "." not in host.strip("."):
        raise OptionError(
            "a line of the vocabulary has no tab and is not a site, and the log has urls",
            hint="write a query with its url, weather<TAB>www.example.org, or a site by itself",
        )
    short = host.removeprefix("www.")
    return [(name, site) for name in (host, short, short.partition(".")[0])]
