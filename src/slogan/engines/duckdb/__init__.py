"""The default engine: DuckDB, embedded, streaming from files and spilling to a private folder."""

from dataclasses import dataclass

from slogan.engines import EngineSettings


@dataclass(frozen=True, kw_only=True)
class DuckDB(EngineSettings):
    """Count with DuckDB, in this process; beyond the memory limit it spills to disk."""


SETTINGS = DuckDB
