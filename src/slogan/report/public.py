"""PublicPage: the report for everybody. It is made of the manifest, so it can show nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from slogan.report.odds import one_in
from slogan.report.page import Page

_HEADINGS = {"sanitize": "A sanitized search log", "synthesize": "A synthetic search log"}
_ALIKE = "It has the columns of the original and can be analysed alike."
_OPENINGS = {
    "sanitize": "The clicks in this file were chosen, and their users drawn, so that no single "
    f"user of the original log weighs much. {_ALIKE}",
    "synthesize": "The users in this file never lived. Which pairs there are, how often they are "
    "clicked and which are held together was measured in the original log with noise, so that no "
    f"single user of it weighs much. {_ALIKE}",
}
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
    def heading(self) -> str:
        """What was published."""
        return _HEADINGS[self.manifest.method]

    @property
    def opening(self) -> str:
        """What it is, in two sentences."""
        return _OPENINGS[self.manifest.method]

    @property
    def verdict(self) -> str:
        """The promise in one line."""
        budget = self.budget
        if self.manifest.method == "synthesize":
            return (
                f"Private from end to end, with ε = {budget.epsilon_value:.4g} and "
                f"δ = {budget.delta_value:g}: whatever is published hardly depends on any one "
                "user, and no row belongs to a real one."
            )
        return (
            "Given the number of clicks of each pair, the chance that any row of a given user is "
            f"shown is at most {one_in(budget.delta_value)}. "
            "The numbers themselves are not private."
        )

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
        lines = [
            f"{told.coverage:.2%} of all clicks of the original fall on the released "
            "pairs. The share of a pair in the original is about its share here times that."
        ]
        kind, rank = told.association, told.association_rank
        if kind != "independent":
            held = (
                f"follows the original as far as the noise allows ({kind}, {rank} clear directions)"
            )
        elif self.manifest.parameters.get("association") == "independent":
            held = "says nothing: it was not measured"
        else:
            held = f"says nothing: it was lost in the noise ({rank} clear directions)"
        return [*lines, f"Which pairs the users hold together {held}."]
