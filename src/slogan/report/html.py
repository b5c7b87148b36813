"""HTML: fill templates, the page of a frontier, and a chart as a separate file."""

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from slogan.report.charts import Chart

_PAGES = Environment(
    loader=PackageLoader("slogan.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def stylesheet() -> str:
    """The style of all pages."""
    return _PAGES.get_template("style.css").render()


def render(template: str, page: object) -> str:
    """Fill a template with a page."""
    # The policy allows this style and nothing else: no script, no other style, nothing loaded.
    style = stylesheet()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _PAGES.get_template(template).render(
        page=page, style=style, style_hash=f"sha256-{digest}"
    )


def render_plain(template: str, page: object, filters: Mapping[str, Callable[..., str]]) -> str:
    """Fill a template that is not HTML; its filters escape."""
    plain = _PAGES.overlay(autoescape=False)
    merged: dict[str, Any] = {**plain.filters, **filters}
    plain.filters = merged
    return plain.get_template(template).render(page=page) + "\n"


_SOURCES = {
    "slogan.manifest": (
        *("promises.toml", "promise.py", "strictness.py", "uses.py", "command.py", "coverage.py"),
    ),
    "slogan.report": ("public.py", "people.py", "passport.py", "croissant.py", "deployment.py"),
}


@cache
def wording_digest() -> str:
    """A digest of every source of the words in a manifest and its public pages.

    It distinguishes a release made with other words from one that was edited afterwards.
    """
    sources = [
        files(package).joinpath(name) for package, names in _SOURCES.items() for name in names
    ]
    folder = files("slogan.report").joinpath("templates")
    whole = hashlib.sha256()
    for file in (*sources, *sorted(folder.iterdir(), key=lambda file: file.name)):
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()[:16]


def picture(chart: Chart) -> str:
    """A chart as a self-contained SVG file."""
    style = _PAGES.get_template("chart.css").render()
    paper = '<rect width="100%" height="100%" style="fill: var(--card)"/>'
    opening, rest = chart.svg.split(">", 1)
    return f"{opening}><style>{style}</style>{paper}{rest}\n"


CURATOR_ONLY = "Computed from your log without noise. Do not publish it, nor any part of it."
CHOICE = (
    "Chosen after looking at the log: a budget picked from these figures depends on the log, and "
    "the privacy guarantee does not cover that choice. Without --on-log a made-up log is used."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPage:
    """What can be had for what, for the curator: a chart, and a table of the useful choices."""

    title: str
    facts: Sequence[str]
    """Sentences about what was computed."""
    chart: Chart
    caption: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    warnings: Sequence[str]
    secret: bool
    """Whether the figures come from the log itself."""

    def html(self) -> str:
        """The page."""
        return render("frontier.html", self)
