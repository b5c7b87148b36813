"""Programs as HiGHS models: the only file here that calls HiGHS."""

import time
from dataclasses import dataclass
from threading import Thread

import highspy
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from slogan.arrays import Flags, Floats, Ints
from slogan.errors import SolverError
from slogan.planning.program import Program, Status, SupportTargets
from slogan.planning.solvers import Effort
from slogan.storage import limits

Statuses = NDArray[np.object_]
Basis = tuple[Statuses, Statuses]
"""The status of each variable and each row of a relaxation at an optimal vertex."""
_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kTimeLimit: Status.FEASIBLE,
    highspy.HighsModelStatus.kInterrupt: Status.FEASIBLE,
}
_FEASIBLE = int(highspy.SolutionStatus.kSolutionStatusFeasible)
# The tolerance of rows and integrality; the smallest that HiGHS accepts is a tenth of it.
_OVERDRAWN = 1e-9
# Seconds between two looks at the clock while HiGHS is at work.
_LOOK_EVERY = 0.1
# The error of HiGHS's bounds, in clicks and in sums of support distances.
CLICKS_OFF, DISTANCE_OFF = 1e-6, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """minimise cost·z, row_lower ≤ rows·z ≤ row_upper, 0 ≤ z ≤ upper; the counts are z[: pairs].

    The counts and the `flags` after them are integers.
    """

    rows: sp.csr_array
    row_lower: Floats
    row_upper: Floats
    cost: Floats
    upper: Floats
    pairs: int
    flags: int = 0
    minimises: bool = False
    """Whether the value is cost·z; else it is −cost·z, because HiGHS minimises."""
    constant: float = 0.0
    """The value at cost·z = 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """HiGHS's result; `z` is None if it found nothing feasible."""

    z: Floats | None
    prices: Floats | None
    """Of the rows, at an optimum of a relaxation."""
    objective_bound: float
    status: Status | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """An optimal vertex of a relaxation; `binding` marks the rows that have a price there."""

    z: Floats
    value: float
    binding: Flags
    basis: Basis


def model(program: Program, *, kept: Ints, upper: Floats) -> Model:
    """The program over the pairs `kept` only, all others being 0."""
    privacy = program.constraints.cost.tocsc()[:, kept].tocsr()
    binding = np.flatnonzero(np.diff(privacy.indptr) > 0)
    blocks, limits = [privacy[binding]], [np.full(len(binding), program.constraints.limit)]
    if program.at_most_one is not None:
        labels, label = np.unique(program.at_most_one[kept], return_inverse=True)
        several = np.flatnonzero(np.bincount(label, minlength=len(labels)) > 1)
        entry = (np.ones(len(kept)), (label, np.arange(len(kept))))
        blocks.append(sp.csr_array(entry, shape=(len(labels), len(kept)))[several])
        limits.append(np.ones(len(several)))
    limit = np.concatenate(limits)
    base = Model(
        rows=sp.csr_array(sp.vstack(blocks)),
        row_lower=np.full(len(limit), -np.inf),
        row_upper=limit,
        cost=np.full(len(kept), -1.0),
        upper=upper,
        pairs=len(kept),
    )
    return base if program.targets is None else _with_targets(base, program.targets, kept)


def relaxation(program: Program) -> Model:
    """The program without integrality, over all shared pairs, none pruned [Hong12, 5.1]."""
    most = np.inf if program.most is None else float(program.most)
    return model(program, kept=np.arange(program.pairs), upper=np.full(program.pairs, most))


