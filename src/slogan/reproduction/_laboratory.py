"""Laboratory: the log under study, how long each problem may take, and what was found so far."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np

from slogan.climbing import Step, Steps, climb
from slogan.constraints import PrivacyConstraints, privacy_constraints
from slogan.frontier import DELTAS, EXP_EPSILONS
from slogan.histogram import LogSize, PairHistogram
from slogan.objectives import Objective
from slogan.objectives.diversity import Diversity
from slogan.objectives.output_size import OutputSize
from slogan.plan import Plan
from slogan.privacy import PrivacyBudget
from slogan.program import Status
from slogan.reproduction import _published as published
from slogan.reproduction._store import Found, Store
from slogan.solvers import Effort
from slogan.stages import Progress

_GAP = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """How long each problem may take."""

    size: float
    """O-UMP and D-UMP, for each of about a dozen budgets."""
    supports: float
    """F-UMP, for each of about forty problems."""
    solver: float
    """Each solver of Table 7, for each of seven budgets."""


FULL = Seconds(size=30, supports=8, solver=30)
QUICK = Seconds(size=2, supports=1, solver=2)


@dataclass(kw_only=True)
class Laboratory:
    """A log without its unique pairs, and everything computed from it."""

    hist: PairHistogram
    sizes: tuple[LogSize, LogSize]
    seconds: Seconds
    store: Store
    progress: Progress

    @cached_property
    def largest(self) -> Steps:
        """O-UMP over the paper's grid."""
        return self._climbed("output_size", OutputSize())

    @cached_property
    def diverse(self) -> Steps:
        """D-UMP over the paper's grid."""
        return self._climbed("diversity", Diversity())

    @property
    def fixed(self) -> PrivacyConstraints:
        """The rows under the budget of Tables 5 and 6 and of Figure 6."""
        return self.constraints(*published.FIXED)

    def constraints(self, exp_epsilon: str, delta: str) -> PrivacyConstraints:
        """The rows under one budget."""
        budget = PrivacyBudget(exp_epsilon=exp_epsilon, delta=delta)
        return privacy_constraints(self.hist, budget)

    def scaled(self, size: int) -> int:
        """The published |O| in proportion to the λ of this log."""
        largest = self.largest[self.fixed.allowance].plan.size
        return round(largest * size / published.LARGEST)

    def effort(self, seconds: float) -> Effort:
        """The same gap everywhere."""
        return Effort(time_limit=seconds, gap=_GAP)

    def part(self, name: str, parameters: Found, compute: Callable[[], Found]) -> Found:
        """What was found, computed once for this log and these parameters."""
        return self.store.remember(name, parameters, compute)

    def noted(self, what: str) -> Callable[[int, int], None]:
        """Tell how far a part is."""
        return lambda done, of: self.progress(done / max(1, of), f"{what}, {done} of {of}")

    def _climbed(self, name: str, objective: Objective) -> Steps:
        def compute() -> Found:
            steps = climb(
                self.hist,
                [PrivacyBudget(exp_epsilon=e, delta=d) for e in EXP_EPSILONS for d in DELTAS],
                objective,
                effort=self.effort(self.seconds.size),
                done=self.noted(name),
            )
            return {str(allowance): written(step) for allowance, step in steps.items()}

        found = self.part(name, {"seconds": self.seconds.size}, compute)
        budgets = [PrivacyBudget(exp_epsilon=e, delta=d) for e in EXP_EPSILONS for d in DELTAS]
        return {b.allowance: read_step(found[str(b.allowance)], self.hist.pairs) for b in budgets}


def written(step: Step) -> dict[str, Any]:
    """A step as JSON; its plan as `pair:clicks`, which says nothing about texts."""
    shown = np.flatnonzero(step.plan.counts)
    return {
        "value": step.value,
        "bound": step.bound,
        "status": str(step.status),
        "carried": step.carried,
        "plan": " ".join(f"{pair}:{step.plan.counts[pair]}" for pair in shown),
    }


def read_step(told: dict[str, Any], pairs: int) -> Step:
    """A step as `written` wrote it."""
    counts = np.zeros(pairs, dtype=np.int64)
    for word in str(told["plan"]).split():
        pair, clicks = word.split(":")
        counts[int(pair)] = int(clicks)
    return Step(
        plan=Plan(counts),
        value=float(told["value"]),
        bound=float(told["bound"]),
        status=Status(told["status"]),
        carried=bool(told["carried"]),
    )


def digest_of(hist: PairHistogram, sizes: tuple[LogSize, LogSize]) -> str:
    """What results belong to: these clicks, and this version of slogan."""
    content = hashlib.sha256(f"{version('slogan')} {sizes}".encode())
    for array in (hist.user, hist.pair, hist.count, hist.query):
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()
