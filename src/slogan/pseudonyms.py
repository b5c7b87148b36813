"""Fresh user-IDs of the same type as the log's, each drawn at random."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from slogan.errors import OptionError
from slogan.randomness import Randomness, uniform_below


@dataclass(frozen=True, slots=True, kw_only=True)
class IdKind:
    """What user-IDs look like: integers up to a limit, UUIDs, or any text."""

    type: Literal["integer", "uuid", "text"]
    limit: int = 2**31 - 1
    """The largest integer that fits."""


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
