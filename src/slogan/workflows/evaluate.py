"""evaluate(): how much of a log a release keeps, compared with a random sample of the same size."""

import json
from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from slogan import engines
from slogan.budget import Number, exact
from slogan.engines import EngineSettings
from slogan.engines.engine import Counted, Whose
from slogan.errors import LogFormatError, OptionError
from slogan.histogram import PairHistogram
from slogan.logs.files import require_modest
from slogan.logs.searchlog import SearchLog, Source, read
from slogan.logs.words import PAIRS, QUERIES, worded
from slogan.manifest.certificate import (
    CURATOR_ONLY,
    LogSizes,
    html_table,
    read_certificate,
    require_query,
)
from slogan.manifest.manifest import Manifest, Outputs, described, released_file
from slogan.measures import (
    Comparison,
    Reference,
    Results,
    Row,
    SideBySide,
    association,
    random_sample,
    retention,
    supports,
    triplets,
)
from slogan.measures.association import Association, Lift
from slogan.measures.events import ComparedEvents, shared_queries
from slogan.measures.retention import Bundles, bundles
from slogan.measures.triplets import DiffRatios, redrawn
from slogan.progress import Progress, Steps, shown
from slogan.randomness import SeededRandomness
from slogan.report.curator import curator_page
from slogan.report.memo import memo_page
from slogan.storage.atomic import check_not_waiting, write_private
from slogan.storage.untrusted import modest
from slogan.verification.verify import InFolder

SUPPORTS = tuple(Fraction(1, n) for n in (500, 100, 250, 750, 1_000))
"""The paper's minimum supports, the one of its Figures 3 and 6 first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFacts(LogSizes):
    """The size of the log, of its part on shared pairs, and pairs and clicks per user."""

    shared: LogSizes
    bundles: Bundles


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What was measured, and against which log."""

    method: str | None
    """The verb that made the release; None for any other log."""
    counts: str | None
    """Of a release by `sanitize`, as in its manifest."""
    coverage: float | None
    """κ, if the release publishes it."""
    users_matched: bool
    """Whether released users are known to be users of the log."""
    log: LogFacts
    items: str = PAIRS
    """What was counted: clicks on pairs, searches for queries, or all searches, clicked or not."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Evaluation(SideBySide):
    """The measures of a release. They depend on the log: they are for the curator only.

    `uses` says what the release is good for. The figures of the reference are properties. Any other
    result is read by its measure, such as
    `evaluation.yardstick[slogan.measures.association.LIFT].correlation`.
    """

    about: About
    seconds: dict[str, float]

    @property
    def size_ratio(self) -> float:
        """|O|/|D|."""
        return self.release[supports.SIZE].size_ratio

    @property
    def precision(self) -> float | None:
        """Share of the frequent pairs of the release that are frequent in the log."""
        return self.release[supports.SUPPORTS].first.precision

    @property
    def recall(self) -> float | None:
        """Share of the frequent pairs of the log that are frequent in the release."""
        return self.release[supports.SUPPORTS].first.recall

    @property
    def sum_support_distance(self) -> float:
        """How far the supports of frequent pairs moved, in total."""
        return self.release[supports.SUPPORTS].first.sum_support_distance

    @property
    def average_support_distance(self) -> float | None:
        """How far the support of a frequent pair moved on average."""
        return self.release[supports.SUPPORTS].first.average_support_distance

    @property
    def diversity(self) -> float | None:
        """Share of the pairs of the log that are released."""
        return self.release[retention.DIVERSITY].pairs.share

    @property
    def diff_ratio_histogram(self) -> DiffRatios | None:
        """How far each user's share of frequent pairs moved; None for synthetic users."""
        return self.release[triplets.TRIPLETS]

    @property
    def lift(self) -> Lift:
        """Whether pairs that go together in the log do so in the release."""
        return self.release[association.LIFT]

    @property
    def also_clicked(self) -> Association:
        """How well the release recommends a pair that was hidden from it."""
        return self.release[association.ALSO_CLICKED]

    @property
    def has_urls(self) -> bool:
        return self.about.items != QUERIES

    def headlines(self) -> list[Row]:
        """The figures a person reads first; of queries without urls fewer differ."""
        rows = super().headlines()
        worded_rows = [replace(row, label=worded(row.label, self.about.items)) for row in rows]
        if self.has_urls:
            return worded_rows
        once = {row.label: row for row in worded_rows}
        return list(once.values())

    def to_dict(self) -> dict[str, Any]:
        """The fields of `evaluate --json`."""
        return {
            **asdict(self.about),
            "uses": self.uses.to_dict(),
            "headlines": [row.to_dict() for row in self.headlines()],
            **self.release.to_dict(),
            "yardstick": self.yardstick.to_dict(),
            "seconds": self.seconds,
        }

    def __repr__(self) -> str:
        figures = f"size_ratio={self.size_ratio:.4g}, precision={self.precision}"
        subject = f"a release by {self.about.method}" if self.about.method else "a log"
        return f"<Evaluation of {subject}: {figures}, recall={self.recall}>"

    def _repr_html_(self) -> str:
        rows = ((r.label, r.better, r.release, r.sample) for r in self.headlines())
        headings = ("", "better", "this release", "random sample")
        uses = [f"{name}: {'; '.join(map(str, some))}." for name, some in self.uses.groups()]
        return html_table(headings, rows, note=" ".join([*uses, CURATOR_ONLY]))

    def save(self, release: str | Path) -> None:
        """Write the figures into the release's curator folder: evaluation.json, report and memo."""
        folder = Path(release) / "curator"
        if folder.is_symlink():
            raise LogFormatError(
                f"{folder} is a link, and others may be able to read its target",
                hint="put the curator folder itself into the release",
            )
        manifest = read_manifest(release)
        certificate = read_certificate(folder / "certificate.json", manifest)
        files = {
            "evaluation.json": json.dumps(self.to_dict(), indent=2) + "\n",
            "report.html": curator_page(manifest, certificate, self),
            "memo.html": memo_page(manifest, certificate, self),
        }
        write_private(folder, files)


