"""inspect(): the paper's Table 3 for a log, with what was detected about it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from slogan import engines
from slogan.engines import Counted
from slogan.histogram import LogSize
from slogan.searchlog import SearchLog, Source, read


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
            "rows_without_click": self.counted.rows_without_click,
            "bad_rows": self.counted.bad_rows,
            "format": self.log.suffix.removeprefix("."),
            "files": len(self.log.files),
            "columns": asdict(self.log.columns),
        }


def inspect(
    log: SearchLog | Source, *, engine: str = "duckdb", memory_limit: str | None = None
) -> Inspection:
    """Count a log as the paper's Table 3 does."""
    source = log if isinstance(log, SearchLog) else read(log)
    host = engines.load(engine)(memory_limit=memory_limit)
    try:
        counted = host.count(source)
        whole, shared = host.sizes()
    finally:
        host.close()
    return Inspection(log=source, whole=whole, shared=shared, counted=counted)
