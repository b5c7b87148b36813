"""Fresh user-IDs of the same type as the log's, each drawn at random."""

import re
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from slogan.errors import OptionError
from slogan.randomness import Randomness, uniform_below

_EXACT = 2**53 - 1
_BITS = {"TINYINT": 8, "SMALLINT": 16, "INTEGER": 32, "BIGINT": 64, "HUGEINT": 128}
INTEGERS = {
    **{name: min(2 ** (bits - 1) - 1, _EXACT) for name, bits in _BITS.items()},
    **{f"U{name}": min(2**bits - 1, _EXACT) for name, bits in _BITS.items()},
}
"""The types of integers, each with the largest ID that is drawn for it."""
_LARGEST = {**INTEGERS, "FLOAT": 2**24, "DOUBLE": _EXACT}
_TEXTS = ("VARCHAR", "BLOB")


_WIDE = 2**31 - 1
"""Declared types must hold this much. How much is needed depends on the log and on noise, and so
would a refusal after the draw (theory: refusals are outputs)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdKind:
    """What fresh user-IDs look like: integers up to a limit, or UUIDs."""

    type: Literal["integer", "uuid"] = "integer"
    limit: int = _WIDE
    """The largest integer that fits."""


def id_kind(user_type: str, count_type: str | None, *, fresh: bool) -> IdKind | None:
    """What fresh user-IDs fit a column of this declared type; None keeps real ones.

    Refuses types that are too narrow for IDs or counts that may be released.
    """
    if count_type is not None and _limit(count_type) < _WIDE:
        raise _narrow("count", count_type)
    if not fresh:
        return None
    if user_type == "UUID":
        return IdKind(type="uuid")
    if user_type in _TEXTS:
        return IdKind()
    if _limit(user_type) < _WIDE:
        raise _narrow("user", user_type)
    return IdKind(limit=_limit(user_type))


def _limit(sql_type: str) -> int:
    """The largest ID that a column of this type surely holds."""
    return _EXACT if sql_type in _TEXTS else largest_integer(sql_type)


def largest_integer(sql_type: str) -> int:
    """The largest integer that a column of numbers surely holds; 0 for any other type."""
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", sql_type):
        return min(10 ** (int(digits[1]) - int(digits[2])) - 1, _EXACT)
    return _LARGEST.get(sql_type, 0)


def _narrow(role: str, sql_type: str) -> OptionError:
    return OptionError(
        f"the {role} column is declared {sql_type}, which may not hold what a release needs",
        hint="declare it INTEGER, BIGINT or text, whatever the values are"
        + ("; or give --pseudonyms keep" if role == "user" else ""),
    )


def fresh_pseudonyms(n: int, kind: IdKind, rng: Randomness) -> list[str]:
    """Draw n different user-IDs; which user gets which ID is random."""
    drawn: dict[str, None] = {}
    while len(drawn) < n:
        drawn.update(dict.fromkeys(_draw(n - len(drawn), kind, rng)))
    return list(drawn)


def _draw(n: int, kind: IdKind, rng: Randomness) -> Iterator[str]:
    if kind.type == "integer":
        bounds = np.full(n, kind.limit, dtype=np.int64)
        return (str(i + 1) for i in uniform_below(bounds, rng).tolist())
    high, low = rng.words(n).tolist(), rng.words(n).tolist()
    halves = zip(high, low, strict=True)
    return (str(uuid.UUID(int=(h << 64) | w, version=4)) for h, w in halves)
