"""The mutator makes the mistakes it should, and the list of guards is complete."""

import ast
import builtins
import json
import os
import subprocess
import sys

import pytest
from tools.mutation import report
from tools.mutation.guards import AFTER_THE_NOISE, GUARDS, ROOT
from tools.mutation.mutants import mutants, plain_source
from tools.mutation.reach import marked, reaching
from tools.mutation.stage import changed


def mistakes(source):
    """What the lines of a program become, one mistake at a time."""
    before = ast.unparse(ast.parse(source)).splitlines()
    for mutant in mutants(source):
        after = mutant.source.splitlines()
        yield next(new.strip() for old, new in zip(before, after, strict=False) if old != new)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a < b", {"x = a <= b"}),
        ("x = a == b", {"x = a != b"}),
        ("x = a in b", {"x = a not in b"}),
        ("x = a + b", {"x = a - b"}),
        ("x = a // b", {"x = -(-a // b)"}),
        ("x = a and b", {"x = a or b"}),
        ("x = not a", {"x = a"}),
        ("x = True", {"x = False"}),
        ("x = 7", {"x = 8", "x = 6"}),
        ("x = 1e-9", {"x = 2e-09"}),
        ("x = math.floor(a)", {"x = math.ceil(a)"}),
        ("x = min(a, b)", {"x = max(a, b)"}),
        ("x = a.low", {"x = a.high"}),
        ("low = a", set()),
        ("x = find(a, side='left')", {"x = find(a, side='right')"}),
        ("a += b", {"a -= b", "pass"}),
        ("check(a)", {"pass"}),
        ("x[i] = a", {"pass"}),
        ("if a < b:\n    c()", {"if a <= b:", "if a >= b:", "pass"}),
        ("if a:\n    raise ValueError(1)", {"if not a:", "pass"}),
        (
            "x = [i for i in a if i > b]",
            {"x = [i for i in a if i >= b]", "x = [i for i in a if i <= b]"},
        ),
    ],
)
def test_each_kind_of_mistake_is_made(source, expected):
    assert set(mistakes(source)) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring of 3 words."""',
        "x = f'{a + 1} users'",
        "x = 'a' + b",
        "raise ValueError(f'{a + 1}')",
        "import math",
        "x: Literal[1]",
        "@dataclass(frozen=True)\nclass A:\n    pass",
        "if __name__ == '__main__':\n    main(1)",
    ],
)
def test_what_is_only_said_is_left_alone(source):
    assert list(mistakes(source)) == []


def test_mutants_have_names_of_their_own_and_compile():
    source = (ROOT / "src/slogan/planning/plan.py").read_text()
    found = list(mutants(source))

    assert len({mutant.name for mutant in found}) == len({mutant.source for mutant in found})
    assert len(found) > 30
    for mutant in found[::10]:
        compile(mutant.source, "mutant", "exec")


def test_a_name_does_not_change_with_what_is_above_it():
    below = "def f(a):\n    return a < 1\n"

    assert {m.name for m in mutants(below)} <= {
        m.name for m in mutants("import math\nX = 5\n\n" + below)
    }


def test_every_file_that_decides_a_guarantee_is_guarded():
    source = ROOT / "src/slogan"
    names = ("plan.py", "sampling.py", "constraints.py")
    deciding = [source / "budget.py", source / "randomness.py"]
    deciding += [source / "planning" / name for name in names]
    for package in ("dp", "ledger", "verification"):
        deciding += (source / package).rglob("*.py")
    named = {str(file.relative_to(ROOT)) for file in deciding if any(mutants(file.read_text()))}

    assert named == {*GUARDS, *AFTER_THE_NOISE}
    assert all((ROOT / test).is_file() for tests in GUARDS.values() for test in tests)


def test_the_report_counts_mutants_and_lists_survivors_with_reasons(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "REPORT", tmp_path / "report.md")
    file = "src/slogan/planning/plan.py"
    name, why = next(iter(report.reasons()[file].items()))
    report.write({file: {name: {"status": "survived"}, "plan: a -> b": {"status": "killed"}}})
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    there = sum(1 for _ in mutants((ROOT / file).read_text()))

    assert f"| `{file}` | {there} | 1 | 1 | {there - 2} |" in text
    assert f"```text\n{name}\n```\n\n{why}\n" in text


def test_a_survivor_needs_a_reason():
    found = {
        "src/slogan/planning/plan.py": {
            "plan: a -> b": {"status": "survived"},
            "c": {"status": "killed"},
        }
    }

    assert report.unexplained(found) == [("src/slogan/planning/plan.py", "plan: a -> b")]


@pytest.mark.long
def test_every_reason_is_that_of_a_mutant():
    for file, reviewed in report.reasons().items():
        names = {mutant.name for mutant in mutants((ROOT / file).read_text())}
        assert [name for name in reviewed if name not in names] == []
        assert all(reason.strip() for reason in reviewed.values())


PROGRAM = '''"""A module."""
LIMIT = 3

def f(a):
    """Says whether."""
    if a > LIMIT:
        return [b for b in range(a)]
    else:
        raise ValueError(a)

class C:
    size = 1

    @property
    def g(self):
        return f(5)
'''


def loaded(source):
    """The names of a module, as if it had come from a file."""
    names = {}
    exec(compile(source, "program.py", "exec"), names)
    return names


def test_statements_note_that_they_were_reached():
    names = loaded(marked(PROGRAM, "a file"))
    reached = names["_REACHED"]

    assert bytes(reached) == bytes(len(reached))  # an import reaches no statement of a function
    names["f"](4)
    assert [n for n, hit in enumerate(reached) if hit] == [6, 7]
    assert names["f"].__doc__ == "Says whether."
    with pytest.raises(ValueError, match="1"):
        names["f"](1)
    assert [n for n, hit in enumerate(reached) if hit] == [6, 7, 9]
    vars(builtins)["__reached__"].pop("a file")


def test_a_mutant_meets_the_tests_that_come_to_its_line():
    reached = {"near": {"file": [6, 7]}, "far": {"file": [9]}, "elsewhere": None, "other": {}}
    lines = {mutant.name: mutant.line for mutant in mutants(PROGRAM)}

    assert lines["module: LIMIT = 3 -> LIMIT = 4"] == lines["C: size = 1 -> size = 2"] == 0
    assert lines["f: if a > LIMIT: -> if a >= LIMIT:"] == 6
    assert lines["C.g: return f(5) -> return f(6)"] == 16
    assert reaching("file", 7, reached) == {"near", "elsewhere"}
    assert reaching("file", 9, reached) == {"far", "elsewhere"}
    assert reaching("file", 0, reached) == {*reached}


def test_the_one_function_that_a_mutant_changes_is_found():
    names = loaded(plain_source(PROGRAM))
    there = [names["f"], names["C"].g.fget]
    found = {
        mutant.name: changed(there, "program.py", mutant.source) for mutant in mutants(PROGRAM)
    }

    assert changed(there, "program.py", plain_source(PROGRAM)) is None
    assert found["module: LIMIT = 3 -> LIMIT = 4"] is None
    assert found["C: size = 1 -> size = 2"] is None
    function, code = found["f: if a > LIMIT: -> if a >= LIMIT:"]
    function.__code__ = code
    assert names["f"](3) == [0, 1, 2]
    function, code = found["C.g: return f(5) -> return f(6)"]
    function.__code__ = code
    assert names["C"]().g == [0, 1, 2, 3, 4, 5]


SHARING = """
import os
import pytest

