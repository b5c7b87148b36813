"""The verbs that say what budgets buy: frontier on a log, reproduce for the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter
from rich.console import Group as Lines
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from slogan.frontier import frontier as frontier_of
from slogan.options import Logs, Reading, Trial
from slogan.report.frontier import MONOTONE
from slogan.reproducing import reproduce as reproduce_paper
from slogan.terminal import Json, measuring, show, watching

Force = Annotated[bool, Parameter(negative="", help="Replace what is there.")]
Grid = Group("Grid")


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
    force: Force = False,
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
    with watching() as watch:
        found = frontier_of(
            reading.log(log),
            epsilons=_listed(epsilons),
            exp_epsilons=_listed(exp_epsilons),
            deltas=_listed(deltas),
            mode=mode,
            objective=utility.build(),
            solver=utility.solver,
            time_limit=utility.time_limit,
            gap=utility.gap,
            runs=runs,
            seed=seed,
            engine=reading.host(),
            memory_limit=reading.memory_limit,
            watcher=watch,
        )
    if output is not None:
        found.save(output, force=force)
    show(found.summary(), frontier_words, json=json)


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
        Parameter(negative="", help="Files of a log of your own; a made-up one if not given."),
    ] = None,
    output: Annotated[
        Path, Parameter(name=["--output", "-o"], help="The folder of the pages.")
    ] = Path("reproduction"),
    quick: Annotated[bool, Parameter(negative="", help="Two minutes instead of twenty.")] = False,
    reading: Reading = Reading(),
    force: Annotated[bool, Parameter(negative="", help="Compute everything anew.")] = False,
    json: Json = False,
) -> None:
    """Write the tables and figures of the paper's section 6, beside what is provable about them.

    `slogan reproduce -o reproduction --quick`

    What an earlier run left in the folder is not computed again.
    """
    asked = [f"table{n}" for n in table or ()] + [f"figure{n}" for n in figure or ()]
    with measuring() as progress:
        done = reproduce_paper(
            output,
            only=asked or None,
            log=None if log is None else reading.log(log),
            quick=quick,
            force=force,
            engine=reading.host(),
            memory_limit=reading.memory_limit,
            progress=progress,
        )
    show(done.summary(), reproduction_words, json=json)


def frontier_words(found: dict[str, Any]) -> RenderableType:
    """One row for each budget, and who may read it."""
    table = Table(box=None, pad_edge=False)
    shown = {"epsilon": "ε", "delta": "δ", "value": found["utility"], "average": "average"}
    shown |= {"bound": "proven bound", "size_bound": "m·b", "pairs": "pairs"}
    shown |= {"coverage": "coverage", "recall": "recall"}
    points: list[dict[str, Any]] = found["points"]
    columns = {name: words for name, words in shown.items() if name in points[0]}
    for words in columns.values():
        table.add_column(words, justify="right")
    for point in points:
        table.add_row(*(_number(point[name]) for name in columns))
    lines = [found["curator_only"]]
    if found["mode"] == "synthesize":
        lines.append(MONOTONE)
    if found["output_size"] is not None:
        size = f"{found['output_size']:,} clicks are asked for at every budget"
        lines.append(f"{size}; where λ is smaller there is no value")
    return Lines(table, Text(), Text("\n".join(lines), style="dim"))


def reproduction_words(done: dict[str, Any]) -> RenderableType:
    """Every verdict, and where the pages are."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for page in done["pages"]:
        for n, verdict in enumerate(page["verdicts"]):
            title = page["title"].partition(":")[0] if n == 0 else ""
            table.add_row(title, Text(verdict["kind"], style="bold"), verdict["why"])
    lines = [
        f"{len(done['pages'])} pages in {done['output']}: {len(done['computed'])} parts computed "
        f"and {len(done['reused'])} known from an earlier run; took {done['seconds']:.0f} s",
    ]
    if not done["made_up"]:
        lines.append("computed from the raw log: for the curator, not for publication")
    return Lines(table, Text(), Text("\n".join(lines)))


def _listed(words: str | None) -> list[str] | None:
    return None if words is None else [word.strip() for word in words.split(",")]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.6g}"
