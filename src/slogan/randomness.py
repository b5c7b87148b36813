"""Random sources: the operating system, or a seed for a test run."""

import hashlib
import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from slogan.arrays import Ints

Words = NDArray[np.uint64]


class Randomness(Protocol):
    """A source of independent uniform 64-bit words."""

    @property
    def seed(self) -> int | None:
        """The seed of a test run; None for a real one."""

    def words(self, n: int) -> Words:
        """The next n words."""
        ...


class SystemRandomness:
    """The operating system's random source: the only one fit for a release."""

    seed: int | None = None

    def words(self, n: int) -> Words:
        return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


class SeededRandomness:
    """Reproducible words for tests. A release made with them is marked and refused by `verify`."""

    def __init__(self, seed: int) -> None:
        self.seed: int | None = seed
        digest = hashlib.sha256(f"slogan test run {seed}".encode()).digest()
        self._bits = np.random.PCG64DXSM(int.from_bytes(digest, "big"))

    def words(self, n: int) -> Words:
        return np.asarray(self._bits.random_raw(n), dtype=np.uint64).reshape(n)


class WatchedRandomness:
    """The words of another source, and whether any was drawn."""

    def __init__(self, source: Randomness) -> None:
        self.seed: int | None = source.seed
        self.drawn = False
        self._source = source

    def words(self, n: int) -> Words:
        self.drawn = True  # before the draw: an interrupt may come in between
        return self._source.words(n)


def randomness(seed: int | None) -> Randomness:
    """The operating system's source, unless a seed marks a test run."""
    return SystemRandomness() if seed is None else SeededRandomness(seed)


def uniform_below(bound: Ints, rng: Randomness) -> Ints:
    """For each bound n (0 < n ≤ 2^63) an integer drawn with probability exactly 1/n from 0..n−1.

    A word w is kept if w < 2^64 − (2^64 mod n), a multiple of n, and reduced modulo n.
    """
    n = bound.astype(np.uint64)
    # 2^64 mod n in 64 bits: (2^64 − n) mod n, where 2^64 − n wraps around to 0 − n.
    excess = (np.uint64(0) - n) % n
    last_kept = np.uint64(2**64 - 1) - excess
    drawn = np.empty(len(n), dtype=np.uint64)
    missing = np.arange(len(n))
    while len(missing):
        word = rng.words(len(missing))
        kept = word <= last_kept[missing]
        drawn[missing[kept]] = word[kept] % n[missing[kept]]
        missing = missing[~kept]
    return drawn.astype(np.int64)