def _with_targets(base: Model, targets: SupportTargets, kept: Ints) -> Model:
    """Add Σx = |O| and, for each frequent pair, y ≥ |x − |O|·support| to be minimised.

    Scaled by |O|: y counts clicks, so its coefficients and those of x are of one size.
    """
    here = np.isin(targets.frequent, kept)
    column = np.searchsorted(kept, targets.frequent[here])
    ideal = targets.support[here] * targets.output_size
    n = len(column)
    pick = sp.csr_array((np.ones(n), (np.arange(n), column)), shape=(n, base.pairs))
    one = sp.eye_array(n, format="csr")
    rows = sp.block_array(
        [
            [base.rows, sp.csr_array((base.rows.shape[0], n))],
            [sp.csr_array(np.ones((1, base.pairs))), sp.csr_array((1, n))],
            [pick, -one],
            [pick, one],
        ],
        format="csr",
    )
    free = np.full(n, np.inf)
    return Model(
        rows=sp.csr_array(rows),
        row_lower=np.concatenate([base.row_lower, [targets.output_size], -free, ideal]),
        row_upper=np.concatenate([base.row_upper, [targets.output_size], ideal, free]),
        cost=np.concatenate([np.zeros(base.pairs), np.full(n, 1.0 / targets.output_size)]),
        upper=np.concatenate([base.upper, free]),
        constant=float(targets.support[~here].sum()),
        minimises=True,
        pairs=base.pairs,
    )


def vertex(problem: Model, effort: Effort, *, begin: Basis | None = None) -> Vertex | None:
    """An optimal vertex of the relaxation, by the simplex method; None if nothing is feasible.

    With a basis, the method starts there and stops at the first optimum. The basis need not fit:
    HiGHS repairs one of another size or a singular one.
    """
    highs = _ready(problem, effort, integer=False)
    if begin is not None:
        start = highspy.HighsBasis()
        start.valid = start.alien = True
        start.col_status, start.row_status = (statuses.tolist() for statuses in begin)
        highs.setOptionValue("presolve", "off")
        highs.setBasis(start)
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if _STATUS.get(status) is not Status.OPTIMAL:
        words = highs.modelStatusToString(status)
        raise SolverError(
            f"the linear relaxation was not solved: HiGHS reports {words!r}",
            hint="raise --time-limit",
        )
    best, end = highs.getSolution(), highs.getBasis()
    return Vertex(
        z=np.array(best.col_value),
        value=problem.constant + highs.getInfo().objective_function_value,
        binding=np.array(best.row_dual) != 0.0,
        basis=(np.array(end.col_status, np.object_), np.array(end.row_status, np.object_)),
    )


