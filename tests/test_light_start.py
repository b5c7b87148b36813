"""A light start: what `import slogan`, help, the version and a usage error load, and what not."""

import ast
import importlib.metadata
import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import slogan

HEAVY = {
    "duckdb",
    "highspy",
    "jinja2",
    "numba",
    "pandas",
    "polars",
    "pyarrow",
    "pydantic",
    "pyspark",
    "scipy",
    "zstandard",
}
LOADED = "import json, sys; print(json.dumps(sorted(sys.modules)), file=sys.stderr)"
RUN = f"""
import sys
from slogan.__main__ import main
try:
    main()
except SystemExit as stop:
    assert stop.code in (0, 2), stop.code
{LOADED}
"""


def python(code, *words):
    return subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )


def loaded(code, *words):
    """The modules in memory after the code has run."""
    done = python(code, *words)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def heavy(modules):
    return {name.partition(".")[0] for name in modules} & HEAVY


def test_importing_slogan_loads_nothing_else():
    modules = loaded(f"import slogan; {LOADED}")

    assert heavy(modules) == set()
    assert "numpy" not in modules
    assert [name for name in modules if name.startswith("slogan.")] == []


@pytest.mark.parametrize(
    "name", ["PrivacyBudget", "ExactCounts", "LaplaceCounts", "PrivateCounts", "SloganError"]
)
def test_budgets_modes_and_errors_stay_light(name):
    assert heavy(loaded(f"import slogan; slogan.{name}; {LOADED}")) == set()


@pytest.mark.parametrize(
    "words",
    ["--help", "--version", "sanitize --help", "dance", "sanitize", "sanitize x.tsv -o out"],
)
def test_help_version_and_usage_errors_are_light(words):
    modules = loaded(RUN, *words.split())

    assert "cyclopts" in modules
    assert heavy(modules) == set()


def imports_for_type_checkers():
    """(module, name) of each import below `if TYPE_CHECKING` in slogan/__init__.py."""
    tree = ast.parse(Path(slogan.__file__).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [part for block in blocks for part in block.body if isinstance(part, ast.ImportFrom)]
    return {(part.module, alias.name) for part in imports for alias in part.names}


def test_every_public_name_is_there_and_known_to_type_checkers():
    places = {(f"slogan.{module}", name) for name, module in slogan._MODULES.items()}

    assert imports_for_type_checkers() == places
    assert sorted(slogan._MODULES) == slogan.__all__
    assert all(getattr(slogan, name).__name__ == name for name in slogan.__all__)
    assert {*slogan.__all__, "__version__"} <= set(dir(slogan))
    assert slogan.__version__ == importlib.metadata.version("slogan")


def test_a_name_that_is_none_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'slogan' has no attribute 'nothing'"):
        _ = slogan.nothing


def test_importing_slogan_leaves_room_for_another_highs():
    """ortools has its own libhighs, as highspy has; the first in a process serves both.

    ortools itself is in the bench extra, since it would hold back what the tests are locked with.
    """
    mapped = """
import sys, sysconfig
from pathlib import Path
import slogan
places = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
files = {module.__file__ or "" for module in sys.modules.values() if hasattr(module, "__file__")}
maps = Path("/proc/self/maps")  # where there is one
files |= set(maps.read_text().split()) if maps.exists() else set()
compiled = [file for file in files if file.endswith((".so", ".dylib")) or ".so." in file]
print([file for file in compiled if any(file.startswith(place) for place in places)])
"""
    done = python(mapped)
    noticed = python(f"import highspy\n{mapped}")

    assert done.stdout == "[]\n", done.stderr
    assert "highs" in noticed.stdout
    if find_spec("ortools"):
        done = python("import slogan; from ortools.sat.python import cp_model; cp_model.CpModel()")
        assert done.returncode == 0, done.stderr


def test_a_system_without_fcntl_gets_the_list_of_supported_ones():
    done = python("import sys; sys.modules['fcntl'] = None; import slogan")

    assert done.returncode == 1
    said = done.stderr.splitlines()[-1]
    assert said.startswith("ImportError: slogan runs on Linux and macOS")
