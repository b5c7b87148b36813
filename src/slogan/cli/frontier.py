"""`slogan frontier`: what utility each budget of a grid would buy."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, overload

from cyclopts import Group, Parameter
from rich.console import RenderableType
from rich.text import Text

from slogan.cli.options import Reading, Recording
from slogan.cli.terminal import Json, show, table, watching, with_notes
from slogan.cli.utility import Trial

if TYPE_CHECKING:
    from slogan.workflows.arguments import FrontierOptions
    from slogan.workflows.frontier.points import Point
    from slogan.workflows.frontier.result import Frontier
    from slogan.workflows.frontier.trade_off import TradeOff

Grid = Group("Grid")

GROUP, RANK = "study", 1


def frontier(
    *log: Annotated[
        str, Parameter(name="LOG", help="A log whose number of users and clicks is read.")
    ],
    users: int | None = None,
    clicks_per_user: float | None = None,
    on_log: Annotated[bool, Parameter(negative="")] = False,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="A folder for JSON, SVG and HTML.")
    ] = None,
    epsilons: Annotated[str | None, Parameter(group=Grid)] = None,
    exp_epsilons: Annotated[str | None, Parameter(group=Grid)] = None,
    deltas: Annotated[str | None, Parameter(group=Grid)] = None,
    mode: Literal["sanitize", "synthesize"] = "sanitize",
    objectives: str | None = None,
    utility: Trial = Trial(),
    runs: int = 3,
    seed: int = 0,
    reading: Reading = Reading(),
    population: str | None = None,
    ledger: Path | None = None,
    force: Annotated[bool, Parameter(negative="", help="Replace what is there.")] = False,
    json: Json = False,
) -> None:
    """Show what each budget of a grid would keep, on a made-up log of your log's size.

    `slogan frontier --users 2500 --clicks-per-user 95 -o frontier --deltas 0.1,0.5`

    Nothing is released. With --users the log is not read, so the choice says nothing about it.

    Parameters
    ----------
    users
        Number of users in the log, as you declare it.
    clicks_per_user
        Mean number of clicks of a user; 20 if omitted.
    on_log
        Measure on the log itself. Do not publish the figures; a budget picked from them is chosen
        after looking at the log.
    epsilons
        Comma-separated values of ε.
    exp_epsilons
        Comma-separated values of e^ε instead. Default: the paper's grid, or for synthesize ε of
        0.5, 1, 2, 4 and 8.
    deltas
        Comma-separated values of δ.
    mode
        Which verb is tried: sanitize with exact counts, or synthesize.
    objectives
        sanitize only: two objectives to trade for each other under one ε and δ, such as
        output_size,diversity, instead of a grid of budgets.
    runs
        synthesize only: number of dry runs that are averaged.
    seed
        Seed of the made-up log and of the dry runs.
    population
        With --on-log: record in this population's ledger that budgets were compared on the log.
    ledger
        The ledger's file. By default it is found by the name of the population.
    """
    from slogan.workflows.frontier import frontier as frontier_of
    from slogan.workflows.frontier.result import check_place

    if output is not None:
        check_place(output, force=force)
    options: FrontierOptions = {
        "users": users,
        "clicks_per_user": clicks_per_user,
        "on_log": on_log,
        "epsilons": _listed(epsilons),
        "exp_epsilons": _listed(exp_epsilons),
        "deltas": _listed(deltas),
        "solver": utility.chosen_solver(),
        "runs": runs,
        "seed": seed,
        "ledger": Recording(population=population, ledger=ledger).opened(),
        "engine": reading.host(),
    }
    source = reading.log(list(log)) if log else None
    with watching() as watch:
        options["progress"] = watch
        if objectives is None:
            options["objective"] = utility.build()
            grid = frontier_of(source, mode=mode, **options)
        else:
            pair = utility.compared(_listed(objectives))
            grid = frontier_of(source, mode=mode, objectives=pair, **options)
    if output is not None:
        grid.save(output, force=force)
    show(grid, partial(text, folder=output), json=json)


def text(frontier: Frontier[Point] | TradeOff, folder: Path | None = None) -> RenderableType:
    """One row for each useful choice, what was computed, and where the page is."""
    page = "Add -o FOLDER for a page with a chart."
    if folder is not None:
        page = f"Chart and table: {folder}/frontier.html"
    lines = [*frontier.warnings, *frontier.facts(), page]
    headings, rows = frontier.table()
    if not rows:
        return Text("\n".join(["No budget of this grid releases anything.", *lines]))
    return with_notes(table(headings, rows, left=0), lines)


@overload
def _listed(values: str) -> list[str]: ...
@overload
def _listed(values: str | None) -> list[str] | None: ...
def _listed(values: str | None) -> list[str] | None:
    return None if values is None else [value.strip() for value in values.split(",")]