@pytest.fixture(scope="module")
def made(tmp_path_factory):
    print("made by", os.getpid())
    file = tmp_path_factory.mktemp("made") / "file"
    file.write_text("content")
    return file

@pytest.fixture(scope="module")
def more(made):
    print("more by", os.getpid())
    return {"file": made}

@pytest.fixture(scope="module")
def lasting(made):
    print("lasting by", os.getpid())
    yield lambda: made

def test_all_are_there(more, lasting, tmp_path):
    assert more["file"] == lasting()
    assert lasting().read_text() == "content"
    assert not [*tmp_path.iterdir()]
"""
STAGED = """
import os, shutil, sys
from pathlib import Path
import pytest
from tools.mutation.shared import Shared

class Play:
    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        shared = Shared(session, Path("kept").resolve())
        shutil.rmtree(shared.folder)
        shared.lay_out()
        print("from here", os.getpid())
        for item in session.items:
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return True

sys.exit(pytest.main(["-q", "-s", "-p", "no:cacheprovider", "test_sharing.py"], plugins=[Play()]))
"""


def test_what_tests_share_is_made_once_and_in_another_process(tmp_path):
    (tmp_path / "test_sharing.py").write_text(SHARING)
    done = subprocess.run(
        [sys.executable, "-c", STAGED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    before, after = done.stdout.split("from here ")
    assert [line.split()[0] for line in before.splitlines()] == ["made", "more"]
    assert f"lasting by {after.split()[0]}\n" in after  # it may end something: made where it ends
    assert "made by" not in after
    assert "more by" not in after


TRIALS = """
import json
from tools.mutation.guards import ROOT
from tools.mutation import trial
from tools.mutation.trial import Copy

trial.MOST_SECONDS = 5
FILE = "src/slogan/planning/plan.py"
TESTS = ["tests/unit/planning/test_plan.py::test_a_proposal_for_another_log_is_refused"]
source = (ROOT / FILE).read_text()
copy = Copy()
try:
    done = copy.plain(FILE, TESTS)
    plain, usual = done.outcome, done.seconds
    same = copy.mutated(FILE, source + "# the same", TESTS, usual, usual)
    wrong = copy.mutated(FILE, source.replace("shape !=", "shape =="), TESTS, usual, usual)
    broken = copy.mutated(FILE, source + "nonsense()", TESTS, usual, usual)
    endless = copy.mutated(FILE, source + "while True: pass", TESTS, usual, usual)
    again = copy.mutated(FILE, source, TESTS, usual, usual)
finally:
    copy.remove()
print(json.dumps([o.status for o in (plain, same, wrong, broken, endless, again)]))
"""


@pytest.mark.long
def test_a_trial_tells_the_mutants_that_tests_notice_from_the_others():
    """In a process of its own, because a trial forks before slogan is imported."""
    done = subprocess.run(
        [sys.executable, "-c", TRIALS], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [
        "survived",  # as it is
        "survived",
        "killed",
        "killed",
        "timeout",
        "survived",  # the copy is as it was
    ]
