"""Joint objectives: against brute force, with and without floors."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import budgets, histogram, shared_histograms

import slogan
from slogan.budget import PrivacyBudget
from slogan.errors import (
    EmptyPlanError,
    FloorError,
    OptionError,
    PartError,
    UnsupportedProgramError,
)
from slogan.planning import solvers
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives import program_of
from slogan.planning.objectives.frequent_pairs import frequent_pairs
from slogan.planning.objectives.joint import Joint, part_names, program_of_part
from slogan.planning.plan import plan
from slogan.planning.solvers import Effort, _joint
from slogan.planning.solvers._highs import Answer

EFFORT = Effort(time_limit=20, gap=0.0)
SMALL = {"users": (2, 4), "pairs": (1, 4), "clicks": 5}
PARTS = ("output_size", "diversity", "query_diversity", "frequent_pairs")
SUPPORT = Fraction(1, 4)
small_logs = shared_histograms(**SMALL)
small_budgets = budgets.filter(lambda b: b.allowance <= 4)
weights = st.dictionaries(
    st.sampled_from(PARTS), st.fractions("1/4", 4, max_denominator=4), min_size=1
)
floors = st.dictionaries(st.sampled_from(PARTS), st.fractions("1/10", 1, max_denominator=10))


def joint(**options):
    parts = {*options.get("weights", {}), *options.get("at_least", {})}
    return Joint(**options, **({"min_support": SUPPORT} if "frequent_pairs" in parts else {}))


def asked(objective, constraints, solver="exact"):
    def solve(program, **_limits):
        answer = solvers.load(solver)(program, EFFORT)
        return plan(answer.x, constraints), answer.bound

    return program_of(objective, constraints, solve)


def answered(objective, constraints, solver="exact"):
    program = asked(objective, constraints, solver)
    solution = solvers.load(solver)(program, EFFORT)
    return program, solution, plan(solution.x, constraints).counts


def amounts(hist, counts):
    """Each part of an output, written as its definition says."""
    size = int(sum(counts))
    supports = Fraction(0)
    for pair in frequent_pairs(hist, SUPPORT).tolist():
        ideal = Fraction(int(hist.pair_total[pair]), hist.clicks) * size
        supports += ideal - abs(int(counts[pair]) - ideal)
    released = [pair for pair, x in enumerate(counts) if x > 0]
    queries = {int(hist.query[pair]) for pair in released}
    found = size, len(released), len(queries), supports
    return dict(zip(PARTS, map(Fraction, found), strict=True))


def every_output(constraints):
    for x in itertools.product(*(range(int(u) + 1) for u in constraints.upper)):
        if constraints.allows(np.array(x, dtype=np.int64)):
            yield amounts(constraints.hist, x)


@pytest.mark.parametrize("solver", ["exact", "packing"])
@settings(max_examples=80, deadline=None)
@given(hist=small_logs, budget=small_budgets, weights=weights, at_least=floors)
def test_value_and_bound_equal_brute_force(solver, hist, budget, weights, at_least):
    constraints = privacy_constraints(hist, budget)
    outputs = list(every_output(constraints))
    best = {part: max(found[part] for found in outputs) for part in PARTS}
    named = {*weights, *at_least}
    possible = [
        found
        for found in outputs
        if all(found[part] >= share * best[part] for part, share in at_least.items())
    ]
    objective = joint(weights=weights, at_least=at_least)
    if best["output_size"] == 0:
        with pytest.raises(EmptyPlanError):
            asked(objective, constraints, solver)
        return
    if any(best[part] == 0 for part in named):
        with pytest.raises(PartError):
            asked(objective, constraints, solver)
        return
    if not possible:
        with pytest.raises(FloorError) as failure:
            answered(objective, constraints, solver)
        assert failure.value.impossible
        return
    program, solution, counts = answered(objective, constraints, solver)
    whole = sum(weights.values())
    value = max(
        sum(weight / whole * found[part] / best[part] for part, weight in weights.items())
        for found in possible
    )

    assert program.mixture.value(counts) == value
    assert float(value) <= solution.bound <= float(value) + 2e-6
    assert {part.name: part.optimum for part in program.mixture.parts} == {
        part: best[part] for part in named
    }
    own = amounts(hist, counts.tolist())
    for part in program.mixture.parts:
        assert program.mixture.amount(part, counts) == own[part.name]
        assert own[part.name] >= part.at_least * best[part.name]
        assert part.bound >= best[part.name]


@settings(max_examples=30, deadline=None)
@given(hist=small_logs, budget=small_budgets, weights=weights, by=st.fractions("1/9", 9))
def test_only_the_ratios_of_weights_matter(hist, budget, weights, by):
    constraints = privacy_constraints(hist, budget)
    scaled = {part: by * weight for part, weight in weights.items()}
    values = []
    try:
        for given_weights in (weights, scaled):
            program, _, counts = answered(joint(weights=given_weights), constraints)
            values.append(program.mixture.value(counts))
    except (EmptyPlanError, PartError):
        return

    assert values[0] == values[1]


@pytest.mark.parametrize("part", PARTS)
@settings(max_examples=20, deadline=None)
@given(hist=small_logs, budget=small_budgets)
def test_a_single_weight_gives_that_objectives_optimum(part, hist, budget):
    constraints = privacy_constraints(hist, budget)
    try:
        program, solution, counts = answered(joint(weights={part: 3}), constraints)
    except (EmptyPlanError, PartError):
        return

    assert program.mixture.value(counts) == 1
    assert solution.bound == pytest.approx(1, abs=2e-6)


CONSTRAINTS = privacy_constraints(
    histogram([[1, 1, 1]] * 6, [0, 0, 1]), PrivacyBudget(exp_epsilon=2, delta="0.5")
)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"weights": {"sizes": 1}}, "not a part"),
        ({"weights": {"joint": 1}}, "not a part"),
        ({"weights": {}}, "at least one part"),
        ({"weights": {"diversity": 0}}, "above 0"),
        ({"weights": {"diversity": -1}}, "above 0"),
        ({"weights": {"diversity": "many"}}, "not a number"),
        ({"weights": ["diversity"]}, "with a number each"),
        ({"at_least": {"diversity": "1.01"}}, "at most 1"),
        ({"at_least": {"diversity": 0}}, "above 0"),
        ({"min_support": "1/10"}, "has no effect"),
        ({"weights": {"frequent_pairs": 1}, "min_support": 2}, "between 0 and 1"),
    ],
)
def test_bad_parts_are_refused(options, words):
    with pytest.raises(OptionError, match=words):
        Joint(**options)


@pytest.mark.parametrize(
    "text", ["diversity", "diversity=", "=1", "", "diversity=1,,", "diversity=1,diversity=2"]
)
def test_malformed_text_is_refused(text):
    with pytest.raises(OptionError):
        Joint.from_text("weights", text)


def test_text_and_parameters_agree():
    text = "output_size=1,diversity=0.5,frequent_pairs=1/3"
    made = Joint(weights=Joint.from_text("weights", text), at_least={"diversity": Fraction(4, 5)})

    assert made.parameters() == {"weights": text, "at_least": "diversity=4/5"}
    assert set(PARTS) == set(part_names())


@settings(max_examples=60, deadline=None)
@given(hist=small_logs, budget=small_budgets)
def test_no_counts_gain_more_supports_than_the_bound_before_any_solver(hist, budget):
    constraints = privacy_constraints(hist, budget)
    mixture = joint(weights={"frequent_pairs": 1}).mixture(constraints)
    (alone,) = program_of_part(mixture.parts[0], mixture, constraints).mixture.parts

    every = itertools.product(*(range(int(u) + 1) for u in constraints.upper))
    counts = (np.array(x, dtype=np.int64) for x in every)
    gains = [mixture.amount(alone, x) for x in counts if constraints.allows(x)]

    assert max(gains) <= alone.bound < np.inf


def test_a_joint_objective_is_bounded_before_branch_and_bound_is(monkeypatch):
    class Unready:
        def __init__(self, *_args, **_options):
            pass

        def wait(self):
            return Answer(z=None, prices=None, objective_bound=-np.inf, status=None, words="")

    monkeypatch.setattr(_joint, "Running", Unready)
    table = np.random.default_rng(1).integers(0, 9, (40, 30))
    constraints = privacy_constraints(
        histogram(table.tolist()), PrivacyBudget(exp_epsilon=2, delta="0.5")
    )
    objective = Joint(weights={"output_size": 1, "frequent_pairs": 2}, min_support="1/50")

    program, solution, _ = answered(objective, constraints, "packing")

    assert program.mixture.value(program.mixture.starts[-1]) <= solution.bound < np.inf


@pytest.mark.parametrize("solver", ["relaxed", "spe"])
def test_other_solvers_refuse_it(solver):
    program = asked(Joint(), CONSTRAINTS)
    with pytest.raises(UnsupportedProgramError, match="cannot weigh"):
        solvers.load(solver)(program, EFFORT)


LINES = [(u, f"q{n % 3}", f"www.{n}.com", 1) for u in range(30) for n in range(5) if (u + n) % 4]


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "clicks.tsv"
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in LINES)]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


def test_a_joint_release_is_verified_and_reports_its_parts(tmp_path, log):
    objective = Joint(
        weights={"output_size": 1, "frequent_pairs": 2}, at_least={"diversity": "0.8"}
    )
    budget = PrivacyBudget(exp_epsilon=2, delta="0.5")
    with slogan.sanitize(log, budget, objective=objective, time_limit=10) as release:
        release.save(tmp_path / "release")
        summary = release.summary
    page = (tmp_path / "release/curator/report.html").read_text()

    assert slogan.verify(log, tmp_path / "release").ok
    assert summary.value <= summary.bound
    parts = {part.name: part for part in summary.parts}
    assert parts.keys() == {"output_size", "frequent_pairs", "diversity"}
    assert parts["diversity"].share >= 0.8
    assert parts["diversity"].weight == 0
    assert parts["output_size"].value == summary.clicks_out
    assert parts["diversity"].value == summary.pairs_out
    mean = sum(part.weight * part.share for part in summary.parts)
    assert summary.value == pytest.approx(mean)
    assert "of the best found for it alone" in page


@pytest.mark.parametrize(
    "options",
    [
        {"counts": "private", "epsilon": 1, "delta": "1e-6"},
        {"counts": slogan.LaplaceCounts(bound=2, epsilon=1), "exp_epsilon": 2, "delta": "0.5"},
        {"require": 5},
    ],
)
def test_what_joint_does_not_work_with_is_refused(log, options):
    with pytest.raises(OptionError, match="joint"):
        slogan.sanitize(log, objective=Joint(), **options)


def test_synthesize_and_frontier_refuse_it(log):
    with pytest.raises(OptionError, match="synthetic users"):
        slogan.synthesize(log, epsilon=1, delta="1e-6", objective="joint")
    with pytest.raises(OptionError, match="several budgets"):
        slogan.frontier(users=50, objective="joint", exp_epsilons=["2"], deltas=["0.5"])
