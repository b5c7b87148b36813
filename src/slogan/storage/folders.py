"""Private folders of a run, locked while it lives, so that a later run can remove what is left.

The lock is the kernel's: it ends with its process, however that ends. Folders that another process
holds or made are not touched. Checkpoints of a solver (`place`, `remove`) stay for the next run,
and a published release leaves none beside itself. POSIX only.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from slogan.errors import StorageError
from slogan.storage.interrupts import cleaning

TOKEN = "[0-9a-f]{16}"  # noqa: S105 - what makes a name one of its own, nothing secret
_SCRATCH = ".slogan-private-"
OURS = "slogan.checkpoints"
"""A file that says whose folder it is: no other is emptied."""


@dataclass(frozen=True, slots=True)
class Held:
    """A folder that is this run's as long as the run lives, or lets it go."""

    path: Path
    handle: int
    locked: bool
    """False where the file system knows no locks: then nobody finds out that its run is dead."""

    def let_go(self) -> None:
        """Leave the folder to others; once."""
        os.close(self.handle)

    def remove(self) -> None:
        """Remove the folder and all that is in it; once."""
        with cleaning():
            _scratches.discard(self)
            _remove(self.path)
            self.let_go()


_scratches: set[Held] = set()


def make(named: Callable[[str], Path]) -> Held:
    """A new folder, closed to others, under a name made of a token that is never used again."""
    while True:
        folder = named(secrets.token_hex(8))
        try:
            with cleaning():
                folder.mkdir(mode=0o700)
                held = _hold(folder)
        except KeyboardInterrupt:
            _remove(folder)
            raise
        # A run that cleans up may have found it before it was locked: then it is gone.
        if held is not None:
            return held


def clear(parent: Path, names: re.Pattern[str], remove: Callable[[Path], None]) -> None:
    """Call `remove` for each folder of a dead run, while nobody else can do the same."""
    try:
        found = sorted(path for path in parent.iterdir() if names.fullmatch(path.name))
    except OSError:
        return
    for folder in found:
        with suppress(OSError):  # not ours to open: not ours to remove
            _clear(folder, remove)


def scratch(place: Path | None = None) -> Held:
    """A private folder for what is made of a log, after removing those of runs that were killed.

    Args:
        place: Where it should be; the folder for temporary files if not given.
    """
    try:
        place = place or _temporary_files()
        clear(place, re.compile(re.escape(_SCRATCH) + TOKEN), _remove)
        held = make(lambda token: place / f"{_SCRATCH}{token}")
    except OSError as cause:
        raise StorageError(
            f"no private folder can be made for temporary files: {cause.strerror}",
            hint="choose a disk that is writable and has room, by TMPDIR or the name of the output",
        ) from cause
    _scratches.add(held)
    return held


def remove_scratches() -> None:
    """Remove all private folders of this run, which is about to end."""
    for held in [*_scratches]:
        held.remove()


@contextmanager
def scratch_folder(place: Path | None = None) -> Generator[Path]:
    """The same for as long as the context lasts."""
    held = scratch(place)
    try:
        yield held.path
    finally:
        held.remove()


def _temporary_files() -> Path:
    """Where they go. Python's own way to find out leaves a file there if it is killed."""
    named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
    for place in map(Path, [*named, "/tmp", "/var/tmp"]):  # noqa: S108 - a folder of ours is in it
        if place.is_dir() and os.access(place, os.W_OK | os.X_OK):
            return place.absolute()
    raise FileNotFoundError(errno.ENOENT, "there is no folder for temporary files")


def _clear(folder: Path, remove: Callable[[Path], None]) -> None:
    held = _hold(folder)
    if held is None:
        return
    try:
        if held.locked and os.fstat(held.handle).st_uid == os.geteuid():
            remove(folder)
    finally:
        held.let_go()


def _hold(folder: Path) -> Held | None:
    """Hold a folder; None if another run does, or it is gone."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    locked = _lock(handle)
    with suppress(FileNotFoundError):
        if locked is not None and os.path.samestat(os.fstat(handle), folder.lstat()):
            return Held(folder, handle, locked)
    os.close(handle)
    return None


def _lock(handle: int) -> bool | None:
    """Whether the lock is ours now; None if it is another's."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return None
    except OSError:
        return False
    return True


def _remove(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)


def place(target: Path) -> Path:
    """Where the checkpoints for a release are, beside it."""
    return target.absolute().with_name(f".{target.name}.solving")


def remove(folder: Path) -> None:
    """Remove a folder of checkpoints, if it is one and our own."""
    with suppress(OSError):
        if (folder / OURS).is_file():
            for frames in [path for path in folder.iterdir() if path.is_dir()]:
                shutil.rmtree(frames)
            shutil.rmtree(folder)  # and the mark last: who is killed before leaves it to the next
