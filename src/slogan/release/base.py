"""Release: the common part of all kinds of releases, from the summary to the folder."""

from __future__ import annotations

import json
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from slogan.arrays import Ints
from slogan.budget import PrivacyBudget
from slogan.dp.accounting import Cost
from slogan.engines.engine import Counted
from slogan.errors import OptionError
from slogan.histogram import Output
from slogan.ledger.ledger import Charge, Ledger, Recorded, publish_recorded
from slogan.logs.columns import EVENT_ROLES, Columns
from slogan.logs.databases import Database
from slogan.logs.files import field_sql, identifier, literal, plain_glob
from slogan.logs.rows import PACKINGS
from slogan.logs.searchlog import SearchLog
from slogan.logs.ubi_sql import released_sql
from slogan.manifest.certificate import (
    CURATOR_ONLY,
    Certificate,
    Summary,
    certificate_type,
    html_table,
)
from slogan.manifest.manifest import Budget, Claims, Manifest, PublishedLog, published_log, versions
from slogan.manifest.promise import KEPT_IDS, promise_of, weaknesses
from slogan.modes import Parameters
from slogan.release.job import Job
from slogan.storage import folders
from slogan.storage.atomic import sha256_of
from slogan.storage.database import connected

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from slogan.release.opened import OpenedRelease

_NO_TIME = 315_532_800
"""1980-01-01 in UTC: the earliest time that every archive format can store."""
_NAMES_PEOPLE = {
    "e-mail addresses": r"[^@\s]+@[^@\s]+\.[^@\s]+",
    # Digits alone are an ordinary ID: a phone number begins with + or 00, or has separators.
    "phone numbers": r"(\+|00)[0-9 ()/.-]{7,18}|\(?[0-9]{2,5}\)?([ /.-][0-9]{2,8}){1,4}",
    "names of people": r"\p{L}[\p{L}']+([ ._,-]+\p{L}[\p{L}']+){1,3}",
}
"""User-IDs that identify a person, as regular expressions of the whole ID."""


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A release folder that was written."""

    folder: Path
    ledger: Recorded | None
    summary: Summary

    def to_dict(self) -> dict[str, Any]:
        """The fields of `sanitize --json` and `synthesize --json`."""
        recorded = None if self.ledger is None else asdict(self.ledger)
        return {**self.summary.to_dict(), "release": str(self.folder), "ledger": recorded}


class Tables(ABC):
    """Released rows as a table of several libraries."""

    @abstractmethod
    def to_arrow(self) -> Any:
        """The released rows, with the columns of the log, as a `pyarrow.Table`."""

    def to_polars(self) -> pl.DataFrame:
        """The released rows, with the columns of the log, as a Polars data frame."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def to_pandas(self) -> pd.DataFrame:
        """The released rows, with the columns of the log, as a pandas data frame."""
        return self.to_arrow().to_pandas()


