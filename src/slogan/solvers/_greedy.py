"""A first feasible answer: cheapest pairs first, as many clicks of each as still fit."""

from __future__ import annotations

import numpy as np

from slogan.arrays import Ints
from slogan.program import Program


def greedy(program: Program) -> Ints:
    """Counts within every constraint (up to rounding), cheapest pairs in total filled first."""
    columns = program.constraints.cost.tocsc()
    slack = np.full(columns.shape[0], program.constraints.limit)
    counts = np.zeros(program.pairs, dtype=np.int64)
    taken: set[int] = set()
    total = np.asarray(columns.sum(axis=0)).ravel()
    candidates = np.flatnonzero(program.upper > 0)
    for pair in candidates[np.argsort(total[candidates], kind="stable")]:
        if program.at_most_one is not None:
            label = int(program.at_most_one[pair])
            if label in taken:
                continue
        entries = slice(columns.indptr[pair], columns.indptr[pair + 1])
        users, cost = columns.indices[entries], columns.data[entries]
        fits = int(np.floor(np.min(slack[users] / cost) * (1 + 1e-12)))
        counts[pair] = min(fits, int(program.upper[pair]))
        slack[users] -= counts[pair] * cost
        if counts[pair] and program.at_most_one is not None:
            taken.add(int(program.at_most_one[pair]))
    return counts
