"""`slogan evaluate`: how much of a log a release keeps."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import RenderableType

from slogan.cli.options import LogAndRelease, Reading, log_and_release
from slogan.cli.terminal import Json, show, table, watching, with_notes

if TYPE_CHECKING:
    from slogan.workflows.evaluate import Evaluation

GROUP, RANK = "check", 2


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

    The figures depend on the log, so they are not for publication. They are saved in the release's
    curator folder. RELEASE may also be any other log, such as a release made elsewhere.

    Parameters
    ----------
    min_support
        Comma-separated shares of all clicks that make a pair frequent. Default 1/500.
    samples
        exact counts only: how many samples the measures of triplets are averaged over.
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
    from slogan.measures import retention, supports

    rows = ((row.label, row.release, row.sample) for row in evaluation.headlines())
    log, support = evaluation.about.log, evaluation.release[supports.SUPPORTS].first.min_support
    predicted = evaluation.also_clicked.hit_at_10_of_original
    base = "clicks on shared pairs" if evaluation.about.coverage is None else "all clicks"
    lines = [
        f"The log has {log.clicks:,} clicks, {log.shared.clicks:,} of them on pairs of 2+ users.",
        f"A pair is frequent if it has {support} of {base}.",
        f"The log itself predicts a hidden pair with hit@10 = {predicted or 0:.3f}.",
        "Computed from the raw log: for the curator, not for publication.",
    ]
    if unknown := evaluation.release[retention.DIVERSITY].unknown_pairs:
        lines.append(
            f"{unknown:,} released pairs are not in this log. Check that it is the right one."
        )
    return with_notes(table(("", "this release", "random sample"), rows), lines)
