"""Words for what a log counts: clicks on query-url pairs, searches for queries, or both.

Texts are written for pairs and clicks. This module alone rewrites them for a log without urls, and
for one in which searches without a click count too.
"""

import re
from html import escape, unescape

PAIRS, QUERIES, SEARCHES = "pairs", "queries", "searches"
"""Clicks on query-url pairs; searches for queries; searches, whether clicked or not."""
ITEMS = "items"
"""The manifest parameter that names the items, unless they are pairs."""

_OF_SEARCHES = {
    "clicked url": "clicked url",
    "clicked urls": "clicked urls",
    "clicks on": "searches with",
    "clicked pair": "searched pair",
    "clicked pairs": "searched pairs",
    "clicked": "searched",
    "click": "search",
    "clicks": "searches",
}
_OF_QUERIES = {
    "clicks on": "searches for",
    "on pairs": "for queries",
    "on shared pairs": "for shared queries",
    "on released pairs": "for released queries",
    "clicked pair": "searched query",
    "clicked pairs": "searched queries",
    "query-url pair": "query",
    "query-url pairs": "queries",
    "pair": "query",
    "pairs": "queries",
    "clicked": "searched for",
    "click": "search",
    "clicks": "searches",
}
_WORDS = {QUERIES: _OF_QUERIES, SEARCHES: _OF_SEARCHES}
_PATTERNS = {
    items: re.compile(
        rf"(?<![\w-])({'|'.join(sorted(words, key=len, reverse=True))})(?![\w-])", re.IGNORECASE
    )
    for items, words in _WORDS.items()
}
_TEXT = re.compile(r"(<(code|style)\b.*?</\2>|<[^>]*>)|([^<]+)", re.DOTALL)


def worded(text: str, items: str) -> str:
    """A text about pairs and clicks, in the words for these items."""
    if items not in _WORDS:
        return text

    def other(word: re.Match[str]) -> str:
        synonym = _WORDS[items][word[0].lower()]
        return synonym[0].upper() + synonym[1:] if word[0][0].isupper() else synonym

    return _PATTERNS[items].sub(other, text)


def worded_page(page: str, items: str) -> str:
    """A page of HTML in the words for these items; markup and names stay as they are."""
    if items not in _WORDS:
        return page

    def part(found: re.Match[str]) -> str:
        return found[1] or escape(worded(unescape(found[3]), items), quote=False)

    return _TEXT.sub(part, page)
