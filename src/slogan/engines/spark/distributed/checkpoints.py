"""Checkpoints: frames written out, so that what led to them is forgotten and a run can go on.

They are numbers of the log, so only their owner may read them. What another problem left in the
folder is removed, and all of it when the problem is solved.
"""

import json
import shutil
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from slogan.engines.spark.reading import address
from slogan.errors import SloganError
from slogan.storage.atomic import sync
from slogan.storage.folders import OURS, remove

COMMON = "fitting"
"""The frame that identifies the problem, written before the problem is identified."""
_DIGITS = 6


class Checkpoints:
    """A private folder of frames, each under a name and a number."""

    def __init__(self, session: SparkSession, folder: Path) -> None:
        self._session, self._top, self._folder = session, folder, folder
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if any(folder.iterdir()) and not (folder / OURS).exists():
                raise SloganError(
                    f"{folder} holds other things than checkpoints",
                    hint="choose a folder that is empty or not there yet",
                )
            folder.chmod(0o700)
            (folder / OURS).touch()
        except OSError as cause:
            raise SloganError(
                f"cannot keep checkpoints in {folder}: {cause.strerror}",
                hint="choose a writable place, one that every worker sees",
            ) from cause

    def of(self, problem: str) -> None:
        """From now on those of one problem, named by a digest; others are removed."""
        self._folder = self._top / problem
        for other in self._top.iterdir():
            if other.is_dir() and other != self._folder and not other.match(f"{COMMON}-*"):
                shutil.rmtree(other)
        self._folder.mkdir(exist_ok=True)

    def save(self, name: str, number: int, frame: DataFrame) -> DataFrame:
        """Write a frame, whole or not at all, in place of the last one of that name."""
        place = self._place(name, number)
        partial = place.with_suffix(".partial")
        frame.write.mode("overwrite").parquet(address(partial))
        shutil.rmtree(place, ignore_errors=True)
        _name(partial, place)
        for older in self._numbers(name) - {number}:
            shutil.rmtree(self._place(name, older))
        return self._read(place)

    def last(self, name: str) -> tuple[int, DataFrame] | None:
        """The last frame of that name and its number, if there is one."""
        numbers = self._numbers(name)
        if not numbers:
            return None
        return max(numbers), self._read(self._place(name, max(numbers)))

    def note(self, name: str, words: Any) -> None:
        """Keep something small beside the frames."""
        partial = self._folder / f"{name}.partial"
        partial.write_text(json.dumps(words))
        _name(partial, self._folder / f"{name}.json")

    def noted(self, name: str) -> Any:
        """What was kept; None if there is nothing, or nothing that can be read."""
        try:
            return json.loads((self._folder / f"{name}.json").read_text())
        except (FileNotFoundError, ValueError):
            return None

    def remove(self) -> None:
        """Leave nothing."""
        remove(self._top)

    def _place(self, name: str, number: int) -> Path:
        return self._folder / f"{name}-{number:0{_DIGITS}}"

    def _numbers(self, name: str) -> set[int]:
        found = self._folder.glob(f"{name}-" + "[0-9]" * _DIGITS)
        return {int(place.name[-_DIGITS:]) for place in found}

    def _read(self, place: Path) -> DataFrame:
        return self._session.read.parquet(address(place))


def _name(partial: Path, place: Path) -> None:
    """Give a file or a folder its name when all of it is on disk, and have the name there too."""
    for path in [*partial.rglob("*"), partial]:
        sync(path)
    partial.rename(place)
    sync(place.parent)
