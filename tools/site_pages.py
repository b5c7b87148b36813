"""What mkdocs does not do by itself for the site of `make docs`; see mkdocs.yml.

Pages outside docs/ join the site, links are written for its layout, the navigation has the pages
in the order in which the index page of their folder links to them, and what the search finds is
named with its page.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any

from markdown import Extension, Markdown
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "bench/*/*.md")
SECTIONS = {
    "Tutorial": "tutorial",
    "How to": "how-to",
    "Reference": "reference",
    "Explanation": "explanation",
    "Proofs": "proofs",
    "Reproduction of the paper": "reproduction",
    "Decisions": "decisions",
}
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")
CODE = re.compile(r"(^ *```.*?^ *```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


class TwoSpaces(Extension):
    """Nested lists are indented by two spaces, as on GitHub."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802, the library's name
        md.tab_length = 2


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Read lists as GitHub does, and take the navigation from the index pages."""
    config.markdown_extensions.append(TwoSpaces())  # pyright: ignore[reportArgumentType]
    config.nav = [
        {"Start": "index.md"},
        *({title: _pages_of(folder)} for title, folder in SECTIONS.items()),
        {"Project": sorted(_outside())},
    ]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages outside docs/."""
    for path in _outside():
        files.append(File.generated(config, path, abs_src_path=str(ROOT / path)))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Write each link for the layout of the site."""
    parts = CODE.split(markdown)
    parts[::2] = [LINK.sub(lambda link: _moved(link, page), part) for part in parts[::2]]
    return "".join(parts)


def on_post_build(config: MkDocsConfig) -> None:
    """Name the page of every section in the search index: many pages have a section "Decision"."""
    file = Path(config.site_dir) / "search/search_index.json"
    index = json.loads(file.read_text(encoding="utf-8"))
    titles = {entry["location"]: entry["title"] for entry in index["docs"]}
    for entry in index["docs"]:
        page, _, section = entry["location"].partition("#")
        if section and titles[page] != entry["title"]:
            entry["title"] = f"{titles[page]} – {entry['title']}"
    file.write_text(json.dumps(index, ensure_ascii=False), encoding="utf-8")


def _moved(link: re.Match[str], page: Page) -> str:
    before, target, after = link.groups()
    uri = page.file.src_uri
    here = uri if uri in _outside() else f"docs/{uri}"
    place = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
    goal = "index.md" if place == "README.md" else place.removeprefix("docs/")
    return f"{before}{posixpath.relpath(goal, posixpath.dirname(uri) or '.')}{after}"


def _pages_of(folder: str) -> list[str]:
    index = next(p for p in ("index.md", "README.md") if (ROOT / "docs" / folder / p).exists())
    text = (ROOT / "docs" / folder / index).read_text(encoding="utf-8")
    linked = [target for _, target, _ in LINK.findall(CODE.sub("", text))]
    pages = [target for target in linked if re.fullmatch(r"[\w-]+\.md", target)]
    return [f"{folder}/{page}" for page in dict.fromkeys([index, *pages])]


def _outside() -> list[str]:
    return [str(path.relative_to(ROOT)) for name in OUTSIDE for path in sorted(ROOT.glob(name))]
