"""The part of YAML that slogan writes, read line by line; anything else is an error."""

import re
from collections.abc import Iterator

_LINE = re.compile(r"((?:  )*)(?:- |([a-z_]+): ?)(.*)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\["\\nt]|\\U[0-9a-f]{8})*)"')
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9 .-]*")
_ESCAPED = re.compile(r'\\(?:(["\\nt])|U([0-9a-f]{8}))')
_SIGNS = {"n": "\n", "t": "\t"}


def plain_yaml(text: str) -> dict[str, str]:
    """The values by the path of their fields, as a.b.c; a ValueError if it is written otherwise.

    The items of a list are joined by line ends.
    """
    lines = text.split("\n")
    if lines.pop() != "" or not all(line.isprintable() for line in lines):
        raise ValueError("lines")
    values: dict[str, str] = {}
    path: list[str] = []
    rest = iter(lines)
    if not next(rest, "").startswith("# "):
        raise ValueError("first line")
    line = next(rest, None)
    while line is not None:
        indent, name, written = _parts(line)
        line = next(rest, None)
        if name and len(indent) <= 2 * len(path):
            path = [*path[: len(indent) // 2], name]
        elif name or len(indent) != 2 * len(path):
            raise ValueError("indent")
        where = ".".join(path)
        if name and where in values:
            raise ValueError("repeated field")
        if written == "|-":
            values[where], line = _block(f"{indent}  ", line, rest)
        elif written:
            before = [values[where]] if where in values else []
            values[where] = "\n".join([*before, _scalar(written)])
    return values


def _parts(line: str) -> tuple[str, str, str]:
    """Indent, name of the field (empty for an item of a list), and what is written there."""
    matched = _LINE.fullmatch(line)
    if matched is None:
        raise ValueError("line")
    return matched[1], matched[2] or "", matched[3]


def _block(indent: str, line: str | None, rest: Iterator[str]) -> tuple[str, str | None]:
    """A literal block, and the line after it."""
    block: list[str] = []
    while line is not None and line.startswith(indent):
        block.append(line.removeprefix(indent))
        line = next(rest, None)
    return "\n".join(block), line


def _scalar(written: str) -> str:
    if (quoted := _QUOTED.fullmatch(written)) is not None:
        return _ESCAPED.sub(
            lambda sign: _SIGNS.get(sign[1], sign[1]) if sign[1] else chr(int(sign[2], 16)),
            quoted[1],
        )
    if not _WORD.fullmatch(written):
        raise ValueError("scalar")
    return written
