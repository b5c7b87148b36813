"""Pages: fill the templates of the studio. Everything that is filled in is escaped."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import HTMLResponse, Response

from slogan.report.html import stylesheet
from slogan.studio.screens import STEPS

if TYPE_CHECKING:
    from slogan.studio.choices import Command
    from slogan.studio.screen import Screen
    from slogan.studio.state import Case, Problem, Studio

_PAGES = Environment(
    loader=PackageLoader("slogan.studio"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


@dataclass(frozen=True, kw_only=True)
class RailStep:
    """A step in the list of steps."""

    label: str
    address: str
    open: bool
    current: bool


@dataclass(frozen=True, kw_only=True)
class Page:
    """What every page has. The title holds neither a name nor a text of a log."""

    title: str
    base: str
    form_token: str
    demo: bool
    practice: str = ""
    rail: tuple[RailStep, ...] = ()
    case: Case | None = None
    here: str = ""
    """The address of the screen, where its forms go."""
    command: Command | None = None
    problem: Problem | None = None


def screen_page(studio: Studio, case: Case, screen: Screen) -> Response:
    """A screen of a case. A problem is shown once."""
    problem, case.problem = case.problem, None
    address = f"{studio.base}/log/{case.number}"
    page = Page(
        title=screen.label,
        base=studio.base,
        form_token=studio.form_token,
        demo=studio.demo,
        practice=screen.practice if studio.demo else "",
        rail=tuple(
            RailStep(
                label=step.label,
                address=f"{address}/{step.name}",
                open=step.opens(case),
                current=step is screen,
            )
            for step in STEPS
        ),
        case=case,
        here=f"{address}/{screen.name}",
        command=screen.command(studio, case),
        problem=problem,
    )
    view = None if case.working else screen.view(studio, case)
    template = _PAGES.get_template(f"{screen.name}.html")
    return HTMLResponse(template.render(page=page, case=case, view=view, studio=studio))


def plain_page(studio: Studio, name: str, title: str, view: object = None) -> Response:
    """A page that belongs to no case."""
    problem, studio.problem = studio.problem, None
    page = Page(
        title=title,
        base=studio.base,
        form_token=studio.form_token,
        demo=studio.demo,
        problem=problem,
    )
    template = _PAGES.get_template(f"{name}.html")
    return HTMLResponse(template.render(page=page, view=view, studio=studio))


def failure_page(studio: Studio, status: int, problem: str, hint: str) -> Response:
    """A page that says what went wrong, in words that hold nothing of the request."""
    page = Page(
        title="Not possible", base=studio.base, form_token=studio.form_token, demo=studio.demo
    )
    template = _PAGES.get_template("failure.html")
    text = template.render(page=page, problem=problem, hint=hint, studio=studio)
    return HTMLResponse(text, status_code=status)


def style() -> str:
    """The style of the reports, and what the studio adds."""
    own = files("slogan.studio").joinpath("static/studio.css").read_text("utf-8")
    return stylesheet() + own


def script() -> str:
    """The script: it adds comfort, and no page needs it."""
    return files("slogan.studio").joinpath("static/studio.js").read_text("utf-8")


def icon() -> str:
    """The sign of the tab."""
    return files("slogan.studio").joinpath("static/icon.svg").read_text("utf-8")
