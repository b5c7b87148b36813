"""The manifest: the public description of a release.

Nothing in it depends on the log except through the mechanism.
"""

import json
import platform
from collections.abc import Collection
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from slogan.errors import LogNotFoundError, OptionError
from slogan.logs.columns import EVENT_ROLES
from slogan.logs.columns import ROLES as _ROLES
from slogan.logs.searchlog import Peek, SearchLog, Source, read
from slogan.logs.times import AUTO
from slogan.manifest.labels import Labels
from slogan.modes import CountsName, Method, ReleaseKind

MANIFEST_VERSION = 1
CHECKSUMS = "SHA256SUMS"
"""The file of checksums in public/, as `sha256sum` prints and checks them."""
_WITHOUT_NAMES = ("tsv", "csv", "jsonl")
"""Formats whose files need not declare all their columns."""
_LIBRARIES = ("duckdb", "highspy", "numpy", "scipy")


class Record(BaseModel):
    """A part of a file that slogan writes. Its errors do not quote what was read."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Budget(Record):
    """ε or e^ε, and δ, as they were typed."""

    epsilon: str | None
    exp_epsilon: str | None
    delta: str


class PublishedEvents(Record):
    """The columns of time, rank and session that were asked for, and which of them have values."""

    time: str | None = None
    rank: str | None = None
    session: str | None = None
    period: str | None = None
    """The declared days of the log, FROM/TO."""
    time_format: str | None = None
    """How times are written; auto if the type of the column says so."""
    filled: tuple[str, ...]
    """The roles with values."""
    dropped: tuple[str, ...]
    """The roles whose columns are empty, because noise would have hidden what was measured."""

    @property
    def columns(self) -> dict[str, str]:
        """The name of the column for each role with values."""
        return {role: getattr(self, role) for role in self.filled}


class PublishedLog(Record):
    """The released file and the roles of its columns, which are those of the input."""

    file: str
    sha256: str
    format: str
    compression: str
    header: bool
    columns: tuple[str, ...]
    user: str
    query: str
    url: str | None
    """None for a log of queries without clicks."""
    count: str | None
    delimiter: str | None = None
    """What separates the fields of CSV: a comma if not given. None for other formats."""
    emptied: tuple[str, ...] = ()
    """The columns that came back empty."""
    parted: bool = False
    """Whether it is a folder of part files, as Spark writes them."""
    events: PublishedEvents | None = Field(default=None, exclude_if=lambda events: events is None)
    """The columns of time, rank and session; None if none was asked for."""

    @property
    def roles(self) -> dict[str, str]:
        """The name of the column for each role with values."""
        roles = {role: getattr(self, role) for role in _ROLES}
        named = {role: name for role, name in roles.items() if name is not None}
        return named if self.events is None else named | self.events.columns

    @property
    def kept_fields(self) -> tuple[str, ...]:
        """The paths to fields inside columns; other fields of these columns came back empty."""
        return tuple(name for name in self.roles.values() if name not in self.columns)


class SpentStage(Record):
    """One look at the log: its parameters and cost as exact fractions."""

    name: str
    mechanism: str
    parameters: dict[str, str]
    theorem: str
    cost: dict[str, str]


class Spent(Record):
    """The cost of each stage of a release, and of all together."""

    stages: tuple[SpentStage, ...]
    cost: dict[str, str]
    delta_at_epsilon: float
    epsilon_at_delta: float


Measured = Annotated[float, Field(allow_inf_nan=False)]
"""A noisy sum, as it was measured: a multiple of 2^-20, and possibly negative."""


class MeasuredFields(Record):
    """What was measured about time, rank and session."""

    sums: dict[str, tuple[Measured, ...]]
    """The noisy sums of each stage."""
    dropped: dict[str, float]
    """Stages that were left out, each with its noise as a part of what users add, as expected."""


class Outputs(Record):
    """Noisy figures published with a synthetic log; the guarantee covers them."""

    pairs_selected: int
    coverage: float
    """Share of all clicks on the released pairs, computed from the next three."""
    clicks_released: Measured
    clicks_other: Measured
    clicks_counted: Measured
    """The sum of the private counts, each user's scaled in another way than the two before."""
    association: str
    association_kept: float
    """How much of what users hold together the log shows, from 0 to 1, as estimated."""
    users: int
    """Number of users with a released pair, computed from the next."""
    users_by_pairs: tuple[Measured, ...]
    """Number of users with 0, 1, 2, … selected pairs: up to 30, and up to all of them."""
    fields: MeasuredFields | None = Field(default=None, exclude_if=lambda found: found is None)
    """Set if time, rank or session was asked for."""


class PrivateRowsOutputs(Record):
    """Noisy figures published with rarely drawn real rows; the guarantee covers them."""

    pairs_selected: int
    users: int
    users_by_pairs: tuple[Measured, ...]


class Withheld(Record):
    """How much a person removed from the released log by hand; never what."""

    queries: Annotated[int, Field(ge=1)]
    pairs: Annotated[int, Field(ge=1)]


_OUTPUTS = {ReleaseKind.SYNTHETIC_USERS: Outputs, ReleaseKind.PRIVATE_ROWS: PrivateRowsOutputs}


