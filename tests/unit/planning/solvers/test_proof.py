"""Branch and bound beside the search: what can be seen of it while it runs."""

import math
import time

import numpy as np
from bench.cases import Case

from slogan.planning.solvers import Effort
from slogan.planning.solvers.packing import proof
from slogan.planning.solvers.packing.presolve import components, packing

UNKNOWN = 2**53


def test_the_bound_is_known_while_branch_and_bound_runs():
    """A race that knows it at the end only cannot stop at the proof, nor drop the weaker side."""
    problem = packing(Case("output_size", "planes", "2", "0.5").program(None))
    running = proof.on_counts(problem, Effort(time_limit=60.0, gap=0.0))
    try:
        while running.bound == UNKNOWN and not running.finished:
            time.sleep(0.01)
        seen, finished = running.bound, running.finished
    finally:
        counts, bound = running.stop()

    assert not finished
    assert counts.sum() <= bound <= seen < UNKNOWN


def test_branch_and_bound_ends_in_time_where_all_pairs_look_alike():
    """HiGHS's search for symmetries would take minutes here, and cannot be cancelled."""
    whole = packing(Case("diversity", "planes", "2", "0.5").program(None))
    (plane,) = (part for part in components(whole, small=0, most=5) if part.pairs == 133)
    running = proof.on_counts(plane, Effort(time_limit=5.0, gap=0.0))
    try:
        in_time = running.ends_within(15.0)
    finally:
        running.cancel()

    assert in_time


def test_a_bound_is_a_whole_number_rounded_down_but_for_the_error_of_highs():
    assert proof._whole(12.0 - 1e-7) == 12
    assert proof._whole(12.9) == 12
    assert proof._whole(math.inf) == UNKNOWN
    assert isinstance(proof._whole(np.float64(3.2)), int)
