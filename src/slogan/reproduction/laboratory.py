"""Laboratory: the log under study, the time for each problem, and the results so far."""

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

from slogan.histogram import LogSize, PairHistogram
from slogan.planning import solvers
from slogan.planning.constraints import PrivacyConstraints, privacy_constraints
from slogan.planning.objectives import Objective, PackingObjective
from slogan.planning.objectives.diversity import Diversity
from slogan.planning.objectives.output_size import OutputSize
from slogan.planning.plan import Plan, plan
from slogan.planning.planner import Sweep, SweepPoint, climb
from slogan.planning.program import Status
from slogan.planning.solvers import Effort
from slogan.progress import Progress
from slogan.reproduction import published
from slogan.reproduction.pages import Page
from slogan.reproduction.published import Key

Record = dict[str, Any]
"""A JSON object of the store; each experiment reads it into its own type."""

_GAP = 1e-4


@dataclass(frozen=True, slots=True)
class Experiment:
    """A table or figure of the paper."""

    section: str
    """The subsection of the paper."""
    title: str
    """Such as "Table 4: maximum output size λ"."""
    page: "Callable[[Laboratory], Page]"
    """Computes the results that are not stored yet and compares them with the paper."""

    @property
    def label(self) -> str:
        """Such as "Table 4"."""
        return self.title.partition(":")[0]

    @property
    def name(self) -> str:
        """Such as "table4"."""
        return self.label.replace(" ", "").lower()


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
        content = json.dumps([self.base, name, parameters], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:16]
        file = self.folder / f"{name}.json"
        record = {} if self.force else _read(file)
        if record.get("digest") == digest:
            self.reused.append(name)
        else:
            begin = time.perf_counter()
            result = json.loads(json.dumps(compute()))  # as a later run will read it
            seconds = round(time.perf_counter() - begin, 1)
            about: Record = {"digest": digest, "parameters": parameters, "seconds": seconds}
            record = {**about, "found": result}
            self.computed.append(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            fresh = file.with_suffix(".json.new")
            fresh.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
            fresh.replace(file)
        return self._known.setdefault(name, record["found"])


def _read(file: Path) -> Record:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seconds:
    """The time for each problem."""

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

    def constraints(self, key: Key = published.FIXED) -> PrivacyConstraints:
        """The rows under one budget; by default that of Tables 5 and 6 and of Figure 6."""
        return privacy_constraints(self.hist, published.BUDGETS[key])

    @property
    def largest_size(self) -> SweepPoint:
        """λ under the same budget."""
        return self.largest[published.BUDGETS[published.FIXED].allowance]

    def scaled(self, size: int) -> int:
        """The published |O| in proportion to the λ of this log."""
        return round(self.largest_size.plan.size * size / published.LARGEST)

    def effort(self, seconds: float) -> Effort:
        """The effort for a problem; the gap is always the same."""
        return Effort(time_limit=seconds, gap=_GAP)

    def heuristic(self, solver: str, objective: PackingObjective) -> dict[Fraction, int]:
        """Clicks released by one of the paper's own methods, for every b of Table 4."""
        keys = {budget.allowance: key for key, budget in published.BUDGETS.items()}

        def compute() -> Record:
            note, sizes = self.noted(solver), dict[str, int]()
            for n, (allowance, key) in enumerate(keys.items()):
                note(n, len(keys))
                program = objective.program(self.constraints(key))
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
        return {b.allowance: self._read(steps[str(b.allowance)]) for b in budgets}

    def _read(self, step: Record) -> SweepPoint:
        plan, status = read_plan(step["plan"], self.hist.pairs), Status(step["status"])
        return SweepPoint(**step | Record(plan=plan, status=status))


def step_record(step: SweepPoint) -> Record:
    """A step as JSON; its plan as `pair:clicks`, without texts."""
    counts = step.plan.counts
    return {
        "value": step.value,
        "bound": step.bound,
        "status": str(step.status),
        "carried": step.carried,
        "plan": " ".join(f"{pair}:{counts[pair]}" for pair in np.flatnonzero(counts)),
    }


def read_plan(words: str, pairs: int) -> Plan:
    """The plan of a step as `step_record` wrote it."""
    counts = np.zeros(pairs, dtype=np.int64)
    for word in words.split():
        pair, clicks = word.split(":")
        counts[int(pair)] = int(clicks)
    return Plan(counts)


def digest_of(hist: PairHistogram, sizes: tuple[LogSize, LogSize]) -> str:
    """A digest of the log and of the version of slogan."""
    content = hashlib.sha256(f"{version('slogan')} {sizes}".encode())
    for array in (hist.user, hist.pair, hist.count, hist.query):
        content.update(np.ascontiguousarray(array).tobytes())
    return content.hexdigest()