@dataclass(frozen=True, kw_only=True, repr=False)
class Release(Tables):
    """A release in memory: look at it, save it, close it to free the input log.

    Use it in a `with` statement, which closes it.
    """

    job: Job
    parameters: Parameters
    counted: Counted
    output: Output
    pseudonyms: list[str] | None
    _folders: list[Path] = field(default_factory=list[Path], init=False, compare=False)
    _id_warnings: list[str] = field(default_factory=list[str], init=False, compare=False)
    """Warnings about released user-IDs that are the log's own; known once they are written."""

    @staticmethod
    def open(folder: str | Path) -> OpenedRelease:
        """Read a saved release back, also by who has its public half only.

        Args:
            folder: The folder of a release, or its folder `public`.
        """
        from slogan.release.opened import open_release

        return open_release(folder)

    @property
    def log(self) -> SearchLog:
        """The input log."""
        return self.job.log

    @property
    def budget(self) -> PrivacyBudget:
        """ε and δ."""
        return self.job.budget

    @property
    @abstractmethod
    def summary(self) -> Summary:
        """The main figures. They depend on the log: not for publication."""

    def _facts(self) -> dict[str, Any]:
        """The fields that the summaries of all kinds share."""
        counted, output = self.counted, self.output
        weak = weaknesses(self.job.kind, self.budget, self.noisy_users)
        kept = (KEPT_IDS,) if self.job.pseudonyms == "keep" else ()
        return {
            "epsilon": self.budget.epsilon_value,
            "delta": self.budget.delta_value,
            "users": counted.users,
            "pairs": counted.pairs,
            "clicks_in": counted.clicks,
            "rows_without_click": counted.rows_without_click,
            "bad_rows": counted.bad_rows,
            "bad_users": counted.bad_users,
            "emptied": self.log.columns.emptied(self.filled or ()),
            "kept_fields": self.log.columns.kept_fields(self.filled or ()),
            "clicks_out": output.clicks,
            "pairs_out": output.pairs,
            "users_out": output.users,
            "items": self.log.items,
            "test_run": self.job.test_run,
            "seconds": self.job.steps.rounded(),
            "arrived": self.job.engine.arrived,
            "warnings": (*(weakness.text for weakness in weak), *kept, *self._id_warnings),
        }

    @property
    def noisy_users(self) -> int | None:
        """The noisy number of users that the release publishes; None if it publishes none."""
        return None

    @abstractmethod
    def claims(self) -> Claims:
        """The fields of the manifest that depend on the kind of release."""

    @property
    @abstractmethod
    def cost(self) -> Cost | None:
        """The privacy cost of the release; None if no accounting covers it."""

    @abstractmethod
    def chart_data(self) -> dict[str, Any]:
        """The data of the charts of the curator's report, for the certificate."""

    def write_curators_tables(self, curator: Path) -> None:
        """Write the table of real and new user-IDs, for the curator only."""
        if self.pseudonyms is not None:
            table = curator / "pseudonyms.parquet"
            self.job.engine.write_pseudonyms(self.output, self.pseudonyms, table)

    def save(
        self,
        folder: str | Path | None = None,
        *,
        force: bool | None = None,
        ledger: Ledger | None = None,
        allow_unaccounted: bool | None = None,
    ) -> Saved:
        """Write the complete release folder, or nothing.

        Arguments that are left out keep the values given to `sanitize()` or `synthesize()`.

        Args:
            folder: The folder.
            force: Replace an older release.
            ledger: The ledger that records the release. If the release has a cost, give the ledger
                to `sanitize()` or `synthesize()` instead.
            allow_unaccounted: Release although the ledger's cap does not cover it.
        """
        given = {
            "folder": folder,
            "force": force,
            "ledger": ledger,
            "allow_unaccounted": allow_unaccounted,
        }
        changes: dict[str, Any] = {name: new for name, new in given.items() if new is not None}
        goal = replace(self.job.destination, **changes)
        if goal.ledger != self.job.destination.ledger and self.cost is not None:
            raise OptionError(
                "the noise of this release was drawn before its cost was reserved in this ledger",
                hint="give ledger= to sanitize() or synthesize()",
            )
        target = goal.require(self.log)
        with self.job.steps.step("write"):
            recorded = publish_recorded(
                target,
                self._fill,
                force=goal.force,
                charge=self._charge,
                ledger=goal.ledger,
                reservation=self.job.reservation,
                allow_unaccounted=goal.allow_unaccounted,
            )
        folders.remove(folders.place(target))  # of another run, killed while it solved
        self._folders.append(target)
        return Saved(folder=target, ledger=recorded, summary=self.summary)

    @property
    def folder(self) -> Path | None:
        """Where the release was saved last; None if it was not."""
        return self._folders[-1] if self._folders else None

    @contextmanager
    def in_folder(self) -> Generator[Path]:
        """The folder where it was saved last, else a private temporary one.

        The temporary one is not recorded in a ledger, and the release can still be saved.
        """
        if self.folder is not None:
            yield self.folder
            return
        with folders.scratch_folder() as private:
            target = private / "release"
            target.mkdir(mode=0o700)
            self._fill(target)
            yield target

    @property
    def _charge(self) -> Charge:
        return Charge(
            method=str(self.job.kind),
            parameters={**self.budget.parameters(), **self.parameters},
            cost=self.cost,
            test_run=self.job.test_run,
            **self.job.destination.ledger_labels(),
        )

    def to_arrow(self) -> Any:
        """The released rows, with the columns of the log, as a `pyarrow.Table`."""
        with folders.scratch_folder() as place:
            file = place / f"log{self.log.suffix}"
            self._write(file)
            return arrow_table(file, self.log)

    @property
    def filled(self) -> tuple[str, ...] | None:
        """Which of time, rank and session have values; None for a kind that never has any."""
        return None

    def _write(self, file: Path) -> None:
        """Write the released log."""
        self.job.engine.write(self.output, self.pseudonyms, file)

    def _fill(self, folder: Path) -> None:
        from slogan.release.publication import write_public
        from slogan.report.curator import curator_page
        from slogan.report.memo import memo_page

        public, curator = folder / "public", folder / "curator"
        public.mkdir()
        curator.mkdir(mode=0o700)
        file = public / f"log{self.log.suffix}"
        self._write(file)
        if self.job.pseudonyms == "keep":
            self._id_warnings[:] = id_warnings(file, self.log)
        published = published_log(
            self.log,
            file=file.name,
            sha256=sha256_of(file),
            parted=file.is_dir(),
            filled=self.filled,
        )
        manifest = self.manifest(published)
        self.write_curators_tables(curator)
        certificate = self.certificate()
        pages = {
            curator / "certificate.json": json.dumps(certificate.to_dict(), indent=2) + "\n",
            curator / "report.html": curator_page(manifest, certificate),
            curator / "memo.html": memo_page(manifest, certificate),
        }
        for page, text in pages.items():
            page.write_text(text, encoding="utf-8")
        write_public(public, manifest)
        for file in curator.iterdir():
            file.chmod(0o600)
        open_to_readers(folder)

    def manifest(self, published: PublishedLog) -> Manifest:
        """The public description of the release."""
        from slogan.report.html import wording_digest

        kind = self.job.kind
        promise = promise_of(kind, self.parameters, self.budget, pseudonyms=self.job.pseudonyms)
        return Manifest(
            slogan_version=version("slogan"),
            wording=wording_digest(),
            labels=self.job.destination.labels,
            method=kind.method,
            counts=kind.counts,
            promise=promise.name,
            guarantees=promise.guarantees,
            not_guaranteed=promise.not_guaranteed,
            budget=Budget(**self.budget.parameters()),  # pyright: ignore[reportArgumentType]
            parameters=self.parameters,
            **vars(self.claims()),
            test_run=self.job.test_run,
            log=published,
            versions=versions(),
        )

    def certificate(self) -> Certificate:
        """Figures computed from the raw log, with its checksums, for the curator only."""
        table = self.log.table
        inputs = [{"file": str(f), "sha256": sha256_of(f)} for f in self.log.files]
        inputs += [{"file": a, "sha256": "not computed"} for a in self.log.addresses]
        return certificate_type(self.job.kind).model_validate(
            {
                **self.summary.to_dict(),
                **self.chart_data(),
                "inputs": inputs,
                "columns": asdict(self.log.columns),
                "seed": self.job.seed,
                "recipient": self.job.destination.recipient,
                "approver": self.job.destination.approver,
                **({"sql": table.sql} if isinstance(table, Database) and not table.table else {}),
            }
        )

    def clicks_before_and_after(self) -> tuple[Ints, Ints]:
        """c_ij and x_ij for every counted pair."""
        before = self.counted.rows.pair_total
        after = np.zeros_like(before)
        np.add.at(after, self.output.pair, self.output.count)
        return before, after

    def close(self) -> None:
        """Free the log. A release that was never saved still counts in its ledger."""
        try:
            if self.job.reservation is not None and self.folder is None:
                self.job.reservation.end(drawn=True, cost=self.cost)
        finally:
            self.job.engine.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        size = f"{self.output.clicks:,} clicks, {self.output.pairs:,} pairs"
        place = "not saved" if self.folder is None else f"saved in {self.folder}"
        return f"<{type(self).__name__}: {size}, {self.output.users:,} users; {place}>"

    def _repr_html_(self) -> str:
        rows = self.summary.to_dict().items()
        return html_table((type(self).__name__, ""), rows, note=CURATOR_ONLY)


