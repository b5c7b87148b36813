"""Keep several things at once: a weighted mean of objectives, with floors (section 7)."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import numpy as np

from slogan.arrays import Ints
from slogan.budget import Number, exact
from slogan.errors import BudgetError, OptionError, PartError, suggestion
from slogan.modes import Parameters
from slogan.planning import objectives
from slogan.planning.constraints import PrivacyConstraints
from slogan.planning.mixture import Mixture, Part
from slogan.planning.objectives import CompositeObjective, PackingObjective, SolvePart
from slogan.planning.objectives.frequent_pairs import FrequentPairs, frequent_pairs
from slogan.planning.program import Program, empty

# Of the time limit, the share for the optima of all parts; the rest is for the joint problem.
_FOR_PARTS = 0.5
# A bound below this proves that a part has no value; bounds are rounded up by as much.
_NOTHING = 1e-5
_ROUNDED = 1e-6
_PLAIN = re.compile(r"[0-9]+(\.[0-9]+)?(/[0-9]+)?")


def _equal_weights() -> dict[str, Number]:
    return {"output_size": 1, "diversity": 1}


@dataclass(frozen=True, kw_only=True)
class Joint(CompositeObjective):
    """Maximise a weighted mean of objectives, each as a share of its optimum [Hong12, 7].

    A part's optimum is the best value found for it alone under the same budget, with its
    own proven bound. Of `frequent_pairs`, the value is X times the kept support,
    Σ_f s_f·X − |x_f − s_f·X| with X = Σ x and s_f the support of f in the log: the sum of support
    distances turned into a gain, which is linear while the output size is not fixed.

    Args:
        weights: How much each part counts, such as {"output_size": 1, "diversity": 2}. Only the
            ratios matter.
        at_least: The least share of a part's optimum that must be kept, such as
            {"diversity": "0.8"}. A part may have a floor without a weight.
        min_support: A pair is frequent if its share of the clicks on shared pairs reaches this.
    """

    weights: Mapping[str, Number] = field(default_factory=_equal_weights)
    at_least: Mapping[str, Number] = field(default_factory=dict[str, Number])
    min_support: Number | None = None

    name = "joint"
    utility = "weighted mean of shares"

    def __post_init__(self) -> None:
        require_parts("weights", self.weights)
        require_parts("at-least", self.at_least)
        if not self.weights:
            raise OptionError(
                "a joint objective needs a weight for at least one part",
                hint="such as --weights output_size=1,diversity=2",
            )
        for part, weight in self.weights.items():
            if _number(part, weight) <= 0:
                raise OptionError(
                    f"the weight of {part} must be above 0, got {weight}",
                    hint="leave the part out of --weights if it should not count",
                )
        for part, share in self.at_least.items():
            if not 0 < _number(part, share) <= 1:
                raise OptionError(
                    f"the share of {part} in --at-least must be above 0 and at most 1, got {share}",
                    hint=f"0.8 keeps 80% of the best possible: --at-least {part}=0.8",
                )
        if self.min_support is not None:
            FrequentPairs(min_support=self.min_support)
            if "frequent_pairs" not in {*self.weights, *self.at_least}:
                raise OptionError(
                    "--min-support has no effect: frequent_pairs is not among the parts",
                    hint="leave --min-support out, or give frequent_pairs a weight or a floor",
                )

    @classmethod
    def from_text(cls, option: str, text: str) -> dict[str, Number]:
        """Parts with a number each, as typed: output_size=1,diversity=2."""
        parts: dict[str, Number] = {}
        for item in text.split(","):
            name, mark, number = (word.strip() for word in item.partition("="))
            if not (name and mark and number):
                raise OptionError(
                    f"{item.strip()[:40]!r} in --{option} is not a part with a number",
                    hint=f"write parts as NAME=NUMBER: --{option} output_size=1,diversity=0.5",
                )
            if name in parts:
                raise OptionError(
                    f"{name[:40]} is given twice in --{option}", hint="give each part once"
                )
            parts[name] = number
        return parts

    def parameters(self) -> Parameters:
        """For the manifest: parts and numbers as they would be typed."""
        support = {} if self.min_support is None else {"min_support": str(self.min_support)}
        floors = {"at_least": _text(self.at_least)} if self.at_least else {}
        return {"weights": _text(self.weights), **floors, **support}

    def program(self, constraints: PrivacyConstraints, solve: SolvePart) -> Program:
        mixture = self.mixture(constraints)
        if not constraints.upper.any():
            raise empty(constraints)
        # One click of a pair that fits: no solver may find less.
        one_click = np.zeros(constraints.hist.pairs, dtype=np.int64)
        one_click[np.flatnonzero(constraints.upper)[0]] = 1
        starts: list[Ints] = [one_click]
        bounds: list[float] = []
        for part in mixture.parts:
            program = program_of_part(part, mixture, constraints)
            planned, bound = solve(program, share=_FOR_PARTS / len(mixture.parts))
            starts.append(planned.counts)
            bounds.append(bound)
        joint = mixture.with_optima(tuple(starts), tuple(bounds))
        for part in joint.parts:
            if part.optimum <= 0:
                raise PartError(part.name, impossible=part.bound <= _NOTHING)
        return Program(constraints=constraints, mixture=joint)

    def mixture(self, constraints: PrivacyConstraints) -> Mixture:
        """The parts with their weights and floors, before any is solved."""
        hist = constraints.hist
        support = FrequentPairs.min_support if self.min_support is None else self.min_support
        frequent = np.zeros(0, dtype=np.int64)
        names = dict.fromkeys((*self.weights, *self.at_least))
        if "frequent_pairs" in names:
            frequent = frequent_pairs(hist, exact(support))
        whole = sum((exact(weight) for weight in self.weights.values()), start=Fraction(0))
        return Mixture(
            parts=tuple(
                _part(
                    name,
                    exact(self.weights.get(name, 0)) / whole,
                    exact(self.at_least.get(name, 0)),
                )
                for name in names
            ),
            query=hist.query,
            frequent=frequent,
            clicks=hist.pair_total[frequent],
            size=hist.clicks,
        )


def require_parts(option: str, given: object) -> None:
    """Refuse what is not a mapping, and unknown parts."""
    if not isinstance(given, Mapping):
        raise OptionError(
            f"--{option} takes parts with a number each",
            hint="in Python a dict, such as {'output_size': 1, 'diversity': 2}",
        )
    known = part_names()
    for part in cast("Mapping[object, object]", given):
        if part not in known:
            meant = suggestion(str(part), known)
            choices = f"choose among: {', '.join(known)}"
            raise OptionError(
                f"{str(part)[:40]!r} in --{option} is not a part of a joint objective",
                hint=f"{meant} Or {choices}" if meant else choices,
            )


def part_names() -> tuple[str, ...]:
    """The objectives that can be a part: those that pack, and the kept supports."""
    packing = [n for n in objectives.names() if n != "joint" and objectives.load(n).is_packing]
    return (*packing, FrequentPairs.name)


def program_of_part(part: Part, mixture: Mixture, constraints: PrivacyConstraints) -> Program:
    """The program of a part alone."""
    kind = objectives.load(part.name)
    if issubclass(kind, PackingObjective):
        return kind().program(constraints)
    # m·b is a product in floating point, which may be just below a whole number.
    size = min(math.floor(constraints.size_bound + _ROUNDED), int(constraints.upper.sum()))
    bound = math.nextafter(float(mixture.most_gain(constraints.upper, size)), math.inf)
    alone = Part(name=part.name, of_supports=True, bound=bound)
    nothing = np.zeros(constraints.hist.pairs, dtype=np.int64)
    return Program(
        constraints=constraints,
        mixture=Mixture(
            parts=(alone,),
            query=mixture.query,
            frequent=mixture.frequent,
            clicks=mixture.clicks,
            size=mixture.size,
            starts=(nothing,),
        ),
    )


def _part(name: str, weight: Fraction, at_least: Fraction) -> Part:
    kind = objectives.load(name)
    if issubclass(kind, PackingObjective):
        most, of_queries = kind.most, kind.one_of_query
        return Part(name=name, weight=weight, at_least=at_least, most=most, of_queries=of_queries)
    return Part(name=name, weight=weight, at_least=at_least, of_supports=True)


def _number(part: str, value: Number) -> Fraction:
    try:
        return exact(value)
    except BudgetError as cause:
        raise OptionError(f"{part}: {cause.problem}", hint=cause.hint) from None


def _text(parts: Mapping[str, Number]) -> str:
    """As typed, where numbers are written plainly; else as fractions."""
    numbers = {name: str(number).strip() for name, number in parts.items()}
    return ",".join(
        f"{name}={text if _PLAIN.fullmatch(text) else exact(text)}"
        for name, text in numbers.items()
    )


OBJECTIVE = Joint
