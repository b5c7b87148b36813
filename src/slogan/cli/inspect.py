"""`slogan inspect`: the paper's Table 3 for a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slogan.cli.options import Logs, Reading
from slogan.cli.terminal import Json, show, skipped_rows, watching

if TYPE_CHECKING:
    from slogan.workflows.inspect import Inspection


def inspect(log: Logs, /, *, reading: Reading = Reading(), json: Json = False) -> None:
    """Count a log as the paper's Table 3 does: whole, and without pairs that only one user has.

    `slogan inspect clicks.tsv`
    """
    from slogan.workflows.inspect import inspect as inspect_log

    with watching() as watch:
        inspection = inspect_log(
            reading.log(log),
            engine=reading.host(),
            progress=watch,
        )
    show(inspection, text, json=json)


def text(inspection: Inspection) -> RenderableType:
    """The paper's Table 3."""
    table = Table(box=None, pad_edge=False, title_justify="left")
    for heading in ("", "the log", "without unique pairs"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name in ("clicks", "users", "queries", "urls", "pairs"):
        whole, shared = getattr(inspection.whole, name), getattr(inspection.shared, name)
        table.add_row(name, f"{whole:,}", f"{shared:,}")
    columns = inspection.log.columns
    kind = "each row with a url is one click"
    if columns.count:
        kind = f"each row has a number of clicks ({columns.count})"
    counted = inspection.counted
    lines = [
        f"{inspection.format}, {inspection.files} file(s); user = {columns.user}, "
        f"query = {columns.query}, url = {columns.url}; {kind}",
        *skipped_rows(counted.rows_without_click, counted.bad_rows),
    ]
    return Group(table, Text(), Text("\n".join(lines), style="dim"))
