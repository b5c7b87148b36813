"""What is handed out: the wheel and the source archive hold what they should, the same each time.

hatchling, which builds them, is in the lock, so nothing is fetched to build.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest
from tools.dependencies import CORE_LOCK

ROOT = Path(__file__).parents[2]
LEFT_BEHIND = [".git", ".venv*", ".hypothesis", ".mutants", "__pycache__", "dist", ".*_cache"]


def built(folder, kind, *, when=1_700_000_000, umask=0o022):
    """Build from a copy of the tree whose files were all touched at a given time."""
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    for file in tree.rglob("*"):
        os.utime(file, (when, when), follow_symlinks=False)
    env = {name: text for name, text in os.environ.items() if name != "SOURCE_DATE_EPOCH"}
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", folder / "dist"],
        cwd=tree,
        env={**env, "PYTHONPATH": ""},
        check=True,
        capture_output=True,
        umask=umask,
    )
    (file,) = (folder / "dist").iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("wheel"), "wheel")


def test_the_wheel_holds_the_package_and_its_manual_page_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    info = {name for name in names if name.startswith("slogan-")}
    source = {
        str(file.relative_to(ROOT / "src"))
        for file in (ROOT / "src/slogan").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }

    assert names - info == source
    assert "slogan/py.typed" in names
    assert {Path(name).name for name in info} == {
        "METADATA",
        "WHEEL",
        "RECORD",
        "LICENSE",
        "entry_points.txt",
        "slogan.1",
    }
    assert any(name.endswith("/share/man/man1/slogan.1") for name in info)


def test_a_foreign_solver_runs_from_the_wheel(tmp_path, wheel):
    """Without a checkout: neither bench/ nor src/ is on the path of the two processes."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = """
import numpy, slogan, sys
from slogan.histogram import PairHistogram
from slogan.planning.constraints import privacy_constraints
from slogan.planning.objectives.diversity import Diversity
from slogan.reproduction import solvers

one = numpy.ones(12, dtype=int)
hist = PairHistogram(user=numpy.arange(12), pair=0 * one, count=one, users=12, pairs=1, query=[0])
budget = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
program = Diversity().program(privacy_constraints(hist, budget))
print(slogan.__file__, solvers.ask(solvers.PEERS[-1], program, 2.0).x)
"""
    env = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, check=False, capture_output=True
    )

    assert done.stdout.decode() == f"{tmp_path}/site/slogan/__init__.py [1.]\n", done.stderr


def test_the_source_archive_holds_no_results_and_no_caches(tmp_path):
    with tarfile.open(built(tmp_path, "sdist")) as archive:
        members = archive.getmembers()
    names = {member.name.split("/", 1)[1] for member in members}

    assert {
        "src/slogan/py.typed",
        "LICENSE",
        "SECURITY.md",
        "requirements.lock",
        "requirements-core.lock",
        "Makefile",
    } <= names
    assert "tests/wheel/test_wheel.py" in names
    assert [n for n in names if n.startswith("bench/results/") or "__pycache__" in n] == []
    assert [n for n in names if n.endswith((".jsonl", ".parquet", ".ledger"))] == []
    assert {(member.uid, member.gid) for member in members} == {(0, 0)}


@pytest.mark.long
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_two_builds_are_the_same_bytes(tmp_path, kind):
    """In other folders, at other times, with other permissions."""
    first = built(tmp_path / "a", kind, when=1_600_000_000)
    second = built(tmp_path / "elsewhere/b", kind, when=1_750_000_000, umask=0o077)

    assert first.name == second.name
    assert digest(first) == digest(second)


def digest(file):
    return hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_the_wheel_works_where_the_repository_is_not(tmp_path, wheel):
    """A new environment has the wheel and what it depends on, in the locked versions."""
    venv.create(tmp_path / "fresh", with_pip=True)
    fresh = tmp_path / "fresh/bin"
    pins = tmp_path / "pins.txt"
    # without hashes, which pip would then ask of the wheel too; with markers
    locked = re.findall(r"^\S+==[^\\\n]+", CORE_LOCK.read_text(), flags=re.MULTILINE)
    pins.write_text("\n".join(locked))
    env = {name: text for name, text in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command):
        done = subprocess.run(
            command, cwd=tmp_path, env=env, check=False, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(fresh / "python", "-m", "pip", "install", "--quiet", "--constraint", pins, wheel)
    place = run(fresh / "python", "-c", "import slogan; print(slogan.__file__)")
    run(fresh / "slogan", "demo", "--json")
    run(fresh / "slogan", "generate", "clicks.tsv", "--users", "300", "--seed", "1")
    budget = ["--exp-epsilon", "2", "--delta", "0.5"]
    run(fresh / "slogan", "sanitize", "clicks.tsv", "-o", "release", *budget, "--time-limit", "5")

    run(fresh / "slogan", "reproduce", "--table", "7", "--log", "clicks.tsv", "--quick")
    page = (tmp_path / "reproduction" / "table-7.md").read_text()

    assert "CP-SAT is missing: ortools is not installed: pip install 'slogan[bench]'." in page
    assert "feasibility pump is missing" not in page
    assert Path(place.strip()).is_relative_to(tmp_path)
    assert json.loads(run(fresh / "slogan", "verify", "clicks.tsv", "release", "--json"))["ok"]
