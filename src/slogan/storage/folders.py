"""Private folders of a run, locked while it lives, so that a later run can remove what is left.

The lock is the kernel's: it ends with its process, however that ends. Folders that another process
holds or made are not touched. A signal that asks a run to end lets it clean up first, wherever it
is. Checkpoints of a solver (`place`, `remove`) stay for the next run, and a published release
leaves none beside itself. POSIX only.
"""

import errno
import fcntl
import os
import re
import secrets
import shutil
import signal
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType

from slogan.errors import StorageError

TOKEN = "[0-9a-f]{16}"  # noqa: S105 - what makes a name unique, not a secret
_SCRATCH = ".slogan-private-"
OURS = "slogan.checkpoints"
"""A file that marks the folder as slogan's: no other folder is emptied."""
_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(BaseException):
    """The run was asked to end, and has cleaned up."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@dataclass
class _Signals:
    """What came in, and how many are cleaning up meanwhile."""

    received: list[int] = field(default_factory=list[int])
    cleaning: int = 0

    def stop(self, number: int, _frame: FrameType | None) -> None:
        self.received.append(number)
        if not self.cleaning:
            raise KeyboardInterrupt


_signals = _Signals()


@contextmanager
def stoppable() -> Generator[None]:
    """Raise `Stopped` in place of whatever a signal did to the work inside.

    A library that is interrupted raises what it likes: DuckDB, for one, a RuntimeError. A signal
    that was ignored, as in a background job, stays ignored.
    """
    _signals.received.clear()
    before = {number: signal.getsignal(number) for number in _ASKING}
    ours = [number for number in _ASKING if before[number] not in (signal.SIG_IGN, None)]
    for number in ours:
        signal.signal(number, _signals.stop)
    try:
        yield
    except BaseException as cause:
        if _signals.received:
            raise Stopped(_signals.received[0]) from cause
        raise
    finally:
        for number in ours:
            signal.signal(number, before[number])


@contextmanager
def cleaning() -> Generator[None]:
    """Finish what is inside before a signal ends the run."""
    known = len(_signals.received)
    _signals.cleaning += 1
    try:
        yield
    finally:
        _signals.cleaning -= 1
    if not _signals.cleaning and len(_signals.received) > known:
        raise KeyboardInterrupt


@dataclass(frozen=True, slots=True)
class Held:
    """A folder that is this run's as long as the run lives, or lets it go."""

    path: Path
    handle: int
    locked: bool
    """False if the file system has no locks: then a dead run cannot be recognised."""

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
_remove = partial(shutil.rmtree, ignore_errors=True)


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
    """Call `remove` for each folder of a dead run, under a lock."""
    try:
        found = sorted(path for path in parent.iterdir() if names.fullmatch(path.name))
    except OSError:
        return
    for folder in found:
        with suppress(OSError):  # not ours to open: not ours to remove
            if (held := _hold(folder)) is None:
                continue
            try:
                if held.locked and os.fstat(held.handle).st_uid == os.geteuid():
                    remove(folder)
            finally:
                held.let_go()


def scratch(place: Path | None = None) -> Held:
    """A private folder for what is made of a log, after removing those of runs that were killed.

    It is in the place given, or where temporary files go.
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


def _hold(folder: Path) -> Held | None:
    """Hold a folder; None if another run does, or it is gone."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    locked, others = True, False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as cause:
        locked, others = False, isinstance(cause, BlockingIOError)
    with suppress(FileNotFoundError):
        if not others and os.path.samestat(os.fstat(handle), folder.lstat()):
            return Held(folder, handle, locked)
    os.close(handle)
    return None


def place(target: Path) -> Path:
    """Where the checkpoints for a release are, beside it."""
    return target.absolute().with_name(f".{target.name}.solving")


def remove(folder: Path) -> None:
    """Remove a folder of checkpoints, if it is one of slogan's."""
    with suppress(OSError):
        if (folder / OURS).is_file():
            for frames in [path for path in folder.iterdir() if path.is_dir()]:
                shutil.rmtree(frames)
            shutil.rmtree(folder)  # and the mark last: who is killed before leaves it to the next
