"""Engines count logs and write releases: each package here is one, named as its option.

What an engine is told is in `settings`, what it does in `engine` and `distributed`. Nothing here
imports an engine before it is named.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from slogan.errors import OptionError
from slogan.progress import Progress, silent
from slogan.registry import load_module, module_names

if TYPE_CHECKING:
    from slogan.engines.engine import Engine
    from slogan.engines.settings import EngineSettings
    from slogan.logs.searchlog import SearchLog


def names() -> tuple[str, ...]:
    """The engines there are."""
    return module_names(__name__, packages_only=True)


def load(name: str) -> type[EngineSettings]:
    """The settings of the engine of that name; its library is not imported yet."""
    return load_module(__name__, name, packages_only=True).SETTINGS


def resolve(engine: str | EngineSettings, log: object = None) -> EngineSettings:
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


def start(
    engine: str | EngineSettings, log: SearchLog | None = None, progress: Progress = silent
) -> Engine:
    """An engine for a log.

    Args:
        engine: An engine's name, or its settings.
        log: What will be counted.
        progress: Told what the engine brings to this process.
    """
    return resolve(engine, log).start(progress)
