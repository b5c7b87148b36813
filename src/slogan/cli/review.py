"""`slogan review`: look at the released queries before they are published, and withhold some."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from slogan.cli.terminal import Json, show, table, watching

if TYPE_CHECKING:
    from slogan.workflows.review import Review

_SHOWN = 30
"""So many queries that are not flagged are listed."""

GROUP, RANK = "check", 3


def review(
    release: Annotated[Path, Parameter(name="RELEASE", help="The folder of a release.")],
    /,
    *,
    withhold: Annotated[tuple[str, ...], Parameter(negative="", consume_multiple=True)] = (),
    withhold_from: Path | None = None,
    json: Json = False,
) -> None:
    """List the released queries, those that may point to a person first; withhold some.

    `slogan review release --withhold "jane doe" "0171 5550100"`

    Only the released log is read. Withholding is recorded: verify still passes.

    Parameters
    ----------
    withhold
        Queries to remove from the release, by their exact text.
    withhold_from
        File with one query to remove per line (UTF-8).
    """
    from slogan.workflows.review import review as review_release

    with watching() as watch:
        watch("review", "")
        found = review_release(release, withhold=withhold, withhold_from=withhold_from)
    show(found, text, json=json)


def text(review: Review) -> RenderableType:
    """Flagged queries, the most frequent of the others, and what to do next."""
    from slogan.workflows.review import LIMITS

    flagged = review.flagged
    rest = [one for one in review.queries if not one.looks_like]
    rows = [
        (one.query, ", ".join(one.looks_like), f"{one.clicks:,}")
        for one in (*flagged, *rest[:_SHOWN])
    ]
    lines = [
        f"{len(flagged):,} of {len(review.queries):,} released queries may point to a person.",
        LIMITS,
    ]
    if len(rest) > _SHOWN:
        lines.insert(1, f"{len(rest) - _SHOWN:,} more queries: slogan review RELEASE --json")
    if review.withheld is not None:
        count = review.withheld.queries
        lines.append(
            f"Withheld by hand: {count:,} {'query' if count == 1 else 'queries'}. "
            "The manifest says how many, and not which."
        )
        lines.append(f"Next:  slogan verify LOG {review.release}")
    elif flagged:
        lines.append(f'To remove one:  slogan review {review.release} --withhold "QUERY"')
    shown = table(("query", "looks like", "clicks"), rows, left=2)
    return Group(shown, Text("\n".join(["", *lines])))
