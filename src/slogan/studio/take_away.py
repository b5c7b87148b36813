"""Take away: pages of a release under their own policy, and the public half as one file."""

from __future__ import annotations

import base64
import hashlib
import re
import zipfile
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, Response

from slogan.errors import OptionError, StorageError
from slogan.storage.untrusted import modest

if TYPE_CHECKING:
    from slogan.studio.state import Case, Studio

PAGES = ("public/report.html", "public/data-card.html", "curator/report.html", "curator/memo.html")
_STYLE = re.compile(rb"<style>(.*?)</style>", re.DOTALL)
_TIME = (1980, 1, 1, 0, 0, 0)
"""Of all files, as in `public/`."""


def page(case: Case, name: str) -> Response:
    """A page of the release. Nothing but its own style counts in it, whatever it holds."""
    if not case.release or name not in PAGES:
        raise HTTPException(404)
    try:
        text = modest(Path(case.release) / name)
    except OSError:
        raise HTTPException(404) from None
    digests = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(style).digest()).decode()}'"
        for style in _STYLE.findall(text)
    )
    styles = digests or "'none'"
    policy = (
        f"sandbox; default-src 'none'; style-src {styles}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return HTMLResponse(text, headers={"content-security-policy": policy})


def archive(studio: Studio, case: Case) -> Response:
    """The verified public half, with data card and passport, as a zip."""
    examined = case.examined
    if examined is None or not case.release:
        raise HTTPException(404)
    if not examined.ok:
        raise OptionError("this release was not verified", hint="do not publish it")
    file = studio.folder / f"{token_hex(8)}.zip"
    try:
        _pack(Path(case.release) / "public", file)
    except OSError as cause:
        file.unlink(missing_ok=True)
        raise StorageError(
            f"the zip cannot be written: {cause.strerror}", hint="copy the folder public/ instead"
        ) from cause
    return FileResponse(
        file,
        media_type="application/zip",
        filename="release.zip",
        background=BackgroundTask(file.unlink),
    )


def _pack(public: Path, file: Path) -> None:
    """Every plain file; a link could lead to a file that was never released."""
    with zipfile.ZipFile(file, "x", zipfile.ZIP_DEFLATED) as packed:
        for path in sorted(public.rglob("*")):
            if path.is_symlink() or not path.is_file():
                continue
            name = zipfile.ZipInfo(f"release/{path.relative_to(public).as_posix()}", _TIME)
            name.compress_type, name.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as source, packed.open(name, "w", force_zip64=True) as target:
                while piece := source.read(1 << 20):
                    target.write(piece)
