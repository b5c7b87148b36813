"""Load: which log, how its files are written, and what its columns mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os.path import expanduser
from typing import TYPE_CHECKING

from slogan.errors import OptionError
from slogan.studio.choices import EVENTS, ROLES, Command, LogChoice
from slogan.studio.screen import Screen
from slogan.studio.screens.inspect import count

if TYPE_CHECKING:
    from slogan.studio.forms import Form
    from slogan.studio.state import Case, Studio

_MEANS = {
    "user": "who searched",
    "query": "what was searched",
    "url": "what was clicked",
    "count": "how many clicks",
    "time": "when",
    "rank": "at which rank",
    "session": "in which session",
}
PERSONS = {
    "yes": (
        "Yes, as far as we know",
        "Protected: everything one person did in this log.",
    ),
    "session": (
        "No, each visit or session has a new ID",
        "Then sessions are protected, not people: a person with many sessions is protected less.",
    ),
    "shared": (
        "No, several people share some IDs",
        "Then each ID is protected as if it were one person, and so is each of them.",
    ),
    "several": (
        "No, some people have several IDs",
        "Then each ID is protected by itself: a person with k IDs has k times the ε.",
    ),
}
"""By the answer: its words, and what follows from it."""
NO_COLUMN = "none"


@dataclass(frozen=True, kw_only=True)
class ColumnCard:
    """A column: its kind, and what it is read as."""

    name: str
    kind: str
    means: str


@dataclass(frozen=True, kw_only=True)
class Roles:
    """The choices of one role."""

    role: str
    means: str
    names: tuple[str, ...]
    chosen: str
    optional: bool


@dataclass(frozen=True, kw_only=True)
class LoadView:
    """What the template fills in."""

    formats: tuple[str, ...]
    delimiters: dict[str, str]
    delimiter: str
    cards: tuple[ColumnCard, ...]
    roles: tuple[Roles, ...]
    how: str
    made_up: bool
    """Whether some columns are filled for made-up users only."""
    persons: dict[str, tuple[str, str]]
    ready: bool


def view(_studio: Studio, case: Case) -> LoadView:
    """The guesses as controls."""
    from slogan.logs.files import FORMATS
    from slogan.logs.text import DELIMITERS

    seen, found = case.seen, {} if case.seen is None else case.seen.roles
    cards, roles = list[ColumnCard](), list[Roles]()
    how = delimiter = ""
    if seen is not None:
        means = {name: f"{_MEANS[role]}: made up" for role, name in seen.events.items()}
        means |= {name: _MEANS[role] for role, name in found.items()}
        cards = [
            ColumnCard(name=c.name, kind=c.kind, means=means.get(c.name, "will be emptied"))
            for c in seen.columns
        ]
        names = tuple(column.name for column in seen.columns)
        for role in (*ROLES, *EVENTS):
            given = getattr(case.log, role) or (found | seen.events).get(role) or ""
            optional = role not in ("user", "query")
            unused = role in EVENTS or (optional and bool(found))
            chosen = given or (NO_COLUMN if unused else "")
            roles.append(
                Roles(role=role, means=_MEANS[role], names=names, chosen=chosen, optional=optional)
            )
        delimiter = next((n for n, sign in DELIMITERS.items() if sign == seen.delimiter), "")
        how = _how(case, delimiter)
    return LoadView(
        formats=tuple(FORMATS),
        delimiters=DELIMITERS,
        delimiter=delimiter,
        cards=tuple(cards),
        roles=tuple(roles),
        how=how,
        made_up=seen is not None and bool(seen.events),
        persons=PERSONS,
        ready=seen is not None and bool(seen.roles),
    )


def _how(case: Case, delimiter: str) -> str:
    """How the files are read, in a line."""
    seen = case.seen
    if seen is None:
        return ""
    if seen.database:
        return f"Read as {seen.database}."
    parts = [
        f"{seen.format}{seen.compression}".upper(),
        *([f"{delimiter} between fields"] if seen.format == "csv" else []),
        *([seen.encoding.upper()] if seen.format in ("csv", "tsv") else []),
        *(["with a header line" if seen.header else "without a header line"] if delimiter else []),
        f"{seen.files} file{'s' * (seen.files != 1)}",
    ]
    return f"Read as {', '.join(parts)}."


def act(studio: Studio, case: Case, form: Form) -> str | None:
    """Name a log, say how it is read, or answer the question about its IDs."""
    case.require_open()
    step = form.text("do")
    if step == "person":
        if form.text("person") not in PERSONS:
            raise OptionError("the question about the IDs is not answered", hint="choose an answer")
        case.person = form.text("person")
        if case.sizes is None:
            count(studio, case)
        return "inspect"
    if step == "reading":
        choice = _reading(case, form)
    elif form.upload is not None:
        choice = LogChoice(source=str(form.upload.file), uploaded=form.upload.name)
    else:
        # A Path would change an address: s3://logs.
        source, table = expanduser(form.text("source")), form.text("table")  # noqa: PTH111
        if not source:
            raise OptionError("no log is named", hint="type its path, or choose a file")
        sql = None if table else form.given("sql")
        choice = LogChoice(source=f"{source}::{table}" if table else source, sql=sql)
    load(studio, case, choice)
    return None


def load(studio: Studio, case: Case, choice: LogChoice) -> None:
    """Look at a log."""
    from slogan.studio.work.facts import Seen
    from slogan.studio.work.tasks import Look

    if choice != case.log:
        case.seen, case.person = None, ""
        case.forget_from_inspect()
    case.log = choice

    def keep(result: object) -> None:
        assert isinstance(result, Seen)  # noqa: S101  what the task returns
        case.seen = result

    studio.start(case, "Looking at the file", Look(log=choice), keep)


def _reading(case: Case, form: Form) -> LogChoice:
    """The choice with the controls as they are; those at their guess are left out."""
    log, found = case.log, {} if case.seen is None else case.seen.roles | case.seen.events
    names = (*ROLES, *EVENTS)
    guessed = {role: found.get(role, NO_COLUMN) for role in names if getattr(log, role) is None}
    roles = {
        role: None if form.text(role) == guessed.get(role) else form.given(role) for role in names
    }
    header = form.text("header") or "yes"
    return replace(
        log,
        **roles,
        time_format=form.text("time_format") or "auto",
        format=form.given("format"),
        click_action=form.given("click_action") if form.text("format") == "ubi" else None,
        delimiter=form.given("delimiter"),
        encoding=form.text("encoding") or "utf-8",
        columns=form.given("columns") if header == "no" else None,
        searches="all" if form.text("searches") == "all" else "clicked",
        on_bad_row="skip" if form.text("on_bad_row") == "skip" else "error",
    )


def command(_studio: Studio, case: Case) -> Command | None:
    """The header of the log, without a value of it."""
    if not case.log.source:
        return None
    return Command(
        verb="inspect",
        names=[case.log.name],
        reading=case.log.options(),
        own={"show_header": True},
    )


SCREEN = Screen(
    name="load",
    label="Load",
    view=view,
    act=act,
    command=command,
    opens=lambda _case: True,
    practice="This log is made up. Answer the question below its columns, and go on.",
)
