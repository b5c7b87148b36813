"""Chain: a private file of entries in which each line vouches for all lines before it.

A line is one link as canonical JSON: its number, a time, the hash of the link before, an entry,
and the hash of all that. The file is replaced as a whole, so no crash leaves half a line: a file
that does not check link by link was damaged or changed. POSIX only.
"""

import fcntl
import hashlib
import json
import os
import stat
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from slogan.errors import LedgerError
from slogan.storage.atomic import make_folder, sync
from slogan.storage.untrusted import modest

START = "0" * 64
"""What the first link names as the hash before it."""

_LARGEST = 1 << 26
_PATIENCE = 60.0
_PAUSE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """One entry and its place in the chain. The chain is the order, whatever `time` says."""

    number: int
    time: str
    previous: str
    entry: dict[str, Any]

    @property
    def hash(self) -> str:
        """The checksum of this link, and through `previous` of all before it."""
        return hashlib.sha256(_canonical(asdict(self))).hexdigest()

    def line(self) -> bytes:
        """The link as it stands in the file."""
        return _canonical({**asdict(self), "hash": self.hash}) + b"\n"


def head(links: Sequence[Link]) -> str:
    """The hash that stands for the whole chain."""
    return links[-1].hash if links else START


@dataclass(frozen=True, slots=True)
class Chain:
    """The file, and the lock beside it that makes readers and writers wait for each other."""

    file: Path

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep other processes from reading and appending; a killed process loses its lock."""
        try:
            make_folder(self.file.parent, mode=0o700)
            handle = os.open(self._beside(".lock"), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            self._share(handle)
        except OSError as cause:
            self._fail(cause)
        try:
            self._wait(handle)
            with suppress(OSError):  # of a run that was killed
                self._beside(".new").unlink()
            yield
        finally:
            os.close(handle)

    def read(self) -> list[Link]:
        """All links, each checked against the one before it; none if there is no file."""
        try:
            content = modest(self.file, most=_LARGEST, links=True)
        except FileNotFoundError:
            return []
        except OSError as cause:
            self._fail(cause)
        links: list[Link] = []
        lines = content.splitlines(keepends=True)
        for line in lines:
            link = _parsed(line)
            if link is None or link.number != len(links) or link.previous != head(links):
                raise LedgerError(
                    f"{self.file} was damaged or changed: line {len(links) + 1} of {len(lines)} "
                    "does not follow from the lines before it",
                    hint="restore the file from a backup; until then nothing is released",
                )
            links.append(link)
        if not links:
            raise LedgerError(
                f"{self.file} is empty, and a ledger never is",
                hint="restore the file from a backup; until then nothing is released",
            )
        return links

    def append(self, links: Sequence[Link], entry: dict[str, Any]) -> list[Link]:
        """The chain with one more link, on disk before this returns. Only while locked."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        link = Link(number=len(links), time=now, previous=head(links), entry=entry)
        longer = [*links, link]
        try:
            self._replace(b"".join(link.line() for link in longer))
        except OSError as cause:
            self._fail(cause)
        return longer

    def _replace(self, content: bytes) -> None:
        new = self._beside(".new")
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        try:
            with open(os.open(new, flags, 0o600), "wb") as file:  # noqa: PTH123 - a mode at once
                self._share(file.fileno())
                file.write(content)
            sync(new)
            new.replace(self.file)
            sync(self.file.parent)
        except BaseException:  # also an interrupt
            with suppress(OSError):
                new.unlink()
            raise

    def _share(self, handle: int) -> None:
        """Open a file to the group, if the folder is one that a team shares (mode 2770)."""
        team, folder = stat.S_ISGID | stat.S_IWGRP, self.file.parent.stat()
        if folder.st_mode & team == team and os.fstat(handle).st_uid == os.geteuid():
            os.fchmod(handle, 0o660)

    def _wait(self, handle: int) -> None:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as cause:
                if time.monotonic() > end:
                    raise LedgerError(
                        f"{self.file} has been in use by another run for {_PATIENCE:.0f} s",
                        hint="look for a run that is stopped, end it, and try again",
                    ) from cause
                time.sleep(_PAUSE)
            except OSError as cause:  # a file system without locks
                self._fail(cause)
            else:
                return

    def _beside(self, suffix: str) -> Path:
        return self.file.with_name(f".{self.file.name}{suffix}")

    def _fail(self, cause: OSError) -> NoReturn:
        raise LedgerError(
            f"cannot use the ledger {self.file}: {cause.strerror}",
            hint="a ledger is a file that only its owner or a team reads and writes, on a local "
            "disk; a team's folder has mode 2770",
        ) from cause


def _parsed(line: bytes) -> Link | None:
    """The link, if the line is exactly what that link would be written as."""
    try:
        parts = json.loads(line)
        del parts["hash"]
        if not (isinstance(parts["time"], str) and isinstance(parts["entry"], dict)):
            return None
        link = Link(**parts)
        return link if link.line() == line else None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def _canonical(parts: dict[str, Any]) -> bytes:
    return json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()
