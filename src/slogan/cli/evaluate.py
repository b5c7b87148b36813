"""`slogan evaluate`: how much of a log a release keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType

from slogan.cli.options import LogAndRelease, Reading, log_and_release
from slogan.cli.terminal import Json, show, table, watching, with_notes

if TYPE_CHECKING:
    from slogan.workflows.evaluate import Evaluation


def evaluate(
    *paths: LogAndRelease,
    min_support: str | None = None,
    samples: int = 10,
    seed: int = 0,
    reading: Reading = Reading(),
    json: Json = False,
) -> None:
    """Measure how much of a log a release keeps, beside a random sample of the same size.

    `slogan evaluate clicks.tsv release --min-support 1/500,1/100`

    The figures depend on the log and are for the curator; they are kept in the release's curator/.
    RELEASE may also be any other log, such as a release made elsewhere.

    Parameters
    ----------
    min_support
        Comma-separated shares of clicks from which on a pair is frequent.
    samples
        Outputs drawn anew, over which triplets are averaged if the counts are exact.
    seed
        The same seed gives the same figures.
    """
    log, release = log_and_release(paths, "evaluate")

    from slogan.workflows.evaluate import evaluate as evaluate_release

    with watching() as watch:
        evaluation = evaluate_release(
            log if reading.detects else reading.log(log),
            release if reading.detects or Path(release).is_dir() else reading.log([release]),
            min_support=None if min_support is None else min_support.split(","),
            samples=samples,
            seed=seed,
            engine=reading.host(),
            progress=watch,
        )
    if (Path(release) / "curator" / "certificate.json").is_file():
        evaluation.save(release)
    show(evaluation, text, json=json)


def text(evaluation: Evaluation) -> RenderableType:
    """What is kept, beside a random sample of the same size."""
    from slogan.logs.words import worded
    from slogan.measures import retention, supports

    rows = ((row.label, row.release, row.sample) for row in evaluation.headlines())
    log, support = evaluation.about.log, evaluation.release[supports.SUPPORTS].first.min_support
    predicted = evaluation.also_clicked.hit_at_10_of_original
    base = "clicks on shared pairs" if evaluation.about.coverage is None else "all clicks"
    lines = [
        f"the log: {log.clicks:,} clicks, {log.shared.clicks:,} on shared pairs; "
        f"a pair is frequent from {support} of {base} on",
        f"the log itself predicts a hidden pair with hit@10 = {predicted or 0:.3f}",
        "computed from the raw log: for the curator, not for publication",
    ]
    if unknown := evaluation.release[retention.DIVERSITY].unknown_pairs:
        lines.append(f"{unknown:,} released pairs are not in the log: the right one?")
    lines = [worded(line, evaluation.about.items) for line in lines]
    return with_notes(table(("", "this release", "random sample"), rows), lines)
