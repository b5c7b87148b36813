"""Forms: what a browser sends, bounded, with numbers as people of several countries write them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from typing import NoReturn, cast
from urllib.parse import parse_qsl

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import Field, File, FormParser
from starlette.requests import Request

from slogan.errors import OptionError, StorageError

_LONGEST = 1 << 20
_MOST_FIELDS = 500
_GROUPED = re.compile(r"\d{1,3}([.,'’\s]\d{3})+")
_DECIMAL = re.compile(r"\d*[.,]?\d+([eE][+-]?\d{1,3})?")
_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Upload:
    """A file that was sent, in a private folder of the studio."""

    file: Path
    name: str
    """Its name where it comes from, as far as that is plain."""


@dataclass(frozen=True)
class Form:
    """The fields of a form, and a file if one was sent."""

    fields: Mapping[str, str]
    upload: Upload | None = None

    def text(self, name: str) -> str:
        """A field without the spaces around it; empty if it was not sent."""
        return self.fields.get(name, "").strip()

    def given(self, name: str) -> str | None:
        """A field; None if it is empty."""
        return self.text(name) or None

    def chosen(self, name: str) -> bool:
        """Whether a box was ticked."""
        return name in self.fields

    def whole(self, name: str, what: str) -> int:
        """A whole number: 60000, 60,000, 60.000 or 60 000."""
        text = self.text(name)
        if _GROUPED.fullmatch(text):
            text = re.sub(r"\D", "", text)
        if not (text.isascii() and text.isdecimal() and len(text) <= 12):
            _refuse(what, "60000")
        return int(text)

    def decimal(self, name: str, what: str) -> str:
        """A number as it is typed, with a point: 1.5 or 1,5."""
        text = self.text(name)
        if not (text.isascii() and len(text) <= 40 and _DECIMAL.fullmatch(text)):
            _refuse(what, "1.5")
        return text.replace(",", ".")


def _refuse(what: str, example: str) -> NoReturn:
    raise OptionError(f"{what} is not a number", hint=f"write it as {example}")


async def form_of(request: Request, uploads: Path) -> Form:
    """The form of a request; a file in it goes into `uploads`."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return await _with_file(request, uploads)
    if kind != "application/x-www-form-urlencoded":
        raise OptionError("this is not a form of the studio", hint="use the page")
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST:
            raise OptionError("the form is too long", hint="write less")
    return Form(_fields(body.decode("utf-8", "replace")))


def _fields(body: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(body, keep_blank_values=True, max_num_fields=_MOST_FIELDS))
    except ValueError:
        raise OptionError("the form has too many fields", hint="use the page") from None


async def _with_file(request: Request, uploads: Path) -> Form:
    """A form with a file, which is written as it arrives."""
    folder = uploads / token_hex(8)
    folder.mkdir(mode=0o700)
    fields: dict[str, str] = {}
    sent: list[File] = []

    def keep(field: Field) -> None:
        name, value = field.field_name, field.value
        fields[(name or b"").decode("utf-8", "replace")] = (value or b"").decode("utf-8", "replace")

    parser = FormParser(
        "multipart/form-data",
        keep,
        sent.append,
        boundary=_boundary(request),
        config={
            "UPLOAD_DIR": str(folder),
            "UPLOAD_DELETE_TMP": False,
            "MAX_MEMORY_FILE_SIZE": 0,
            "MAX_FIELDS": _MOST_FIELDS,
            "MAX_FIELD_SIZE": _LONGEST,
        },
    )
    try:
        async for piece in request.stream():
            parser.write(piece)
        parser.finalize()
        for file in sent:
            file.close()
    except FormParserError:
        raise OptionError("the upload was cut off", hint="send the file again") from None
    except OSError as cause:
        raise StorageError(
            f"the upload cannot be stored: {cause.strerror}",
            hint="name the path of the file instead; then nothing is copied",
        ) from cause
    return Form(fields, _placed(sent, folder))


def _placed(sent: list[File], folder: Path) -> Upload | None:
    """The file under its plain name, in a folder where nothing else is."""
    for file in sent:
        name = (file.file_name or b"").decode("utf-8", "replace").replace("\\", "/")
        name = _NAME.sub("_", name.rpartition("/")[2]).lstrip(".")[-80:]
        if not (name and file.size):
            continue
        stored = Path(cast("bytes", file.actual_file_name).decode())
        return Upload(stored.replace(folder / name), name)
    return None


def _boundary(request: Request) -> bytes:
    found = re.search(r'boundary="?([^";,]+)"?', request.headers.get("content-type", ""))
    if found is None:
        raise OptionError("the upload was cut off", hint="send the file again")
    return found[1].encode("latin-1", "replace")
