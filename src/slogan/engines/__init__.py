"""Who counts and who writes: each file here is one engine, named as its option."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from slogan.arrays import Ints
from slogan.dp.remote import AnyHistogram, brought
from slogan.errors import EngineError
from slogan.histogram import LogSize, PairHistogram, Remainder
from slogan.pseudonyms import IdKind
from slogan.randomness import Randomness
from slogan.registry import load_module, module_names
from slogan.sampling import Output
from slogan.searchlog import SearchLog, Source, read
from slogan.solvers import Effort
from slogan.stages import Watcher, silent

Whose = Literal["same", "others"] | Path
"""Whose user-IDs a second log has: the first log's, other people's, or pseudonyms by a table."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """How much of a log is on shared pairs."""

    users: int
    pairs: int
    clicks: int
    too_dear: int = 0
    """Clicks on pairs that were left out before they came to this process: none of them fits."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What counting a log gave: the histogram, and how large the log was."""

    rows: AnyHistogram
    """The histogram, here or where the engine keeps it."""
    clicks: int
    users: int
    pairs: int
    rows_without_click: int
    bad_rows: dict[str, int] = field(default_factory=dict[str, int])
    """Rows skipped because they cannot be read, by reason."""
    stayed: Shared | None = None
    """Set if the clicks on shared pairs stayed in the engine; the histogram is a part of them."""

    @property
    def shared(self) -> Shared:
        """How much of the log is on shared pairs."""
        hist = self.hist
        return self.stayed or Shared(users=hist.users, pairs=hist.pairs, clicks=hist.clicks)

    @cached_property
    def hist(self) -> PairHistogram:
        """The histogram in this process, brought here if need be while the engine is open."""
        return brought(self.rows)


@dataclass(frozen=True, kw_only=True)
class Spark:
    """Where Spark runs; given in place of the engine's name.

    Without settings, the session that is running, or one of our own on this machine.
    """

    master: str | None = None
    """Such as local[2], spark://host:7077, or sc://host:15002 for Spark Connect."""
    conf: Mapping[str, str] = field(default_factory=dict[str, str])
    """Settings of a session of our own."""
    session: Any = None
    """A session that is used as it is, and left open."""


class Engine(Protocol):
    """Two verbs, count and write; the texts of a log stay inside its engine."""

    @property
    def arrived(self) -> tuple[str, ...]:
        """What came to this process from elsewhere, each with its size."""
        ...

    def __init__(
        self,
        *,
        memory_limit: str | None = None,
        spark: Spark | None = None,
        watcher: Watcher = silent,
    ) -> None: ...

    def count(self, log: SearchLog, *, unique_pairs: bool = False) -> Counted:
        """Count a log and remember what the numbers of its histogram stand for.

        Args:
            log: The log; an engine counts one.
            unique_pairs: Whether the histogram holds every pair and every user of the log, or the
                shared pairs and their users only. The whole one may stay with the engine.
        """
        ...

    def count_beside(self, log: SearchLog, users: Whose) -> PairHistogram:
        """Count a second log with the numbers of the counted one; what is new comes after.

        Args:
            log: The second log.
            users: Which of its users are users of the counted log.
        """
        ...

    def sizes(self) -> tuple[LogSize, LogSize]:
        """The paper's Table 3 for a log counted without unique pairs: whole, and without them."""
        ...

    def urls(self, pairs: Ints) -> list[str]:
        """The urls of these pairs, given sorted. Only pairs that are released may be asked for."""
        ...

    def id_kind(self, output: Output | None) -> IdKind:
        """What the user-IDs of the shown users look like; no other user is looked at.

        Without an output, what the type of the column alone says; for text that is digits.
        """
        ...

    def write(self, output: Output, pseudonyms: list[str] | None, target: Path) -> None:
        """Write an output with the columns, types and format of the counted log.

        Args:
            output: Who is shown with how many clicks of which pair.
            pseudonyms: The name for each shown user, by ascending user number; None keeps real IDs.
            target: The file to write, or the folder if the engine writes in parts.
        """
        ...

    def write_pseudonyms(self, output: Output, pseudonyms: list[str], target: Path) -> None:
        """Write the curator's table of real and shown user-IDs, as Parquet."""
        ...

    def write_users(self, users: Ints, target: Path) -> None:
        """Write a curator's table of the real IDs of some users, as Parquet."""
        ...

    def close(self) -> None:
        """Forget the log and remove what was spilled to disk."""
        ...