@dataclass(frozen=True, kw_only=True)
class Claims:
    """The fields of a manifest that depend on the kind of release."""

    pseudonyms: Literal["fresh", "keep", "synthetic"]
    account: Spent | None = None
    outputs: Outputs | PrivateRowsOutputs | None = None


class Manifest(Record):
    """public/manifest.json."""

    manifest_version: Literal[1] = MANIFEST_VERSION
    slogan_version: str
    wording: str
    """A digest of the texts and templates from which promise and pages were made."""
    labels: Labels = Labels()
    """Title, publisher, contact, period and licence, as the curator typed them."""
    method: Method
    counts: CountsName
    promise: str
    guarantees: tuple[str, ...]
    not_guaranteed: tuple[str, ...]
    budget: Budget
    parameters: dict[str, str | int | float | None]
    """The resolved configuration: the curator's choices, never a figure of the log."""
    account: Spent | None = None
    """The cost of each stage of an end-to-end private release, and its theorem."""
    outputs: Outputs | PrivateRowsOutputs | None = None
    pseudonyms: Literal["fresh", "keep", "synthetic"]
    test_run: bool
    withheld: Withheld | None = None
    """Set by `slogan review --withhold`: post-processing by a person who looked at the release."""
    log: PublishedLog
    versions: dict[str, str]

    @model_validator(mode="after")
    def _private_releases_have_an_account(self) -> Self:
        outputs = _OUTPUTS.get(self.kind)
        if (self.account is None) != (outputs is None):
            raise ValueError("a private release comes with its account, and no other does")
        if type(self.outputs) is not (outputs or type(None)):
            raise ValueError("the outputs are those of another kind of release")
        return self

    @property
    def kind(self) -> ReleaseKind:
        """The kind of the release."""
        return ReleaseKind.of(self.method, self.counts)


def published_log(
    log: SearchLog,
    *,
    file: str,
    sha256: str,
    parted: bool = False,
    filled: Collection[str] | None = None,
) -> PublishedLog:
    """Describe a released file that has the schema of this log.

    `filled` are the event roles with values; None if no verb asked for any.
    """
    events = None if filled is None else _published_events(log, filled)
    return PublishedLog(
        file=file,
        sha256=sha256,
        format=log.format,
        compression=log.compression,
        header=log.header,
        columns=log.columns.names,
        **{role: getattr(log.columns, role) for role in _ROLES},
        delimiter=log.delimiter if log.format == "csv" else None,
        emptied=log.columns.emptied(filled or ()),
        parted=parted,
        events=events,
    )


def _published_events(log: SearchLog, filled: Collection[str]) -> PublishedEvents | None:
    roles = log.columns.event_roles
    if not roles:
        return None
    return PublishedEvents(
        **roles,
        period=None if log.period is None else str(log.period),
        time_format=None if log.period is None else log.time_format,
        filled=tuple(role for role in roles if role in filled),
        dropped=tuple(role for role in roles if role not in filled),
    )


def described(
    source: Source,
    manifest: Manifest,
    *,
    encoding: str = "utf-8",
    on_bad_row: str = "error",
    peek: Peek | None = None,
) -> SearchLog:
    """A log with the format and columns that the manifest names; see `read` for the options."""
    log, events = manifest.log, manifest.log.events
    filled = {} if events is None else events.columns
    timed = events if "time" in filled else None
    named = log.header and log.format != "jsonl"
    return read(
        source,
        format=log.format,
        columns=log.columns if log.format in _WITHOUT_NAMES and not named else None,
        **{role: getattr(log, role) or "" for role in _ROLES},
        delimiter=log.delimiter or ("," if log.format == "csv" else None),
        encoding=encoding,
        searches=str(manifest.parameters.get("searches", "clicked")),
        fold="fold" in manifest.parameters,
        **{role: filled.get(role, "none") for role in EVENT_ROLES},
        period=timed and timed.period,
        time_format=(timed and timed.time_format) or AUTO,
        click_action=None if log.format != "ubi" else str(manifest.parameters.get("click_action")),
        on_bad_row=on_bad_row,
        peek=peek,
    )


def released_file(public: Path, manifest: Manifest) -> Path:
    """The released log, one file or a folder. Names and links that lead elsewhere are refused."""
    name = manifest.log.file
    file = public / Path(name).name
    parts = list(file.iterdir()) if file.is_dir() else [file]
    plain = all(part.is_file() and not part.is_symlink() for part in parts)
    if name != file.name or not plain or file.is_symlink():
        raise LogNotFoundError("the released log is not in public/", hint="sanitize once more")
    return file


def refuse_newer(text: bytes) -> None:
    """Raise an error for a manifest of a later version, which cannot be read here."""
    try:
        parsed: Any = json.loads(text)
        made_by = parsed["manifest_version"], str(parsed["slogan_version"])[:20]
    except (ValueError, RecursionError, TypeError, KeyError):
        return
    if type(made_by[0]) is int and made_by[0] > MANIFEST_VERSION:
        raise OptionError(
            f"this release was made by a newer slogan ({made_by[1]!r})",
            hint="update and try again: pip install -U slogan",
        )


def versions() -> dict[str, str]:
    """The versions of Python and of the libraries that compute."""
    return {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}
