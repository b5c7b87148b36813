"""evaluate(): how much of a log a release keeps, beside a random sample of the same size."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import TemplateError
from pydantic import ValidationError

from slogan import engines
from slogan.engines import Counted, Spark, Whose
from slogan.errors import LogFormatError, OptionError
from slogan.files import modest
from slogan.histogram import PairHistogram
from slogan.manifest import Manifest, Outputs, described, released_file
from slogan.privacy import Number, exact
from slogan.publishing import write_private
from slogan.randomness import Randomness, SeededRandomness
from slogan.report.html import curator_page
from slogan.report.measured import Measured, Reference, measured
from slogan.report.measures.triplets import redrawn
from slogan.report.measures.yardstick import random_sample
from slogan.searchlog import SearchLog, Source, read
from slogan.stages import Stages, Watcher, silent
from slogan.unpacking import require_modest
from slogan.waiting import check_not_waiting

SUPPORTS = tuple(Fraction(1, n) for n in (500, 100, 250, 750, 1_000))
"""The paper's minimum supports, the one of its Figures 3 and 6 first."""


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """What was measured. Everything depends on the log: it is for the curator."""

    about: dict[str, Any]
    """What was compared: method, counts, coverage, matched users, sizes of the log."""
    release: Measured
    yardstick: Measured
    seconds: dict[str, float]

    def summary(self) -> dict[str, Any]:
        """The fields of `evaluate --json`."""
        return {
            **self.about,
            **self.release.fields(),
            "yardstick": self.yardstick.fields(),
            "seconds": self.seconds,
        }

    def save(self, release: str | Path) -> None:
        """Keep the figures in the curator's folder of the release, and show them in its report."""
        folder = Path(release) / "curator"
        if folder.is_symlink():
            raise LogFormatError(
                f"{folder} is a link, and what it leads to may be open to others",
                hint="put the curator's folder itself into the release",
            )
        found = self.summary()
        manifest = _manifest(Path(release) / "public" / "manifest.json")
        certificate = _certificate(folder / "certificate.json", manifest)
        files = {
            "evaluation.json": json.dumps(found, indent=2) + "\n",
            "report.html": curator_page(manifest, certificate, found),
        }
        write_private(folder, files)


@dataclass(frozen=True, kw_only=True)
class _Released:
    """A released log and what is known of it; an ordinary log has no manifest."""

    log: SearchLog
    users: Whose
    manifest: Manifest | None = None

    @property
    def method(self) -> str | None:
        return None if self.manifest is None else self.manifest.method

    @property
    def counts(self) -> str | None:
        """Where the counts of real users' clicks come from; synthetic users have none."""
        if self.manifest is None or self.manifest.method != "sanitize":
            return None
        return self.manifest.counts

    @property
    def coverage(self) -> Fraction | None:
        """κ, if the release publishes it."""
        told = None if self.manifest is None else self.manifest.outputs
        return exact(told.coverage) if isinstance(told, Outputs) else None


def evaluate(
    log: SearchLog | Source,
    release: SearchLog | Source,
    *,
    min_support: Sequence[Number] | Number | None = None,
    samples: int = 10,
    seed: int = 0,
    engine: str | Spark = "duckdb",
    memory_limit: str | None = None,
    watcher: Watcher = silent,
) -> Evaluation:
    """Measure a release against the log it was made from. The figures are for the curator.

    Args:
        log: The log; a path is read with the columns that the release's manifest names.
        release: A release folder, or any other log.
        min_support: One or more shares of clicks from which on a pair is frequent. The first is
            that of the headline figures and of the triplets; by default the release's own or 1/500.
        samples: Outputs drawn anew from the released clicks of each pair, over which the triplets
            of a sanitized release with exact counts are averaged.
        seed: Of the random sample and the outputs drawn anew: the same seed, the same figures.
        engine: A file of `engines/`, or where Spark runs; a Spark DataFrame is counted by Spark.
        memory_limit: What the engine may use before it spills to disk, such as "4GB".
        watcher: Told the stage and how far it is.
    """
    if samples < 1:
        raise OptionError(f"{samples} samples are not possible", hint="give --samples 1 or more")
    released = _released(release)
    source = log if isinstance(log, SearchLog) else _original(log, released.manifest, engine)
    supports = _supports(min_support, released.manifest)
    stages = Stages(watcher)
    host = engines.start(engine, source, memory_limit=memory_limit, watcher=watcher)
    try:
        with stages.stage("count"):
            counted = host.count(source, unique_pairs=True)
            output = host.count_beside(released.log, released.users)
    finally:
        host.close()
    # Pairs that only the release has follow those of the log; from here on both know them all.
    original = replace(counted.hist, pairs=output.pairs, query=output.query)
    with stages.stage("learn"):
        reference = Reference.of(original)
    kept, beside = _measured(
        released, reference, output, supports, samples, SeededRandomness(seed), stages
    )
    return Evaluation(
        about=_about(released, counted, reference, matched=_matched(original, output)),
        release=kept,
        yardstick=beside,
        seconds=stages.rounded(),
    )


