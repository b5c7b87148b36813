"""How DuckDB fails for want of memory, of room on a disk, or of a file: in words of our own.

Its own messages may quote a text of the log, so they go no further.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

import duckdb

from slogan.errors import SloganError, StorageError

_OF_THE_DISK = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EIO,
    errno.EACCES,
    errno.ENOENT,
)


@contextmanager
def clearly() -> Generator[None]:
    """Raise errors of ours for what the database could not hold or write."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise no_room() from None
    except duckdb.IOException as cause:
        raise StorageError(
            f"a file cannot be read or written: {reason(cause) or 'the disk failed'}",
            hint="make room where the release goes and in TMPDIR, or choose other disks",
        ) from None


def reason(cause: duckdb.Error) -> str | None:
    """What the operating system said of the disk, if that is why DuckDB failed."""
    said = str(cause)
    return next((words for words in map(os.strerror, _OF_THE_DISK) if words in said), None)


def no_room() -> SloganError:
    """Neither memory nor the disk was large enough."""
    return StorageError(
        "the database ran out of memory and of room to spill",
        hint="raise --memory-limit, or point TMPDIR to a larger disk",
    )