@dataclass(frozen=True, kw_only=True)
class _Released:
    """A released log and its manifest; any other log has none."""

    log: SearchLog
    users: Whose = "same"
    manifest: Manifest | None = None
    counts: str | None = None
    """Where the counts of a release by `sanitize` come from; else None."""
    coverage: Fraction | None = None
    """κ, if the release publishes it."""


def evaluate(
    log: SearchLog | Source,
    release: SearchLog | Source | InFolder,
    *,
    min_support: Sequence[Number] | Number | None = None,
    samples: int = 10,
    seed: int = 0,
    engine: str | EngineSettings = "duckdb",
    progress: Progress | bool | None = None,
) -> Evaluation:
    """Measure a release against the log it was made from. The figures are for the curator.

    Args:
        log: The log; a path is read with the columns that the release's manifest names.
        release: A release as `sanitize()` or `synthesize()` returned it, saved or not, the folder
            of one, or any other log.
        min_support: One or more minimum shares of clicks for a pair to be frequent. The first is
            used for the headlines and the triplets; by default the release's own or 1/500.
        samples: Number of redrawn outputs over which the triplets of a release with exact counts
            are averaged.
        seed: Of the random sample and the redrawn outputs. The same seed gives the same figures.
        engine: An engine's name, or its settings, such as `DuckDB(memory_limit="4GB")`.
        progress: A callback, or True for a bar; by default a bar in a notebook, else nothing.
    """
    if samples < 1:
        raise OptionError(
            f"samples must be at least 1, got {samples}", hint="give --samples 1 or more"
        )
    place = release.in_folder() if isinstance(release, InFolder) else nullcontext(release)
    with shown(progress) as on_progress, place as where:
        released = _read_release(where)
        settings = engines.resolve(engine, log)
        source = log
        if not isinstance(source, SearchLog):
            source = _original(source, where, released.manifest, settings)
        min_supports = _supports(min_support, released.manifest)
        steps = Steps(on_progress)
        with closing(settings.start(on_progress)) as host, steps.step("count"):
            timed = _has_events(source, released)
            counted = host.count(source, unique_pairs=True, with_events=timed)
            beside = host.count_beside(released.log, released.users, with_events=timed)
            output, rows = beside.hist, beside.events
            log_rows = None if rows is None else host.events()
        # Pairs that only the release has are numbered after those of the log.
        original = replace(counted.hist, pairs=output.pairs, query=output.query)
        # Users that only the release has are numbered after those of the log.
        matched, rng = bool((output.user < original.users).any()), SeededRandomness(seed)
        with steps.step("learn"):
            reference = Reference.of(original)
        events = None
        if rows is not None and log_rows is not None:
            events = ComparedEvents(
                log=log_rows,
                output=rows,
                query=original.query,
                shared=shared_queries(original),
                same_users=matched,
            )
        with steps.step("measure"):
            comparison = Comparison(
                reference=reference,
                output=output,
                supports=min_supports,
                coverage=released.coverage,
                same_users=matched,
                # With noisy counts, users are not drawn in proportion to their clicks in the log.
                # Synthetic users share no triplets with the log.
                samples=redrawn(original, output.pair_total, samples, rng)
                if released.counts == "exact"
                else ([output] if matched else None),
                events=events,
            )
            results = Results.of(comparison)
        with steps.step("yardstick"):
            sample = random_sample(original, output.clicks, rng)
            whole = None if released.coverage is None else Fraction(1)
            comparison = replace(
                comparison,
                output=sample,
                coverage=whole,
                same_users=True,
                samples=[sample],
                events=events and events.sampled(rng),
            )
            yardstick = Results.of(comparison)
        return Evaluation(
            about=About(
                method=None if released.manifest is None else released.manifest.method,
                counts=released.counts,
                coverage=None if released.coverage is None else float(released.coverage),
                users_matched=matched,
                log=_facts(counted, original),
                items=source.items,
            ),
            release=results,
            yardstick=yardstick,
            seconds=steps.rounded(),
        )


