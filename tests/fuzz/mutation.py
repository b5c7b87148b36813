"""Small changes to bytes and texts: the same seed makes the same changes."""

from __future__ import annotations

from random import Random

PIECES = (
    *(b"\x00", b"\t", b"\n", b"\r", b"\r\n", b'"', b'""', b",", b"'", b"\\", b"{", b"}", b"["),
    *(b"]", b":", b"=", b"#", b"/", b"%", b"\x1c\x1d\x1e\x1f", b"\x1c", b"\x1b[31m", b"\x7f"),
    *(b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xef\xbb\xbf"),
    *("é".encode(), "😀".encode(), "\u202e".encode(), "\u2028".encode(), "٣".encode()),
    *(b"NULL", b"null", b"nan", b"inf", b"-0", b"1e309", b"1e-9", b"0x10", b"1_0", b"-1", b"+1"),
    *(b"9007199254740992", b"18446744073709551616", b"0" * 40, b"9" * 400, b" ", b"   "),
    *(b"\\u0000", b"\\ud800", b"\\ud83d\\ude00", b"true", b"{}", b"[]", b"user", b"count"),
)
"""What breaks readers, put where it does not belong."""


def mutated(data: bytes, rng: Random, times: int = 1) -> bytes:
    """The bytes with some of them flipped, cut out, doubled, moved, or something put between."""
    for _ in range(times):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 1, 1, 2, 3, 8, 64)))
        kind = rng.randrange(6)
        if kind == 0:
            data = data[:at] + rng.choice(PIECES) + data[at:]
        elif kind == 1:
            data = data[:at] + rng.choice(PIECES) + data[to:]
        elif kind == 2:
            data = data[:at] + data[to:]
        elif kind == 3:
            data = data[:to] + data[at:to] * rng.choice((1, 1, 2, 50)) + data[to:]
        elif kind == 4:
            data = data[:at] + rng.randbytes(to - at) + data[to:]
        else:
            back = rng.randrange(at + 1)
            data = data[:back] + data[at:to] + data[back:at] + data[to:]
    return data


def shrunk(data, fails):
    """A smaller part of a list or of bytes that still fails, found by leaving out halves."""
    step = len(data) // 2
    while step:
        at = 0
        while at < len(data):
            less = data[:at] + data[at + step :]
            if len(less) and fails(less):
                data = less
            else:
                at += step
        step //= 2
    return data
