"""The two pages of a release: one for everybody, one for the curator alone."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from slogan.manifest import Manifest
from slogan.promise import TEST_RUN

_PAGES = Environment(
    loader=PackageLoader("slogan.report"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def public_page(manifest: Manifest) -> str:
    """The public report. It is given the manifest and nothing else, so it can show nothing else."""
    return _PAGES.get_template(f"{_kind(manifest)}-public.html").render(
        m=manifest, test_run=TEST_RUN
    )


def curator_page(manifest: Manifest, certificate: dict[str, Any]) -> str:
    """The curator's report: the public one, and what was computed from the raw log."""
    return _PAGES.get_template(f"{_kind(manifest)}-curator.html").render(
        m=manifest, c=certificate, test_run=TEST_RUN
    )


def _kind(manifest: Manifest) -> str:
    drawn_privately = (manifest.method, manifest.counts) == ("sanitize", "private")
    return "capped" if drawn_privately else manifest.method
