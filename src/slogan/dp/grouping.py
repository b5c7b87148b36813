"""Categories of released pairs: by site, by a public taxonomy, or one per pair.

Computed from released texts, private counts and public files; nothing here reads the log. `Kinds`
holds the curator's options, fixed before the log is read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.errors import OptionError, suggestion
from slogan.storage.untrusted import modest

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList

MOST_CATEGORIES = 800
HEAD = 600
"""The number of pairs whose association is measured if each pair is its own category."""
_LARGEST_TAXONOMY = 256 * 1024 * 1024


def host_of(url: str) -> str:
    """The host of a url, in lower case: no scheme, user, port, path or trailing dot."""
    rest = url.strip().lower().partition("://")
    place = rest[2] if rest[1] else rest[0]
    for end in "/?#":
        place = place.partition(end)[0]
    return place.rpartition("@")[2].partition(":")[0].strip(".")


def registrable(host: str) -> str:
    """The registrable domain of a host: one label and its public suffix; other hosts unchanged.

    Only the ICANN section of the Public Suffix List is used, in the copy of its package:
    customers of one hosting firm (github.io) are one domain.
    """
    if host.rpartition(".")[2].isdigit():  # an address
        return host
    return _public_suffixes().privatesuffix(host) or host


@cache
def _public_suffixes() -> PublicSuffixList:
    from publicsuffixlist import PublicSuffixList  # noqa: PLC0415 - reads 340 kB, for one stage

    return PublicSuffixList(only_icann=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Grouping:
    """The category of every released pair, from 0; -1 for a pair without one."""

    name: str
    category: Ints
    categories: int


def by_pair(counts: Floats) -> Grouping:
    """Make each of the heaviest pairs, by private counts, its own category."""
    head = np.sort(np.argsort(-counts, kind="stable")[:HEAD])
    category = np.full(len(counts), -1, dtype=np.int64)
    category[head] = np.arange(len(head))
    return Grouping(name="pairs", category=category, categories=len(head))


def by_domain(urls: list[str], counts: Floats) -> Grouping:
    """Group pairs by registrable domain."""
    return _labelled("domains", [registrable(host_of(url)) for url in urls], counts)


def by_taxonomy(urls: list[str], counts: Floats, taxonomy: dict[str, str]) -> Grouping:
    """Group pairs by the taxonomy's category of their host, or else of its parent domain."""
    return _labelled("taxonomy", [_looked_up(host_of(url), taxonomy) for url in urls], counts)


def read_taxonomy(file: Path) -> tuple[dict[str, str], str]:
    """Read the categories of hosts from a public file, not made from the log, and its checksum.

    Each line is a host or registrable domain, a tab and a category.
    """
    try:
        content = modest(file, most=_LARGEST_TAXONOMY, links=True)
        lines = content.decode().splitlines()
    except (OSError, ValueError) as cause:
        why = cause.strerror if isinstance(cause, OSError) else "not UTF-8, or not a file name"
        raise OptionError(
            f"the taxonomy {file} cannot be read: {why}", hint="give a UTF-8 file with --taxonomy"
        ) from None  # the cause may quote a log
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        host, tab, category = line.partition("\t")
        category = category.strip()
        # A file with more than two columns is most likely a log, which is not public.
        if not tab or not host_of(host) or not category or "\t" in category:
            raise OptionError(
                f"line {number} of the taxonomy is not a host, a tab and a category",
                hint="write it as example.org<TAB>news",
            )
        found[host_of(host)] = category
    if not found:
        raise OptionError("the taxonomy is empty", hint="write lines of host<TAB>category")
    return found, hashlib.sha256(content).hexdigest()


def _looked_up(host: str, taxonomy: dict[str, str]) -> str:
    labels = host.split(".")
    parents = (".".join(labels[n:]) for n in range(len(labels)))
    return next((taxonomy[name] for name in parents if name in taxonomy), "")


def _labelled(name: str, labels: list[str], counts: Floats) -> Grouping:
    """Number the labels; keep only the heaviest by private counts."""
    weight: dict[str, float] = {}
    for label, count in zip(labels, counts.tolist(), strict=True):
        if label:
            weight[label] = weight.get(label, 0.0) + count
    heaviest = sorted(weight, key=lambda label: (-weight[label], label))[:MOST_CATEGORIES]
    number = {label: n for n, label in enumerate(heaviest)}
    category = np.array([number.get(label, -1) for label in labels], dtype=np.int64)
    return Grouping(name=name, category=category, categories=len(heaviest))


INDEPENDENT = "independent"
DEFAULT = "auto"
NAMES = (DEFAULT, "pairs", "domains", "taxonomy", INDEPENDENT)

Groups = Callable[[Ints, Floats], list[Grouping]]
"""Groupings of released pairs by their private counts: the first that is worth its cost is used."""
Urls = Callable[[Ints], list[str]]
"""The urls of released pairs."""


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """The categories of pairs: one per pair, by domain, or by a public taxonomy."""

    name: str
    taxonomy: dict[str, str]
    checksum: str | None
    of_sites: bool = True
    """Whether pairs have urls, and so sites."""

    @classmethod
    def from_options(cls, name: str | None, taxonomy: str | Path | None) -> Kinds:
        """Resolve the two options."""
        chosen = name or (DEFAULT if taxonomy is None else "taxonomy")
        if chosen not in NAMES:
            meant, choices = suggestion(chosen, NAMES), f"one of: {', '.join(NAMES)}"
            raise OptionError(
                f"unknown --association {chosen[:40]!r}",
                hint=f"{meant} Or {choices}" if meant else choices,
            )
        if (chosen == "taxonomy") != (taxonomy is not None):
            raise OptionError(
                "--association taxonomy needs --taxonomy FILE, and the reverse",
                hint="give --taxonomy FILE, and --association taxonomy or no --association",
            )
        hosts, checksum = ({}, None) if taxonomy is None else read_taxonomy(Path(taxonomy))
        return cls(name=chosen, taxonomy=hosts, checksum=checksum)

    def for_log(self, *, urls: bool) -> Kinds:
        """The same for this log; queries without urls are of no site, so each is its own kind."""
        if not urls and self.name in ("domains", "taxonomy"):
            raise OptionError(
                f"--association {self.name} goes by urls, and the log has none",
                hint="give --association pairs or independent",
            )
        return replace(self, of_sites=urls)

    @property
    def looks(self) -> bool:
        """Whether the association of the log is measured."""
        return self.name != INDEPENDENT

    def grouping(self, urls: Urls) -> Groups | None:
        """How released pairs may be grouped, once there are any."""

        def either(pairs: Ints, counts: Floats) -> list[Grouping]:
            return [by_pair(counts), *([by_domain(urls(pairs), counts)] if self.of_sites else [])]

        ways: dict[str, Groups] = {
            DEFAULT: either,
            "pairs": lambda _, counts: [by_pair(counts)],
            "domains": lambda pairs, counts: [by_domain(urls(pairs), counts)],
            "taxonomy": lambda pairs, counts: [by_taxonomy(urls(pairs), counts, self.taxonomy)],
        }
        return ways.get(self.name)

    def parameters(self) -> dict[str, str | int | float | None]:
        """For the manifest."""
        named: dict[str, str | int | float | None] = {"association": self.name}
        return named if self.checksum is None else {**named, "taxonomy_sha256": self.checksum}