def open_to_readers(folder: Path) -> None:
    """Take write access from others, and set all times in public/ to a constant."""
    public = folder / "public"
    inside = list(public.rglob("*"))
    for path in (folder, public, *inside):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o022)
    for path in (*inside, public):
        os.utime(path, (_NO_TIME, _NO_TIME))


def id_warnings(file: Path, log: SearchLog) -> list[str]:
    """Warnings about user-IDs of a released file that look like names of people."""
    user = f"{field_sql(log.columns.path(log.columns.user))}::VARCHAR"
    counts = ", ".join(
        f"count(DISTINCT {user}) FILTER (regexp_full_match({user}, {literal(pattern)}))"
        for pattern in _NAMES_PEOPLE.values()
    )
    with connected() as sql:
        query = f"SELECT count(DISTINCT {user}), {counts} FROM {reader_sql(file, log)}"
        users, *found = sql.execute(query).fetchall()[0]
    return [
        f"{n:,} of {users:,} released user-IDs look like {what}."
        for what, n in zip(_NAMES_PEOPLE, found, strict=True)
        if n
    ]


def arrow_table(file: Path, log: SearchLog) -> Any:
    """A released file, or a folder of parts, read back with this log's schema."""
    with connected() as sql:
        try:
            rows: Any = sql.sql(f"SELECT * FROM {reader_sql(file, log)}")
            return rows.to_arrow_table()
        except ModuleNotFoundError as cause:
            raise OptionError(
                f"tables need {cause.name}, which is not installed",
                hint="pip install 'slogan[tables]'",
            ) from cause


