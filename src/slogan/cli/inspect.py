"""`slogan inspect`: the paper's Table 3 for a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderableType

from slogan.cli.options import Logs, Reading
from slogan.cli.terminal import Json, show, skipped_rows, table, watching, with_notes

if TYPE_CHECKING:
    from slogan.workflows.inspect import Inspection

GROUP, RANK = "look", 2


def inspect(log: Logs, /, *, reading: Reading = Reading(), json: Json = False) -> None:
    """Check how a log is read, and how much of it could be released.

    `slogan inspect clicks.tsv`
    """
    from slogan.workflows.inspect import inspect as inspect_log

    with watching() as watch:
        inspection = inspect_log(reading.log(log), engine=reading.host(), progress=watch)
    show(inspection, text, json=json)


def text(inspection: Inspection) -> RenderableType:
    """The paper's Table 3."""
    names = ("clicks", "users", "queries", "urls", "pairs")
    sizes = (inspection.whole, inspection.shared)
    rows = ([name, *(f"{getattr(size, name):,}" for size in sizes)] for name in names)
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
    return with_notes(table(("", "the log", "without unique pairs"), rows), lines)
