"""The measures a person reads first, the release beside a random sample of the same size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from slogan.report.measures.coverage import PARTS


@dataclass(frozen=True, slots=True)
class Headline:
    """A measure by its place in an evaluation, how it is told, and which way is better."""

    name: str
    place: tuple[str, ...]
    form: str
    better: Literal["more", "less", "neither"]

    def told(self, found: dict[str, Any]) -> str:
        """The value as a person reads it."""
        value = self._value(found)
        return "–" if value is None else format(value, self.form)

    def favours(self, found: dict[str, Any], other: dict[str, Any]) -> bool:
        """Whether the first is better than the other."""
        mine, theirs = self._value(found), self._value(other)
        if mine is None or theirs is None or self.better == "neither":
            return False
        return mine > theirs if self.better == "more" else mine < theirs

    def _value(self, found: Any) -> Any:
        for name in self.place:
            found = None if found is None else found[name]
        return found


HEADLINES = (
    Headline("Clicks", ("size",), ",d", "neither"),
    Headline("Output size, of |D|", ("size_ratio",), ".2%", "neither"),
    Headline("Frequent pairs: precision", ("precision",), ".3f", "more"),
    Headline("Frequent pairs: recall", ("recall",), ".3f", "more"),
    Headline("Frequent pairs: support distances", ("sum_support_distance",), ".4f", "less"),
    Headline("All pairs: support distances", ("all_pairs", "sum_support_distance"), ".4f", "less"),
    Headline("Pairs retained", ("diversity",), ".2%", "more"),
    Headline("Queries retained", ("query_diversity",), ".2%", "more"),
    *(
        Headline(
            f"Clicks covered: {part}", ("click_coverage", part, "clicks_covered"), ".1%", "more"
        )
        for part in PARTS
    ),
    Headline("Urls of a query: distance", ("url_distance", "released_queries"), ".3f", "less"),
    Headline("Top 100 pairs kept", ("top_pairs", "100"), ".1%", "more"),
    Headline("Pairs per user: mean", ("bundles", "pairs", "mean"), ".2f", "neither"),
    Headline("Pairs per user: distance", ("bundle_distance",), ".3f", "less"),
    Headline("Lift of two pairs: correlation", ("lift", "correlation"), ".3f", "more"),
    Headline("Users also clicked: hit@10", ("also_clicked", "hit_at_10"), ".3f", "more"),
    Headline("Query suggestions: hit@10", ("suggestions", "hit_at_10"), ".3f", "more"),
)
