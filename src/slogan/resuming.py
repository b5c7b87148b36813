"""Resuming: where checkpoints of a solver are kept for the next run, and when they are removed.

They are numbers of the log: a release that is published leaves none beside itself.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

OURS = "slogan.checkpoints"
"""A file that says whose folder it is: no other is emptied."""


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
