"""SHA256SUMS: the checksums of the files of public/, as `sha256sum` prints them."""

import hashlib
from pathlib import Path

from slogan.manifest.manifest import CHECKSUMS
from slogan.storage.untrusted import modest


def checksum_faults(public: Path) -> str | None:
    """What is wrong with the file of checksums; None if nothing is."""
    try:
        listed = modest(public / CHECKSUMS).decode("ascii")
    except (OSError, UnicodeDecodeError):
        return f"public/{CHECKSUMS} is missing or cannot be read"
    expected = {
        path.relative_to(public).as_posix(): path
        for path in public.rglob("*")
        if path.is_file() and not path.is_symlink() and path != public / CHECKSUMS
    }
    names: list[str] = []
    for line in listed.splitlines(keepends=True):
        digest, between, name = line[:64], line[64:66], line[66:].removesuffix("\n")
        if between != "  " or not line.endswith("\n") or name not in expected:
            return f"{CHECKSUMS} has a line that is not the checksum of a file in public/"
        with expected[name].open("rb") as data:
            if hashlib.file_digest(data, "sha256").hexdigest() != digest:
                return f"{CHECKSUMS} has another checksum than {name}"
        names.append(name)
    if names != sorted(expected):
        return f"{CHECKSUMS} does not list every file of public/ once, in order"
    return None
