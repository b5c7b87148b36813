"""How many clicks are released (the paper's section 6.2)."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from slogan.measures import Comparison, Headline, Measure


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """|O|, and its share of |D|."""

    size: int
    size_ratio: float


def _take(comparison: Comparison) -> Size:
    totals = comparison.totals
    return Size(
        size=comparison.output.clicks,
        size_ratio=totals.size_after / max(1, totals.size_before),
    )


MEASURE = Measure[Size](
    name="size",
    order=10,
    take=_take,
    fields=asdict,
    headlines=(
        Headline("Clicks", lambda r: r.size, ",d"),
        Headline("Output size, of |D|", lambda r: r.size_ratio, ".2%"),
    ),
)
