"""`slogan inspect`: how a log is read, and how much of it could be released."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import RenderableType

from slogan.cli.options import DatedReading, Logs
from slogan.cli.terminal import Json, how_read, show, skipped_rows, table, watching, with_notes

if TYPE_CHECKING:
    from slogan.logs.header import Header
    from slogan.workflows.inspect import Inspection

GROUP, RANK = "look", 2


_UNSHARED = "Check that the columns above are the right ones; --url none shares queries alone."


def inspect(
    log: Logs,
    /,
    *,
    reading: DatedReading = DatedReading(),
    show_header: Annotated[bool, Parameter(negative="")] = False,
    json: Json = False,
) -> None:
    """Check how a log is read, and how much of it could be released.

    `slogan inspect clicks.tsv`

    Parameters
    ----------
    show_header
        List the columns with their kinds and nothing else. No value of the log is shown.
    """
    if show_header:
        show(reading.header(log), columns_text, json=json)
        return

    from slogan.workflows.inspect import inspect as inspect_log

    with watching() as watch:
        inspection = inspect_log(reading.log(log), engine=reading.host(), progress=watch)
    show(inspection, text, json=json)


def columns_text(header: Header) -> RenderableType:
    """The columns with their kinds."""
    rows = (
        [str(n), column.name, column.kind, column.role or ""]
        for n, column in enumerate(header.columns, start=1)
    )
    source = "declared types" if header.declared else "guessed from the first 1,000 rows"
    lines = [
        f"Kinds are {source}; no value is shown.",
        "To read another column, name it: --user NAME, --query NAME, --url NAME, --count NAME.",
    ]
    if header.keys:
        lines.append(
            "In JSON Lines only the keys user, query, url and count are read without being named. "
            "For a key that is not there: --url none, --count none."
        )
    return with_notes(table(("", "column", "kind", "read as"), rows, left=4), lines)


def _advised(inspection: Inspection) -> list[str]:
    """What reading the log in another way would change."""
    if (advice := inspection.advice) is None:
        return []
    lines: list[str] = []
    if not inspection.log.fold and advice.fold_clicks > inspection.shared.clicks:
        lines.append(
            f"With --fold, shared pairs: {advice.fold_pairs:,} instead of "
            f"{inspection.shared.pairs:,}; shared clicks: {advice.fold_clicks:,} instead of "
            f"{inspection.shared.clicks:,}."
        )
    if advice.similar_users:
        lines.append(
            f"{advice.similar_users:,} user-IDs differ from another only in spaces or leading "
            "zeros. If they are the same people, correct the log: each counts as a user."
        )
    return lines


def _events_read(inspection: Inspection) -> list[str]:
    """How many rows have a time, rank or session; and what to check if few do."""
    if (read := inspection.events) is None:
        return []
    columns = inspection.log.columns
    lines = [f"{columns.time}: {read.with_time:,} of {read.rows:,} rows have a time."]
    if read.at_ends:
        lines.append(
            f"{read.at_ends:,} of them are at the first or last second of the period, where times "
            "outside of it count."
        )
    if 2 * read.with_time < read.rows:
        lines.append("Check how they are written: --time-format iso, epoch, epoch-ms or a pattern.")
    elif 10 * read.at_ends > read.rows:
        lines.append("Check the period: --period FROM/TO.")
    if read.with_rank is not None:
        lines.append(f"{columns.rank}: {read.with_rank:,} of {read.clicks:,} clicks have a rank.")
    if read.with_session is not None:
        lines.append(
            f"{columns.session}: {read.with_session:,} of {read.rows:,} rows have a session."
        )
    return lines


def text(inspection: Inspection) -> RenderableType:
    """The paper's Table 3."""
    from slogan.logs.words import QUERIES, worded

    items, sizes = inspection.log.items, (inspection.whole, inspection.shared)
    names = ("clicks", "users", "queries", *(("urls", "pairs") if items != QUERIES else ()))
    rows = (
        [worded(name, items), *(f"{getattr(size, name):,}" for size in sizes)] for name in names
    )
    counted = inspection.counted
    lines = [
        *how_read(inspection.log),
        *_events_read(inspection),
        *skipped_rows(counted.rows_without_click, counted.bad_rows, counted.bad_users),
        *(worded(line, items) for line in _advised(inspection)),
    ]
    lines.append("Only what is shared by 2 or more users can ever be released.")
    if not inspection.shared.pairs:
        lines.append(f"Nothing is shared, so nothing can be released. {_UNSHARED}")
    return with_notes(table(("", "the log", "shared by 2+ users"), rows), lines)
