"""The ladder's table says what was counted, and never "lost: 0" over a failure."""

import json
import subprocess
import sys

import pytest

from tools import ladder

TOLD = [
    {"what": "cases tried", "number": 100, "test": "tests/unit/planning/test_plan.py::test_a"},
    {"what": "cases tried", "number": 23, "test": "tests/unit/planning/test_plan.py::test_b"},
    {"what": "attacks run", "number": 1_200, "test": "tests/unit/auditor/test_audit.py::test_c"},
]


def failure(test, rung="tests"):
    return {"what": "failed", "number": 1, "test": test, "rung": rung}


def test_the_table_adds_up():
    lines = ladder.table(TOLD, {"tests": 0}, seconds=90)

    assert "| cases tried | 123 |" in lines
    assert "| attacks run | 1,200 |" in lines
    assert "| bytes fuzzed | 0 |" in lines
    assert lines[-1] == "**lost: 0, leaked: 0**"


@pytest.mark.parametrize(
    ("test", "first", "second"),
    [
        ("tests/faults/test_kills.py::test_a", "**lost: 1, leaked: 0**", "- lost: "),
        ("tests/fuzz/test_readers.py::test_a", "**lost: 0, leaked: 1**", "- leaked: "),
        ("tests/leaks/test_taint.py::test_a", "**lost: 0, leaked: 1**", "- leaked: "),
        ("tests/unit/planning/test_plan.py::test_a", "**lost: 0, leaked: 0**", "- failed: "),
    ],
)
def test_a_failure_is_in_the_list(test, first, second):
    lines = ladder.verdict([*TOLD, failure(test), failure(test)], {"tests": 1})

    assert lines[0] == first
    assert f"{second}`{test}`" in lines
    assert "- the rung `tests` ended with code 1" in lines


@pytest.mark.parametrize(
    ("code", "failures"),
    [
        (1, []),
        (139, []),
        (
            -9,
            [failure("tests/unit/planning/test_plan.py::test_a")],
        ),  # killed after a test had failed
        (2, [failure("tests/faults/test_kills.py::test_a")]),
        (1, [failure("src/slogan/planning/plan.py: a -> b", "mutants")]),  # another rung's
    ],
)
def test_nothing_is_known_of_a_rung_that_ended_early(code, failures):
    lines = ladder.verdict([*TOLD, *failures], {"tests": code, "mutants": int(bool(failures))})

    assert lines[0] == "**lost: unknown, leaked: unknown**"
    assert f"- the rung `tests` ended with code {code}" in lines
    assert "- no reported failure explains how `tests` ended" in lines
    assert all(any(line["test"] in told for told in lines) for line in failures)


def test_spark_tests_that_did_not_run_are_reported():
    def remarks(*rungs):
        lines = ladder.table(TOLD, dict.fromkeys(rungs, 0), seconds=90)
        return [line for line in lines if "Spark" in line]

    assert remarks("tests") == []
    assert remarks(ladder.WITHOUT_SPARK) == [
        "Spark's tests did not run: there is no Java 17 or later here."
    ]


@pytest.mark.parametrize(("code", "spark"), [(0, True), (1, False)])
def test_without_java_the_rung_has_another_name(monkeypatch, code, spark):
    done = subprocess.CompletedProcess([], code)
    monkeypatch.setattr(ladder.subprocess, "run", lambda *_, **__: done)
    rungs = ladder.rungs()

    assert ("tests" in rungs) == spark
    assert (ladder.WITHOUT_SPARK in rungs) == (not spark)


def test_the_table_replaces_what_is_between_the_marks():
    page = f"# Trust\n\n{ladder.BEGIN}\n\nold \\1\n\n{ladder.END}\n\nbelow\n"
    once = ladder.written(page, ["| a \\1 |"])

    assert once == f"# Trust\n\n{ladder.BEGIN}\n\n| a \\1 |\n\n{ladder.END}\n\nbelow\n"
    assert ladder.written(once, ["| a \\1 |"]) == once
    assert ladder.written(ladder.PAGE.read_text(), ["x"])
    with pytest.raises(SystemExit):
        ladder.written("# Trust\n", [])


def test_rungs_run_even_after_one_failed(tmp_path):
    said = [
        sys.executable,
        "-c",
        "from tests.conftest import record; record('cases tried', 5, 'x')",
    ]
    codes = ladder.climb(
        {"first": [sys.executable, "-c", "raise SystemExit(3)"], "second": said}, tmp_path
    )

    assert codes == {"first": 3, "second": 0}
    assert ladder.read(tmp_path) == [
        {"what": "cases tried", "number": 5, "test": "x", "rung": "second"}
    ]


@pytest.fixture
def run(tmp_path, request):
    """Run a small test file; its exit code and what it tells the ladder."""
    root = request.config.rootpath

    def ran(source, *options):
        (tmp_path / "conftest.py").write_text((root / "tests/conftest.py").read_text())
        (tmp_path / "test_small.py").write_text(source)
        file = tmp_path / "file"
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        done = subprocess.run(
            [*command, tmp_path],
            env={"SLOGAN_LADDER": str(file)},
            cwd=tmp_path,
            check=False,
            capture_output=True,
        )
        return done.returncode, [json.loads(line) for line in file.read_text().splitlines()]

    return ran


def test_properties_count_their_examples_and_failures_are_reported(run):
    _, told = run(
        "from hypothesis import given, settings, strategies as st\n"
        "@settings(max_examples=40, database=None)\n"
        "@given(n=st.integers())\n"
        "def test_property(ladder, n): ladder.count('bytes fuzzed', 3)\n"
        "def test_plain(): pass\n"
        "def test_failing(): assert False\n",
        *("-p", "no:xdist"),
    )

    def number(what, test):
        lines = [line for line in told if line["what"] == what and line["test"].endswith(test)]
        return sum(line["number"] for line in lines)

    assert number("cases tried", "test_property") == 40
    assert number("bytes fuzzed", "test_property") == 120
    assert number("cases tried", "test_plain") == 1
    assert number("cases tried", "test_failing") == 0
    assert number("failed", "test_failing") == 1


def test_a_worker_that_dies_is_reported_by_its_test(run):
    code, told = run("import os\ndef test_dying(): os._exit(9)\n", "-n", "1")

    assert code == 1
    assert [line["test"] for line in told if line["what"] == "failed"] == [
        "test_small.py::test_dying"
    ]
