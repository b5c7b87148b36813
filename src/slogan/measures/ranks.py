"""At which rank people click: how far the output's curve is from the log's."""

from dataclasses import dataclass

from slogan.arrays import Ints
from slogan.histogram import Events
from slogan.measures import Comparison, Headline, Measure
from slogan.measures.events import Both, counted, present, variation
from slogan.measures.headlines import Group

_GROUP: Group = "Time, ranks and sessions"
RANKS = 10
"""Of the first page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranks:
    """Clicks by rank on the first page."""

    variation: float | None
    """Total variation; 0 is the same."""
    clicks: list[int]
    """Of the output, from rank 1 to 10."""
    clicks_of_original: list[int]


def ranks(both: Both[Events]) -> Ranks:
    """Compare clicks that have a rank from 1 to 10."""
    log, output = by_rank(both.log), by_rank(both.output)
    return Ranks(
        variation=variation(log, output),
        clicks=output.tolist(),
        clicks_of_original=log.tolist(),
    )


def by_rank(events: Events) -> Ints:
    """Clicks on each rank of the first page."""
    return counted(present(events.rank), events.count, RANKS + 2)[1 : RANKS + 1]


def _take(c: Comparison) -> Ranks | None:
    both = c.events and c.events.ranked
    return ranks(both) if both else None


CLICK_RANKS = Measure[Ranks | None](
    name="ranks",
    order=130,
    take=_take,
    headlines=(
        Headline(
            "Clicks by rank, 1 to 10 (0 = same)",
            lambda r: r and r.variation,
            ".3f",
            "lower",
            _GROUP,
        ),
    ),
)
