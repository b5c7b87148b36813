"""Bounded reads of untrusted files; check that a path is valid UTF-8."""

import errno
import stat
from pathlib import Path

_MOST_BYTES = 16 * 1024 * 1024


def modest(file: Path, *, most: int = _MOST_BYTES, links: bool = False) -> bytes:
    """What is in a plain file of modest size, or behind a link if these are followed.

    No pipe or device, which may never end.
    """
    about = file.stat(follow_symlinks=links)
    if stat.S_ISREG(about.st_mode) and about.st_size <= most:
        with file.open("rb") as data:
            content = data.read(most + 1)
        if len(content) <= most:
            return content
    raise OSError(errno.EFBIG, f"not a plain file of modest size, at most {most:,} bytes")


def is_sayable(path: Path) -> bool:
    """Whether a name can be written into files and given to others: UTF-8 without NUL."""
    try:
        return b"\0" not in str(path).encode()
    except UnicodeEncodeError:
        return False
