"""Publish a release folder: it appears under its name complete, or not at all.

A release that a killed run moved aside is put back by the next run.
"""

import errno
import glob
import hashlib
import os
import re
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slogan.errors import (
    LedgerError,
    LogNotFoundError,
    OptionError,
    ReleaseExistsError,
    StorageError,
)
from slogan.storage.folders import TOKEN, cleaning, clear, make, scratch_folder

PARTIAL = ".partial-"
"""Between the name of a release and the token of an attempt to publish it."""

_ATTEMPTS = re.compile(rf"\..+{re.escape(PARTIAL)}{TOKEN}", re.DOTALL)
Outcome = Literal["published", "abandoned", "in doubt"]
MANIFEST = Path("public/manifest.json")
_PARTS = {"public", "curator"}


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to publish a folder. Its name is never used again, so what is left tells."""

    target: Path
    token: str

    @classmethod
    def of_folder(cls, folder: Path) -> "Attempt":
        """The attempt that made this folder."""
        name, _, token = folder.name.removeprefix(".").rpartition(PARTIAL)
        return cls(folder.with_name(name), token)

    @property
    def folder(self) -> Path:
        """Where all of it is, beside the target and closed to others."""
        return self.target.with_name(f".{self.target.name}{PARTIAL}{self.token}")

    @property
    def partial(self) -> Path:
        """What is filled. Publishing takes this name away."""
        return self.folder / "release"

    @property
    def replaced(self) -> Path:
        """Where an older release waits until the new one is in place."""
        return self.folder / "replaced"

    def name_ledger(self, file: Path) -> None:
        """Note on disk which ledger decides its outcome, before anything is booked."""
        self._note.write_text(str(file), encoding="utf-8")
        sync(self._note)
        sync(self.folder)

    def ledger(self) -> Path | None:
        """The ledger that may have booked it; None if nothing was booked."""
        with suppress(OSError):
            if name := self._note.read_text(encoding="utf-8"):
                return Path(name)
        return None

    @property
    def _note(self) -> Path:
        return self.folder / "ledger"

    def outcome(self, manifest_sha256: str) -> Outcome:
        """What became of it, as far as the disk shows. Call it only when no process works on it."""
        if os.path.lexists(self.partial):
            return "abandoned"
        with suppress(OSError):
            if sha256_of(self.target / MANIFEST) == manifest_sha256:
                return "published"
        return "in doubt"

    def flush(self) -> None:
        """Have everything that was filled on disk, and the names that lead to it."""
        for path in [*self.folder.rglob("*"), self.folder, self.target.parent]:
            sync(path)

    def swap(self, *, force: bool) -> None:
        """Give the filled folder its name, in place of an older release if that is allowed."""
        if os.path.lexists(self.target):
            check_replaceable(self.target, force=force)
            self.target.rename(self.replaced)
        try:
            self.partial.rename(self.target)
        except OSError as cause:
            if cause.errno in (errno.ENOTEMPTY, errno.EEXIST):
                check_replaceable(self.target, force=False)
            raise

    def keep_name(self) -> None:
        """Have the new name on disk."""
        sync(self.folder)
        sync(self.target.parent)

    def clean_up(self) -> None:
        """Remove what is left beside the target; put back an older release that still counts."""
        # Unlike a path's own `exists`, this does not mind folders that are not ours to look into.
        there = os.path.exists
        if there(self.partial) and there(self.replaced) and not there(self.target):
            with suppress(OSError):  # another run was faster, to put it back or to publish
                self.replaced.rename(self.target)
            if not self.target.exists():
                return  # the disk fails: the older release waits here for the next run
        shutil.rmtree(self.folder, ignore_errors=True)


Booked = Callable[[Attempt], AbstractContextManager[object]]
"""Entered when the folder is filled, left when it has its name or the attempt failed."""

Settled = Callable[[Path], bool]
"""Has a ledger decide what became of its releases; whether it needs no evidence any more."""


def publish(
    target: Path,
    fill: Callable[[Path], None],
    *,
    force: bool,
    booked: Booked = nullcontext,
    settled: Settled = lambda _ledger: False,
) -> None:
    """Fill a folder under a temporary name beside the target, then rename it into place.

    Args:
        target: The folder that should appear.
        fill: Writes what should be in it.
        force: Whether an older release may be replaced.
        booked: Records it in the ledger first; without it, no ledger is used.
        settled: Asked before anything is removed that may be evidence for a ledger.
    """
    clear_attempts(target.absolute().parent, settled)
    if os.path.lexists(target):
        check_replaceable(target, force=force)
    place, named = target.absolute(), False
    try:
        make_folder(place.parent)
        held = make(lambda token: Attempt(place, token).folder)
    except OSError as cause:
        fault = f"cannot write beside {target}: {cause.strerror}"
        raise StorageError(fault, hint="choose a writable place with -o") from cause
    attempt = Attempt.of_folder(held.path)
    try:
        attempt.partial.mkdir()
        fill(attempt.partial)
        attempt.flush()
        with booked(attempt):
            attempt.swap(force=force)
            named = True
            attempt.keep_name()
    except LedgerError as cause:
        if not named:
            raise
        raise LedgerError(
            f"{target} is whole and its cost is booked, but not that it was published: {cause}",
            hint="do not make it again, which would spend the budget again; `slogan ledger` "
            "settles it as soon as the ledger can be written",
        ) from cause
    except OSError as cause:
        fault = f"the release cannot be written to {target}"
        hint = "make room, or choose another place with -o"
        if named:
            fault = f"{target} is whole, but may not outlast a power cut"
            hint = "do not make it again, which would spend the budget again: copy it elsewhere"
        raise StorageError(f"{fault}: {cause.strerror or cause}", hint=hint) from cause
    finally:
        with cleaning():
            _clear(attempt.folder, settled)
            held.let_go()


def clear_attempts(parent: Path, settled: Settled) -> None:
    """Remove what attempts of dead runs left in a folder."""
    clear(parent, _ATTEMPTS, lambda folder: _clear(folder, settled))


def _clear(folder: Path, settled: Settled) -> None:
    """Remove what is left of an attempt, unless a ledger has yet to look at it."""
    attempt = Attempt.of_folder(folder)
    if (ledger := attempt.ledger()) is None or settled(ledger):
        attempt.clean_up()


def check_not_waiting(target: Path) -> None:
    """Say why there is no release, if a killed run moved an older one aside to replace it."""
    aside = f".{glob.escape(target.name)}{PARTIAL}*/replaced"
    if not os.path.lexists(target) and any(target.absolute().parent.glob(aside)):
        raise LogNotFoundError(
            f"no release at {target}: it was moved aside by a run that was to replace it and died",
            hint="the next run that publishes into this folder puts it back; if that run was in a "
            "ledger, slogan ledger does",
        )


def check_replaceable(target: Path, *, force: bool) -> None:
    """Only a release of slogan is replaced, and only if asked for."""
    if not force:
        hint = "choose another -o, or give --force to replace it"
        raise ReleaseExistsError(f"{target} already exists", hint=hint)
    try:
        inside = None if target.is_symlink() else {path.name for path in target.iterdir()}
    except OSError:
        inside = None  # not a folder, or not for us to read
    if inside is None or (inside and not (target / MANIFEST).is_file()):
        raise ReleaseExistsError(
            f"{target} is not a release of slogan, so --force does not replace it",
            hint="choose another -o, or remove it yourself",
        )
    if inside - _PARTS:
        raise ReleaseExistsError(
            f"{target} holds more than public/ and curator/, and --force would delete that too",
            hint="choose another -o, or move elsewhere what does not belong to the release",
        )


def check_outside_releases(target: Path) -> None:
    """Nothing is written into a release, where it might be published, or be replaced with it."""
    place = Path(os.path.realpath(target))
    release = next((folder for folder in place.parents if (folder / MANIFEST).is_file()), None)
    if release is not None:
        raise OptionError(
            f"{target} is inside {release}, which is a release of slogan",
            hint=f"choose a place outside of it, such as {release.parent / place.name}",
        )


def write_private(folder: Path, files: dict[str, str]) -> None:
    """Write a curator's files, which only their owner can open, in place of older ones.

    Readers see either the old files or the new ones, and the new ones only after all are on disk.
    """
    try:
        make_folder(folder, mode=0o700)
        with scratch_folder(folder) as private:
            for name, text in files.items():
                (private / name).touch(mode=0o600)  # the folder may be open to others
                (private / name).write_text(text, encoding="utf-8")
                sync(private / name)
            for name in files:
                (private / name).replace(folder / name)
            sync(folder)
    except OSError as cause:
        raise StorageError(
            f"nothing can be written to {folder}: {cause.strerror}",
            hint="make room, or check its permissions",
        ) from cause


def make_folder(folder: Path, *, mode: int = 0o777) -> None:
    """Make a folder of this mode and those above it, if missing, and have their names on disk."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=mode, exist_ok=True)
        sync(folder.parent)


def sync(path: Path) -> None:
    """Have a file, or the names in a folder, on disk before anything else happens."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sha256_of(file: Path) -> str:
    """The checksum of a file; of a folder, that of what `sha256sum *` prints in it."""
    if file.is_dir():
        listed = "".join(f"{sha256_of(part)}  {part.name}\n" for part in sorted(file.iterdir()))
        return hashlib.sha256(listed.encode()).hexdigest()
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
