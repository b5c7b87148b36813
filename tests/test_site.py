"""The site of `make docs`: strictly built, complete, searchable, and self-contained."""

import json
import re
import shutil
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from mkdocs.commands.build import build
from mkdocs.config import load_config
from playwright.sync_api import sync_playwright
from tests.browser.test_report_pages import BROWSERS, FLAGS

ROOT = Path(__file__).parents[1]

pytestmark = pytest.mark.xdist_group("site")  # one build serves all of them


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
    expected = {str(page.with_suffix(".html")).replace("README", "index") for page in pages}

    assert expected - {"index.html"} <= found
    assert {"CHANGELOG.html", "CONTRIBUTING.html", "SECURITY.html"} <= found
    titles = {entry["location"]: entry["title"] for entry in index["docs"]}
    assert titles["how-to/choose-a-budget.html#small-logs"] == "Choose a budget – Small logs"


def test_nothing_is_loaded_from_elsewhere(site):
    loads = re.compile(r"<(?:script|link|img|iframe)[^>]*(?:src|href)=\"?(?:https?:)?//")
    pages = {page: page.read_text(encoding="utf-8") for page in site.rglob("*.html")}
    sheets = [sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css")]

    assert [page.name for page, text in pages.items() if loads.search(text)] == []
    assert [
        sheet for sheet in sheets if re.search(r"(?:url\(|@import )[\"']?(?:https?:)?//", sheet)
    ] == []


def test_lists_and_code_are_read_as_on_github(site):
    """Markdown that this reader takes for running text shows its marks on the page."""
    for page in site.rglob("*.html"):
        text = re.sub(r"<pre>.*?</pre>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        assert "```" not in text, page
        assert not re.search(r"<p>[^<]*\n *(?:- |\d\. |\| )", text), page


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Say nothing about requests."""


@pytest.fixture(scope="module")
def address(site):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=site)) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def page():
    program = next(filter(None, map(shutil.which, BROWSERS)))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser.new_page()
        browser.close()


def test_the_search_finds_pages_when_the_site_is_served(page, address):
    page.goto(f"{address}/index.html")
    page.fill("input[name=q]", "pseudonyms")
    page.keyboard.press("Enter")
    first = page.locator("#mkdocs-search-results article h3").first

    assert first.inner_text() == "The release folder – curator/pseudonyms.parquet"


def test_a_page_from_the_disk_says_how_to_get_the_search(page, site):
    page.goto(f"file://{site}/index.html")
    box = page.locator("input[name=q]")

    assert box.is_disabled()
    assert "make docs-serve" in box.get_attribute("placeholder")
