"""Room: how much may come to this process, and that it is said before it comes."""

from __future__ import annotations

import os
import re

from slogan.errors import OptionError, SloganError
from slogan.stages import Watcher

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_BYTES_PER_ROW = 8 * 3
_COPIES = 4
"""Sorting the rows of a histogram takes as much again, more than once."""


class Room:
    """What this process may take of a histogram; without a limit, half of the machine's memory."""

    def __init__(self, memory_limit: str | None, watcher: Watcher) -> None:
        self._bytes = _bytes(memory_limit) if memory_limit else _memory() // 2
        self._watcher = watcher

    def fits(self, *, clicks: int, pairs: int) -> bool:
        """Whether so many rows of a histogram, and its pairs, may come."""
        return _COPIES * _coming(clicks, pairs) <= self._bytes

    def announce(self, stage: str, *, clicks: int, pairs: int) -> None:
        """Say how much is about to come, or that it would not fit."""
        coming = _coming(clicks, pairs)
        words = f"{clicks:,} clicked pairs of users, as integers: {coming / 1e6:,.1f} MB"
        self._watcher(stage, words)
        if not self.fits(clicks=clicks, pairs=pairs):
            raise SloganError(
                f"the histogram does not fit this process: {words}, and as much again "
                f"{_COPIES - 1} times to sort them, of {self._bytes / 1e6:,.0f} MB",
                hint="run where there is more memory, raise --memory-limit, or take a shorter "
                "period of logs; sanitize with exact counts can leave it in Spark, "
                "unless the objective is frequent_pairs",
            )


def _coming(clicks: int, pairs: int) -> int:
    return _BYTES_PER_ROW * (clicks + pairs)


def _bytes(limit: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", limit.strip().upper())
    if found is None:
        raise OptionError(
            f"a memory limit of {limit[:20]!r} is not understood", hint="write it as 4GB or 500MB"
        )
    return int(float(found[1]) * _UNITS[found[2]])


def _memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
