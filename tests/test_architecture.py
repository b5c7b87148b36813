"""The architecture as a test: imports point upstream, and rooms stay small."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from tests.import_contracts import ROOT, lint_imports

import slogan
from slogan.cli.app import VERBS

SOURCE = Path(slogan.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted({path.parent for path in FILES} - {SOURCE})
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())
CONTRACTS = [contract["id"] for contract in CONFIG["tool"]["importlinter"]["contracts"]]
MODULES_IN_THE_HALL = 10
MODULES_IN_A_PACKAGE = 14
MODULES_OF_THE_COMMAND_LINE = 20  # a file for each verb
LINES_IN_A_FILE = 500


@pytest.mark.parametrize("contract", CONTRACTS)
def test_imports_keep_the_contract(contract):
    status, words = lint_imports(SOURCE.parent, contract)

    assert status == 0, words


def test_few_modules_stand_in_the_hall():
    hall = sorted(path.stem for path in SOURCE.glob("*.py"))

    assert len(hall) <= MODULES_IN_THE_HALL, hall


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_package_can_be_held_in_mind(package):
    verbs = VERBS if package.name == "cli" else ()  # one file for each, however many there are
    modules = sorted({path.stem for path in package.glob("*.py")} - {"__init__", *verbs})

    most = MODULES_OF_THE_COMMAND_LINE if package.name == "cli" else MODULES_IN_A_PACKAGE
    assert len(modules) <= most, modules


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_says_what_it_is_for_and_ends(path):
    text = path.read_text()

    assert len(text.splitlines()) <= LINES_IN_A_FILE
    assert ast.get_docstring(ast.parse(text))


def test_optional_libraries_are_not_imported_by_the_core():
    """`import slogan` works with the core install: no pandas, polars or pyarrow."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow'])); "
        "from slogan import *; import slogan.cli.app"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
