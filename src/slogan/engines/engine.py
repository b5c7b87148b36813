"""Engine: two verbs, count and write, and what counting gives.

Packer: what an engine can do besides, for programs that do not fit this process.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from slogan.arrays import Ints
from slogan.dp.sums import AnyHistogram, brought
from slogan.engines.pseudonyms import IdKind
from slogan.errors import (
    AllPairsUniqueError,
    BadRowError,
    EmptyLogError,
    OptionError,
    SingleUserError,
)
from slogan.histogram import Events, LogSize, MadeEvents, Output, PairHistogram, Remainder
from slogan.logs.columns import Columns
from slogan.logs.rows import MOST_CLICKS
from slogan.logs.searchlog import SearchLog
from slogan.logs.vocabulary import Pair
from slogan.planning.solvers import Effort

T = TypeVar("T")

Whose = Literal["same", "others"] | Path
"""Whose user-IDs a second log has: the first log's, other people's, or pseudonyms by a table."""


@dataclass(frozen=True, kw_only=True)
class Shared:
    """How much of a log is on shared pairs."""

    users: int
    pairs: int
    clicks: int
    too_dear: int = 0
    """Clicks on pairs that were left out before they reached this process: none of them fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicPairs:
    """Public pairs, those of them in the log, of a single user there, and released."""

    listed: int
    in_log: int
    of_one_user: int
    released: int


@dataclass(frozen=True, kw_only=True, repr=False)
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
    bad_users: int = 0
    """Users with a skipped row, as far as its user-ID could be read and the engine counts them."""
    listed: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The pairs that are public knowledge; they have numbers also without a click."""
    stayed: Shared | None = None
    """Set if the clicks on shared pairs stayed in the engine; the histogram is a part of them."""

    @property
    def shared(self) -> Shared:
        """How much of the log is on shared pairs."""
        hist = self.hist
        return self.stayed or Shared(users=hist.users, pairs=hist.pairs, clicks=hist.clicks)

    def require_shared_pairs(self) -> None:
        """Say why nothing can be released of a log without a shared pair."""
        if self.users == 1:
            raise SingleUserError
        if self.shared.pairs == 0:
            raise AllPairsUniqueError(users=self.users, pairs=self.pairs)

    def __repr__(self) -> str:
        return f"<Counted: {self.users} users, {self.pairs} pairs, {self.clicks} clicks>"

    def public_pairs(self, released: Ints) -> PublicPairs | None:
        """How the public pairs and the log go together; None without any. Not private."""
        if not len(self.listed):
            return None
        holders = self.rows.holders_of(self.listed)
        return PublicPairs(
            listed=len(self.listed),
            in_log=int(np.count_nonzero(holders)),
            of_one_user=int((holders == 1).sum()),
            released=int(np.isin(self.listed, released).sum()),
        )

    @cached_property
    def hist(self) -> PairHistogram:
        """The histogram in this process, brought here if need be while the engine is open."""
        return brought(self.rows)

    def sizes(self, texts: Sequence[int], shared: Sequence[int]) -> tuple[LogSize, LogSize]:
        """See `Engine.sizes`; given are the numbers of queries and urls, of all and of shared."""

        def size(of: Counted | PairHistogram, queries: int, urls: int) -> LogSize:
            return LogSize(
                clicks=of.clicks, users=of.users, queries=queries, urls=urls, pairs=of.pairs
            )

        return size(self, *texts), size(self.hist, *shared)


@dataclass(frozen=True, kw_only=True)
class Beside:
    """A second log with the numbers of the first."""

    hist: PairHistogram
    events: Events | None = None
    """None if they are not wanted, or if nothing was clicked."""


class Engine(Protocol):
    """Two verbs, count and write; the texts of a log stay inside its engine."""

    @property
    def arrived(self) -> tuple[str, ...]:
        """What this process received from elsewhere, each with its size."""
        ...

    def count(
        self,
        log: SearchLog,
        *,
        unique_pairs: bool = False,
        listed: Sequence[Pair] = (),
        with_events: bool = False,
    ) -> Counted:
        """Count a log and remember the texts behind the numbers of its histogram.

        Args:
            log: The log; an engine counts one.
            unique_pairs: Whether the histogram holds every pair and every user of the log, or the
                shared pairs and their users only. The whole one may stay with the engine.
            listed: Public pairs, which get numbers too; only with `unique_pairs`.
            with_events: Whether to keep what `events` needs; only with `unique_pairs`.
        """
        ...

    def events(self) -> Events:
        """The rows of a log that was counted with events, in the columns it asks for.

        They are in the order that `Events` documents, whichever engine counts.
        """
        ...

    def count_beside(self, log: SearchLog, users: Whose, *, with_events: bool = False) -> Beside:
        """Count a second log with the numbers of the counted one; what is new comes after.

        Args:
            log: The second log.
            users: Which of its users are users of the counted log.
            with_events: Whether its events are wanted too.
        """
        ...

    def sizes(self) -> tuple[LogSize, LogSize]:
        """The paper's Table 3 for a log counted without unique pairs: whole, and without them."""
        ...

    def urls(self, pairs: Ints) -> list[str]:
        """The urls of these pairs, given sorted. Only pairs that are released may be asked for."""
        ...

    def id_kind(self, *, fresh: bool) -> IdKind | None:
        """What fresh user-IDs look like, by the declared type alone; None if none are wanted.

        Refuses declared types that are too narrow for what may be released: ask before the draw.
        """
        ...

    def write(
        self,
        output: Output,
        pseudonyms: list[str] | None,
        target: Path,
        made: MadeEvents | None = None,
    ) -> None:
        """Write an output with the columns, types and format of the counted log.

        Args:
            output: Who is shown with how many clicks of which pair.
            pseudonyms: The name for each shown user, by ascending user number; None keeps real IDs.
            target: The file to write, or the folder if the engine writes in parts.
            made: The rows of the output, if it has more columns than pairs and their clicks; of a
                log that was counted with events.
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
"""How it converged: number of steps, value of the fractional counts, proven bound."""


@dataclass(frozen=True, kw_only=True)
class Packed:
    """An engine's solution of a packing problem."""

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
    """What an engine can do besides: solve, where it counted, what does not fit this process."""

    def count_in_place(self, log: SearchLog, *, forced: bool) -> Counted:
        """Count a log without unique pairs; the clicks stay if forced, or too many to come here."""
        ...

    def pack(self, question: Question, effort: Effort) -> Packed:
        """Solve a packing problem about the counted log."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What reading a log in another way would change. For the curator alone."""

    fold_pairs: int
    """Shared pairs if queries and urls were folded."""
    fold_clicks: int
    """Clicks on them."""
    shared_queries: int
    """Queries that two users have or more, whatever they click."""
    query_clicks: int
    """Clicks on them. Without the url, all of these could be released."""
    similar_users: int
    """User-IDs that differ from another in spaces or leading zeros only."""


