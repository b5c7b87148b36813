"""inspect(): the paper's Table 3 for a log, with what was detected about it."""

from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from slogan import engines
from slogan.engines import EngineChoice
from slogan.engines.engine import Advice, Advisor, Counted
from slogan.histogram import Events, LogSize
from slogan.logs.searchlog import SearchLog, Source
from slogan.manifest.certificate import CURATOR_ONLY, html_table
from slogan.progress import Progress, shown


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsRead:
    """How many rows have a time, rank or session that can be read, of a log with a period."""

    rows: int
    """Clicks, and searches without one."""
    with_time: int
    at_ends: int
    """With a time at the first or last second of the period, where times outside of it count."""
    clicks: int
    """Rows with a click."""
    with_rank: int | None
    """Of these; None if ranks are not asked for, and so is the next one."""
    with_session: int | None

    @classmethod
    def of(cls, events: Events) -> "EventsRead | None":
        """Count the rows of a log; None without times."""
        if events.second is None:
            return None
        ends = (0, events.days * 86_400 - 1)
        clicked, rank, session = events.pair >= 0, events.rank, events.session
        return cls(
            rows=len(events.user),
            with_time=int((events.second >= 0).sum()),
            at_ends=int(np.isin(events.second, ends).sum()),
            clicks=int(clicked.sum()),
            with_rank=None if rank is None else int((rank[clicked] > 0).sum()),
            with_session=None if session is None else int((session >= 0).sum()),
        )


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Inspection:
    """How large a log is, whole and without unique pairs."""

    log: SearchLog
    whole: LogSize
    shared: LogSize
    counted: Counted
    advice: Advice | None = None
    """What reading the log in another way would change; None if the engine does not say."""
    events: EventsRead | None = None
    """How times, ranks and sessions are read; None without a period."""

    @property
    def format(self) -> str:
        """The format of the log's files, with their compression."""
        return self.log.suffix.removeprefix(".")

    @property
    def files(self) -> int:
        """How many files or addresses the log has."""
        return len(self.log.files) + len(self.log.addresses)

    def __repr__(self) -> str:
        size, shared = self.whole, f"{self.shared.pairs:,} pairs are shared"
        words = f"{size.clicks:,} clicks, {size.users:,} users, {size.pairs:,} pairs"
        return f"<Inspection: {words}; {shared}>"

    def _repr_html_(self) -> str:
        names = ("clicks", "users", "queries", "urls", "pairs")
        rows = ((name, getattr(self.whole, name), getattr(self.shared, name)) for name in names)
        return html_table(("", "the log", "shared by 2+ users"), rows, note=CURATOR_ONLY)

    def to_dict(self) -> dict[str, Any]:
        """The fields of `inspect --json`."""
        return {
            **asdict(self.whole),
            "shared": asdict(self.shared),
            "histogram": self.counted.hist.digest(),
            "rows_without_click": self.counted.rows_without_click,
            "bad_rows": self.counted.bad_rows,
            "bad_users": self.counted.bad_users,
            "emptied": self.log.columns.emptied(),
            "kept_fields": self.log.columns.kept_fields(),
            "advice": None if self.advice is None else asdict(self.advice),
            "events": None if self.events is None else asdict(self.events),
            "format": self.format,
            "files": self.files,
            "columns": asdict(self.log.columns),
        }


def inspect(
    log: SearchLog | Source,
    *,
    engine: EngineChoice = "duckdb",
    progress: Progress | bool | None = None,
) -> Inspection:
    """Count a log as the paper's Table 3 does.

    Args:
        log: A log described by `read()`, or what `read()` takes.
        engine: What counts: a name, or settings such as `DuckDB(memory_limit="4GB")`.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    settings = engines.resolve(engine, log)
    source = settings.describe(log)
    with shown(progress) as on_progress:
        on_progress("count")
        with closing(settings.start(on_progress)) as host:
            counted = host.count(source)
            whole, shared = host.sizes()
            advice = host.advice() if isinstance(host, Advisor) else None
        events = None
        if source.columns.time is not None:
            with closing(settings.start(on_progress)) as host:
                host.count(source, unique_pairs=True, with_events=True)
                events = EventsRead.of(host.events())
    return Inspection(
        log=source, whole=whole, shared=shared, counted=counted, advice=advice, events=events
    )
