"""Publication: what every release has in common, from its manifest to its folder."""

from __future__ import annotations

import json
import os
import stat
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from slogan import resuming
from slogan.arrays import Ints
from slogan.dp.ledger import Charge, Ledger, publish_recorded
from slogan.dp.mechanisms import Cost
from slogan.engines import Counted, Engine
from slogan.manifest import Budget, Manifest, PublishedLog, published_log, versions
from slogan.placing import require_place
from slogan.privacy import PrivacyBudget
from slogan.promise import promise_of
from slogan.publishing import sha256_of
from slogan.report.html import curator_page, public_page
from slogan.sampling import Output
from slogan.searchlog import SearchLog
from slogan.stages import Stages

_NO_TIME = 315_532_800
"""1980-01-01 in UTC: the first second that every archive can hold."""


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

    @property
    @abstractmethod
    def cost(self) -> Cost | None:
        """What the release costs the users of the log; None if no accounting covers it."""

    @property
    def charge(self) -> Charge:
        """What a ledger is told."""
        return Charge(
            method=f"{self.method}, {self.claims()['counts']} counts",
            parameters={**self.budget.parameters(), **self.parameters},
            cost=self.cost,
            test_run=self.seed is not None,
        )

    def save(
        self,
        target: str | Path,
        *,
        force: bool = False,
        ledger: Ledger | None = None,
        allow_unaccounted: bool = False,
    ) -> dict[str, Any]:
        """Write the release folder, whole or not at all; returns the summary with its place.

        Args:
            target: The folder.
            force: Replace an older release.
            ledger: Where the release is recorded; nowhere if not given.
            allow_unaccounted: Release although the ledger's cap says nothing about it.
        """
        folder = Path(target)
        require_place(folder, self.log, force=force, ledger=None if ledger is None else ledger.file)
        with self.stages.stage("write"):
            recorded = publish_recorded(
                folder,
                self._fill,
                force=force,
                charge=self.charge,
                ledger=ledger,
                allow_unaccounted=allow_unaccounted,
            )
        resuming.remove(resuming.place(folder))  # of another run, killed while it solved
        return {**self._told(), "release": str(folder), "ledger": recorded}

    def _told(self) -> dict[str, Any]:
        arrived = self.engine.arrived
        return {**self.summary(), **({"arrived": arrived} if arrived else {})}

    def _fill(self, folder: Path) -> None:
        public, curator = folder / "public", folder / "curator"
        public.mkdir()
        curator.mkdir(mode=0o700)
        file = public / f"log{self.log.suffix}"
        self.engine.write(self.output, self.pseudonyms, file)
        manifest = self.manifest(published_log(self.log, file=file.name, sha256=sha256_of(file)))
        _write(public / "manifest.json", manifest.model_dump_json(indent=2) + "\n")
        _write(public / "report.html", public_page(manifest))
        self.write_curators_tables(curator)
        certificate = self.certificate()
        _write(curator / "certificate.json", json.dumps(certificate, indent=2) + "\n")
        _write(curator / "report.html", curator_page(manifest, certificate))
        _for_owner_only(curator)
        _for_everybody(folder)

    def manifest(self, published: PublishedLog) -> Manifest:
        """What the release says of itself in public."""
        claims = self.claims()
        promise = promise_of(self.method, claims["counts"], self.parameters, self.budget)
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
            **claims,
        )

    def certificate(self) -> dict[str, Any]:
        """What was computed from the raw log, with its checksums, for the curator only."""
        inputs = [{"file": str(f), "sha256": sha256_of(f)} for f in self.log.files]
        inputs += [{"file": a, "sha256": "not computed"} for a in self.log.addresses]
        return {
            **self._told(),
            **self.drawn(),
            "inputs": inputs,
            "columns": asdict(self.log.columns),
            "seed": self.seed,
        }

    def clicks_before_and_after(self) -> tuple[Ints, Ints]:
        """c_ij and x_ij for every counted pair."""
        before = self.counted.rows.pair_total
        after = np.zeros_like(before)
        np.add.at(after, self.output.pair, self.output.count)
        return before, after

    @abstractmethod
    def drawn(self) -> dict[str, Any]:
        """What the charts of the curator's report are drawn from."""

    def close(self) -> None:
        """Forget the log."""
        self.engine.close()


def _write(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8")


def _for_owner_only(curator: Path) -> None:
    for file in curator.iterdir():
        file.chmod(0o600)


def _for_everybody(folder: Path) -> None:
    """Whatever the umask, others cannot change a release; no time tells how long it took."""
    public = folder / "public"
    inside = list(public.rglob("*"))
    for path in (folder, public, *inside):
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~0o022)
    for path in (*inside, public):
        os.utime(path, (_NO_TIME, _NO_TIME))
