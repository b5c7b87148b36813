"""The architecture as a test: imports point upstream, and the core stays small."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import slogan

SOURCE = Path(slogan.__file__).parent
ROOMS = """
    errors arrays isotonic privacy modes randomness registry stages stopping files folders
    waiting publishing resuming histogram constraints program plan objectives solvers sampling dp
    laplace planning climbing outside
    databases detection unpacking columns searchlog placing rows pseudonyms engines
    promise manifest report publication release synthetic capped_release inspection capped
    distributing pipeline
    synthesizing evaluation dry_plans dry_runs frontier
    vocabulary population generate audit attacks demo reproduction reproducing
    words story options terminal reviewing surveying cli
"""
FLOW = ROOMS.split()
FILES = sorted(SOURCE.rglob("*.py"))
OUTERMOST = {"__init__", "__main__"}


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path):
    """The rooms of slogan that a file imports."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "slogan":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("slogan."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("slogan."))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_upstream(path):
    here = room(path)
    if here in OUTERMOST:
        return
    assert here in FLOW, f"{here} has no place in the flow yet"
    for other in imported(path):
        if other.startswith("__"):
            continue
        assert FLOW.index(other) <= FLOW.index(here), f"{here} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_hold_one_idea(path):
    assert len(path.read_text().splitlines()) <= 350
    assert ast.get_docstring(ast.parse(path.read_text()))


def test_optional_libraries_are_not_imported_by_the_core():
    """`import slogan` works with the core install: no pandas, polars or pyarrow."""
    code = (
        "import sys; sys.modules.update(dict.fromkeys(['pandas', 'polars', 'pyarrow'])); "
        "import slogan.cli"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
