"""`slogan evaluate`: how much of a log a release keeps, and how several releases compare."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.options import DatedReading
from slogan.cli.terminal import Json, log_and_release, show, table, watching, with_notes
from slogan.modes import ReleaseKind

if TYPE_CHECKING:
    from slogan.manifest.uses import Uses
    from slogan.workflows.compare import ReleaseComparison
    from slogan.workflows.evaluate import Evaluation

GROUP, RANK = "check", 2
_STYLES = {"Good for": "bold green", "Partly": "bold yellow", "Not for": "bold red"}
_ROWS = {
    ReleaseKind.SYNTHETIC_USERS: "made-up users",
    ReleaseKind.PRIVATE_ROWS: "real, private counts",
    ReleaseKind.EXACT_COUNTS: "real, exact counts",
    ReleaseKind.LAPLACE_COUNTS: "real, laplace counts",
}
_CURATOR_ONLY = "Computed from the raw log: for the curator only, do not publish."
LogAndReleases = Annotated[
    str,
    Parameter(
        name="LOG RELEASE",
        help="The log's files, then the release; several releases are compared.",
    ),
]


def evaluate(
    *paths: LogAndReleases,
    min_support: str | None = None,
    samples: int = 10,
    seed: int = 0,
    reading: DatedReading = DatedReading(),
    json: Json = False,
) -> None:
    """Measure what a release is good for, or compare several releases.

    `slogan evaluate clicks.tsv release`

    `slogan evaluate clicks.tsv strict loose`

    The figures depend on the log and are for the curator only; they are kept in the release's
    curator/. RELEASE may also be any other log. `slogan evaluate A B` without a log compares the
    figures that are kept there already.

    Parameters
    ----------
    min_support
        Comma-separated minimum shares of clicks for a pair to be frequent, such as 1/500,1/100.
    samples
        Redrawn outputs over which triplets are averaged if the counts are exact.
    seed
        The same seed gives the same figures.
    """
    options: dict[str, Any] = {
        "min_support": None if min_support is None else min_support.split(","),
        "samples": samples,
        "seed": seed,
        "engine": reading.host(),
    }
    files, releases = _divided(paths)
    if len(releases) > 1:
        from slogan.workflows.compare import compare

        source = (files if reading.detects else reading.log(files)) if files else None
        with watching() as watch:
            comparison = compare(*releases, log=source, progress=watch, **options)
        show(comparison, comparison_text, json=json)
        return
    log, release = log_and_release(paths, "evaluate")

    from slogan.workflows.evaluate import evaluate as evaluate_release

    with watching() as watch:
        evaluation = evaluate_release(
            log if reading.detects else reading.log(log),
            release if reading.detects or Path(release).is_dir() else reading.log([release]),
            progress=watch,
            **options,
        )
    if (Path(release) / "curator" / "certificate.json").is_file():
        evaluation.save(release)
    show(evaluation, text, json=json)


def _divided(paths: tuple[str, ...]) -> tuple[list[str], list[str]]:
    """The files of the log, and the release folders that follow them."""
    is_release = [(Path(path) / "public" / "manifest.json").is_file() for path in paths]
    first = next(n for n in range(len(paths) + 1) if all(is_release[n:]))
    return list(paths[:first]), list(paths[first:])


def text(evaluation: Evaluation) -> RenderableType:
    """What the release is good for, then its measures beside a random sample of the same size."""
    from slogan.logs.words import worded
    from slogan.measures import retention, supports

    items = evaluation.about.items
    rows: list[tuple[RenderableType, ...]] = []
    for group, lines in groupby(evaluation.headlines(), key=lambda row: row.group):
        rows.append((Text(worded(group, items), style="bold"), "", "", ""))
        rows += (
            (worded(f"  {row.label}", items), row.better, row.release, row.sample) for row in lines
        )
    log, support = evaluation.about.log, evaluation.release[supports.SUPPORTS].first.min_support
    predicted = evaluation.also_clicked.hit_at_10_of_original
    base = "clicks on shared pairs" if evaluation.about.coverage is None else "all clicks"
    notes = [
        f"The log: {log.clicks:,} clicks, {log.shared.clicks:,} of them on shared pairs.",
        f"A pair is frequent if it has at least {support} of {base}.",
        f"Recommendations from the log itself find a hidden pair with {predicted or 0:.3f}.",
        _CURATOR_ONLY,
    ]
    if unknown := evaluation.release[retention.DIVERSITY].unknown_pairs:
        notes.append(f"{unknown:,} released pairs are not in the log. Is it the right log?")
    notes = [worded(line, items) for line in notes]
    headings = ("", "better", "this release", "random sample")
    return Group(_uses(evaluation.uses, items), with_notes(table(headings, rows, left=2), notes))


def _uses(uses: Uses, items: str) -> Text:
    """Good for, partly, not for: a heading each, and one task per line with its evidence."""
    from slogan.logs.words import worded

    lines = Text()
    if not uses.good_for:
        lines.append("Good for\n", style=_STYLES["Good for"]).append("  nothing that is measured\n")
    for name, some in uses.groups():
        lines.append(f"{name}\n", style=_STYLES[name])
        for use in some:
            lines.append(f"  {worded(use.task, items)}")
            lines.append(f" ({worded(use.reason, items)})\n", style="dim")
    return lines


def comparison_text(comparison: ReleaseComparison) -> RenderableType:
    """Releases side by side, best values marked with *, and which one is better at what."""
    rows: list[tuple[RenderableType, ...]] = [
        ("Rows", "", *(_ROWS[one.kind] for one in comparison.releases)),
        ("Protection", "", *(one.protection for one in comparison.releases)),
        ("Privacy budget ε", "lower", *(one.epsilon for one in comparison.releases)),
        ("Probability δ", "lower", *(one.delta for one in comparison.releases)),
    ]
    for group, lines in groupby(comparison.measures, key=lambda measure: measure.group):
        rows.append((Text(group, style="bold"), "", *("" for _ in comparison.releases)))
        for line in lines:
            cells = [
                f"{value} *" if n in line.best else value for n, value in enumerate(line.texts)
            ]
            rows.append((f"  {line.label}", line.better, *cells))
    headings = ("", "better", *(one.release for one in comparison.releases))
    notes = ["* best of these releases", *comparison.words, _CURATOR_ONLY]
    return with_notes(table(headings, rows, left=2), notes, style="")
