"""deployment.yaml: the release as an entry of the OpenDP Deployments Registry, tier 3.

https://registry.opendp.org

Text is written as double-quoted scalars, in which only quotes, backslashes and unprintable
characters have a meaning, and these are escaped. No text of a label can become a tag, an anchor or
a key. A list of sentences is a literal block, one sentence per line, if all of it can be printed.
"""

from collections.abc import Sequence

from slogan.manifest.manifest import Manifest
from slogan.report.html import render_plain
from slogan.report.passport import Passport

_INDENT = " " * 6
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}


def deployment_page(manifest: Manifest) -> str:
    """The text of deployment.yaml."""
    filters = {"quoted": quoted, "lines": lines, "uses": _uses}
    return render_plain("deployment.yaml", Passport(manifest), filters)


def quoted(text: str) -> str:
    """A text as a double-quoted scalar of YAML on one line."""
    return f'"{"".join(_ESCAPES.get(sign) or _printable(sign) for sign in text)}"'


def _printable(sign: str) -> str:
    if sign.isprintable():
        return sign
    return f"\\U{ord(sign):08x}"


def lines(texts: Sequence[str]) -> str:
    """Sentences as a Markdown list in a literal block; quoted if one cannot stand there."""
    items = [f"- {text}" for text in texts]
    if not all(item.isprintable() for item in items):
        return quoted("\n".join(items))
    return "|-\n" + "\n".join(f"{_INDENT}{item}" for item in items)


def _uses(groups: tuple[Sequence[str], Sequence[str]]) -> str:
    """What it is for and what it is not for."""
    good, bad = groups
    return lines([*(f"Good for: {text}" for text in good), *(f"Not for: {text}" for text in bad)])
