"""The public half of a release: everything beside the released log follows from it."""

from collections.abc import Callable, Mapping
from pathlib import Path

from slogan.manifest.manifest import CHECKSUMS, Manifest
from slogan.report.pages import PASSPORT, PUBLIC_PAGES
from slogan.storage.atomic import sha256_of


def write_public(public: Path, manifest: Manifest) -> None:
    """Write manifest, pages, passport and checksums beside the released log."""
    write_text(public / "manifest.json", manifest.model_dump_json(indent=2) + "\n")
    write_pages(public, manifest)


def write_pages(public: Path, manifest: Manifest) -> None:
    """Write all that follows from a manifest, and the checksums."""
    _write(public, manifest, PUBLIC_PAGES)


def write_passport(public: Path, manifest: Manifest) -> None:
    """Write what catalogues and registries read, and the checksums."""
    _write(public, manifest, PASSPORT)


def _write(
    public: Path, manifest: Manifest, pages: Mapping[str, Callable[[Manifest], str]]
) -> None:
    for name, page in pages.items():
        write_text(public / name, page(manifest))
    write_checksums(public)


def write_text(file: Path, text: str) -> None:
    """Write UTF-8 with the line ends as they are, on every system."""
    file.write_text(text, encoding="utf-8", newline="\n")


def write_checksums(public: Path) -> None:
    """Write the checksums of all files that are there."""
    files = sorted(
        path.relative_to(public).as_posix()
        for path in public.rglob("*")
        if path.is_file() and path.name != CHECKSUMS
    )
    lines = "".join(f"{sha256_of(public / name)}  {name}\n" for name in files)
    write_text(public / CHECKSUMS, lines)
