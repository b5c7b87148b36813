"""Text files of a log: their encoding, their header line, and the delimiter between fields.

Header line and options decide; no row does, because a row belongs to a user.
"""

import codecs
import csv
import gzip
import re
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import IO, cast

import zstandard

from slogan.errors import EmptyLogError, LogFormatError, OptionError, suggestion
from slogan.logs.files import open_bytes, reported

LONGEST_LINE = 64 * 1024 * 1024
NO_DELIMITER = "\x1c\x1d\x1e\x1f"
"""A delimiter that no line should contain: a line that does is reported as unreadable.

Such a line has a second field, be it empty: only a line that consists of the first sign
is read as NULL.
"""
LONE_RETURN = NO_DELIMITER[::-1]
"""What replaces a carriage return inside a line, which makes the line unreadable."""
TAB = "\t"
DELIMITERS = {"comma": ",", "semicolon": ";", "pipe": "|", "tab": TAB}
ENCODINGS = {"utf-8": "utf-8", "utf-8-sig": "utf-8", "cp1252": "cp1252", "iso8859-1": "latin-1"}
"""The encodings that are read, under the names Python gives them and the ones used here."""
CP1252 = {byte: bytes([byte]).decode("cp1252", "ignore") or chr(byte) for byte in range(128, 160)}
"""Where cp1252 differs from Latin-1; the five bytes without a character stay controls."""

_CHUNK = 1 << 20
_RETURN = re.compile(rb"\r(?!\n)")
_MARKS = {codecs.BOM_UTF16_LE: "UTF-16", codecs.BOM_UTF16_BE: "UTF-16"}


def encoding_from(name: str, log_format: str) -> str:
    """The encoding of that name, in the spelling used here, if files of this format may have it."""
    try:
        encoding = ENCODINGS[codecs.lookup(name).name]
    except LookupError:
        encoding = ""
    if not encoding or (encoding != "utf-8" and log_format not in ("tsv", "csv")):
        meant = suggestion(name, ENCODINGS.values()) if log_format in ("tsv", "csv") else None
        raise OptionError(
            f"{log_format} files are not read as {name}" + (f"; {meant}" if meant else ""),
            hint="TSV and CSV are read as utf-8, cp1252 or latin-1, other formats as utf-8 only; "
            "convert the file: iconv -f ENCODING -t UTF-8 FILE > NEW",
        )
    return encoding


def decoded(data: bytes, encoding: str) -> str:
    """The text of some bytes; only UTF-8 can fail, and each byte of the others is a character."""
    if encoding == "utf-8":
        return data.decode()
    text = data.decode("latin-1")
    return text.translate(CP1252) if encoding == "cp1252" else text


def first_line(file: Path, compression: str, encoding: str) -> str:
    """The first line of a text file."""
    with reported(file), open_bytes(file, compression) as data:
        whole = data.readline(LONGEST_LINE)
    if len(whole) == LONGEST_LINE:
        raise LogFormatError(
            f"{file.name}, line 1: more than 64 MB", hint="a log has a line for each row"
        )
    try:
        line = decoded(whole.removeprefix(codecs.BOM_UTF8), encoding)
    except UnicodeDecodeError:
        hint = "if it comes from Windows or Excel, give --encoding cp1252; else --encoding latin-1"
        raise LogFormatError(f"{file.name}, line 1: not UTF-8", hint=hint) from None
    if not line.strip():
        raise EmptyLogError(f"{file.name} is empty", hint="a log needs a header and rows")
    return line.rstrip("\r\n")


def check_mark(file: Path, compression: str, encoding: str) -> None:
    """Refuse a file that begins with the mark of another encoding."""
    with reported(file), open_bytes(file, compression) as data:
        beginning = data.read(3)
    if name := _MARKS.get(beginning[:2]):
        raise LogFormatError(
            f"{file.name} is in {name}", hint=f"convert it: iconv -f {name} -t UTF-8 FILE > NEW"
        )
    if beginning == codecs.BOM_UTF8 and encoding != "utf-8":
        raise LogFormatError(
            f"{file.name} begins with the mark of UTF-8, so it is not in {encoding}",
            hint="leave --encoding out",
        )


