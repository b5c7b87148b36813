"""Options of the utility: the objective with its own options, and the solver."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from slogan.errors import OptionError
from slogan.modes import PrivateCounts
from slogan.registry import module_names

if TYPE_CHECKING:
    from slogan.planning.objectives import Objective
    from slogan.planning.objectives.joint import Joint
    from slogan.planning.solvers import Solver

PATIENCE = 15.0
"""As in planning/solvers, which help does not load."""
_OBJECTIVES = ", ".join(module_names("slogan.planning.objectives"))
_SOLVERS = ", ".join(module_names("slogan.planning.solvers"))
_SELECTORS = ", ".join(module_names("slogan.dp.selection"))
_UTILITY = Group("Utility", sort_key=2)
_OWNERS = {"weights": "joint", "at_least": "joint"}
"""The objective of an option; that of the others is frequent_pairs."""


@Parameter(name="*", group=_UTILITY)
@dataclass(frozen=True, kw_only=True)
class Utility:
    """What should be kept, and how hard to try."""

    objective: Annotated[str, Parameter(help=f"One of: {_OBJECTIVES}.")] = "output_size"
    min_support: str | None = None
    (
        "frequent_pairs, alone or as a part of joint: a pair is frequent if it has this share of "
        "all clicks. Default 1/500."
    )
    output_size: int | None = None
    "frequent_pairs only: clicks to release, at most λ (the most that is possible). Default λ/2."
    weights: str | None = None
    (
        "joint only: how much each part counts, as NAME=NUMBER with commas between them. Parts are "
        "output_size, diversity, query_diversity and frequent_pairs. Only ratios matter. Default "
        "output_size=1,diversity=1."
    )
    at_least: str | None = None
    (
        "joint only: the least share of a part's optimum that must be kept, such as "
        "diversity=0.8; several with commas between them."
    )
    solver: Annotated[
        str,
        Parameter(
            help=f"auto, {_SOLVERS}, or distributed (on Spark). When in doubt, leave it out."
        ),
    ] = "auto"
    time_limit: float = 60.0
    "Most seconds for each problem."
    patience: float = PATIENCE
    "Seconds without a better solution after which the search stops. 0 uses the whole time limit."
    gap: float = 1e-4
    "Stop when the solution is this close to the proven bound, as a share of it."

    def build(self) -> Objective:
        """The objective with its own options."""
        own = {
            "min_support": self.min_support,
            "output_size": self.output_size,
            "weights": self.weights,
            "at_least": self.at_least,
        }
        return _objective(self.objective, own)

    def chosen_solver(self, *, private: bool = False) -> Solver | None:
        """The solver and its limits; None where private counts need none and none is named."""
        from slogan.planning.solvers import Solver

        if private and self.solver == "auto":
            return None
        patience = self.patience or None
        return Solver(self.solver, time_limit=self.time_limit, gap=self.gap, patience=patience)


@Parameter(name="*", group=_UTILITY)
@dataclass(frozen=True, kw_only=True)
class Trial(Utility):
    """The same where many budgets are tried."""

    time_limit: float = 10.0
    "Most seconds for each problem."
    patience: float = 3.0
    "Seconds without a better solution after which the search stops. 0 uses the whole time limit."

    def compared(self, names: list[str]) -> Joint:
        """Two objectives to trade for each other, in place of one."""
        from slogan.workflows.frontier.trade_off import pair_of

        own = {
            "--objective": self.objective != Utility.objective,
            "--output-size": self.output_size is not None,
            "--weights": self.weights is not None,
            "--at-least": self.at_least is not None,
        }
        for option, typed in own.items():
            if typed:
                raise OptionError(
                    f"{option} has no effect with --objectives", hint=f"leave {option} out"
                )
        return pair_of(names, self.min_support)


@Parameter(name="*", group=_UTILITY)
@dataclass(frozen=True, kw_only=True)
class Synthesis:
    """What the synthetic log should keep."""

    objective: Annotated[str, Parameter(help=f"One of: {_OBJECTIVES}.")] = "output_size"
    output_size: int | None = None
    "frequent_pairs only: clicks to release. By default as many as the noisy counts add up to."
    association: Annotated[
        str | None,
        Parameter(
            help="Which pairs made-up users have together: pairs (each by itself), domains (by "
            "site), taxonomy (by the categories of a file) or independent (at random); by default "
            "auto: pairs or else domains, whichever the noise would not hide."
        ),
    ] = None
    taxonomy: Path | None = None
    "Public file with lines of host or domain, tab, category. It must not be made from the log."
    vocabulary: Path | None = None
    (
        "Public file with a pair (query, tab, url), a query or a site per line. These pairs need "
        "fewer users, and may be released without one. It must not be made from the log."
    )
    hints: Path | None = None
    "An earlier release of synthesize, whose pairs are public by now: to the same effect."
    selector: Annotated[
        str, Parameter(help=f"How pairs are selected: {_SELECTORS}. When in doubt, leave it out.")
    ] = PrivateCounts.selector
    contributions: Annotated[
        Literal["several", "one", "auto"],
        Parameter(
            help="one: nearly every user of such logs has a single pair, such as one query per "
            "visitor. Then one draw measures all, and made-up users have one pair each. auto: a "
            "private look decides, for 1% of ε. When in doubt about such a log, auto."
        ),
    ] = "several"

    def build(self) -> Objective:
        """The objective with its own options."""
        return _objective(self.objective, {"output_size": self.output_size})


def _objective(name: str, own: dict[str, Any]) -> Objective:
    from slogan.planning import objectives

    given = {option: value for option, value in own.items() if value is not None}
    kind = objectives.load(name)
    unknown = given.keys() - kind.__annotations__.keys()
    if unknown:
        option = min(unknown)
        owner = _OWNERS.get(option, "frequent_pairs")
        raise OptionError(
            f"--{option.replace('_', '-')} has no effect with --objective {name}",
            hint=f"use it with --objective {owner}, or leave it out",
        )
    parts = given.keys() & _OWNERS.keys()
    if parts:
        from slogan.planning.objectives.joint import Joint

        given |= {n: Joint.from_text(n.replace("_", "-"), given[n]) for n in parts}
    return kind(**given)
