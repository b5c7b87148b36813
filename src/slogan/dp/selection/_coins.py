"""Coins of one user: from a single random word, a word for each of the user's rows.

They decide which of a user's pairs are kept, and nothing that keeps anybody private: any function
of the user's own rows and word would do. This one is xxHash64, because Spark has it too.
"""

from __future__ import annotations

import numpy as np

from slogan.arrays import Ints
from slogan.randomness import Words

_FIRST = np.uint64(42)
"""What Spark's xxhash64 begins with."""
_A, _B, _C, _D, _E = (
    np.uint64(prime)
    for prime in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)


def tossed(own: Words, nth: Ints) -> Ints:
    """xxhash64(own, nth): the coins of row number nth of a user with that word."""
    return _hashed(nth.astype(np.uint64), _hashed(own, _FIRST)).view(np.int64)


def _hashed(number: Words, so_far: Words | np.uint64) -> Words:
    """The hash of one more 64-bit integer."""
    whole = (so_far + (_E + np.uint64(8))) ^ (_turned(number * _B, 31) * _A)
    whole = _turned(whole, 27) * _A + _D
    whole = (whole ^ (whole >> np.uint64(33))) * _B
    whole = (whole ^ (whole >> np.uint64(29))) * _C
    return whole ^ (whole >> np.uint64(32))


def _turned(word: Words, bits: int) -> Words:
    return (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))
