"""review(): the released queries, those that may point to a person first; and withholding some.

It reads the released log only. What a steward withholds after looking at that is post-processing,
which costs no budget. The rules are simple patterns and a short list of given names: they miss
much, above all rare names and other alphabets, and flag some harmless queries.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

from slogan.errors import OptionError
from slogan.logs.files import field_sql
from slogan.manifest.certificate import html_table
from slogan.manifest.manifest import Withheld
from slogan.release.base import clicked_sql, reader_sql
from slogan.release.withholding import released_log, rewrite_without
from slogan.storage.atomic import check_not_waiting
from slogan.storage.database import connected
from slogan.storage.untrusted import modest

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_MOST_WORDS_OF_A_NAME = 4
_LONG = 6
_PHONE_DIGITS = range(7, 16)
LIMITS = (
    "Flags come from simple patterns and a short list of given names. They miss names that are not "
    "on the list and other identifiers, so read the whole list."
)


def _lists() -> tuple[frozenset[str], frozenset[str]]:
    """Given names, and words that follow a given name without making it a person's."""
    text = files("slogan.workflows").joinpath("given_names.txt").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    names, _, others = "\n".join(lines).partition("\n\n")
    return frozenset(names.split()), frozenset(others.split())


_GIVEN_NAMES, _NOT_SURNAMES = _lists()
_EMAIL = re.compile(r"[^\s@]+(?:@|%40| at )[^\s@]+\.[a-z]{2,}", re.IGNORECASE)
_PHONE = re.compile(r"(?<![\w.])(?:\+|00)?\(?\d[\d ()/.-]{5,18}\d(?!\w)")
_NUMBER = re.compile(rf"\d(?:[ .-]?\d){{{_LONG - 1},}}")


def looks_like(text: str) -> tuple[str, ...]:
    """What identifiers of a person a text may contain: by pattern, and by a list of names."""
    found = {
        "e-mail address": _EMAIL.search(text) is not None,
        "phone number": any(_is_phone(match.group()) for match in _PHONE.finditer(text)),
        "long number": _NUMBER.search(text) is not None,
        "name of a person": _has_name(text),
    }
    return tuple(kind for kind, present in found.items() if present)


def _is_phone(text: str) -> bool:
    """Whether digits have a leading + or 00, or gaps: bare digits are a long number."""
    grouped = re.search(r"[ ()/.-]", text.strip()) is not None
    digits = sum(char.isdigit() for char in text)
    return digits in _PHONE_DIGITS and (grouped or text.startswith(("+", "00")))


def _has_name(text: str) -> bool:
    """Whether a given name is followed by one more word that may be a surname."""
    words = [word.lower() for word in _WORD.findall(text)]
    if "www" in words or "com" in words:
        return False
    pairs = pairwise(words)
    short = len(words) <= _MOST_WORDS_OF_A_NAME
    return short and any(
        (first in _GIVEN_NAMES and last not in _NOT_SURNAMES and len(last) > 1)
        for first, last in pairs
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedQuery:
    """One released query, and what it or one of its urls looks like."""

    query: str
    urls: tuple[str, ...]
    users: int
    clicks: int
    looks_like: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Review:
    """The released queries, flagged ones first."""

    release: Path
    queries: tuple[ReviewedQuery, ...]
    withheld: Withheld | None
    """How much has been withheld from this release by hand, now and before."""

    @property
    def flagged(self) -> tuple[ReviewedQuery, ...]:
        """The queries that may point to a person."""
        return tuple(one for one in self.queries if one.looks_like)

    def to_dict(self) -> dict[str, Any]:
        """The fields of `review --json`."""
        queries = [
            {
                "query": one.query,
                "urls": list(one.urls),
                "users": one.users,
                "clicks": one.clicks,
                "looks_like": list(one.looks_like),
            }
            for one in self.queries
        ]
        return {
            "release": str(self.release),
            "flagged": len(self.flagged),
            "queries": queries,
            "withheld": self.withheld and self.withheld.model_dump(),
            "limits": LIMITS,
        }

    def __repr__(self) -> str:
        gone = self.withheld.queries if self.withheld else 0
        size = f"{len(self.queries):,} queries, {len(self.flagged):,} flagged"
        return f"<Review: {size}, {gone:,} withheld>"

    def _repr_html_(self) -> str:
        rows = ((q.query, ", ".join(q.looks_like), q.clicks) for q in self.queries[:100])
        return html_table(("query", "looks like", "clicks"), rows, note=LIMITS)


def review(
    release: str | Path,
    *,
    withhold: Iterable[str] = (),
    withhold_from: str | Path | None = None,
) -> Review:
    """List the released queries, those that look like identifiers of a person first.

    Args:
        release: The folder of a release, or its folder `public`.
        withhold: Released queries to remove, by their exact text. The release is written
            again without them, and `verify` still passes.
        withhold_from: A UTF-8 file with one such query per line.
    """
    folder = Path(release)
    chosen = [*withhold, *_listed(withhold_from)]
    check_not_waiting(folder)
    public = folder / "public" if (folder / "public").is_dir() else folder
    if chosen:
        if public == folder:
            raise OptionError(
                f"{folder} is the public half of a release",
                hint=f"give the folder above it: slogan review {folder.parent}",
            )
        rewrite_without(folder, chosen)
    manifest, log = released_log(public)
    place = {role: field_sql(log.columns.path(name)) for role, name in log.columns.roles.items()}
    user, query, url = place["user"], place["query"], place.get("url", "NULL")
    urls = f"list_sort(list(DISTINCT {url}::VARCHAR) FILTER ({url} IS NOT NULL))"
    number = f"{place['count']}::BIGINT" if "count" in place else "1"
    clicks = f"coalesce(sum({number}) FILTER ({clicked_sql(log)}), 0)"
    with connected() as sql:
        rows = sql.execute(
            f"""SELECT {query}::VARCHAR AS query, {urls} AS urls,
                       count(DISTINCT {user}) AS users, {clicks} AS clicks
                FROM {reader_sql(_place(log.files), log)} GROUP BY ALL"""
        ).fetchall()
    queries = [
        ReviewedQuery(
            query=text or "",
            urls=tuple(urls or ()),
            users=users,
            clicks=int(number),
            looks_like=tuple(
                dict.fromkeys(
                    kind
                    for one in (text or "", *(urls or ()))
                    for kind in looks_like(one)
                    if one == text or kind == "e-mail address"
                )
            ),
        )
        for text, urls, users, number in rows
    ]
    queries.sort(key=lambda one: (not one.looks_like, one.looks_like, -one.clicks, one.query))
    return Review(release=folder, queries=tuple(queries), withheld=manifest.withheld)


def _place(parts: tuple[Path, ...]) -> Path:
    """The released file, or the folder of its parts."""
    return parts[0] if len(parts) == 1 else parts[0].parent


def _listed(file: str | Path | None) -> list[str]:
    if file is None:
        return []
    try:
        lines = modest(Path(file), links=True).decode("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        raise OptionError(
            f"{file} cannot be read as a UTF-8 text file",
            hint="give --withhold-from FILE with one query per line",
        ) from None
    return [line for line in lines if line]