def delimiter_from(given: str) -> str:
    """The sign that is meant by its name or by itself; a tab also as backslash and t."""
    sign = DELIMITERS.get(given, TAB if given == r"\t" else given)
    if sign not in DELIMITERS.values():
        hint = "give --delimiter comma, semicolon, pipe or tab"
        meant = suggestion(given[:20], DELIMITERS)
        problem = f"fields are not separated by {given[:20]!r}" + (f"; {meant}" if meant else "")
        raise OptionError(problem, hint=hint)
    return sign


def layout(
    line: str, log_format: str, given: str | None, *, fixed: bool, where: str
) -> tuple[str, str, tuple[str, ...]]:
    """The format, the delimiter and the names of the columns that a header line declares.

    The delimiter is the one that gives most columns. A file whose name says TSV is CSV if its
    header has no tab but another delimiter.

    Args:
        line: The header line.
        log_format: tsv or csv, by the name of the file.
        given: The delimiter, if it was given.
        fixed: Whether the format was given, not derived from the file's name.
        where: The name of the file.
    """
    usual = usual_delimiter(log_format)
    if given is None and log_format == "tsv" and (fixed or TAB in line):
        given = TAB
    signs = [given] if given else [usual, *(s for s in DELIMITERS.values() if s != usual)]
    kinds = {sign: with_delimiter(log_format, sign, fixed=fixed) for sign in signs}
    names = {sign: split_fields(line, kinds[sign], sign) for sign in signs}
    most = max(map(len, names.values()))
    widest = [sign for sign in signs if len(names[sign]) == most]
    if most == 0:
        raise LogFormatError(
            f"{where}, line 1: not a header of {log_format}",
            hint="check its quotes, --format and --delimiter",
        )
    if len(widest) > 1 and most > 1:
        called = [name for name, sign in DELIMITERS.items() if sign in widest]
        raise LogFormatError(
            f"{where}, line 1: the columns may be separated by {' or '.join(called)}",
            hint=f"name it: --delimiter {called[0]}",
        )
    return kinds[widest[0]], widest[0], names[widest[0]]


def usual_delimiter(log_format: str) -> str:
    """What separates fields unless a delimiter is given."""
    return TAB if log_format == "tsv" else ","


def with_delimiter(log_format: str, sign: str, *, fixed: bool) -> str:
    """The format of text with this delimiter: TSV has tabs and no quotes, all else is CSV."""
    if log_format == "tsv" and sign != TAB and fixed:
        raise OptionError("TSV has tabs between its fields", hint="give --format csv")
    return log_format if sign == TAB else "csv"


def split_fields(line: str, log_format: str, delimiter: str) -> tuple[str, ...]:
    """The fields of a line of TSV, which knows no quotes, or of CSV; none if it is neither."""
    if log_format == "tsv":
        return tuple(line.split(TAB))
    try:
        return tuple(next(csv.reader([line], delimiter=delimiter, strict=True)))
    except csv.Error:
        return ()


def as_whole_lines(file: Path, compression: str, encoding: str, folder: Path) -> Path:
    """The file, if DuckDB reads it line by line; else a private copy in `folder` that it does.

    A line ends with a line feed, after a carriage return or not. DuckDB also ends one at a return
    alone, which would let a line write rows of other users, so there a return makes its line
    unreadable. It refuses a whole file for a byte that an encoding lacks, so any other encoding
    becomes UTF-8 here.
    """
    with reported(file):
        if encoding == "utf-8" and not any(lone for _, lone in _pieces(file, compression)):
            return file
        copy = folder / f"lines-{secrets.token_hex(8)}"
        with _packed(copy, compression) as target:
            for piece, lone in _pieces(file, compression):
                text = _RETURN.sub(LONE_RETURN.encode(), piece) if lone else piece
                target.write(text if encoding == "utf-8" else decoded(text, encoding).encode())
    return copy


def _pieces(file: Path, compression: str) -> Generator[tuple[bytes, bool]]:
    """The bytes of a file, and whether a return alone is among them; no piece ends with one."""
    held = b""
    with open_bytes(file, compression) as data:
        while piece := data.read(_CHUNK):
            piece, held = held + piece, b""
            if piece.endswith(b"\r"):
                piece, held = piece[:-1], b"\r"
            yield piece, piece.count(b"\r") != piece.count(b"\r\n")
    yield held, False  # at the very end it ends the last line


def _packed(file: Path, compression: str) -> IO[bytes]:
    if compression == ".gz":
        return cast("IO[bytes]", gzip.open(file, "wb", compresslevel=1))
    if compression == ".zst":
        return cast("IO[bytes]", zstandard.open(file, "wb"))
    return file.open("wb")