@runtime_checkable
class Advisor(Protocol):
    """An engine that can also report what other reading options would change."""

    def advice(self) -> Advice:
        """Look at the counted log."""
        ...


# --- what engines share ---


def require_counted(value: T | None) -> T:
    """What an engine has once it has counted a log."""
    if value is None:
        raise RuntimeError("count a log first")
    return value


def require_text(types: Mapping[str, str], columns: Columns, text: str) -> None:
    """Refuse columns that cannot take the texts of public pairs, before anything is drawn."""
    for name in (columns.query, columns.url):
        if name is not None and types.get(name, text).upper() != text:
            raise OptionError(
                f"the column {name} is not text, so public pairs cannot be written to it",
                hint="make it text, or leave out --vocabulary and --hints",
            )


def require_clicks(clicks: int, rows_without_click: int) -> None:
    """Refuse a log without clicks, and one whose clicks are too many for exact sums."""
    if clicks == 0:
        if not rows_without_click:
            raise EmptyLogError("the log has no rows", hint="check the file, and --on-bad-row")
        raise EmptyLogError(
            f"none of the {rows_without_click:,} rows has a clicked url",
            hint="if the log has queries only, add --url none; else name its column with --url",
        )
    if clicks > MOST_CLICKS:
        raise BadRowError(
            "the counts of the log sum to more than 2^53",
            hint="count in a coarser unit, or split the log",
            reason="count huge",
        )


def with_numbers_of(
    first: PairHistogram,
    second: PairHistogram,
    *,
    user: Ints,
    pair: Ints,
    query: Ints,
    events: tuple[Events, Ints] | None = None,
) -> Beside:
    """A second log with the numbers of the first; what is new comes after.

    Given are for each user and each pair of the second the number in the first, or −1, and for each
    pair that of its query; so too for each of the events, if they are wanted.
    """
    queries = int(first.query.max(initial=-1)) + 1
    new = np.flatnonzero(query < 0)
    query = query.copy()
    query[new] = queries + np.unique(second.query[new], return_inverse=True)[1]
    users, pairs = _after(user, first.users), _after(pair, first.pairs)
    hist = PairHistogram.of_rows(
        user=users[second.user],
        pair=pairs[second.pair],
        count=second.count,
        users=max(first.users, int(users.max(initial=-1)) + 1),
        query=np.concatenate([first.query, query[pair < 0]]),
    )
    if events is None:
        return Beside(hist=hist)
    # Who only searched comes after everybody else; −1 stays what it is.
    rows, known = events
    more = hist.users + np.arange(rows.users - second.users)
    queries_now = np.full(int(second.query.max(initial=-1)) + 2, -1, dtype=np.int64)
    queries_now[second.query] = query
    changed = replace(
        rows,
        user=np.concatenate([users, more])[rows.user],
        pair=np.append(pairs, -1)[rows.pair],
        query=np.where(known < 0, queries_now[rows.query], known),
        users=hist.users + len(more),
    )
    return Beside(hist=hist, events=changed.sorted())


def none_beside(first: PairHistogram) -> Beside:
    """A second log without any click."""
    nobody = np.zeros(0, dtype=np.int64)
    return Beside(hist=replace(first, user=nobody, pair=nobody, count=nobody))


def _after(numbers: Ints, taken: int) -> Ints:
    """Where there is no number (−1), the next one that is not taken."""
    new = numbers < 0
    return np.where(new, taken + np.cumsum(new) - 1, numbers)
