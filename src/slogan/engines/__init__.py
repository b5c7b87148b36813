"""Who counts and who writes: each file here is one engine, named as its option."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from slogan.arrays import Ints
from slogan.histogram import LogSize, PairHistogram
from slogan.pseudonyms import IdKind
from slogan.registry import load_module, module_names
from slogan.sampling import Output
from slogan.searchlog import SearchLog

Whose = Literal["same", "others"] | Path
"""Whose user-IDs a second log has: the first log's, other people's, or pseudonyms by a table."""


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What counting a log gave: the histogram, and how large the log was."""

    hist: PairHistogram
    clicks: int
    users: int
    pairs: int
    rows_without_click: int
    bad_rows: dict[str, int] = field(default_factory=dict[str, int])
    """Rows skipped because they cannot be read, by reason."""


class Engine(Protocol):
    """Two verbs, count and write; the texts of a log stay inside its engine."""

    def __init__(self, *, memory_limit: str | None = None) -> None: ...

    def count(self, log: SearchLog, *, unique_pairs: bool = False) -> Counted:
        """Count a log and remember what the numbers of its histogram stand for.

        Args:
            log: The log; an engine counts one.
            unique_pairs: Whether the histogram holds every pair and every user of the log, or the
                shared pairs and their users only.
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
            target: The file to write.
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


def names() -> tuple[str, ...]:
    """The engines there are."""
    return module_names(sys.modules[__name__])


def load(name: str) -> type[Engine]:
    """The engine of that name."""
    return load_module(sys.modules[__name__], name).ENGINE
