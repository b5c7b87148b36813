"""Words for what a log counts: clicks on query-url pairs, or searches for queries.

Texts are written for pairs and clicks. Those about a log without urls are said in other words, and
only here.
"""

import re
from html import escape, unescape

PAIRS, QUERIES = "pairs", "queries"
ITEMS = "items"
"""The parameter of a manifest that says so where items are queries."""

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
_LONGEST_FIRST = "|".join(sorted(_OF_QUERIES, key=len, reverse=True))
_WORD = re.compile(rf"(?<![\w-])({_LONGEST_FIRST})(?![\w-])", re.IGNORECASE)
_TEXT = re.compile(r"(<(code|style)\b.*?</\2>|<[^>]*>)|([^<]+)", re.DOTALL)


def worded(text: str, items: str) -> str:
    """A text about pairs and clicks, in the words for these items."""
    return text if items == PAIRS else _WORD.sub(_said, text)


def worded_page(page: str, items: str) -> str:
    """A page of HTML in the words for these items; markup and names stay as they are."""
    if items == PAIRS:
        return page

    def part(found: re.Match[str]) -> str:
        return found[1] or escape(worded(unescape(found[3]), items), quote=False)

    return _TEXT.sub(part, page)


def _said(word: re.Match[str]) -> str:
    said = _OF_QUERIES[word[0].lower()]
    return said.capitalize() if word[0][0].isupper() else said
