"""inspect(): the paper's Table 3 for a log, with what was detected about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from slogan import engines
from slogan.engines import Counted, Spark
from slogan.histogram import LogSize
from slogan.searchlog import SearchLog, Source
from slogan.stages import Watcher, silent


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """How large a log is, whole and without unique pairs."""

    log: SearchLog
    whole: LogSize
    shared: LogSize
    counted: Counted

    def summary(self) -> dict[str, Any]:
        """The fields of `inspect --json`."""
        return {
            **asdict(self.whole),
            "shared": asdict(self.shared),
            "histogram": self.counted.hist.digest(),
            "rows_without_click": self.counted.rows_without_click,
            "bad_rows": self.counted.bad_rows,
            "format": self.log.suffix.removeprefix("."),
            "files": len(self.log.files) + len(self.log.addresses),
            "columns": asdict(self.log.columns),
        }


def inspect(
    log: SearchLog | Source,
    *,
    engine: str | Spark = "duckdb",
    memory_limit: str | None = None,
    watcher: Watcher = silent,
) -> Inspection:
    """Count a log as the paper's Table 3 does.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        engine: A file of `engines/`, or where Spark runs; a Spark DataFrame is counted by Spark.
        memory_limit: What the engine may use, such as "4GB".
        watcher: Told the stage and how far it is.
    """
    source = log if isinstance(log, SearchLog) else engines.described(log, engine)
    host = engines.start(engine, source, memory_limit=memory_limit, watcher=watcher)
    try:
        counted = host.count(source)
        whole, shared = host.sizes()
    finally:
        host.close()
    return Inspection(log=source, whole=whole, shared=shared, counted=counted)
