"""Choices: what a person has chosen in the studio, as words of a command line and as TOML."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from slogan.errors import OptionError

if TYPE_CHECKING:
    from slogan.logs.searchlog import SearchLog

ROLES = ("user", "query", "url", "count")
EVENTS = ("time", "rank", "session")
"""Filled for made-up users, if the log has them."""
Options = Mapping[str, str | bool | None]
"""By the name of an option: its value, True for a flag, None or False for one that is left out."""


@dataclass(frozen=True, kw_only=True)
class LogChoice:
    """A log and how it is read; the fields are the options of the command line."""

    source: str = ""
    """A path, a pattern, DATABASE::TABLE or an address."""
    uploaded: str = ""
    """The name that an uploaded file has on the machine of the person; empty for a path."""
    user: str | None = None
    query: str | None = None
    url: str | None = None
    count: str | None = None
    searches: str = "clicked"
    fold: bool = False
    format: str | None = None
    click_action: str | None = None
    columns: str | None = None
    delimiter: str | None = None
    sql: str | None = None
    encoding: str = "utf-8"
    on_bad_row: str = "error"
    time: str | None = None
    rank: str | None = None
    session: str | None = None
    time_format: str = "auto"

    def log(self) -> SearchLog:
        """The log, described, as for the verbs that do not fill times, ranks and sessions."""
        return self._read()

    def dated(self, period: str | None) -> SearchLog:
        """The log with times, ranks and sessions; with times if the text is a period."""
        from slogan.logs.times import Period

        events = {name: getattr(self, name) for name in (*EVENTS, "time_format")}
        return self._read(period=Period.of_label(period), **events)

    def _read(self, **events: Any) -> SearchLog:
        from slogan.logs.searchlog import read

        if not self.source:
            raise OptionError("there is no log yet", hint="name a file, or upload one")
        columns = None if self.columns is None else tuple(self.columns.split(","))
        return read(
            [self.source],
            user=self.user,
            query=self.query,
            url=self.url,
            count=self.count,
            searches=self.searches,
            fold=self.fold,
            format=self.format,
            click_action=self.click_action,
            columns=columns,
            delimiter=self.delimiter,
            sql=self.sql,
            encoding=self.encoding,
            on_bad_row=self.on_bad_row,
            **events,
        )

    @property
    def name(self) -> str:
        """The log on a command line."""
        return self.uploaded or self.source or "LOG"

    def options(self) -> Options:
        """The options that are not the default, of all verbs that read a log."""
        own = ("source", "uploaded", *self.event_options())
        return {name: value for name, value in self._given().items() if name not in own}

    def event_options(self) -> Options:
        """Those of the verbs that know times, ranks and sessions."""
        given, names = self._given(), (*EVENTS, "time_format")
        return {name: given[name] for name in names if name in given}

    def _given(self) -> dict[str, str | bool | None]:
        default = LogChoice()
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in given.items() if value != getattr(default, name)}


@dataclass(frozen=True, kw_only=True)
class Command:
    """What a screen does, as a command line and as a configuration file."""

    verb: str
    names: Sequence[str] = ()
    """The log, a release or both."""
    reading: Options | None = None
    own: Options | None = None
    """The options of the verb itself."""

    @property
    def parts(self) -> tuple[str, ...]:
        """The words of the command, each option with its value."""
        parts = ["slogan", self.verb, *map(shlex.quote, self.names)]
        for name, value in {**(self.reading or {}), **(self.own or {})}.items():
            option = f"--{name.replace('_', '-')}"
            if isinstance(value, str):
                parts.append(f"{option} {shlex.quote(value)}")
            elif value:
                parts.append(option)
        return tuple(parts)

    @property
    def line(self) -> str:
        """Ready to be pasted into a shell."""
        return " ".join(self.parts)

    @property
    def toml(self) -> str:
        """The same options as `slogan.toml`; empty if there are none."""
        tables = {"reading": self.reading, self.verb: self.own}
        parts = [_table(name, options) for name, options in tables.items() if options]
        return "\n".join(part for part in parts if part)

    @property
    def configured(self) -> str:
        """The command line that goes with the file."""
        words = ["slogan", "--config", "slogan.toml", self.verb, *self.names]
        return shlex.join(words)


def _table(name: str, options: Options) -> str:
    lines = [
        f"{option.replace('_', '-')} = {'true' if value is True else _text(str(value))}\n"
        for option, value in options.items()
        if value not in (None, False)
    ]
    return f"[{name}]\n{''.join(lines)}" if lines else ""


def _text(value: str) -> str:
    """A TOML string: JSON's, without what only JSON allows."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
