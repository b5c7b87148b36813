"""Laboratory: the log under study, how long each problem may take, and the results so far."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from slogan.budget import PrivacyBudget
from slogan.histogram import LogSize, PairHistogram
from slogan.planning import solvers
from slogan.planning.budget_sweep import Sweep, SweepPoint, climb
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.objectives import Objective, PackingObjective
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.plan import Plan, plan
from slogan.planning.program import Program, Status
from slogan.planning.solvers import Effort
from slogan.progress import Progress
from slogan.reproduction import published
from slogan.reproduction.pages import Page

Record = dict[str, Any]
"""A JSON object of the store; each experiment reads it into a type of its own."""

_GAP = 1e-4


@dataclass(frozen=True, slots=True, kw_only=True)
class Experiment:
    """A table or figure of the paper."""

    name: str
    """Such as "table4"."""
    section: str
    """The subsection of the paper."""
    title: str
    page: Callable[[Laboratory], Page]
    """Computes the results that are not stored yet and compares them with the paper."""


@dataclass
class Store:
    """Results by name, a JSON file for each; reused for the same log and parameters."""

    folder: Path
    base: str
    """A digest of the log."""
    force: bool = False
    computed: list[str] = field(default_factory=list[str])
    """Computed in this run."""
    reused: list[str] = field(default_factory=list[str])
    """Computed in an earlier run."""
    _known: dict[str, Record] = field(default_factory=dict[str, Record])

    def remember(self, name: str, parameters: Record, compute: Callable[[], Record]) -> Record:
        """The result of that name: from memory, from its file, or computed and stored."""
        if name in self._known:
            return self._known[name]
        digest = _digest([self.base, name, parameters])
        file = self.folder / f"{name}.json"
        record = {} if self.force else _read(file)
        if record.get("digest") != digest:
            begin = time.perf_counter()
            result = json.loads(json.dumps(compute()))  # as a later run will read it
            seconds = round(time.perf_counter() - begin, 1)
            about: Record = {"digest": digest, "parameters": parameters, "seconds": seconds}
            record = {**about, "found": result}
            self.computed.append(name)
            _write(file, record)
        else:
            self.reused.append(name)
        return self._known.setdefault(name, record["found"])


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
    def largest(self) -> Sweep:
        """O-UMP over the paper's grid."""
        return self._climbed("output_size", OutputSize())

    @cached_property
    def diverse(self) -> Sweep:
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

    def program(self, objective: PackingObjective, exp_epsilon: str, delta: str) -> Program:
        """A problem that does not depend on λ, so not F-UMP, under one budget."""
        return objective.program(self.constraints(exp_epsilon, delta))

    def scaled(self, size: int) -> int:
        """The published |O| in proportion to the λ of this log."""
        largest = self.largest[self.fixed.allowance].plan.size
        return round(largest * size / published.LARGEST)

    def effort(self, seconds: float) -> Effort:
        """The same gap everywhere."""
        return Effort(time_limit=seconds, gap=_GAP)

    def heuristic(self, solver: str, objective: PackingObjective) -> dict[Fraction, int]:
        """Clicks released by one of the paper's own methods, for every b of Table 4."""
        keys = {budget.allowance: key for key, budget in published.BUDGETS.items()}

        def compute() -> Record:
            note, sizes = self.noted(solver), dict[str, int]()
            for n, (allowance, key) in enumerate(keys.items()):
                note(n, len(keys))
                program = self.program(objective, *key)
                x = solvers.load(solver)(program, self.effort(max(10.0, self.seconds.size))).x
                sizes[str(allowance)] = plan(x, program.constraints).size
            return sizes

        sizes = self.store.remember(solver, {}, compute)
        return {allowance: sizes[str(allowance)] for allowance in keys}

    def noted(self, what: str) -> Callable[[int, int], None]:
        """A function that reports how many problems of a kind are done."""
        return lambda done, of: self.progress(what, f"{done} of {of}", done / max(1, of))

    def _climbed(self, name: str, objective: Objective) -> Sweep:
        budgets = list(published.BUDGETS.values())

        def compute() -> Record:
            effort = self.effort(self.seconds.size)
            steps = climb(self.hist, budgets, objective, effort=effort, done=self.noted(name))
            return {str(allowance): step_record(step) for allowance, step in steps.items()}

        steps = self.store.remember(name, {"seconds": self.seconds.size}, compute)
        return {b.allowance: read_step(steps[str(b.allowance)], self.hist.pairs) for b in budgets}


def step_record(step: SweepPoint) -> Record:
    """A step as JSON; its plan as `pair:clicks`, which says nothing about texts."""
    shown = np.flatnonzero(step.plan.counts)
    return {
        "value": step.value,
        "bound": step.bound,
        "status": str(step.status),
        "carried": step.carried,
        "plan": " ".join(f"{pair}:{step.plan.counts[pair]}" for pair in shown),
    }


def read_step(record: Record, pairs: int) -> SweepPoint:
    """A step as `step_record` wrote it."""
    counts = np.zeros(pairs, dtype=np.int64)
    for word in str(record["plan"]).split():
        pair, clicks = word.split(":")
        counts[int(pair)] = int(clicks)
    return SweepPoint(
        plan=Plan(counts),
        value=float(record["value"]),
        bound=float(record["bound"]),
        status=Status(record["status"]),
        carried=bool(record["carried"]),
    )


def digest_of(hist: PairHistogram, sizes: tuple[LogSize, LogSize]) -> str:
    """What results belong to: these clicks, and this version of slogan."""
    content = hashlib.sha256(f"{version('slogan')} {sizes}".encode())
    for array in (hist.user, hist.pair, hist.count, hist.query):
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()


def _read(file: Path) -> Record:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


def _write(file: Path, record: Record) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    fresh = file.with_suffix(".json.new")
    fresh.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    fresh.replace(file)


def _digest(content: list[Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
