"""The columns of a log: which is the user, the query, the url and the count, by their names."""

from __future__ import annotations

from dataclasses import dataclass

from slogan.errors import LogFormatError, MissingColumnError, OptionError

MOST_COLUMNS = 10_000

_NO_HEADER = "for a file without a header give --columns user,query,url,count"
# Names under which headers call the four roles, compared without case, spaces, "-" and "_".
_KNOWN_AS = {
    "user": ("user", "userid", "anonid", "uid"),
    "query": ("query", "q", "searchquery"),
    "url": ("url", "clickurl", "clickedurl"),
    "count": ("count", "clicks", "frequency"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """All columns of a log in their order, and the names of those the method models."""

    names: tuple[str, ...]
    user: str
    query: str
    url: str
    count: str | None
    """None for a log of events: each row with a url is one click."""

    @property
    def roles(self) -> dict[str, str]:
        """The name of the column for each role that has one."""
        roles = {"user": self.user, "query": self.query, "url": self.url}
        return roles if self.count is None else {**roles, "count": self.count}


def assign_roles(names: tuple[str, ...], given: dict[str, str | None], *, show: bool) -> Columns:
    """Find out which column is the user, the query, the url and the count.

    Args:
        names: The log's column names.
        given: For each role the name the caller gave, or None to detect it.
        show: Whether the names may be quoted in an error; without a header they are data.
    """
    _require_names(names)
    roles = {role: _role(role, names, given[role], show=show) for role in _KNOWN_AS}
    required = {role: name for role, name in roles.items() if role != "count"}
    for role, name in required.items():
        if name is None:
            raise _missing(f"the log has no column for the {role}", role, names, show=show)
    chosen = [name for name in roles.values() if name is not None]
    if len(set(chosen)) != len(chosen):
        raise OptionError(
            "one column is given two meanings",
            hint="--user, --query, --url and --count must name different columns",
        )
    return Columns(
        names=names,
        user=roles["user"] or "",
        query=roles["query"] or "",
        url=roles["url"] or "",
        count=roles["count"],
    )


def _require_names(names: tuple[str, ...]) -> None:
    """Refuse names that the engines cannot write, or cannot tell apart: they ignore case."""
    if len(names) > MOST_COLUMNS:
        raise LogFormatError(
            f"the log has {len(names):,} columns, more than {MOST_COLUMNS:,}",
            hint="check --format, or leave out columns that are not needed",
        )
    for place, name in enumerate(names, start=1):
        if not name:
            raise MissingColumnError(
                f"column {place} has no name",
                hint=f"name it in the header, or leave it out; {_NO_HEADER}",
            )
        if "\0" in name:
            raise MissingColumnError(
                f"the name of column {place} holds a zero byte", hint="write the log as UTF-8 text"
            )
    if len({name.lower() for name in names}) != len(names):
        raise MissingColumnError(
            "two columns have the same name, or names that differ in case only",
            hint=f"rename one, or leave it out; {_NO_HEADER}",
        )


def _role(role: str, names: tuple[str, ...], given: str | None, *, show: bool) -> str | None:
    if role == "count" and given == "":
        return None
    if given is not None:
        if given in names:
            return given
        raise _missing(f"there is no column {given!r}", role, names, show=show)
    for known in _KNOWN_AS[role]:
        fitting = [n for n in names if _bare(n) == known]
        if len(fitting) > 1:
            raise _missing(f"{len(fitting)} columns may be the {role}", role, names, show=show)
        if fitting:
            return fitting[0]
    return None


def _bare(name: str) -> str:
    return name.lower().replace(" ", "").replace("-", "").replace("_", "")


def _missing(problem: str, role: str, names: tuple[str, ...], *, show: bool) -> MissingColumnError:
    what = f"its columns are {', '.join(names)}" if show else f"it has {len(names)} columns"
    return MissingColumnError(
        f"{problem}; {what}",
        hint=f"name it with --{role} NAME; {_NO_HEADER}",
    )
