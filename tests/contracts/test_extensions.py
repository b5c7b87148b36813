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
# Reads command lines as JSON, runs them one after the other, and says what came of each.
STARTER = """
import contextlib, io, json, sys
{lines}
from slogan.__main__ import main
answers = []
for words in json.load(sys.stdin):
    sys.argv, code, out, err = ["slogan", *words], 0, io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
    answers.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(answers))
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


def run(toys, *commands):
    """What each of the commands printed on standard output and error; one process runs them all."""
    path = str(Path(slogan.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, str(toys / "starter.py")],
        input=json.dumps([[*map(str, words)] for words in commands]),
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1", "COLUMNS": "200"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout)
    for words, (code, _, err) in zip(commands, answers, strict=True):
        assert code == 0, (words, err)
    return [(out, err) for _, out, err in answers]


def test_a_toy_of_each_kind_goes_through_every_verb(toys, log):
    budget = ("--exp-epsilon", "2", "--delta", "0.5", "--time-limit", "2")
    loose = ("--epsilon", "8", "--delta", "0.01", "--accept-weak-privacy")
    grid = ("--exp-epsilons", "2", "--deltas", "0.5", "--time-limit", "1")
    real, made_up, chosen = toys / "real", toys / "made-up", ("--objective", "toy")
    _, _, *verified, (evaluated, _), (shown, _), (points, _), help_real, help_made_up = run(
        toys,
        ("sanitize", log, "-o", real, *budget, *chosen, "--solver", "toy"),
        ("synthesize", log, "-o", made_up, *loose, "--selector", "toy"),
        ("verify", log, real, "--json"),
        ("verify", log, made_up, "--json"),
        ("evaluate", log, real, "--json"),
        ("evaluate", log, real),
        ("frontier", log, "--on-log", *grid, *chosen, "--solver", "toy", "--json"),
        ("sanitize", "--help"),
        ("synthesize", "--help"),
    )

    manifest = json.loads((real / "public/manifest.json").read_text())
    assert manifest["parameters"]["objective"] == "toy"
    assert manifest["parameters"]["solver"] == "toy"
    manifest = json.loads((made_up / "public/manifest.json").read_text())
    assert manifest["parameters"]["selector"] == "toy"
    assert [json.loads(out)["ok"] for out, _ in verified] == [True, True]
    assert json.loads(evaluated)["toy"]["clicks"] > 0
    assert "Toy clicks" in shown
    report = (real / "curator/report.html").read_text()
    assert "Toy clicks" in report
    assert "toy" in report
    assert json.loads(points)["objective"] == "toy"
    for said, _ in (help_real, help_made_up):
        assert "toy" in said


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
