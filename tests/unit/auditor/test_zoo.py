"""audit() catches every mechanism of the zoo; test_audit.py has the honest ones."""

import json

import pytest
from tests.unit.auditor.attacked import MODES
from tests.unit.auditor.zoo import ZOO

from slogan import engines
from slogan.auditor.audit import Attacker
from slogan.planning.objectives.output_size import OBJECTIVE
from slogan.planning.solvers import Solver
from slogan.progress import Steps
from slogan.randomness import randomness

CASES = [
    pytest.param(
        broken,
        mode,
        id=f"{broken.name}-{mode}",
        marks=[pytest.mark.long] if mode != broken.modes[0] else [],
    )
    for broken in ZOO
    for mode in broken.modes
]


@pytest.fixture(scope="module")
def logs(log, tmp_path_factory):
    """The same log in three formats."""
    header, *rows = [line.split("\t") for line in log.read_text().splitlines()]
    folder = tmp_path_factory.mktemp("formats")
    files = {"tsv": log, "csv": folder / "log.csv", "jsonl": folder / "log.jsonl"}
    files["csv"].write_text("".join(",".join(row) + "\n" for row in [header, *rows]))
    objects = (dict(zip(header, row, strict=True)) for row in rows)
    files["jsonl"].write_text("".join(json.dumps(row) + "\n" for row in objects))
    return files


def first_finding(log, mode, trials):
    """What the first attack that succeeds says; the attacks after it are not run."""
    kind, budget = MODES[mode]
    settings = engines.resolve("duckdb", log)
    attacker = Attacker(budget, OBJECTIVE(), trials, randomness(1), Steps())
    attacks = attacker.attacks(settings, settings.describe(log), kind, Solver())
    return next((attack for attack in attacks if not attack.ok), None)


@pytest.mark.parametrize(("broken", "mode"), CASES)
def test_a_broken_mechanism_is_caught(logs, broken, mode, request):
    if broken.late:
        request.getfixturevalue("trials_alone")
    with broken.apply():
        finding = first_finding(logs[broken.format], mode, trials=400)

    assert finding is not None
    assert finding.evidence == broken.found


def test_the_zoo_is_large():
    assert len(ZOO) >= 25
