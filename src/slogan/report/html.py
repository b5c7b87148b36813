"""HTML: templates filled with a page, and a chart as a file."""

from __future__ import annotations

import base64
import hashlib

from jinja2 import Environment, PackageLoader, StrictUndefined

from slogan.report.svg import Chart

_PAGES = Environment(
    loader=PackageLoader("slogan.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def render(template: str, page: object) -> str:
    """Fill a template with a page."""
    # The policy allows this style and nothing else: no script, no other style, nothing loaded.
    style = _PAGES.get_template("style.css").render()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return _PAGES.get_template(template).render(
        page=page, style=style, style_hash=f"sha256-{digest}"
    )


def picture(chart: Chart) -> str:
    """A chart as a file of its own, with the colours it needs and nothing from elsewhere."""
    style = _PAGES.get_template("chart.css").render()
    paper = '<rect width="100%" height="100%" style="fill: var(--card)"/>'
    opening, rest = chart.svg.split(">", 1)
    return f"{opening}><style>{style}</style>{paper}{rest}\n"
