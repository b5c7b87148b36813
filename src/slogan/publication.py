"""Publication: what every release has in common, and the folder that appears all at once."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from slogan.engines import Counted, Engine
from slogan.errors import ReleaseExistsError, SloganError
from slogan.manifest import Budget, Manifest, PublishedLog, published_log, versions
from slogan.privacy import PrivacyBudget
from slogan.promise import promise_of
from slogan.report.html import curator_page, public_page
from slogan.sampling import Output
from slogan.searchlog import SearchLog
from slogan.stages import Stages


@dataclass(frozen=True, kw_only=True)
class Publication(ABC):
    """A log ready to be published: look at it, save it, close it to forget the input log."""

    log: SearchLog
    budget: PrivacyBudget
    parameters: dict[str, str | int | float | None]
    counted: Counted
    output: Output
    pseudonyms: list[str] | None
    seed: int | None
    engine: Engine
    stages: Stages
    slogan_version: str

    @abstractmethod
    def summary(self) -> dict[str, Any]:
        """Everything a curator wants to know. It depends on the log: not for publication."""

    @property
    @abstractmethod
    def method(self) -> str:
        """The verb that made the release, as the manifest names it."""

    @abstractmethod
    def claims(self) -> dict[str, Any]:
        """The fields of the manifest that are the method's own."""

    def write_curators_tables(self, curator: Path) -> None:  # noqa: B027  most have none
        """Write what only the curator may see, beside the certificate and the report."""

    def save(self, target: str | Path, *, force: bool = False) -> dict[str, Any]:
        """Write the release folder, whole or not at all; returns the summary with its place."""
        folder = Path(target)
        with self.stages.stage("write"):
            publish(folder, self._fill, force=force)
        return {**self.summary(), "release": str(folder)}

    def _fill(self, folder: Path) -> None:
        public, curator = folder / "public", folder / "curator"
        public.mkdir()
        curator.mkdir(mode=0o700)
        file = public / f"log{self.log.suffix}"
        self.engine.write(self.output, self.pseudonyms, file)
        manifest = self.manifest(published_log(self.log, file=file.name, sha256=sha256_of(file)))
        (public / "manifest.json").write_text(manifest.model_dump_json(indent=2) + "\n")
        (public / "report.html").write_text(public_page(manifest))
        self.write_curators_tables(curator)
        certificate = self.certificate()
        (curator / "certificate.json").write_text(json.dumps(certificate, indent=2) + "\n")
        (curator / "report.html").write_text(curator_page(manifest, certificate))

    def manifest(self, published: PublishedLog) -> Manifest:
        """What the release says of itself in public."""
        promise = promise_of(self.method, self.budget)
        return Manifest(
            slogan_version=self.slogan_version,
            method=self.method,  # pyright: ignore[reportArgumentType]
            promise=promise.name,
            guarantees=promise.guarantees,
            not_guaranteed=promise.not_guaranteed,
            budget=Budget(**self.budget.parameters()),  # pyright: ignore[reportArgumentType]
            parameters=self.parameters,
            test_run=self.seed is not None,
            log=published,
            versions=versions(),
            **self.claims(),
        )

    def certificate(self) -> dict[str, Any]:
        """What was computed from the raw log, with its checksums, for the curator only."""
        inputs = [{"file": str(f), "sha256": sha256_of(f)} for f in self.log.files]
        return {
            **self.summary(),
            **self.drawn(),
            "inputs": inputs,
            "columns": asdict(self.log.columns),
            "seed": self.seed,
        }

    @abstractmethod
    def drawn(self) -> dict[str, Any]:
        """What the charts of the curator's report are drawn from."""

    def close(self) -> None:
        """Forget the log."""
        self.engine.close()


def publish(target: Path, fill: Callable[[Path], None], *, force: bool) -> None:
    """Fill a folder under a temporary name beside the target, then rename it into place."""
    if target.exists() or target.is_symlink():
        _check_replaceable(target, force=force)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.parent / f".{target.name}.partial-{secrets.token_hex(8)}"
        partial.mkdir()
    except OSError as cause:
        raise SloganError(
            f"cannot write beside {target}: {cause.strerror}",
            hint="choose a writable place with -o",
        ) from cause
    try:
        fill(partial)
        _sync(partial)
        _swap(partial, target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _check_replaceable(target: Path, *, force: bool) -> None:
    if not force:
        raise ReleaseExistsError(
            f"{target} already exists", hint="choose another -o, or give --force to replace it"
        )
    is_release = target.is_dir() and not target.is_symlink()
    if not is_release or (
        any(target.iterdir()) and not (target / "public/manifest.json").is_file()
    ):
        raise ReleaseExistsError(
            f"{target} is not a release of slogan, so --force does not replace it",
            hint="choose another -o, or remove it yourself",
        )


def _swap(partial: Path, target: Path) -> None:
    if not target.exists():
        partial.rename(target)
        return
    old = target.parent / f".{target.name}.replaced-{secrets.token_hex(8)}"
    target.rename(old)
    try:
        partial.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old)


def _sync(folder: Path) -> None:
    """Have everything on disk before the rename makes it visible."""
    for path in [*folder.rglob("*"), folder]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def sha256_of(file: Path) -> str:
    """The checksum of a file."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()
