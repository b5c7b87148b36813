"""The site of `make docs`: strictly built, complete, searchable, and without anything from elsewhere."""

import json
import re
from pathlib import Path

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A strict build, which fails on a dead link or anchor and on a page that no index links to."""
    folder = tmp_path_factory.mktemp("site")
    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(folder), strict=True))
    return folder


def test_every_page_can_be_searched(site):
    index = json.loads((site / "search/search_index.json").read_text(encoding="utf-8"))
    found = {entry["location"].partition("#")[0] for entry in index["docs"]}
    pages = {page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")}
    expected = {
        str(page.with_name("index.md" if page.name == "README.md" else page.name).with_suffix(".html"))
        for page in pages
    }

    assert expected - {"index.html"} <= found
    assert {"CHANGELOG.html", "CONTRIBUTING.html", "SECURITY.html"} <= found
    titles = {entry["location"]: entry["title"] for entry in index["docs"]}
    assert titles["how-to/choose-a-budget.html#small-logs"] == "Choose a budget – Small logs"


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(?:https?:)?//")
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    sheets = [sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css")]

    assert [page.name for page, text in pages.items() if loads.search(text)] == []
    assert [sheet for sheet in sheets if re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet)] == []


def test_lists_and_code_are_read_as_on_github(site):
    """Markdown that this reader takes for running text shows its marks on the page."""
    for page in site.rglob("*.html"):
        text = re.sub(r"<pre>.*?</pre>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert "```" not in text, page
        assert not re.search(r"<p>[^<]*\n *(?:- |\d\. |\|)", text), page
