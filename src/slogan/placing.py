"""Placing: where a release may go, so that no log and no ledger is lost to it or read with it."""

from __future__ import annotations

import os
from pathlib import Path

from slogan.errors import OptionError
from slogan.files import is_sayable
from slogan.publishing import check_replaceable
from slogan.searchlog import SearchLog


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
    found = (path for file in needed for path in (_real(file), _real(file.parent)))
    if any(path.is_relative_to(place) for path in found):
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
