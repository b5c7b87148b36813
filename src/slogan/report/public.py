"""PublicPage: the report for everybody. It is made of the manifest, so it can show nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from slogan.manifest import CappedOutputs, Outputs
from slogan.report.page import Page

_OBJECTIVES = {
    "output_size": "as many clicks as possible",
    "diversity": "as many different query-url pairs as possible",
    "query_diversity": "as many different queries as possible",
    "frequent_pairs": "the shares of frequently clicked pairs as close to the original as possible",
}


@dataclass(frozen=True)
class PublicPage(Page):
    """The public report."""

    @property
    def verdict(self) -> str:
        """The promise in one line."""
        return self.told(self.kind.verdict)

    @property
    def utility(self) -> list[str]:
        """What the release was made to be good at."""
        asked = str(self.manifest.parameters.get("objective", ""))
        lines: list[str] = []
        if asked in _OBJECTIVES:
            lines.append(f"It was made to keep {_OBJECTIVES[asked]} (objective {asked}).")
        return [
            *lines,
            *self._measured(),
            "How well that went compared with the original is known to the curator only, because "
            "the comparison is computed from the original log.",
        ]

    def _measured(self) -> list[str]:
        """What the mechanism measured of the original, with noise: private as the log itself."""
        told = self.manifest.outputs
        if told is None:
            return []
        return _of_draws(told) if isinstance(told, CappedOutputs) else self._of_synthesis(told)

    def _of_synthesis(self, told: Outputs) -> list[str]:
        kind, rank = told.association, told.association_rank
        clear = f"{rank} clear direction{'s' * (rank != 1)}"
        if kind != "independent":
            held = f"follows the original as far as the noise allows ({kind}, {clear})"
        elif self.manifest.parameters.get("association") == "independent":
            held = "says nothing: it was not measured"
        else:
            held = f"says nothing: it was lost in the noise ({clear})"
        return [
            f"{told.coverage:.2%} of all clicks of the original fall on the released "
            "pairs. The share of a pair in the original is about its share here times that.",
            f"Which pairs the users hold together {held}.",
        ]


def _of_draws(told: CappedOutputs) -> list[str]:
    return [
        f"{told.pairs_selected:,} pairs could be drawn. About {told.users:,} users held one of "
        "them, by a noisy count."
    ]
