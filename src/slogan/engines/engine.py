"""Engine: two verbs, count and write, and what counting gives."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, Protocol

from slogan.arrays import Ints
from slogan.dp.sums import AnyHistogram, brought
from slogan.engines.pseudonyms import IdKind
from slogan.errors import AllPairsUniqueError, SingleUserError
from slogan.histogram import LogSize, Output, PairHistogram
from slogan.logs.searchlog import SearchLog

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

    @cached_property
    def hist(self) -> PairHistogram:
        """The histogram in this process, brought here if need be while the engine is open."""
        return brought(self.rows)


class Engine(Protocol):
    """Two verbs, count and write; the texts of a log stay inside its engine."""

    @property
    def arrived(self) -> tuple[str, ...]:
        """What came to this process from elsewhere, each with its size."""
        ...

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
