"""The distributed solver: what it proves holds, what it proposes passes the gate, runs go on."""

import numpy as np
import pytest

import slogan
from slogan import engines, errors
from slogan.constraints import privacy_constraints
from slogan.engines import Question
from slogan.generate import generate
from slogan.objectives.diversity import Diversity
from slogan.objectives.output_size import OutputSize
from slogan.objectives.query_diversity import QueryDiversity
from slogan.program import Program
from slogan.searchlog import read
from slogan.solvers import Effort, load

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark")]

BUDGET = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
OBJECTIVES = [OutputSize(), Diversity(), QueryDiversity()]
EFFORT = Effort(time_limit=600)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    file = tmp_path_factory.mktemp("log") / "clicks.tsv"
    generate(file, users=400, seed=0)
    return file


@pytest.fixture(scope="module")
def hist(log):
    host = engines.start("duckdb", read(log))
    try:
        return host.count(read(log)).hist
    finally:
        host.close()


def question(program, folder=None):
    return Question(
        limit=program.constraints.limit,
        most=program.most,
        one_of_query=program.at_most_one is not None,
        forced=True,
        folder=folder,
    )


def test_a(spark, log, hist):
    host = engines.start(spark, read(log))
    try:
        counted = host.count_in_place(read(log), forced=True)
        print(counted)
        program = Program(constraints=privacy_constraints(hist, BUDGET))
        packed = host.pack(question(program), EFFORT)
        print(packed)
        best = load("packing")(program, EFFORT)
        print(best.bound, best.x.sum())
    finally:
        host.close()
