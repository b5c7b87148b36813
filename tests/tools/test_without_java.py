"""Messages without Java or pyspark."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import slogan
from slogan import errors

ROOT = Path(__file__).parents[2]


@pytest.fixture
def bare(tmp_path):
    """An environment with a few tools, and no Java among them."""
    for tool in ("sh", "id", "sed", "cat"):
        (tmp_path / tool).symlink_to(shutil.which(tool))
    kept = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "PYSPARK_GATEWAY_PORT")}
    return {**kept, "PATH": str(tmp_path), "NO_COLOR": "1"}


def test_spark_without_java_says_what_to_install(bare):
    log = ROOT / "tests/golden/clicks.tsv"
    done = subprocess.run(
        [sys.executable, "-m", "slogan", "inspect", str(log), "--engine", "spark"],
        env=bare,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == errors.EngineError.exit_code
    assert done.stderr.startswith("error: Spark needs Java")
    assert "openjdk-17-jre-headless" in done.stderr


def test_the_test_suite_says_loudly_that_it_leaves_spark_out(bare):
    done = subprocess.run(
        [ROOT / ".ci/java"], env=bare, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert "THE SPARK TESTS ARE LEFT OUT" in done.stderr


def test_spark_without_pyspark_says_what_to_install(monkeypatch, tmp_path):
    for name in [n for n in sys.modules if n.startswith("slogan.engines.spark")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "py4j", None)
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)

    with pytest.raises(errors.EngineError, match="not installed") as raised:
        slogan.inspect(ROOT / "tests/golden/clicks.tsv", engine="spark")
    assert "slogan[spark]" in raised.value.hint