@dataclass(frozen=True, kw_only=True)
class Question:
    """A packing problem about a counted log: as many clicks as the limit of every user allows."""

    limit: float
    most: int | None
    """The most clicks of one pair."""
    one_of_query: bool
    """Whether at most one click is released among the pairs of a query."""
    forced: bool
    """Whether to solve it in the engine even if it fits this process."""
    folder: Path | None
    """Where to keep checkpoints; if not given, nowhere that outlives the run."""


Trace = tuple[tuple[int, float, float], ...]
"""How it converged: after so many steps, the value of fractional counts and the proven bound."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """What an engine says to a packing problem."""

    left: Remainder
    """The clicks on the pairs that are left, of all their holders."""
    x: Ints | None
    """Proposed counts of these pairs; None if they are for this process to choose."""
    bound: float | None
    """Proven of the whole problem; None if what is left is the whole."""
    trace: Trace = ()
    too_dear: int
    """Clicks on pairs that no solution can use."""
    cheapest: float = 0.0
    """If no pair is left, what one click of the cheapest would charge some user."""


@runtime_checkable
class Packer(Protocol):
    """What an engine can do besides: solve and draw, where it counted, what does not fit here."""

    def count_in_place(self, log: SearchLog, *, forced: bool) -> Counted:
        """Count a log without unique pairs; the clicks stay if they do not fit this process.

        Args:
            log: The log; an engine counts one.
            forced: Whether they stay in any case.
        """
        ...

    def pack(self, asked: Question, effort: Effort) -> Packed:
        """Solve a packing problem about the counted log."""
        ...

    def draw(self, pairs: Ints, counts: Ints, rng: Randomness) -> Output:
        """Draw a user for every click that is released of these pairs, where the clicks stayed.

        Args:
            pairs: Numbers of the counted log's pairs.
            counts: How many clicks of each are released.
            rng: Where the key comes from that all draws follow from.
        """
        ...


def names() -> tuple[str, ...]:
    """The engines there are."""
    return module_names(sys.modules[__name__])


def load(name: str) -> type[Engine]:
    """The engine of that name."""
    try:
        with warnings.catch_warnings():
            # Spark warns of every version of pandas it has not met; what we hand over are integers.
            warnings.simplefilter("ignore", FutureWarning)
            return load_module(sys.modules[__name__], name).ENGINE
    except ModuleNotFoundError as cause:
        raise EngineError(
            f"the engine {name} needs {cause.name}, which is not installed",
            hint=f"pip install 'slogan[{name}]', or use --engine duckdb",
        ) from cause


def start(
    engine: str | Spark,
    log: SearchLog,
    *,
    memory_limit: str | None = None,
    watcher: Watcher = silent,
) -> Engine:
    """An engine for a log.

    Args:
        engine: A file of this folder, or where Spark runs.
        log: What will be counted.
        memory_limit: What the engine may use, such as "4GB".
        watcher: Told what the engine brings to this process.
    """
    settings = settings_of(engine, log)
    named = load(name_of(engine, log))
    return named(memory_limit=memory_limit, spark=settings, watcher=watcher)


def name_of(engine: str | Spark, log: SearchLog) -> str:
    """The file of this folder that will count a log."""
    return str(engine) if settings_of(engine, log) is None else "spark"


def described(source: Source, engine: str | Spark, **options: Any) -> SearchLog:
    """What `read()` makes of a log, with Spark's help if that is who will count it."""

    def peek(addresses: tuple[str, ...], kind: str, encoding: str) -> tuple[str, ...]:
        names = import_module(load("spark").__module__).column_names
        return names(Spark() if isinstance(engine, str) else engine, addresses, kind, encoding)

    on_spark = isinstance(engine, Spark) or engine == "spark"
    return read(source, peek=peek if on_spark else None, **options)


def settings_of(engine: str | Spark, log: SearchLog) -> Spark | None:
    """Where Spark runs, if Spark is to read the log: a frame of Spark nobody else can read."""
    session = getattr(log.table, "sparkSession", None)
    if session is not None:
        return Spark(session=session)
    if isinstance(engine, Spark):
        return engine
    return Spark() if engine == "spark" else None


def hand_over(spark: Spark, log: SearchLog, folder: Path) -> tuple[Path, Path]:
    """Have Spark add up the rows of a log, for others to read.

    Returns folders of Parquet files: one of name, query, url, reason, file, clicks and the number n
    of rows, and one without rows that has the types of the log's columns.
    """
    return import_module(load("spark").__module__).hand_over(spark, log, folder)
