"""OpenedRelease: a saved release, read back from its public half alone."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from slogan.budget import PrivacyBudget, at_most, exact
from slogan.errors import InputError, LogFormatError, LogNotFoundError, OptionError
from slogan.logs.files import field_sql
from slogan.logs.searchlog import SearchLog
from slogan.manifest.certificate import html_table
from slogan.manifest.manifest import Manifest, described, refuse_newer, released_file
from slogan.manifest.strictness import strictness_of
from slogan.modes import ReleaseKind
from slogan.release.base import Tables, arrow_table, clicked_sql, reader_sql
from slogan.storage.atomic import check_not_waiting, sha256_of
from slogan.storage.database import connected
from slogan.storage.untrusted import modest, similar_file

PUBLIC_ONLY = "Counted in the released log, or read from its manifest: all of it is public."


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicSummary:
    """The main figures of a release, from its public half."""

    title: str | None
    kind: ReleaseKind
    epsilon: str
    """Rounded up."""
    delta: str
    """Rounded up."""
    protection: str
    """How strict it is, in words."""
    test_run: bool
    rows: int
    clicks_out: int
    users_out: int
    queries_out: int
    pairs_out: int
    """Pairs of query and url; for a log without urls as many as queries."""

    def to_dict(self) -> dict[str, Any]:
        """By name, ready for JSON."""
        return {name: getattr(self, name) for name in self.__slots__} | {"kind": str(self.kind)}

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """A table, as notebooks show it."""
        return html_table(("release", ""), self.to_dict().items(), note=PUBLIC_ONLY)


@dataclass(frozen=True, kw_only=True, repr=False)
class OpenedRelease(Tables):
    """A saved release, as its recipients and its curator can read it.

    `verify()` and `evaluate()` accept it in place of its folder.
    """

    folder: Path
    """The folder that was opened: a release, or the public half of one."""
    public: Path
    manifest: Manifest
    log: SearchLog
    """The released log, described by its manifest."""

    @cached_property
    def summary(self) -> PublicSummary:
        """The main figures, from the public half alone."""
        roles = self.log.columns.roles
        place = {role: field_sql(self.log.columns.path(name)) for role, name in roles.items()}
        user, query, url = place["user"], place["query"], place.get("url", "NULL")
        number = f"{place['count']}::BIGINT" if "count" in place else "1"
        clicked = clicked_sql(self.log)
        with connected() as sql:
            rows, total, users, queries, pairs = sql.execute(
                f"""SELECT count(*), coalesce(sum({number}) FILTER ({clicked}), 0),
                           count(DISTINCT {user}), count(DISTINCT {query}),
                           count(DISTINCT {{'q': {query}, 'u': {url}}}) FILTER ({clicked})
                    FROM {reader_sql(self._file, self.log)}"""
            ).fetchall()[0]
        budget = PrivacyBudget(**self.manifest.budget.model_dump())
        return PublicSummary(
            title=self.manifest.labels.title,
            kind=self.manifest.kind,
            epsilon=at_most(budget.epsilon_at_most),
            delta=at_most(exact(budget.delta), 6),
            protection=strictness_of(self.manifest).name,
            test_run=self.manifest.test_run,
            rows=int(rows),
            clicks_out=int(total),
            users_out=int(users),
            queries_out=int(queries),
            pairs_out=int(pairs),
        )

    @property
    def _file(self) -> Path:
        return released_file(self.public, self.manifest)

    def to_arrow(self) -> Any:
        """The released rows, with the columns of the log, as a `pyarrow.Table`."""
        return arrow_table(self._file, self.log)

    @contextmanager
    def in_folder(self) -> Generator[Path]:
        """The folder of the whole release; an error for a public half."""
        if self.folder == self.public:
            raise OptionError(
                f"{self.folder} is the public half of a release",
                hint="give the folder above it; or check it without the log: "
                "slogan.verify_public(release.public)",
            )
        yield self.folder

    def __repr__(self) -> str:
        kind, title = self.manifest.kind, self.manifest.labels.title
        return f"<OpenedRelease: {title or kind} in {self.folder}>"

    def _repr_html_(self) -> str:
        return self.summary.to_html()


def open_release(folder: str | Path) -> OpenedRelease:
    """Read a saved release: the folder of one, or of its public half."""
    place = Path(folder)
    check_not_waiting(place)
    public = place / "public" if (place / "public").is_dir() else place
    file = public / "manifest.json"
    if not file.is_file():
        _refuse(place)
    try:
        text = modest(file)
        refuse_newer(text)
        manifest = Manifest.model_validate_json(text)
    except (OSError, ValidationError):  # the latter quotes what it read
        raise LogFormatError(
            f"{file} is damaged: it is not a manifest of a release", hint="copy the release again"
        ) from None
    try:
        released = released_file(public, manifest)
        same = sha256_of(released) == manifest.log.sha256
    except (OSError, InputError):
        raise LogNotFoundError(
            f"the released log {manifest.log.file[:40]!r} is missing in {public}",
            hint="copy the release again, with all files of public/",
        ) from None
    if not same:
        raise LogFormatError(
            f"{released} is damaged: it has another checksum than the manifest states",
            hint="copy the release again",
        )
    log = described(released, manifest)
    return OpenedRelease(folder=place, public=public, manifest=manifest, log=log)


def _refuse(place: Path) -> None:
    """Raise an error that says what is at this place."""
    if not place.exists():
        hint = similar_file(place) or "give the folder of a release, or its folder public"
        raise LogNotFoundError(f"no release at {place}", hint=hint)
    if place.is_file():
        hint = f"a log is read with slogan.read; its release is the folder {place.parent}"
        raise OptionError(f"{place} is a file, and a release is a folder", hint=hint)
    hint = "give the folder that sanitize or synthesize wrote, or its folder public"
    if place.name == "curator":
        hint = f"give the folder above it: {place.parent}"
    raise OptionError(f"{place} is not a release: it has no public/manifest.json", hint=hint)