def reader_sql(file: Path, log: SearchLog) -> str:
    """SQL of a released file, or a folder of parts, with the columns of this log."""
    parts = sorted(file.iterdir()) if file.is_dir() else [file]
    files = ", ".join(literal(plain_glob(part)) for part in parts)
    if log.format == "parquet":
        return f"read_parquet([{files}], hive_partitioning=false)"
    # Elsewhere than in JSON Lines a time that is a number is a text with digits.
    numbers = {log.columns.count}
    numbers |= {log.columns.rank, log.numeric_time} if log.format == "jsonl" else set()
    columns = ", ".join(
        f"{literal(name)}: {literal(_type_at((name,), log.columns, numbers))}"
        for name in log.columns.names
    )
    packing = PACKINGS[log.compression]
    if log.format in ("jsonl", "ubi"):
        packing = "uncompressed" if packing == "none" else packing  # read_json has its own word
        if log.format == "ubi":
            return released_sql(log.columns, files, packing)
        options = f"columns={{{columns}}}, format='newline_delimited'"
        return f"read_json([{files}], {options}, compression='{packing}')"
    raw = "" if log.format == "csv" else "quote='', escape='', "
    header = f"delim={literal(log.delimiter)}, header={str(log.header).lower()}"
    options = f"columns={{{columns}}}, auto_detect=false, {header}, compression='{packing}'"
    names = ", ".join(identifier(name) for name in log.columns.names)
    return f"(SELECT {names} FROM read_csv([{files}], {raw}{options}))"


def clicked_sql(log: SearchLog) -> str:
    """SQL of whether a released row counts, or is a search without a click beside those that do."""
    if log.columns.url is None or log.counts_searches:
        return "TRUE"
    url = field_sql(log.columns.path(log.columns.url))
    return f"coalesce({url}::VARCHAR, '') <> ''"


def _type_at(path: tuple[str, ...], columns: Columns, numbers: Collection[str | None]) -> str:
    """The SQL type of a released column: a record, if values are in fields inside it."""
    if any(name is not None and path == columns.path(name) for name in numbers):
        return "BIGINT"
    paths = [columns.path(name) for name in columns.filled(EVENT_ROLES).values()]
    inside = dict.fromkeys(p[len(path)] for p in paths if p[: len(path)] == path and p != path)
    fields = ", ".join(f"{identifier(n)} {_type_at((*path, n), columns, numbers)}" for n in inside)
    return f"STRUCT({fields})" if fields else "VARCHAR"
