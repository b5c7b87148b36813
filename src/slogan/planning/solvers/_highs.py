"""Programs in HiGHS's words: every solver here speaks to HiGHS through this file only."""

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

Statuses = NDArray[np.object_]
Basis = tuple[Statuses, Statuses]
"""Where each variable and each row of a relaxation stands at an optimal vertex."""
_STATUS = {
    highspy.HighsModelStatus.kOptimal: Status.OPTIMAL,
    highspy.HighsModelStatus.kTimeLimit: Status.FEASIBLE,
    highspy.HighsModelStatus.kInterrupt: Status.FEASIBLE,
}
_FEASIBLE = int(highspy.SolutionStatus.kSolutionStatusFeasible)
# How far rows may be overdrawn and integers missed; HiGHS takes no less than a tenth of it.
_OVERDRAWN = 1e-9
# By how much HiGHS's bounds may be wrong, as clicks and as sums of support distances.
CLICKS_OFF, DISTANCE_OFF = 1e-6, 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """minimise cost·z, row_lower ≤ rows·z ≤ row_upper, 0 ≤ z ≤ upper; the counts are z[: pairs]."""

    rows: sp.csr_array
    row_lower: Floats
    row_upper: Floats
    cost: Floats
    upper: Floats
    pairs: int
    constant: float = 0.0
    """What the value is when cost·z is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What HiGHS found; `z` is None if it found nothing feasible."""

    z: Floats | None
    prices: Floats | None
    """Of the rows, at an optimum of a relaxation."""
    objective_bound: float
    status: Status | None
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """An optimal vertex of a relaxation; `binding` says which rows have a price there."""

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
        pairs=base.pairs,
    )


def vertex(asked: Model, effort: Effort, *, begin: Basis | None = None) -> Vertex | None:
    """An optimal vertex of the relaxation, by the simplex method; None if nothing is feasible.

    Begun at a basis, the method goes from there to the nearest optimum it meets. The basis need
    not fit: HiGHS mends one that is of another size or singular.
    """
    highs = _ready(asked, effort, integer=False)
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
            f"the linear relaxation was not solved: HiGHS says {words!r}", hint="raise --time-limit"
        )
    best, end = highs.getSolution(), highs.getBasis()
    return Vertex(
        z=np.array(best.col_value),
        value=asked.constant + highs.getInfo().objective_function_value,
        binding=np.array(best.row_dual) != 0.0,
        basis=(np.array(end.col_status, np.object_), np.array(end.row_status, np.object_)),
    )


class Running:
    """HiGHS at work in a thread of its own: it can be watched and stopped."""

    def __init__(
        self,
        asked: Model,
        effort: Effort,
        *,
        integer: bool,
        start: Floats | None = None,
        method: str = "choose",
    ) -> None:
        self._asked, self._integer, self._report = asked, integer, effort.report
        # HiGHS minimises: where every cost is −1 or 0 the value is what it calls −objective.
        self._sign = 1.0 if asked.cost.max() > 0 else -1.0
        self._bound = -self._sign * np.inf
        self._highs = _ready(asked, effort, integer=integer)
        self._highs.setOptionValue("solver", method)
        self._highs.HandleUserInterrupt = True
        if start is not None:
            warm = highspy.HighsSolution()
            warm.col_value = start.tolist()
            self._highs.setSolution(warm)
        if integer:
            self._highs.cbMipLogging += self._listen
        # highspy's own startSolve() allows one solver in a process.
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._highs.run()
        highspy.Highs.resetGlobalScheduler(False)  # that of this thread, which ends here

    def _listen(self, event: highspy.HighsCallbackEvent) -> None:
        out = event.data_out
        self._bound = self._asked.constant + self._sign * out.mip_dual_bound
        if np.isfinite(out.mip_primal_bound):  # there is an answer already
            self._report(self._asked.constant + self._sign * out.mip_primal_bound, self._bound)

    @property
    def finished(self) -> bool:
        """Whether HiGHS has come to an end by itself."""
        return not self._thread.is_alive()

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

    def stop(self) -> Answer:
        """Interrupt HiGHS and take what it has."""
        self._highs.cancelSolve()
        return self.wait()

    def abandon(self) -> None:
        """Stop, and end HiGHS's own threads: the process may end before this object does."""
        self._highs.cancelSolve()
        self._thread.join()
        highspy.Highs.resetGlobalScheduler(True)

    def wait(self) -> Answer:
        """Let HiGHS finish. Whoever stops waiting stops HiGHS too: it must not outlive the run."""
        try:
            self._thread.join()
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


def _ready(asked: Model, effort: Effort, *, integer: bool) -> highspy.Highs:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(asked.cost), len(asked.row_upper)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = asked.cost, np.zeros_like(asked.cost), asked.upper
    lp.row_lower_, lp.row_upper_ = asked.row_lower, asked.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = asked.rows.indptr
    lp.a_matrix_.index_ = asked.rows.indices
    lp.a_matrix_.value_ = asked.rows.data
    if integer:
        whole, any_number = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
        lp.integrality_ = [whole] * asked.pairs + [any_number] * (len(asked.cost) - asked.pairs)
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("time_limit", effort.time_limit)
    highs.setOptionValue("mip_rel_gap", effort.gap)
    highs.setOptionValue("primal_feasibility_tolerance", _OVERDRAWN)
    highs.setOptionValue("mip_feasibility_tolerance", _OVERDRAWN)
    highs.passModel(lp)
    return highs


def outward(objective: float, program: Program) -> float:
    """A bound on the program's value from one on HiGHS's objective, rounded outward."""
    return max(0.0, objective - DISTANCE_OFF) if program.minimises else CLICKS_OFF - objective


def most_clicks(program: Program) -> float:
    """The whole clicks that all users' limits together allow, whatever the counts."""
    return float(np.floor(program.constraints.size_bound + CLICKS_OFF))
