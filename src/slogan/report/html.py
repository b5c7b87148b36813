"""The two pages of a release: one for everybody, one for the curator alone."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from slogan.manifest import Manifest
from slogan.report.charts.svg import Chart
from slogan.report.curator import CuratorPage
from slogan.report.frontier import FrontierPage
from slogan.report.page import Page
from slogan.report.public import PublicPage

_PAGES = Environment(
    loader=PackageLoader("slogan.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def public_page(manifest: Manifest) -> str:
    """The public report. It is given the manifest and nothing else, so it can show nothing else."""
    return _rendered("public.html", PublicPage(manifest))


def curator_page(
    manifest: Manifest, certificate: dict[str, Any], evaluation: dict[str, Any] | None = None
) -> str:
    """The curator's report: the public one, and what was computed from the raw log."""
    return _rendered("curator.html", CuratorPage(manifest, certificate, evaluation))


def frontier_page(page: FrontierPage) -> str:
    """What each budget buys, for the curator alone."""
    return _rendered("frontier.html", page)


def picture(chart: Chart) -> str:
    """A chart as a file of its own, with the colours it needs and nothing from elsewhere."""
    style = _PAGES.get_template("chart.css").render()
    paper = '<rect width="100%" height="100%" style="fill: var(--card)"/>'
    opening, rest = chart.svg.split(">", 1)
    return f"{opening}><style>{style}</style>{paper}{rest}\n"


def _rendered(template: str, page: Page | FrontierPage) -> str:
    # The policy allows this style and nothing else: no script, no other style, nothing loaded.
    style = _PAGES.get_template("style.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _PAGES.get_template(template).render(
        page=page, style=style, style_hash=f"sha256-{digest}"
    )
