"""The engine for logs beyond one machine: Apache Spark, by its SQL and frames alone."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Self

from slogan.engines import EngineSettings
from slogan.logs.searchlog import Peek, SearchLog


@dataclass(frozen=True, kw_only=True)
class Spark(EngineSettings):
    """Count with Spark; without settings, in the running session, or in one started here.

    The memory limit is that of what Spark hands over to this process; half of its memory if not
    given.
    """

    master: str | None = None
    """Such as local[2], spark://host:7077, or sc://host:15002 for Spark Connect."""
    conf: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Settings of a session that is started here."""
    session: Any = field(default=None, repr=False)
    """A session that is used as it is, and left open."""

    @property
    def peek(self) -> Peek:
        return lambda places, kind, encoding: self.module("engine").column_names(
            self, places, kind, encoding
        )

    @classmethod
    def for_log(cls, log: object) -> Self | None:
        table = log.table if isinstance(log, SearchLog) else log
        session = getattr(table, "sparkSession", None)
        return None if session is None else cls(session=session)

    def hand_over(self, log: SearchLog, folder: Path) -> tuple[Path, Path]:
        return self.module("engine").hand_over(self, log, folder)

    def module(self, name: str) -> ModuleType:
        with warnings.catch_warnings():
            # Spark warns of every version of pandas it has not met; what we hand over are integers.
            warnings.simplefilter("ignore", FutureWarning)
            return super().module(name)


SETTINGS = Spark
