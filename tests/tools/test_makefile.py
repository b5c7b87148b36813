"""Which Python `make` takes: the newest that works, and a clear sentence if there is none."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAKE, SHELL = shutil.which("make"), "#!/bin/sh\n"
BROKEN = SHELL + "echo 'command not found' >&2\nexit 127\n"
WORKING = SHELL + f'exec {sys.executable} "$@"\n'
OLD = SHELL + "exit 1\n"  # what the test of the version says


@pytest.fixture
def make(tmp_path):
    """Run make where these commands are all there is."""

    def run(target, *options, **commands):
        for name, script in commands.items():
            file = tmp_path / "bin" / name.replace("_", ".")
            file.parent.mkdir(exist_ok=True)
            file.write_text(script)
            file.chmod(0o700)
        return subprocess.run(
            [MAKE, *options, target, f"VENV={tmp_path}/venv"],
            cwd=ROOT,
            env={"PATH": str(tmp_path / "bin")},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    ("commands", "taken"),
    [
        ({"python3_13": BROKEN, "python3_12": WORKING, "python3": WORKING}, "python3.12"),
        ({"python3_11": WORKING, "python3": OLD}, "python3.11"),
        ({"python3_13": BROKEN, "python3_11": OLD, "python3": WORKING}, "python3"),
    ],
)
def test_the_first_python_that_works_is_taken(make, tmp_path, commands, taken):
    done = make(f"{tmp_path}/venv/bin/python", "--dry-run", **commands)

    assert done.returncode == 0, done.stderr
    assert f"{taken} -m venv {tmp_path}/venv" in done.stdout.splitlines()


def test_without_a_python_make_says_what_it_needs(make, tmp_path):
    done = make(f"{tmp_path}/venv/bin/python", python3_13=BROKEN, python3=OLD)

    assert done.returncode == 2
    assert "slogan needs Python 3.11 or later" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_another_python_can_be_named(make, tmp_path):
    done = make(f"{tmp_path}/venv/bin/python", "--dry-run", "PYTHON=pypy", python3=WORKING)

    assert f"pypy -m venv {tmp_path}/venv" in done.stdout.splitlines()


def test_the_demo_installs_the_core_and_nothing_else(make, tmp_path):
    done = make("demo", "--dry-run", python3=WORKING)
    installed = [line for line in done.stdout.splitlines() if "pip install" in line]

    assert len(installed) == 2
    assert installed[0].endswith("--require-hashes -r requirements-core.lock")
    assert installed[1].endswith("--no-deps --no-build-isolation --editable .")


def test_help_lists_every_target(make):
    targets = {
        name
        for line in (ROOT / "Makefile").read_text().replace("\\\n", "").splitlines()
        if line.startswith(".PHONY:")
        for name in line.split()[1:]
    }
    listed = {line.split()[1] for line in make("help").stdout.splitlines()}

    assert listed == targets - {"help"}
