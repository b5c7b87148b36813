"""What comes to this process from Spark: announced with its size, refused if it does not fit."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field

from slogan.errors import OptionError, SloganError
from slogan.stages import Watcher

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTES_PER_ROW = 8 * 3
_COPIES = 4
"""Putting integers in order takes as much again, more than once."""


@dataclass(frozen=True)
class Arrivals:
    """The room there is, in bytes, and who is told what comes."""

    room: int
    watcher: Watcher
    told: list[str] = field(default_factory=list[str])
    """What was announced."""

    @classmethod
    def within(cls, memory_limit: str | None, watcher: Watcher) -> Arrivals:
        """Room as large as the limit, or half of the machine's memory."""
        return cls(_bytes(memory_limit) if memory_limit else _memory() // 2, watcher)

    def fit(self, size: int) -> bool:
        """Whether so many bytes may come."""
        return _COPIES * size <= self.room

    def announce(self, stage: str, what: str, size: int) -> None:
        """Say how much is about to come, in bytes, or that it would not fit."""
        words = f"{what}, as integers: {size / 1e6:,.1f} MB"
        self.watcher(stage, words)
        self.told.append(f"{stage}: {words}")
        if not self.fit(size):
            raise SloganError(
                f"what is needed of the log does not fit this process: {words}, and as much again "
                f"{_COPIES - 1} times to sort them, of {self.room / 1e6:,.0f} MB",
                hint="run where there is more memory, raise --memory-limit, or take a shorter "
                "period of logs; sanitize with exact counts can leave it in Spark, "
                "unless the objective is frequent_pairs",
            )


def histogram_bytes(rows: int, pairs: int) -> int:
    """What a histogram with so many clicked pairs of users takes."""
    return _BYTES_PER_ROW * (rows + pairs)


def _bytes(limit: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", limit.strip().upper())
    if found is None or not float(found[1]):
        raise OptionError(
            f"a memory limit of {limit[:20]!r} is not understood", hint="write it as 4GB or 500MB"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
