"""Bounded reads of untrusted files; checks of names, and names that are like others."""

import errno
import stat
from difflib import get_close_matches
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


def similar_file(path: str | Path) -> str | None:
    """What was probably meant by a path at which there is nothing, as a question."""
    wanted = Path(path)
    try:
        names = [entry.name for entry in wanted.parent.iterdir() if is_sayable(entry)]
    except (OSError, ValueError):
        return None
    close = get_close_matches(wanted.name, names, n=1, cutoff=0.6)
    return f"did you mean {wanted.parent / close[0]}?" if close else None
