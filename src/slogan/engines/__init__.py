"""Engines count logs and write releases: each package here is one, named as its option.

What an engine does is in `engine`. Nothing here imports an engine before it is named.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Self

from slogan.errors import EngineError, OptionError
from slogan.progress import Progress, silent
from slogan.registry import load_module, module_names

if TYPE_CHECKING:
    from slogan.engines.engine import Engine
    from slogan.logs.searchlog import Peek, SearchLog, Source


@dataclass(frozen=True, kw_only=True)
class EngineSettings:
    """Which engine, and the settings all engines have. Each package defines a subclass.

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
        from slogan.logs import searchlog  # noqa: PLC0415 - not to be loaded by a list of engines

        described = isinstance(log, searchlog.SearchLog)
        return log if described else searchlog.read(log, peek=self.peek)

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


def names() -> tuple[str, ...]:
    """The engines there are."""
    return module_names(__name__, packages_only=True)


def load(name: str) -> type[EngineSettings]:
    """The settings of the engine of that name; its library is not imported yet."""
    return load_module(__name__, name, packages_only=True).SETTINGS


def resolve(engine: EngineChoice, log: object = None) -> EngineSettings:
    """The settings of the engine that will count a log.

    Args:
        engine: An engine's name, or its settings.
        log: A log or what `read()` takes. A table that one engine alone can read is read by it,
            whichever is given.
    """
    given = load(engine)() if isinstance(engine, str) else engine
    kinds = [load(name) for name in names()]
    if not isinstance(given, tuple(kinds)):
        raise OptionError(
            f"a {type(engine).__name__} is not an engine",
            hint="give its name, such as 'duckdb', or settings such as DuckDB(memory_limit='4GB')",
        )
    for kind in kinds:
        if (needed := kind.for_log(log)) is not None:
            return replace(needed, memory_limit=given.memory_limit)
    return given