def _measured(
    released: _Released,
    reference: Reference,
    output: PairHistogram,
    supports: tuple[Fraction, ...],
    samples: int,
    rng: Randomness,
    stages: Stages,
) -> tuple[Measured, Measured]:
    """The release and the yardstick, measured alike."""
    original, coverage = reference.log, released.coverage
    with stages.stage("measure"):
        kept = measured(
            reference,
            output,
            supports=supports,
            coverage=coverage,
            same_users=_matched(original, output),
            samples=_samples(released, original, output, samples, rng),
        )
    with stages.stage("yardstick"):
        sample = random_sample(original, output.clicks, rng)
        beside = measured(
            reference,
            sample,
            supports=supports,
            coverage=None if coverage is None else Fraction(1),
            same_users=True,
            samples=[sample],
        )
    return kept, beside


def _matched(original: PairHistogram, output: PairHistogram) -> bool:
    """Whether any released user is a user of the log; others are numbered after them."""
    return bool((output.user < original.users).any())


def _samples(
    released: _Released,
    original: PairHistogram,
    output: PairHistogram,
    samples: int,
    rng: Randomness,
) -> Iterable[PairHistogram] | None:
    """The outputs whose triplets are compared; synthetic users have none in common with the log.

    With noisy counts users are not drawn from the whole log in proportion to their clicks.
    """
    if released.counts == "exact":
        return redrawn(original, output.pair_total, samples, rng)
    return [output] if _matched(original, output) else None


def _about(
    released: _Released, counted: Counted, reference: Reference, *, matched: bool
) -> dict[str, Any]:
    shared = reference.log.holders >= 2
    rows = shared[reference.log.pair]
    return {
        "method": released.method,
        "counts": released.counts,
        "coverage": None if released.coverage is None else float(released.coverage),
        "users_matched": matched,
        "log": {
            "clicks": counted.clicks,
            "users": counted.users,
            "pairs": counted.pairs,
            "shared": {
                "clicks": int(reference.log.count[rows].sum()),
                "users": len(np.unique(reference.log.user[rows])),
                "pairs": int(np.count_nonzero(shared)),
            },
            "bundles": asdict(reference.bundles),
        },
    }


def _released(release: SearchLog | Source) -> _Released:
    if isinstance(release, SearchLog):
        return _Released(log=release, users="same")
    if isinstance(release, str | Path):
        check_not_waiting(Path(release))
    if not (isinstance(release, str | Path) and Path(release).is_dir()):
        return _Released(log=read(release), users="same")
    folder = Path(release)
    manifest = _manifest(folder / "public" / "manifest.json")
    told = manifest.outputs
    if isinstance(told, Outputs) and not 0 <= told.coverage <= 1:
        raise LogFormatError(
            "the manifest's coverage is not a share", hint="give a release that `verify` passes"
        )
    log = described(released_file(folder, manifest), manifest)
    return _Released(log=log, users=_whose(folder, manifest), manifest=manifest)


def _manifest(file: Path) -> Manifest:
    try:
        return Manifest.model_validate_json(modest(file))
    except (OSError, ValidationError):  # the latter quotes what it read
        raise LogFormatError(
            f"{file} is not the manifest of a release",
            hint="give a release folder, or the released log itself",
        ) from None


_DAMAGED = (
    *(OSError, ValueError, RecursionError),
    *(LookupError, TypeError, AttributeError, ArithmeticError, TemplateError),
)


def _certificate(file: Path, manifest: Manifest) -> dict[str, Any]:
    """The certificate, if it tells all that a report needs."""
    try:
        told = json.loads(modest(file))
        curator_page(manifest, told)
    except _DAMAGED:  # with the whole text of the certificate
        raise LogFormatError(
            f"{file} is not the certificate of a release",
            hint="restore the curator's folder, or give the released log itself",
        ) from None
    return told


def _whose(folder: Path, manifest: Manifest) -> Whose:
    """Who the released users are, as far as the curator's folder tells."""
    if manifest.method != "sanitize":
        return "others"
    if manifest.pseudonyms == "keep":
        return "same"
    table = folder / "curator" / "pseudonyms.parquet"
    if not table.is_file():
        return "others"
    require_modest(table, "", {"user": "user", "pseudonym": "pseudonym"})
    return table


def _original(log: Source, manifest: Manifest | None, engine: str | Spark) -> SearchLog:
    if manifest is None:
        return engines.described(log, engine)
    told = manifest.parameters
    return described(
        log,
        manifest,
        encoding=str(told.get("encoding", "utf-8")),
        on_bad_row=str(told.get("on_bad_row", "error")),
        engine=engine,
    )


def _supports(
    asked: Sequence[Number] | Number | None, manifest: Manifest | None
) -> tuple[Fraction, ...]:
    if asked is None:
        own = None if manifest is None else manifest.parameters.get("min_support")
        given = SUPPORTS if own is None else (exact(own), *SUPPORTS)
    elif isinstance(asked, Sequence) and not isinstance(asked, str):
        given = tuple(exact(s) for s in asked)
    else:
        given = (exact(asked),)  # pyright: ignore[reportArgumentType]
    if not given or not all(0 <= s <= 1 for s in given):
        raise OptionError(
            "a minimum support is a share of the log's clicks", hint="write it as 1/500 or 0.002"
        )
    return tuple(dict.fromkeys(given))
