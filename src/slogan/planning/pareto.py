"""pareto(): plans of one budget that trade one objective for another, with proven bounds.

The first objective is maximised while the second keeps a share of its optimum, for shares from 0
to 1. What is found for one share is a start for all others.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from slogan.arrays import Ints
from slogan.planning import solvers
from slogan.planning.mixture import Mixture, Part
from slogan.planning.plan import plan
from slogan.planning.program import Program
from slogan.planning.solvers import Effort, quiet

_SHARES = tuple(Fraction(n, 10) for n in range(11))
# A bound on a share was rounded outward by more than this, so its product may be rounded down.
_ROUNDED = 1e-6


@dataclass(frozen=True, slots=True, kw_only=True)
class Compromise:
    """What a plan keeps of each of two objectives, and what is proven about the first."""

    values: tuple[Fraction, Fraction]
    shares: tuple[Fraction, Fraction]
    """Of the best found for each objective alone."""
    bound: float
    """Proven: no output with as much of the second objective has more of the first."""
    counts: Ints


def pareto(
    program: Program,
    mixture: Mixture,
    *,
    solver: str,
    effort: Effort,
    done: Callable[[int, int], None] = quiet,
) -> tuple[Compromise, ...]:
    """Plans of which none has more of both objectives than another, by the first, rising.

    Args:
        program: Of a joint objective with two parts, whose optima are known.
        mixture: That of the program.
        solver: A file of `solvers/`, or "auto".
        effort: For each problem.
        done: Receives the number of problems done, and of all.
    """
    first, second = mixture.parts
    known, bounds = [*mixture.starts], dict[Fraction, float]()
    for n, floor in enumerate(_SHARES):
        done(n, len(_SHARES))
        parts = replace(first, weight=Fraction(1)), replace(second, weight=Fraction(0))
        kept = parts[0], replace(parts[1], at_least=floor)
        question = replace(program, mixture=replace(mixture, parts=kept, starts=tuple(known)))
        answer = solvers.load(solver)(question, effort)
        known.append(plan(answer.x, program.constraints).counts)
        # Less is possible under a higher floor, so a bound holds for all higher ones too.
        bounds[floor] = min([_bound(first, answer.bound), *bounds.values()])
    done(len(_SHARES), len(_SHARES))
    found = {(mixture.amount(first, x), mixture.amount(second, x)): x for x in known}
    best = {
        values: counts
        for values, counts in found.items()
        if not any(_exceeds(other, values) for other in found)
    }
    return tuple(
        Compromise(
            values=values,
            shares=(values[0] / first.optimum, values[1] / second.optimum),
            bound=max(
                float(values[0]),
                min(b for floor, b in bounds.items() if floor * second.optimum <= values[1]),
            ),
            counts=counts,
        )
        for values, counts in sorted(best.items())
    )


def _exceeds(other: tuple[Fraction, Fraction], values: tuple[Fraction, Fraction]) -> bool:
    return other != values and other[0] >= values[0] and other[1] >= values[1]


def _bound(part: Part, of_share: float) -> float:
    """A bound on a part's value from one on its share; values of packing parts are whole."""
    bound = of_share * float(part.optimum)
    return bound if part.of_supports else math.floor(bound + _ROUNDED)
