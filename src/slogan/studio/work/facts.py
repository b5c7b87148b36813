"""Facts: what workers find out, as the screens show it. No text of a log is among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slogan.dp.accounting import Cost
    from slogan.engines.engine import Advice
    from slogan.histogram import LogSize
    from slogan.logs.header import ColumnKind
    from slogan.logs.preview import Rows


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How the files of a log are written, their columns, and the shape of the first rows."""

    format: str
    compression: str
    delimiter: str
    encoding: str
    header: bool
    files: int
    database: str
    """What it is if not files: "table clicks of a DuckDB database"."""
    columns: tuple[ColumnKind, ...]
    rows: Rows
    roles: dict[str, str]
    """The columns that are read, by role; empty while they are not clear."""
    events: dict[str, str]
    """The columns of times, ranks and sessions, which are filled for made-up users."""
    items: str
    problem: str = ""
    """Why the columns are not clear."""
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How large a log is, whole and shared, and what reading it in another way would change."""

    whole: LogSize
    shared: LogSize
    advice: Advice | None
    rows_without_click: int
    bad_rows: dict[str, int]
    roles: dict[str, str]
    items: str


@dataclass(frozen=True, kw_only=True)
class Stop:
    """One budget of the slider, and what it keeps of a log of this size."""

    name: str
    """strict, usual, loose, or empty."""
    epsilon: str | None
    exp_epsilon: str | None
    delta: str
    named: str
    """Of 100 people in the log, those whom an attacker can name at most; rounded up."""
    dots: int
    """The same, as people to be drawn."""
    pairs: int
    """Released, about: the least of several made-up logs."""
    pairs_most: int
    at_least: bool
    share: float
    """Of all clicks, on released pairs; for real rows of the clicks on shared pairs."""
    survives: tuple[tuple[str, str], ...]
    """A question about the release, and its answer."""
    exposed: float | None
    """Real people whose rows are expected to be shown; None for made-up users."""
    cost: Cost | None
    """What the ledger would count; None if no accounting covers the release."""

    @property
    def written(self) -> str:
        """The budget in symbols."""
        power = f"e^ε = {self.exp_epsilon}" if self.epsilon is None else f"ε = {self.epsilon}"
        return f"{power}, δ = {self.delta}"


@dataclass(frozen=True, kw_only=True)
class Stops:
    """The budgets of the slider, from the strictest to the loosest."""

    stops: tuple[Stop, ...]
    usual: int
    """Where the slider begins."""
    users: int
    """Declared, or read from the log."""
    measured_users: int
    """Of the made-up log."""
    chart: str
    """The frontier as SVG."""
    items: str
    on_log: bool


@dataclass(frozen=True, kw_only=True)
class CheckLine:
    """One check of `verify`."""

    label: str
    ok: bool
    detail: str


@dataclass(frozen=True, kw_only=True)
class ReviewLine:
    """A released query, and what it looks like. It is public by the release."""

    query: str
    looks_like: tuple[str, ...]
    clicks: int


@dataclass(frozen=True, kw_only=True)
class Examined:
    """A saved release: verified, measured and listed."""

    folder: str
    title: str | None
    method: str
    budget: str
    colour: str
    strictness: str
    reasons: tuple[str, ...]
    test_run: bool
    clicks: int
    pairs: int
    users: int
    ok: bool
    conclusion: str
    checks: tuple[CheckLine, ...]
    with_log: bool
    uses: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
    """Groups of uses, each use with its reason."""
    queries: tuple[ReviewLine, ...]
    flagged: int
    limits: str
    """What the flags miss."""
    withheld: int
    items: str


@dataclass(frozen=True, kw_only=True)
class Made:
    """A release that was saved."""

    folder: str
    head: str | None
    """The hash of the ledger after it."""
    lines: tuple[str, ...]
    """Warnings."""
    seconds: float
