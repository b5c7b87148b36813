"""Engines are packages: a name or settings select one, and no other module lists them."""

import ast
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import slogan
from slogan import engines, errors
from slogan.engines.duckdb.engine import DuckDBEngine

SOURCE = Path(slogan.__file__).parent
LIGHT = """
import sys, types
package = types.ModuleType("slogan")
package.__path__ = [{source!r}]
sys.modules["slogan"] = package
import slogan.engines
assert slogan.engines.names()
print(*sys.modules)
"""


def test_names_are_those_of_the_packages():
    assert engines.names() == ("duckdb", "spark")
    assert [engines.load(name)().name for name in engines.names()] == ["duckdb", "spark"]


def test_a_name_or_settings_select_an_engine():
    large = slogan.DuckDB(memory_limit="4GB")

    assert engines.resolve("duckdb") == slogan.DuckDB()
    assert engines.resolve(large) is large
    assert engines.resolve("spark") == slogan.Spark()
    host = engines.resolve(large).start()
    host.close()
    assert isinstance(host, DuckDBEngine)


@pytest.mark.parametrize(
    ("given", "words"),
    [("flink", "there is no engine 'flink'"), (5, "an int"), (None, "a NoneType")],
)
def test_anything_else_is_refused_with_a_hint(given, words):
    with pytest.raises(errors.OptionError, match=words.removeprefix("an ").removeprefix("a ")):
        slogan.inspect("clicks.tsv", engine=given)


@pytest.mark.parametrize("described", [False, True])
def test_a_table_that_one_engine_reads_alone_selects_it(described):
    frame = SimpleNamespace(sparkSession="the session", columns=["user", "query", "url"])
    log = slogan.read(frame) if described else frame
    found = engines.resolve(slogan.DuckDB(memory_limit="1GB"), log)

    assert found == slogan.Spark(session="the session", memory_limit="1GB")
    assert engines.resolve("duckdb", "clicks.tsv") == slogan.DuckDB()


def test_a_repr_shows_neither_session_nor_secrets():
    conf = {"spark.hadoop.fs.s3a.secret.key": "hidden"}
    shown = repr(slogan.Spark(master="local[2]", conf=conf, session=object()))

    assert shown == "Spark(memory_limit=None, master='local[2]')"
    assert repr(slogan.DuckDB(memory_limit="4GB")) == "DuckDB(memory_limit='4GB')"


def test_engines_are_listed_without_importing_what_they_need():
    code = LIGHT.format(source=str(SOURCE))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()

    assert "slogan.engines" in loaded
    heavy = ("slogan.dp", "slogan.planning", "slogan.logs", "duckdb", "pyspark", "numpy", "scipy")
    assert [name for name in loaded if name.startswith(heavy)] == []


# --- nothing outside its package knows an engine's name ---


def comparisons_of_names(source):
    """Lines where a name of an engine is compared, or is a case, a key or an index."""
    names = set(engines.names())
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare | ast.MatchValue | ast.Subscript | ast.Dict):
            parts = node.keys if isinstance(node, ast.Dict) else ast.walk(node)
            if any(isinstance(part, ast.Constant) and part.value in names for part in parts):
                yield node.lineno


def imports_of_engines(source):
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def is_of_an_engine(module, *, outside):
    own = [f"slogan.engines.{name}" for name in engines.names() if name != outside]
    return any(module == name or module.startswith(f"{name}.") for name in own)


OUTSIDE = [
    path
    for path in sorted(SOURCE.rglob("*.py"))
    if path.relative_to(SOURCE) != Path("__init__.py")  # where the settings are public names
]


@pytest.mark.parametrize("path", OUTSIDE, ids=lambda path: str(path.relative_to(SOURCE)))
def test_nothing_outside_an_engine_knows_its_name(path):
    parts = path.relative_to(SOURCE).parts
    own = parts[1] if parts[0] == "engines" and len(parts) > 2 else None
    source = path.read_text()

    assert own or list(comparisons_of_names(source)) == []
    assert [m for m in imports_of_engines(source) if is_of_an_engine(m, outside=own)] == []


@pytest.mark.parametrize(
    "line",
    [
        'if engine == "spark": pass',
        'x = {"duckdb": 1}[engine]',
        'match engine:\n    case "spark":\n        pass',
        'y = engine in ("spark", "other")',
    ],
)
def test_a_test_of_the_name_would_be_noticed(line):
    another = line.replace("spark", "exact").replace("duckdb", "exact")

    assert list(comparisons_of_names(line))
    assert list(comparisons_of_names(another)) == []


@pytest.mark.parametrize(
    "line",
    ["from slogan.engines import spark", "import slogan.engines.duckdb.engine as anything"],
)
def test_an_import_of_an_engine_would_be_noticed(line):
    assert any(is_of_an_engine(module, outside=None) for module in imports_of_engines(line))
