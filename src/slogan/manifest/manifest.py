"""The manifest: what a release says of itself in public.

Nothing in it depends on the log except through the mechanism.
"""

import platform
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from slogan.errors import LogNotFoundError
from slogan.logs.searchlog import Peek, SearchLog, Source, read
from slogan.modes import CountsName, Method, ReleaseKind

MANIFEST_VERSION = 1
_ROLES = ("user", "query", "url", "count")
_LIBRARIES = ("duckdb", "highspy", "numpy", "scipy")


class Record(BaseModel):
    """A part of a file of ours; what is wrong with it is told without quoting it."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Budget(Record):
    """ε or e^ε, and δ, as they were typed."""

    epsilon: str | None
    exp_epsilon: str | None
    delta: str


class PublishedLog(Record):
    """The released file and what its columns mean; the same as the input's."""

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
    """What separates the fields of CSV: a comma if not told. None for other formats."""
    emptied: tuple[str, ...] = ()
    """The columns that came back empty."""


class SpentStage(Record):
    """One look at the log: its parameters and cost as exact fractions."""

    name: str
    mechanism: str
    parameters: dict[str, str]
    theorem: str
    cost: dict[str, str]


class Spent(Record):
    """What the stages of a release cost, each and together."""

    stages: tuple[SpentStage, ...]
    cost: dict[str, str]
    delta_at_epsilon: float
    epsilon_at_delta: float


Measured = Annotated[float, Field(allow_inf_nan=False)]
"""A noisy sum, as it was measured: a multiple of 2^-20, and possibly negative."""


class Outputs(Record):
    """What the mechanism gave beside a synthetic log: private as the log itself."""

    coverage: float
    """Which share of all clicks is on the released pairs: it follows from the next two."""
    clicks_released: Measured
    clicks_other: Measured
    association: str
    association_rank: int
    users: int
    """How many users hold a released pair: it follows from the next."""
    users_by_pairs: tuple[Measured, ...]
    """How many users hold 0, 1, …, 30 selected pairs."""


class PrivateRowsOutputs(Record):
    """What the mechanism gave beside a log of rarely drawn real rows: private as the log itself."""

    pairs_selected: int
    users: int
    users_by_pairs: tuple[Measured, ...]


_OUTPUTS = {ReleaseKind.SYNTHETIC_USERS: Outputs, ReleaseKind.PRIVATE_ROWS: PrivateRowsOutputs}


@dataclass(frozen=True, kw_only=True)
class Claims:
    """The fields of a manifest in which the kinds of releases differ."""

    pseudonyms: Literal["fresh", "keep", "synthetic"]
    account: Spent | None = None
    outputs: Outputs | PrivateRowsOutputs | None = None


class Manifest(Record):
    """public/manifest.json."""

    manifest_version: Literal[1] = MANIFEST_VERSION
    slogan_version: str
    wording: str
    """A digest of the texts and templates from which promise and page were made."""
    method: Method
    counts: CountsName
    promise: str
    guarantees: tuple[str, ...]
    not_guaranteed: tuple[str, ...]
    budget: Budget
    parameters: dict[str, str | int | float | None]
    """The resolved configuration: what the curator chose, never what the log gave."""
    account: Spent | None = None
    """What the stages of an end-to-end private release spent, and by which theorem."""
    outputs: Outputs | PrivateRowsOutputs | None = None
    pseudonyms: Literal["fresh", "keep", "synthetic"]
    test_run: bool
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


def published_log(log: SearchLog, *, file: str, sha256: str) -> PublishedLog:
    """Describe a released file that has the schema of this log."""
    return PublishedLog(
        file=file,
        sha256=sha256,
        format=log.format,
        compression=log.compression,
        header=log.header,
        columns=log.columns.names,
        **{role: getattr(log.columns, role) for role in _ROLES},
        delimiter=log.delimiter if log.format == "csv" else None,
        emptied=log.columns.emptied,
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
    log = manifest.log
    return read(
        source,
        format=log.format,
        columns=log.columns if log.format == "jsonl" or not log.header else None,
        **{role: getattr(log, role) or "" for role in _ROLES},
        delimiter=log.delimiter or ("," if log.format == "csv" else None),
        encoding=encoding,
        searches=str(manifest.parameters.get("searches", "clicked")),
        fold="fold" in manifest.parameters,
        on_bad_row=on_bad_row,
        peek=peek,
    )


def released_file(public: Path, manifest: Manifest) -> Path:
    """The released log, one file or a folder; a name that leads elsewhere is not followed."""
    name = manifest.log.file
    file = public / Path(name).name
    parts = list(file.iterdir()) if file.is_dir() else [file]
    plain = all(part.is_file() and not part.is_symlink() for part in parts)
    if name != file.name or not plain or file.is_symlink():
        raise LogNotFoundError("the released log is not in public/", hint="sanitize once more")
    return file


def versions() -> dict[str, str]:
    """What a run was made with."""
    return {"python": platform.python_version(), **{name: version(name) for name in _LIBRARIES}}
