"""`slogan reproduce`: the paper's section 6, as pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import RenderableType
from rich.text import Text

from slogan.cli.options import Reading
from slogan.cli.terminal import Json, show, watching, with_notes
from slogan.cli.terminal import table as plain_table

if TYPE_CHECKING:
    from slogan.reproduction.reproduce import Reproduction

GROUP, RANK = "study", 3


def reproduce(
    *,
    table: Annotated[
        list[int] | None, Parameter(negative="", help="Only these tables: 3, 4, 5, 6, 7.")
    ] = None,
    figure: Annotated[
        list[int] | None, Parameter(negative="", help="Only these figures: 3, 4, 5, 6.")
    ] = None,
    log: Annotated[
        list[str] | None,
        Parameter(negative="", help="Files of the log to use. By default a made-up log."),
    ] = None,
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], help="The folder of the pages.")
    ] = Path("reproduction"),
    quick: Annotated[
        bool, Parameter(negative="", help="Smaller: two minutes in place of twenty.")
    ] = False,
    reading: Reading = Reading(),
    force: Annotated[bool, Parameter(negative="", help="Compute everything again.")] = False,
    json: Json = False,
) -> None:
    """Write the tables and figures of the paper's section 6, beside the published values.

    `slogan reproduce -o reproduction --quick`

    Parts that an earlier run left in the folder are reused; --force computes them again.
    """
    only = [f"table{n}" for n in table or ()] + [f"figure{n}" for n in figure or ()]

    from slogan.reproduction.reproduce import reproduce as reproduce_paper

    with watching() as progress:
        reproduction = reproduce_paper(
            output,
            only=only or None,
            log=None if log is None else reading.log(log),
            quick=quick,
            force=force,
            engine=reading.host(),
            progress=progress,
        )
    show(reproduction, text, json=json)


def text(reproduction: Reproduction) -> RenderableType:
    """Every verdict, and where the pages are."""
    rows: list[list[RenderableType]] = []
    for written in reproduction.pages:
        for n, verdict in enumerate(written.page.verdicts):
            title = written.experiment.title.partition(":")[0] if n == 0 else ""
            rows.append([title, Text(str(verdict.kind), style="bold"), verdict.why])
    lines = [
        f"Wrote {len(reproduction.pages)} pages to {reproduction.output}.",
        f"Computed {len(reproduction.computed)} parts; {len(reproduction.reused)} were there from "
        "an earlier run.",
        f"Took {reproduction.seconds:.0f} s.",
    ]
    if not reproduction.made_up:
        lines.append("Computed from the raw log: for the curator, not for publication.")
    return with_notes(plain_table((), rows), lines, style="")
