"""Report: the release, verified and measured; its queries; and what to hand out."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from slogan.errors import OptionError
from slogan.studio.choices import Command
from slogan.studio.screen import Screen
from slogan.studio.work.facts import Examined

if TYPE_CHECKING:
    from slogan.studio.forms import Form
    from slogan.studio.state import Case, Studio


def view(_studio: Studio, case: Case) -> Examined | None:
    """What was found; None before the release was examined."""
    case.confirmation = secrets.token_urlsafe(16)
    return case.examined


def examine(studio: Studio, case: Case, withhold: tuple[str, ...] = ()) -> None:
    """Verify, measure and list, after withholding some queries."""
    from slogan.studio.work.releases import Examine

    def keep(result: object) -> None:
        assert isinstance(result, Examined)  # noqa: S101  what the task returns
        case.examined = result

    task = Examine(
        folder=case.release, log=case.log if case.log.source else None, withhold=withhold
    )
    title = "Withholding, then verifying again" if withhold else "Verifying and measuring"
    studio.start(case, title, task, keep, essential=bool(withhold))


def act(studio: Studio, case: Case, form: Form) -> str | None:
    """Withhold queries, or examine the release again."""
    case.require_idle()
    if form.text("do") == "withhold":
        case.confirmation, expected = "", case.confirmation
        chosen = [name for name in form.fields if name.startswith("query-")]
        if case.examined is None or form.text("list") != expected or not expected:
            raise OptionError("this list was used already", hint="choose from the list below")
        queries = case.examined.queries
        places = [form.whole(name, "a place in the list") for name in chosen]
        if not places:
            raise OptionError("no query is chosen", hint="tick the queries to withhold")
        if any(place >= len(queries) for place in places):
            raise OptionError("the list has no such query", hint="use the page")
        examine(studio, case, tuple(queries[place].query for place in places))
        return None
    examine(studio, case)
    return None


def command(_studio: Studio, case: Case) -> Command | None:
    """The same checks."""
    if not case.release:
        return None
    if not case.log.source:
        return Command(verb="verify", names=[f"{case.release}/public"])
    return Command(verb="verify", names=[case.log.name, case.release], reading=case.log.options())


SCREEN = Screen(
    name="report",
    label="Report",
    view=view,
    act=act,
    command=command,
    opens=lambda case: bool(case.release),
    practice="Withhold a query: the release is verified again, and its manifest says how many.",
)
