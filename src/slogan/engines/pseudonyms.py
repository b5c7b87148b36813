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


@dataclass(frozen=True, slots=True, kw_only=True)
class IdKind:
    """What user-IDs look like: integers up to a limit, UUIDs, or any text."""

    type: Literal["integer", "uuid", "text"]
    limit: int = 2**31 - 1
    """The largest integer that fits."""


def kind_of_type(sql_type: str) -> IdKind | None:
    """What kind of pseudonym fits a column of this type; None if it holds any text."""
    if sql_type in _LARGEST:
        return IdKind(type="integer", limit=_LARGEST[sql_type])
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", sql_type):
        places = int(digits[1]) - int(digits[2])
        return IdKind(type="integer", limit=min(10**places - 1, _EXACT))
    if sql_type == "UUID":
        return IdKind(type="uuid")
    if sql_type not in ("VARCHAR", "JSON", "BLOB"):
        raise OptionError(
            f"there are no fresh user-IDs of type {sql_type}",
            hint="give --pseudonyms keep, or make the user column a number or text",
        )
    return None


def fresh_pseudonyms(n: int, kind: IdKind, rng: Randomness) -> list[str]:
    """Draw n different user-IDs; which user gets which says nothing about anyone."""
    if kind.type == "integer" and kind.limit < 2 * n:
        raise OptionError(
            f"the type of the user column holds {kind.limit} IDs, too few for {n} fresh ones",
            hint="widen the column's type, or use --pseudonyms keep",
        )
    drawn: dict[str, None] = {}
    while len(drawn) < n:
        drawn.update(dict.fromkeys(_draw(n - len(drawn), kind, rng)))
    return list(drawn)


def _draw(n: int, kind: IdKind, rng: Randomness) -> Iterator[str]:
    if kind.type == "integer":
        bounds = np.full(n, kind.limit, dtype=np.int64)
        return (str(i + 1) for i in uniform_below(bounds, rng).tolist())
    if kind.type == "text":
        return (f"{word:016x}" for word in rng.words(n).tolist())
    high, low = rng.words(n).tolist(), rng.words(n).tolist()
    halves = zip(high, low, strict=True)
    return (str(uuid.UUID(int=(h << 64) | w, version=4)) for h, w in halves)
