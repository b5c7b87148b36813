"""At which rank people click: how far the output's curve is from the log's."""

from dataclasses import dataclass

from slogan.arrays import Ints
from slogan.histogram import Events
from slogan.measures import Headline, Measure
from slogan.measures.events import Bases, Both, ComparedEvents, counted, present, variation
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


def _ranks(c: ComparedEvents) -> Ranks | None:
    both = c.ranked
    return None if both is None else ranks(both)


CLICK_RANKS = Measure[Bases[Ranks] | None](
    name="ranks",
    order=130,
    take=lambda c: c.events and c.events.by_basis(_ranks),
    headlines=(
        Headline(
            "Clicks by rank, 1 to 10 (0 = same)",
            lambda r: r and r.released_pairs and r.released_pairs.variation,
            ".3f",
            "lower",
            _GROUP,
        ),
    ),
)
