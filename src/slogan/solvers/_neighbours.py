"""Optimal counts of a log, and of the same log without some of its users, begun where it ended."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from slogan.arrays import Flags, Floats, Ints
from slogan.histogram import Remainder
from slogan.program import Program
from slogan.solvers import Effort
from slogan.solvers._highs import AT_LOWER, BASIC, Basis, Statuses, Vertex, relaxation, vertex


class Optimum:
    """An optimal vertex x* of the linear relaxation, which the paper calls the optimal counts.

    Optimal counts are seldom unique. Those of a neighbouring log are what the simplex method finds
    from the basis of x*, so that they differ from x* no more than they have to, as far as it sees.
    """

    def __init__(self, program: Program, effort: Effort) -> None:
        self._program, self._effort = program, effort
        self._found = vertex(relaxation(program), effort)

    @property
    def exists(self) -> bool:
        """Whether any counts satisfy the constraints; an output size can be too much to ask."""
        return self._found is not None

    @property
    def x(self) -> Floats:
        """x*, one count for each pair."""
        return self._vertex.z[: self._program.pairs]

    @property
    def bound(self) -> float:
        """No counts are better, integers least of all; rounded outward."""
        value = self._vertex.value
        return max(0.0, value - 1e-9) if self._program.minimises else 1e-6 - value

    @property
    def _vertex(self) -> Vertex:
        if self._found is None:
            raise ValueError("an infeasible program has no optimal counts")
        return self._found

    @cached_property
    def unmoved(self) -> Flags:
        """Users without whom x* is optimal still: their rows have no price, their pairs no click.

        Without such a user x* is feasible as before, because the charges that change are those of
        its pairs. They only grow, so the prices of the other rows still prove that x* is optimal.
        This is not so where the log's size is part of the question.
        """
        hist = self._program.constraints.hist
        if self._program.targets is not None:
            return np.zeros(hist.users, dtype=np.bool_)
        clicks = np.bincount(hist.user, weights=self.x[hist.pair], minlength=hist.users)
        return ~self._vertex.binding[: hist.users] & (clicks == 0.0)

    def without_users(self, gone: Ints) -> Floats | None:
        """Optimal counts without these users, 0 for pairs no longer shared; None if infeasible."""
        program, left = self._program.without_users(gone)
        if program.pairs == 0:
            return np.zeros(self._program.pairs) if program.targets is None else None
        found = vertex(relaxation(program), self._effort, begin=self._basis(program, left))
        if found is None:
            return None
        x = np.zeros(self._program.pairs)
        x[left.pairs] = found.z[: program.pairs]
        return x

    def _basis(self, program: Program, left: Remainder) -> Basis:
        """The basis of x*, row by row and column by column of what is left."""
        hist, known = self._program.constraints.hist, self._vertex.basis
        everything = Remainder(hist=hist, users=np.arange(hist.users), pairs=np.arange(hist.pairs))
        columns, rows = _names(self._program, everything, hist.users, hist.pairs)
        wanted_columns, wanted_rows = _names(program, left, hist.users, hist.pairs)
        return Basis(
            columns=_looked_up(wanted_columns, columns, known.columns, AT_LOWER),
            rows=_looked_up(wanted_rows, rows, known.rows, BASIC),
        )


def _names(program: Program, part: Remainder, users: int, pairs: int) -> tuple[Ints, Ints]:
    """Numbers for the columns and rows of a program's model, the same whoever is taken away.

    Columns are pairs, then distances of frequent pairs. Rows are users, then labels of which more
    than one pair is left, then the output size and two sides of each distance.
    """
    columns, rows = [part.pairs], [part.users]
    if program.at_most_one is not None:
        label, holders = np.unique(program.at_most_one, return_counts=True)
        rows.append(users + label[holders > 1])
    if program.targets is not None:
        # an objective has labels or targets, never both
        frequent = part.pairs[program.targets.frequent]
        columns.append(pairs + frequent)
        rows += [np.array([users]), users + 1 + frequent, users + 1 + pairs + frequent]
    return np.concatenate(columns), np.concatenate(rows)


def _looked_up(wanted: Ints, names: Ints, statuses: Statuses, missing: object) -> Statuses:
    table = np.full(max(int(names.max(initial=0)), int(wanted.max(initial=0))) + 1, missing)
    table[names] = statuses
    return table[wanted]
