"""The paper's method: solve the linear relaxation, then round every count down."""

import numpy as np

from slogan.errors import SolverError
from slogan.planning.program import Program, Solution, Status, status
from slogan.planning.solvers import Effort, no_mixture
from slogan.planning.solvers._highs import Running, outward, relaxation

# An optimum at 3 may be returned as 2.9999999999; the gate corrects it if 3 is too much.
_BELOW = 1e-9


def solve(program: Program, effort: Effort) -> Solution:
    """Floor of an optimal fractional solution over all shared pairs, none pruned [Hong12, 5.1].

    The bound is that of the relaxation. `exact` avoids the loss by rounding.
    """
    if program.mixture is not None:
        raise no_mixture("relaxed")
    problem = relaxation(program)
    answer = Running(problem, effort, integer=False).wait()
    if answer.z is None or answer.status is not Status.OPTIMAL:
        raise SolverError(
            f"the linear relaxation was not solved: HiGHS reports {answer.words!r}",
            hint="raise --time-limit, or use --solver exact",
        )
    x = np.floor(answer.z[: problem.pairs] + _BELOW)
    bound = outward(problem.constant + answer.objective_bound, program)
    reached = status(value=program.value(x.astype(np.int64)), bound=bound, allowed=effort.gap)
    return Solution(x=x, bound=bound, status=reached, solver="relaxed")
