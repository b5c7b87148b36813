"""Publishing: a folder appears under its name all at once, or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slogan.errors import ReleaseExistsError, SloganError

Outcome = Literal["published", "abandoned", "in doubt"]
MANIFEST = Path("public/manifest.json")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to publish a folder. Its name is never used again, so what is left tells."""

    target: Path
    token: str

    @property
    def partial(self) -> Path:
        """Where the folder is filled. Publishing takes this name away."""
        return self.target.with_name(f".{self.target.name}.partial-{self.token}")

    @property
    def replaced(self) -> Path:
        """Where an older release waits until the new one is in place."""
        return self.target.with_name(f".{self.target.name}.replaced-{self.token}")

    def outcome(self, manifest_sha256: str) -> Outcome:
        """What became of it, as far as the disk shows. Only when nobody works on it any more."""
        if os.path.lexists(self.partial):
            return "abandoned"
        try:
            found = sha256_of(self.target / MANIFEST)
        except OSError:
            return "in doubt"
        return "published" if found == manifest_sha256 else "in doubt"

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
        sync(self.target.parent)

    def clean_up(self) -> None:
        """Remove what is left beside the target; put back an older release that still counts."""
        if self.partial.exists() and self.replaced.exists() and not self.target.exists():
            self.replaced.rename(self.target)
        for leftover in (self.partial, self.replaced):
            shutil.rmtree(leftover, ignore_errors=True)


Booked = Callable[[Attempt], AbstractContextManager[object]]
"""Entered when the folder is filled, left when it has its name or the attempt failed."""


def unbooked(attempt: Attempt) -> AbstractContextManager[object]:
    """Publish without telling a ledger."""
    return nullcontext(attempt)


def publish(
    target: Path, fill: Callable[[Path], None], *, force: bool, booked: Booked = unbooked
) -> None:
    """Fill a folder under a temporary name beside the target, then rename it into place."""
    if os.path.lexists(target):
        check_replaceable(target, force=force)
    attempt = Attempt(target.absolute(), secrets.token_hex(8))
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        attempt.partial.mkdir()
    except OSError as cause:
        raise SloganError(
            f"cannot write beside {target}: {cause.strerror}",
            hint="choose a writable place with -o",
        ) from cause
    try:
        fill(attempt.partial)
        for path in [*attempt.partial.rglob("*"), attempt.partial, attempt.target.parent]:
            sync(path)
        with booked(attempt):
            attempt.swap(force=force)
    finally:
        attempt.clean_up()


def check_replaceable(target: Path, *, force: bool) -> None:
    """Only a release of slogan is replaced, and only if asked for."""
    if not force:
        raise ReleaseExistsError(
            f"{target} already exists", hint="choose another -o, or give --force to replace it"
        )
    is_release = target.is_dir() and not target.is_symlink()
    if not is_release or (any(target.iterdir()) and not (target / MANIFEST).is_file()):
        raise ReleaseExistsError(
            f"{target} is not a release of slogan, so --force does not replace it",
            hint="choose another -o, or remove it yourself",
        )


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


def write_private(file: Path, text: str) -> None:
    """Write a file that only its owner can open, in place of one that others could."""
    file.unlink(missing_ok=True)
    file.touch(mode=0o600)
    file.write_text(text, encoding="utf-8")
