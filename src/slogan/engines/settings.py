"""EngineSettings: which engine counts a log, and with what; each engine's package has its own."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Self

from slogan.errors import EngineError
from slogan.logs.searchlog import Peek, SearchLog, Source, read
from slogan.progress import Progress, silent

if TYPE_CHECKING:
    from slogan.engines.engine import Engine


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """What all engines are told. A subclass stands in the `__init__` of its engine's package.

    The package's module `engine` has the engine itself as `ENGINE`, made of settings and a
    progress. It is imported when an engine is started, so settings need no library.
    """

    memory_limit: str | None = None
    """What the engine may use of this machine's memory, such as "4GB"."""

    @property
    def name(self) -> str:
        """The engine's name: that of its package."""
        return type(self).__module__.rpartition(".")[2]

    @property
    def peek(self) -> Peek | None:
        """Looks up the columns of a log at an address, if the engine reads from addresses."""
        return None

    @classmethod
    def for_log(cls, log: object) -> Self | None:
        """Settings for a table that no other engine can read; None for any other log."""
        del log
        return None

    def start(self, progress: Progress = silent) -> Engine:
        """The engine, ready to count."""
        return self.module("engine").ENGINE(self, progress)

    def describe(self, log: SearchLog | Source) -> SearchLog:
        """A log for this engine; one that is described already stays as it is."""
        return log if isinstance(log, SearchLog) else read(log, peek=self.peek)

    def hand_over(self, log: SearchLog, folder: Path) -> tuple[Path, Path] | None:
        """Add up the rows of a log for others, if they cannot read it by themselves.

        Returns folders of Parquet files: one of name, query, url, reason, file, clicks and the
        number n of rows, and one without rows that has the types of the log's columns.
        """
        del log, folder

    def module(self, name: str) -> ModuleType:
        """A module of the engine's package, which may need the engine's library."""
        try:
            return import_module(f"{type(self).__module__}.{name}")
        except ModuleNotFoundError as cause:
            raise EngineError(
                f"the engine {self.name} needs {cause.name}, which is not installed",
                hint=f"pip install 'slogan[{self.name}]', or use --engine duckdb",
            ) from cause


EngineChoice = str | EngineSettings
"""What verbs take: an engine's name, or its settings."""
