"""passport(): what catalogues and registries read about a release, for one saved earlier.

Every new release has it. The release is written again beside itself, verified without its log, and
put in place whole; the released log and the curator's half stay as they are.
"""

import shlex
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slogan.errors import LogFormatError, LogNotFoundError, OptionError
from slogan.ledger.ledger import settled
from slogan.manifest.labels import Labels
from slogan.manifest.manifest import CHECKSUMS, released_file
from slogan.release.base import open_to_readers
from slogan.release.publication import write_passport, write_public
from slogan.release.withholding import released_log
from slogan.report.html import wording_digest
from slogan.report.pages import PASSPORT
from slogan.storage.atomic import check_not_waiting, publish
from slogan.storage.untrusted import similar_file
from slogan.verification.verify import verify_public


@dataclass(frozen=True, slots=True, kw_only=True)
class Passport:
    """The files that were written, and the date of publication that they state."""

    release: Path
    files: tuple[str, ...]
    published: str | None
    """None if no date was given: registries need one."""
    older: bool
    """Whether another version of slogan made the release; its manifest and pages stay."""

    def to_dict(self) -> dict[str, Any]:
        """The fields of `passport --json`."""
        return {**asdict(self), "release": str(self.release), "files": list(self.files)}

    def __repr__(self) -> str:
        return f"<Passport: {', '.join(self.files)} in {self.release / 'public'}>"


def passport(release: str | Path, *, labels: Labels | None = None) -> Passport:
    """Write `croissant.json`, `deployment.yaml` and `SHA256SUMS` for a saved release.

    Args:
        release: The folder of a release.
        labels: Labels to add or to replace, such as `Labels(published="2026-12-01")`. They go into
            the manifest and the pages too. A release made by another version keeps its manifest,
            so that only the date of publication can be given.
    """
    folder, given = Path(release), labels or Labels()
    given.require()
    _require_release(folder)
    before, _ = released_log(folder / "public")
    file = released_file(folder / "public", before)
    older = before.wording != wording_digest()
    if older and given.given().keys() - {"published"}:
        raise OptionError(
            "this release was made by another version of slogan, and its manifest stays as it is",
            hint="give --published only; other labels are those of the manifest",
        )
    manifest = before.model_copy(update={"labels": before.labels.changed(given)})

    def fill(target: Path) -> None:
        shutil.copytree(folder, target, symlinks=True, dirs_exist_ok=True)
        if older:
            parted = manifest.log.model_copy(update={"parted": file.is_dir()})
            write_passport(target / "public", manifest.model_copy(update={"log": parted}))
        else:
            write_public(target / "public", manifest)
        open_to_readers(target)
        _require_verified(folder, target / "public")

    publish(folder, fill, force=True, settled=settled)
    return Passport(
        release=folder,
        files=(*PASSPORT, CHECKSUMS),
        published=manifest.labels.published,
        older=older,
    )


def _require_release(folder: Path) -> None:
    """Refuse what is not a whole release, with the command that was meant."""
    check_not_waiting(folder)
    if (folder / "public").is_dir():
        return
    if (folder / "manifest.json").is_file():
        hint = f"give the folder above it: slogan passport {shlex.quote(str(folder.parent))}"
        raise OptionError(f"{folder} is the public half of a release", hint=hint)
    hint = similar_file(folder) or "give the folder of a release"
    raise LogNotFoundError(f"no release at {folder}", hint=hint)


def _require_verified(folder: Path, public: Path) -> None:
    """Refuse to describe a release whose public half is not consistent."""
    verdict = verify_public(public)
    if failed := [f"{check.name} ({check.detail})" for check in verdict.checks if not check.ok]:
        raise LogFormatError(
            f"{folder} does not verify, and nothing was changed: {'; '.join(failed)}",
            hint=f"see all checks: slogan verify {shlex.quote(str(folder / 'public'))}",
        )