def _has_events(log: SearchLog, released: _Released) -> bool:
    """Whether both have columns of time, rank or session; `sanitize` leaves them empty."""
    made = released.manifest
    filled = made is None or made.method != "sanitize"
    return filled and bool({*log.columns.event_roles} & {*released.log.columns.event_roles})


def _facts(counted: Counted, original: PairHistogram) -> LogFacts:
    shared = original.holders >= 2
    rows = shared[original.pair]
    return LogFacts(
        clicks=counted.clicks,
        users=counted.users,
        pairs=counted.pairs,
        shared=LogSizes(
            clicks=int(original.count[rows].sum()),
            users=len(np.unique(original.user[rows])),
            pairs=int(np.count_nonzero(shared)),
        ),
        bundles=bundles(original),
    )


def _read_release(release: SearchLog | Source) -> _Released:
    if isinstance(release, SearchLog):
        return _Released(log=release)
    if isinstance(release, str | Path):
        check_not_waiting(Path(release))
    if not (isinstance(release, str | Path) and Path(release).is_dir()):
        return _Released(log=read(release))
    folder = Path(release)
    manifest = read_manifest(folder)
    coverage = manifest.outputs.coverage if isinstance(manifest.outputs, Outputs) else None
    if coverage is not None and not 0 <= coverage <= 1:
        raise LogFormatError(
            "the manifest's coverage is not between 0 and 1",
            hint="give a release that passes `slogan verify`",
        )
    return _Released(
        log=described(released_file(folder / "public", manifest), manifest),
        users=_whose(folder, manifest),
        manifest=manifest,
        counts=manifest.counts if manifest.method == "sanitize" else None,
        coverage=None if coverage is None else exact(coverage),
    )


def read_manifest(release: str | Path) -> Manifest:
    """The manifest of a saved release."""
    file = Path(release) / "public" / "manifest.json"
    try:
        return Manifest.model_validate_json(modest(file))
    except (OSError, ValidationError):  # the latter quotes what it read
        raise LogFormatError(
            f"{file} is not the manifest of a release",
            hint="give a release folder, or the released log itself",
        ) from None


def _whose(folder: Path, manifest: Manifest) -> Whose:
    """How released users correspond to users of the log, if the curator folder is there."""
    if manifest.method != "sanitize":
        return "others"
    if manifest.pseudonyms == "keep":
        return "same"
    table = folder / "curator" / "pseudonyms.parquet"
    if not table.is_file():
        return "others"
    require_modest(table, {"user": "user", "pseudonym": "pseudonym"})
    return table


def _original(
    log: Source, release: object, manifest: Manifest | None, settings: EngineSettings
) -> SearchLog:
    if manifest is None:
        return settings.describe(log)
    if isinstance(release, str | Path):
        require_query(Path(release), "evaluate", log)
    read_with = manifest.parameters
    return described(
        log,
        manifest,
        encoding=str(read_with.get("encoding", "utf-8")),
        on_bad_row=str(read_with.get("on_bad_row", "error")),
        peek=settings.peek,
    )


def _supports(
    supports: Sequence[Number] | Number | None, manifest: Manifest | None
) -> tuple[Fraction, ...]:
    if supports is None:
        own = None if manifest is None else manifest.parameters.get("min_support")
        given = SUPPORTS if own is None else (exact(own), *SUPPORTS)
    elif isinstance(supports, Sequence) and not isinstance(supports, str):
        given = tuple(exact(s) for s in supports)
    else:
        given = (exact(supports),)  # pyright: ignore[reportArgumentType]
    if not given or not all(0 <= s <= 1 for s in given):
        raise OptionError(
            "a minimum support is a share between 0 and 1", hint="write it as 1/500 or 0.002"
        )
    return tuple(dict.fromkeys(given))
