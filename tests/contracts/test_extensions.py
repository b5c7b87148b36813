"""One file adds an objective, a solver, a selector or a measure; no list elsewhere needs a line."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.test_docs import REGISTRIES, section_names

import slogan
from slogan import measures
from slogan.dp import selection
from slogan.planning import objectives, solvers

TOYS = {
    "objectives": """
        from dataclasses import dataclass
        from slogan.planning.objectives.output_size import OutputSize

        @dataclass(frozen=True)
        class Toy(OutputSize):
            \"\"\"As many clicks as possible, under another name.\"\"\"

            name = "toy"

        OBJECTIVE = Toy
    """,
    "solvers": """
        from dataclasses import replace
        from slogan.planning.solvers import spe

        def solve(program, effort):
            return replace(spe.solve(program, effort), solver="toy")
    """,
    "selection": """
        from slogan.dp.selection.weighted_gaussian import select
    """,
    "measures": """
        from dataclasses import dataclass
        from slogan.measures import Headline, Measure

        @dataclass(frozen=True)
        class Toy:
            clicks: int

        MEASURE = Measure[Toy](
            name="toy",
            order=999,
            take=lambda comparison: Toy(comparison.output.clicks),
            headlines=(Headline("Toy clicks", lambda result: result.clicks, ",d"),),
        )
    """,
}
PACKAGES = {
    "objectives": objectives,
    "solvers": solvers,
    "selection": selection,
    "measures": measures,
}
# What an installed file would do: the toys' folders belong to the packages.
STARTER = """
import sys
{lines}
from slogan.__main__ import main
main()
"""


@pytest.fixture
def toys(tmp_path):
    """A folder with one toy of each kind."""
    for kind, source in TOYS.items():
        (tmp_path / kind).mkdir()
        (tmp_path / kind / "toy.py").write_text(textwrap.dedent(source))
    lines = [
        f"import {package.__name__}; {package.__name__}.__path__.append({str(tmp_path / kind)!r})"
        for kind, package in PACKAGES.items()
    ]
    (tmp_path / "starter.py").write_text(STARTER.format(lines="\n".join(lines)))
    return tmp_path


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "clicks.tsv"
    slogan.generate(file, users=400, seed=1)
    return file


def run(toys, *words):
    path = str(Path(slogan.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(toys / "starter.py"), *map(str, words)],
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_toy_of_each_kind_goes_through_every_verb(toys, log):
    budget = ("--exp-epsilon", "2", "--delta", "0.5", "--time-limit", "2")
    run(
        *(toys, "sanitize", log, "-o", toys / "real", *budget),
        *("--objective", "toy", "--solver", "toy"),
    )
    manifest = json.loads((toys / "real/public/manifest.json").read_text())
    assert manifest["parameters"]["objective"] == "toy"
    assert manifest["parameters"]["solver"] == "toy"

    loose = ("--epsilon", "8", "--delta", "0.01", "--accept-weak-privacy")
    run(toys, "synthesize", log, "-o", toys / "made-up", *loose, "--selector", "toy")
    manifest = json.loads((toys / "made-up/public/manifest.json").read_text())
    assert manifest["parameters"]["selector"] == "toy"

    for release in ("real", "made-up"):
        assert json.loads(run(toys, "verify", log, toys / release, "--json").stdout)["ok"]
    evaluated = run(toys, "evaluate", log, toys / "real", "--json")
    assert json.loads(evaluated.stdout)["toy"]["clicks"] > 0
    assert "Toy clicks" in run(toys, "evaluate", log, toys / "real").stderr
    report = (toys / "real/curator/report.html").read_text()
    assert "Toy clicks" in report
    assert "toy" in report

    grid = ("--exp-epsilons", "2", "--deltas", "0.5", "--time-limit", "1")
    points = run(toys, "frontier", log, *grid, "--objective", "toy", "--solver", "toy", "--json")
    assert json.loads(points.stdout)["objective"] == "toy"


@pytest.mark.parametrize("verb", ["sanitize", "synthesize"])
def test_the_help_offers_it(toys, verb):
    assert "toy" in run(toys, verb, "--help").stdout


@pytest.mark.parametrize("kind", TOYS)
def test_the_reference_is_incomplete_until_it_has_a_section(toys, monkeypatch, kind):
    package = PACKAGES[kind]
    documented = section_names(kind)
    assert set(REGISTRIES[kind]()) <= documented

    monkeypatch.setattr(package, "__path__", [*package.__path__, str(toys / kind)])
    try:
        assert set(REGISTRIES[kind]()) - documented == {"toy"}
    finally:
        sys.modules.pop(f"{package.__name__}.toy", None)
