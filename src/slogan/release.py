"""Release: the folder that leaves the house, public/ and curator/, published all at once."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from slogan.constraints import PrivacyConstraints
from slogan.engines import Counted, Engine
from slogan.errors import ReleaseExistsError, SloganError
from slogan.manifest import Budget, Manifest, published_log, versions
from slogan.plan import Plan
from slogan.privacy import PrivacyBudget
from slogan.program import Program, Solution, Status, gap, status
from slogan.promise import sampling_promise
from slogan.report.figures import budget_use, clicks_by_fate, figures
from slogan.report.html import curator_page, public_page
from slogan.sampling import Output
from slogan.searchlog import SearchLog
from slogan.stages import Stages


@dataclass(frozen=True, kw_only=True)
class Release:
    """A sanitized log, ready to be looked at and saved. Close it to forget the log."""

    log: SearchLog
    budget: PrivacyBudget
    objective: str
    parameters: dict[str, str | int | float | None]
    counted: Counted
    constraints: PrivacyConstraints
    program: Program
    solution: Solution
    plan: Plan
    output: Output
    pseudonyms: list[str] | None
    seed: int | None
    engine: Engine
    stages: Stages
    slogan_version: str

    @property
    def value(self) -> float:
        """The utility reached, in the objective's own unit."""
        return self.program.value(self.plan.counts)

    @property
    def bound(self) -> float:
        """Proven: no integer solution is better.

        The solver's bound on support distances speaks of outputs of size |O|. If fewer clicks are
        released, because counts were rounded down, all that is proven is that none is negative.
        """
        targets = self.program.targets
        fell_short = targets is not None and self.plan.size < targets.output_size
        return 0.0 if fell_short else float(self.solution.bound)

    @property
    def status(self) -> Status:
        """What was proven of the released counts, whatever the solver said of its own."""
        allowed = float(self.parameters["gap"] or 0)
        return status(value=self.value, bound=self.bound, allowed=allowed)

    def summary(self) -> dict[str, Any]:
        """Everything a curator wants to know. It depends on the log: not for publication."""
        hist = self.counted.hist
        return {
            "objective": self.objective,
            "epsilon": self.budget.epsilon_value,
            "delta": self.budget.delta_value,
            "budget_per_user": self.budget.per_user,
            "users": self.counted.users,
            "pairs": self.counted.pairs,
            "clicks_in": self.counted.clicks,
            "shared": {"users": hist.users, "pairs": hist.pairs, "clicks": hist.clicks},
            "users_unconstrained": self.counted.users - hist.users,
            "rows_without_click": self.counted.rows_without_click,
            "bad_rows": self.counted.bad_rows,
            "clicks_out": self.output.clicks,
            "pairs_out": self.output.pairs,
            "users_out": self.output.users,
            "value": self.value,
            "bound": self.bound,
            "gap": gap(value=self.value, bound=self.bound),
            "status": str(self.status),
            "solver": self.solution.solver,
            "size_bound": self.constraints.size_bound,
            "exposed_users_expected": self.constraints.expected_exposed(self.plan.counts),
            "test_run": self.seed is not None,
            "seconds": self.stages.rounded(),
        }

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
        manifest = self.manifest(file=file.name, sha256=sha256_of(file))
        (public / "manifest.json").write_text(manifest.model_dump_json(indent=2) + "\n")
        (public / "report.html").write_text(public_page(manifest))
        if self.pseudonyms is not None:
            table = curator / "pseudonyms.parquet"
            self.engine.write_pseudonyms(self.output, self.pseudonyms, table)
        certificate = self.certificate()
        (curator / "certificate.json").write_text(json.dumps(certificate, indent=2) + "\n")
        (curator / "report.html").write_text(curator_page(manifest, certificate))

    def manifest(self, *, file: str, sha256: str) -> Manifest:
        """What the release says of itself in public."""
        promise = sampling_promise(self.budget)
        names: Literal["fresh", "keep"] = "keep" if self.pseudonyms is None else "fresh"
        return Manifest(
            slogan_version=self.slogan_version,
            method="sanitize",
            counts="exact",
            promise=promise.name,
            guarantees=promise.guarantees,
            not_guaranteed=promise.not_guaranteed,
            budget=Budget(**self.budget.parameters()),  # pyright: ignore[reportArgumentType]
            parameters=self.parameters,
            pseudonyms=names,
            test_run=self.seed is not None,
            log=published_log(self.log, file=file, sha256=sha256),
            versions=versions(),
        )

    def certificate(self) -> dict[str, Any]:
        """What was computed from the raw log, with its checksums, for the curator only."""
        inputs = [{"file": str(f), "sha256": sha256_of(f)} for f in self.log.files]
        columns = asdict(self.log.columns)
        return {
            **self.summary(),
            **self._drawn(),
            "inputs": inputs,
            "columns": columns,
            "seed": self.seed,
        }

    def _drawn(self) -> dict[str, Any]:
        """What the curator's charts are drawn from."""
        before, after = self.counted.hist.pair_total, self.plan.counts
        charge = self.constraints.charge(after)
        return {
            "clicks_by_fate": clicks_by_fate(
                before, after, self.constraints.upper, whole=self.counted.clicks
            ),
            "budget_use": budget_use(charge, self.constraints.limit),
            "figures": asdict(figures(before, after)),
        }

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
