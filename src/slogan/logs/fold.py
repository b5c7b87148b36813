"""Folding: texts that people take for the same become one, each by itself.

A function of one text alone, so that no row changes how another is read. Folding a text twice is
folding it once.
"""

_SPACES = r"[\s\x{a0}\x{1680}\x{2000}-\x{200a}\x{202f}\x{205f}\x{3000}]+"


def folded_query(text: str) -> str:
    """SQL of a query in small letters, with single spaces and none around it."""
    return f"trim(regexp_replace(lower({text}), '{_SPACES}', ' ', 'g'))"


def folded_url(text: str) -> str:
    """SQL of a url folded as a query is, without its scheme and its last slashes.

    A url that is nothing else stays, so that a click stays a click.
    """
    plain = folded_query(text)
    bare = f"regexp_replace({plain}, '^([a-z][a-z0-9+.-]*://[ ]*)+', '')"
    return f"coalesce(nullif(regexp_replace({bare}, '[/ ]+$', ''), ''), {plain})"
