"""Waiting: a release that a killed run moved aside, until the next run puts it back."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from slogan.errors import LogNotFoundError

PARTIAL = ".partial-"
"""Between the name of a release and the token of an attempt to publish it."""


def check_not_waiting(target: Path) -> None:
    """Say why there is no release, if a killed run moved an older one aside to replace it."""
    aside = f".{glob.escape(target.name)}{PARTIAL}*/replaced"
    if not os.path.lexists(target) and any(target.absolute().parent.glob(aside)):
        raise LogNotFoundError(
            f"no release at {target}: it was moved aside by a run that was to replace it and died",
            hint="the next run that publishes into this folder puts it back; if that run was in a "
            "ledger, slogan ledger does",
        )