class Running:
    """HiGHS running in its own thread: it can be watched and stopped."""

    def __init__(
        self,
        problem: Model,
        effort: Effort,
        *,
        integer: bool,
        start: Floats | None = None,
        method: str = "choose",
    ) -> None:
        self._asked, self._integer, self._report = problem, integer, effort.report
        self._patience = effort.patience
        self._gained = None if start is None else time.monotonic()
        """When the best answer was found; None before the first."""
        self._sign = 1.0 if problem.minimises else -1.0
        self._bound = -self._sign * np.inf
        self.best: Floats | None = None
        """The best solution that HiGHS has reported."""
        self._offered: Floats | None = None
        self._highs = _ready(problem, effort, integer=integer)
        self._highs.setOptionValue("solver", method)
        self._highs.HandleUserInterrupt = True
        if start is not None:
            warm = highspy.HighsSolution()
            warm.col_value = start.tolist()
            self._highs.setSolution(warm)
        if integer:
            self._highs.cbMipInterrupt += self._listen
            self._highs.cbMipImprovingSolution += self._gain
            self._highs.cbMipUserSolution += self._take
        # highspy's own startSolve() allows one solver in a process.
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._highs.run()
        highspy.Highs.resetGlobalScheduler(False)  # the scheduler of this thread, which ends here

    def _listen(self, event: highspy.HighsCallbackEvent) -> None:
        out = event.data_out
        self._bound = self._asked.constant + self._sign * out.mip_dual_bound
        if np.isfinite(out.mip_primal_bound):  # there is a solution already
            self._report(self._asked.constant + self._sign * out.mip_primal_bound, self._bound)

    def _gain(self, event: highspy.HighsCallbackEvent) -> None:
        self._gained, self.best = time.monotonic(), np.array(event.data_out.mip_solution)

    def _take(self, event: highspy.HighsCallbackEvent) -> None:
        offered, self._offered = self._offered, None
        if offered is not None and event.data_in is not None:
            event.data_in.setSolution(offered)

    def offer(self, z: Floats) -> None:
        """Propose a feasible solution, which HiGHS takes when it next asks for one."""
        self._offered = z

    @property
    def finished(self) -> bool:
        """Whether HiGHS has finished by itself."""
        return not self._thread.is_alive()

    def ends_within(self, seconds: float) -> bool:
        """Wait so long at most; whether HiGHS has finished by itself."""
        self._thread.join(seconds)
        return self.finished

    @property
    def bound(self) -> float:
        """The best bound so far, as a value of the objective."""
        if self._integer and self.finished:
            return self._asked.constant + self._sign * self._highs.getInfo().mip_dual_bound
        return self._bound

    @property
    def optimal(self) -> bool:
        """Whether HiGHS has proven its answer to be the best."""
        best = highspy.HighsModelStatus.kOptimal
        return self.finished and self._highs.getModelStatus() == best

    def cancel(self) -> None:
        """Tell HiGHS to end, without waiting; within a linear program that may take seconds."""
        self._highs.cancelSolve()

    def stop(self) -> Answer:
        """Interrupt HiGHS and return its best solution."""
        self.cancel()
        return self.wait()

    def abandon(self) -> None:
        """Stop, and end HiGHS's own threads: the process may end before this object does."""
        self._highs.cancelSolve()
        self._thread.join()
        highspy.Highs.resetGlobalScheduler(True)

    def wait(self) -> Answer:
        """Let HiGHS finish, or stop it when it has found nothing better for a while.

        An exception while waiting stops it too: it must not outlive the run.
        """
        try:
            while self._thread.is_alive():
                self._thread.join(_LOOK_EVERY)
                gained = self._gained
                if gained is not None and time.monotonic() - gained > self._patience:
                    self._highs.cancelSolve()
        except BaseException:
            self.abandon()
            raise
        status, info = self._highs.getModelStatus(), self._highs.getInfo()
        found = self._highs.getSolution()
        z = np.array(found.col_value)
        usable = z.size == self._asked.cost.size and info.primal_solution_status == _FEASIBLE
        bound = info.mip_dual_bound if self._integer else info.objective_function_value
        return Answer(
            z=z if usable else None,
            prices=np.array(found.row_dual) if found.dual_valid else None,
            objective_bound=bound,
            status=_STATUS.get(status),
            words=self._highs.modelStatusToString(status),
        )


def _ready(problem: Model, effort: Effort, *, integer: bool) -> highspy.Highs:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(problem.cost), len(problem.row_upper)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = (
        problem.cost,
        np.zeros_like(problem.cost),
        problem.upper,
    )
    lp.row_lower_, lp.row_upper_ = problem.row_lower, problem.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = problem.rows.indptr
    lp.a_matrix_.index_ = problem.rows.indices
    lp.a_matrix_.value_ = problem.rows.data
    if integer:
        whole, any_number = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        integers = problem.pairs + problem.flags
        lp.integrality_ = [whole] * integers + [any_number] * (len(problem.cost) - integers)
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("time_limit", effort.time_limit)
    highs.setOptionValue("mip_rel_gap", effort.gap)
    # On very regular logs its search for symmetries takes minutes, and nothing stops it.
    highs.setOptionValue("mip_detect_symmetry", False)
    if effort.goal < np.inf:
        # Values are whole clicks there, so this stops at the first that reaches the goal.
        highs.setOptionValue("objective_target", 0.5 - effort.goal)
    if (most := limits.threads_limit()) is not None:
        highs.setOptionValue("threads", most)
    highs.setOptionValue("primal_feasibility_tolerance", _OVERDRAWN)
    highs.setOptionValue("mip_feasibility_tolerance", _OVERDRAWN)
    highs.passModel(lp)
    return highs


def outward(objective: float, program: Program) -> float:
    """A bound on the program's value from one on HiGHS's objective, rounded outward."""
    return max(0.0, objective - DISTANCE_OFF) if program.minimises else CLICKS_OFF - objective


def most_clicks(program: Program) -> float:
    """The most whole clicks that all users' limits together allow."""
    return float(np.floor(program.constraints.size_bound + CLICKS_OFF))
