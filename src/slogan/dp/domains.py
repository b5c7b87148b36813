"""Hosts and registrable domains of urls, by a small rule of our own.

A registrable domain is the last label before the public suffix, and the suffix. Public suffixes are
taken to be the top-level domain, or two labels where a country sells names below a generic second
label, such as co.uk or com.br. Suffixes of single hosting firms (github.io) are not known: their
customers count as one domain.
"""

from __future__ import annotations

_SECOND_LEVEL = frozenset(
    (
        *("ac", "asn", "asso", "biz", "co", "com", "edu", "gen", "go", "gob", "gouv", "gov"),
        *("gub", "id", "info", "ltd", "mil", "ne", "net", "nhs", "nom", "or", "org", "plc"),
        *("sch", "school", "web"),
    )
)
_COUNTRY_LENGTH = 2


def host_of(url: str) -> str:
    """The host of a url, in lower case: no scheme, user, port, path or trailing dot."""
    rest = url.strip().lower().partition("://")
    place = rest[2] if rest[1] else rest[0]
    for end in "/?#":
        place = place.partition(end)[0]
    return place.rpartition("@")[2].partition(":")[0].strip(".")


def registrable(host: str) -> str:
    """The part of a host that somebody registered; a host without a dot, or a number, as it is."""
    labels = host.split(".")
    if labels[-1].isdigit():
        return host
    generic = len(labels) > 2 and len(labels[-1]) == _COUNTRY_LENGTH and labels[-2] in _SECOND_LEVEL
    return ".".join(labels[-3:] if generic else labels[-2:])
