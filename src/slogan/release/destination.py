"""Where a release will be saved: checked before the log is counted, recorded in its ledger."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slogan.errors import OptionError
from slogan.ledger.ledger import Charge, Ledger, Recorded, publish_recorded
from slogan.logs.searchlog import SearchLog
from slogan.storage.atomic import check_replaceable
from slogan.storage.untrusted import is_sayable


@dataclass(frozen=True, kw_only=True)
class Destination:
    """A folder for the release, and the ledger that records it.

    Args:
        folder: The folder, if it is known before the release is made.
        force: Whether an older release may be replaced.
        ledger: Where the release is recorded; nowhere if not given.
        allow_unaccounted: Release although the ledger's cap says nothing about it.
    """

    folder: Path | None = None
    force: bool = False
    ledger: Ledger | None = None
    allow_unaccounted: bool = False

    def check(self, log: SearchLog, charge: Charge) -> None:
        """Refuse now what saving would refuse in the end."""
        if self.ledger is not None:
            self.ledger.check(charge, allow_unaccounted=self.allow_unaccounted)
        if self.folder is not None:
            self.require(log)

    def require(self, log: SearchLog) -> Path:
        """The folder, if writing there loses no log, no ledger and no other release."""
        if self.folder is None:
            raise OptionError(
                "a release needs a folder to be saved in", hint='write release.save("out")'
            )
        file = None if self.ledger is None else self.ledger.file
        require_place(self.folder, log, force=self.force, ledger=file)
        return self.folder

    def publish(
        self, folder: Path, fill: Callable[[Path], None], charge: Charge
    ) -> Recorded | None:
        """Write the release as a whole; returns where it is recorded."""
        return publish_recorded(
            folder,
            fill,
            force=self.force,
            charge=charge,
            ledger=self.ledger,
            allow_unaccounted=self.allow_unaccounted,
        )


def require_place(target: Path, log: SearchLog, *, force: bool, ledger: Path | None = None) -> None:
    """Refuse a target for which a run would be in vain, or do harm.

    Args:
        target: The folder that should appear.
        log: What is released.
        force: Whether an older release may be replaced.
        ledger: The ledger's file, if there is one.
    """
    _require_name(target)
    place = _real(target)
    needed = (*log.files, *(() if ledger is None else (ledger,)))
    paths = (path for file in needed for path in (_real(file), _real(file.parent)))
    if any(path.is_relative_to(place) for path in paths):
        raise OptionError(
            f"a file of the log, or the ledger, is inside {target}, where the release should go",
            hint="choose another -o",
        )
    if any(place.is_relative_to(_real(folder)) for folder in log.folders):
        raise OptionError(
            f"{target} is inside a directory given as log, which would then hold the release too",
            hint="choose an -o outside of it, or name the files of the log",
        )
    if os.path.lexists(target):
        check_replaceable(target, force=force)


def _require_name(target: Path) -> None:
    if not is_sayable(target.absolute()):
        raise OptionError(
            "the whole name of the release is not UTF-8, or holds a NUL", hint="choose another -o"
        )
    if target.absolute().name in ("", ".."):
        raise OptionError(
            f"{target} is no name for a folder of its own", hint="write -o as a new folder's name"
        )


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
