"""`slogan frontier`: what utility each budget of a grid would buy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Group, Parameter
from rich.console import RenderableType

from slogan.cli.options import Logs, Reading, Trial
from slogan.cli.terminal import Json, show, table, watching, with_notes

if TYPE_CHECKING:
    from slogan.workflows.frontier import Frontier, Point

Grid = Group("Grid")

GROUP, RANK = "study", 1


def frontier(
    log: Logs,
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="A folder for JSON, SVG and HTML.")
    ] = None,
    epsilons: Annotated[str | None, Parameter(group=Grid)] = None,
    exp_epsilons: Annotated[str | None, Parameter(group=Grid)] = None,
    deltas: Annotated[str | None, Parameter(group=Grid)] = None,
    mode: Literal["sanitize", "synthesize"] = "sanitize",
    utility: Trial = Trial(),
    runs: int = 3,
    seed: int = 0,
    reading: Reading = Reading(),
    force: Annotated[bool, Parameter(negative="", help="Replace what is there.")] = False,
    json: Json = False,
) -> None:
    """Show what utility each budget of a grid would buy. Nothing is released.

    `slogan frontier clicks.tsv -o frontier --exp-epsilons 1.4,2 --deltas 0.2,0.5`

    The figures are computed from the raw log without noise: they are for the curator.

    Parameters
    ----------
    epsilons
        Comma-separated values of ε.
    exp_epsilons
        Comma-separated values of e^ε instead; the paper's grid if neither is given.
    deltas
        Comma-separated values of δ.
    mode
        Which verb is tried: sanitize with exact counts, or synthesize.
    runs
        For synthesize: how many dry runs are averaged.
    seed
        For synthesize: the same seed gives the same figures.
    """
    from slogan.workflows.frontier import frontier as frontier_of

    with watching() as watch:
        grid = frontier_of(
            reading.log(log),
            epsilons=_listed(epsilons),
            exp_epsilons=_listed(exp_epsilons),
            deltas=_listed(deltas),
            mode=mode,
            objective=utility.build(),
            solver=utility.chosen_solver(),
            runs=runs,
            seed=seed,
            engine=reading.host(),
            progress=watch,
        )
    if output is not None:
        grid.save(output, force=force)
    show(grid, text, json=json)


def text(frontier: Frontier[Point]) -> RenderableType:
    """One row for each budget, and who may read it."""
    from slogan.report.html import CURATOR_ONLY, MONOTONE

    lines = [CURATOR_ONLY]
    if frontier.mode == "synthesize":
        lines.append(MONOTONE)
    if frontier.output_size is not None:
        size = f"{frontier.output_size:,} clicks are asked for at every budget"
        lines.append(f"{size}; where λ is smaller there is no value")
    return with_notes(table(*frontier.table(), left=0), lines)


def _listed(values: str | None) -> list[str] | None:
    return None if values is None else [value.strip() for value in values.split(",")]
