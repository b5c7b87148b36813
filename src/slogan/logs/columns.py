"""Columns: which column of a log is the user, query, url and count; and its time, rank, session."""

import difflib
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from slogan.errors import LogFormatError, MissingColumnError, OptionError

MOST_COLUMNS = 10_000
NONE = ("", "none")
"""What is given for a role that no column of the log has."""

_NO_HEADER = "for a file without a header give --columns user,query,url,count"
_LIST = "slogan inspect LOG --show-header lists the columns"
# Names under which headers call the four roles, compared without case, spaces and punctuation.
# The first that is there counts, so people come before sessions, and clicks before searches.
_KNOWN_AS = {
    "user": (
        *("user", "userid", "username", "anonid", "uid", "customer", "customerid", "visitor"),
        *("visitorid", "client", "clientid", "member", "memberid", "account", "accountid"),
        *("person", "personid", "patron", "patronid", "device", "deviceid", "cookie", "cookieid"),
        *("session", "sessionid"),
    ),
    "query": (
        *("query", "q", "searchquery", "querytext", "keyword", "keywords", "searchkeyword"),
        *("searchterm", "searchterms", "term", "terms", "searchtext", "searchstring"),
        *("searchphrase", "phrase", "search"),
    ),
    "url": (
        *("url", "clickurl", "clickedurl", "clickedlink", "link", "clickeditem", "clickedresult"),
        *("clickedpage", "clickeddocument", "target", "targeturl", "landingpage", "page"),
        *("pageurl", "document", "documentid", "docid", "item", "itemid", "product", "productid"),
    ),
    "count": ("count", "clicks", "frequency", "clickcount", "numberofclicks", "hits", "searches"),
    # Of these, AOL's alone: nothing more is asked of a log than its curator knows of.
    "time": ("querytime",),
    "rank": ("itemrank",),
    "session": (),
}
ROLES = ("user", "query", "url", "count")
"""What all verbs model."""
EVENT_ROLES = ("time", "rank", "session")
"""What synthetic users can have besides."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """All columns of a log in their order, and the names of those the method models."""

    names: tuple[str, ...]
    user: str
    query: str
    url: str | None
    """None for a log of queries without clicks: its items are queries, not query-url pairs."""
    count: str | None
    """None for a log of events: each row is one click, or one search."""
    time: str | None = None
    """None if the log has none or it is not asked for, as for the next two."""
    rank: str | None = None
    session: str | None = None

    @property
    def roles(self) -> dict[str, str]:
        """The name of the column for each role that all verbs model, if it has one."""
        return self._named(ROLES)

    @property
    def event_roles(self) -> dict[str, str]:
        """The name of the column for each of time, rank and session that is asked for."""
        return self._named(EVENT_ROLES)

    def _named(self, roles: tuple[str, ...]) -> dict[str, str]:
        named = {role: getattr(self, role) for role in roles}
        return {role: name for role, name in named.items() if name is not None}

    def path(self, name: str) -> tuple[str, ...]:
        """The column of a name, and the fields inside it that lead to its value."""
        return path_of(name, self.names)

    def without_events(self) -> "Columns":
        """The same columns for a verb that models neither time nor rank nor session."""
        return replace(self, time=None, rank=None, session=None)

    def filled(self, roles: Collection[str]) -> dict[str, str]:
        """The name of the column for each role that has values, if of events these have."""
        events = {role: name for role, name in self.event_roles.items() if role in roles}
        return self.roles | events

    def emptied(self, filled: Collection[str] = ()) -> tuple[str, ...]:
        """The columns that come back empty if these event roles are filled."""
        modelled = {self.path(name)[0] for name in self.filled(filled).values()}
        return tuple(name for name in self.names if name not in modelled)

    def kept_fields(self, filled: Collection[str] = ()) -> tuple[str, ...]:
        """The paths to fields inside columns; other fields of these columns come back empty."""
        return tuple(name for name in self.filled(filled).values() if name not in self.names)


def path_of(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """The column of that name, or for who.id the column who and its field id; empty for neither."""
    if name in names:
        return (name,)
    within = [column for column in names if name.startswith(f"{column}.")]
    column = max(within, key=len, default="")
    return (column, *name.removeprefix(f"{column}.").split(".")) if column else ()


def assign_roles(
    names: tuple[str, ...], given: dict[str, str | None], *, show: bool, nested: bool = False
) -> Columns:
    """Find out which column has which role.

    Args:
        names: The log's column names.
        given: For each role the name the caller gave, or None to detect it.
        show: Whether the names may be quoted in an error; without a header they are data.
        nested: Whether columns may have fields inside them, named as who.id.
    """
    _require_names(names)
    inside = {role: n for role, n in given.items() if nested and n and path_of(n, names)}
    roles: dict[str, Any] = {
        role: inside.get(role) or _role(role, names, given.get(role), show=show)
        for role in _KNOWN_AS
    }
    for role in EVENT_ROLES:  # what is found does not displace what is named
        others = {name for other, name in roles.items() if other != role}
        if given.get(role) is None and roles[role] in others:
            roles[role] = None
    for role, name in roles.items():
        if name is None and role in ("user", "query"):
            raise _missing(_which(role, names), role, names, show=show)
    chosen = [name for name in roles.values() if name is not None]
    if len(set(chosen)) != len(chosen):
        hint = "the options from --user to --session must name different columns"
        raise OptionError("one column is given two meanings", hint=hint)
    return Columns(names=names, **roles)


def _require_names(names: tuple[str, ...]) -> None:
    """Refuse names that the engines cannot write, or cannot tell apart: they ignore case."""
    if len(names) > MOST_COLUMNS:
        raise LogFormatError(
            f"the log has {len(names):,} columns, more than {MOST_COLUMNS:,}",
            hint="check --format, or leave out columns that are not needed",
        )
    for place, name in enumerate(names, start=1):
        if not name:
            hint = f"name it in the header, or leave it out; {_NO_HEADER}"
            raise MissingColumnError(f"column {place} has no name", hint=hint)
        if "\0" in name:
            raise MissingColumnError(
                f"the name of column {place} holds a zero byte", hint="write the log as UTF-8 text"
            )
    if len({name.lower() for name in names}) != len(names):
        raise MissingColumnError(
            "two columns have the same name, or names that differ in case only",
            hint=f"rename one, or leave it out; {_NO_HEADER}",
        )


def known_names(role: str, names: tuple[str, ...]) -> list[str]:
    """The columns whose names fit a role; only those under the best known name."""
    plain = {name: re.sub(r"[\W_]", "", name.lower()) for name in names}
    for known in _KNOWN_AS[role]:
        if fitting := [name for name in names if plain[name] == known]:
            return fitting
    return []


def _role(role: str, names: tuple[str, ...], given: str | None, *, show: bool) -> str | None:
    if given in NONE and role not in ("user", "query"):
        return None
    if given in names:
        return given
    if given is not None:
        problem = f"there is no column {given!r}"
        alike = {name.lower(): name for name in reversed(names)}
        column, dot, inside = given.partition(".")
        for typed, rest in ((given, ""), (column, dot + inside)):
            if close := difflib.get_close_matches(typed.lower(), alike, n=1, cutoff=0.75):
                meant = alike[close[0]] + rest
                raise MissingColumnError(
                    f"{problem}; did you mean {meant!r}?", hint=f"give --{role} {meant!r}; {_LIST}"
                )
        raise _missing(problem, role, names, show=show)
    fitting = known_names(role, names)
    if len(fitting) > 1:
        raise _missing(f"{len(fitting)} columns may be the {role}", role, names, show=show)
    return fitting[0] if fitting else None


def _which(role: str, names: tuple[str, ...]) -> str:
    if len(names) == 1:
        return "found only one column"
    return f"cannot tell which of the {len(names)} columns is the {role}"


def _missing(problem: str, role: str, names: tuple[str, ...], *, show: bool) -> MissingColumnError:
    if len(names) == 1:
        hint = "fields are separated by a comma, semicolon, pipe or tab: give --delimiter"
        return MissingColumnError(problem, hint=f"{hint}; {_LIST}; {_NO_HEADER}")
    if show:
        listed = f"{problem}; the columns are {', '.join(names)}"
        return MissingColumnError(listed, hint=f"name it: --{role} NAME; {_LIST}")
    return MissingColumnError(problem, hint=f"name it: --{role} NAME; {_LIST}; {_NO_HEADER}")
