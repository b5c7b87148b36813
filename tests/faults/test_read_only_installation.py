"""A user who can write neither to the installation nor to a home folder."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src/slogan"
# Root may write anywhere; without its capabilities it is a user like others.
AS_USER = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
BUDGET = ["--epsilon", "5", "--delta", "0.5"]


@pytest.fixture
def user(tmp_path):
    """Run Python as that user, in a folder that is the user's."""
    installed, home, work = (tmp_path / name for name in ("installed", "home", "work"))
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, installed / "slogan", ignore=ignored)
    home.mkdir()
    work.mkdir()
    for folder in (home, installed, *(path for path in installed.rglob("*") if path.is_dir())):
        folder.chmod(0o555)
    drop = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TEMP", "TMP")
    env = {name: text for name, text in os.environ.items() if name not in drop}
    env |= {"HOME": str(home), "PYTHONPATH": str(installed), "TMPDIR": str(work)}

    def run(*command):
        done = subprocess.run(
            [*AS_USER, sys.executable, *command],
            cwd=work,
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Warning" not in done.stderr
        return done.stdout

    for folder in (home, installed / "slogan/planning/solvers/packing"):
        writes = f"import os; print(os.access({str(folder)!r}, os.W_OK))"
        assert run("-c", writes).strip() == "False"
    yield run
    for folder in (home, installed, *(path for path in installed.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


@pytest.mark.parametrize("solver", ["spe", pytest.param("packing", marks=pytest.mark.long)])
def test_a_user_without_home_or_installation_to_write_to_can_use_slogan(user, tmp_path, solver):
    """The loops of the packing solver take long to compile, and every run here compiles them."""

    def slogan(verb, *options):
        return json.loads(user("-m", "slogan", verb, *options, "--json"))

    slogan("generate", "log.tsv", "--users", "400", "--seed", "1")
    solving = ["--solver", solver, "--time-limit", "5"]
    sanitized = slogan("sanitize", "log.tsv", "-o", "sanitized", *BUDGET, *solving)
    synthesized = slogan(
        *("synthesize", "log.tsv", "-o", "synthesized", *BUDGET, "--accept-weak-privacy")
    )

    assert sanitized["clicks_out"] > 0
    assert synthesized["clicks_out"] > 0
    assert slogan("verify", "log.tsv", "sanitized")["ok"]
    assert slogan("evaluate", "log.tsv", "synthesized")["size_ratio"] > 0
    assert {path.name for path in (tmp_path / "work").iterdir()} == {
        "log.tsv",
        "sanitized",
        "synthesized",
    }
    assert [*(tmp_path / "home").iterdir()] == []


def test_loops_are_cached_where_there_is_room_and_compiled_where_there_is_none(tmp_path):
    """A disk that is full after a kilobyte, a folder that cannot be made, and no home at all."""
    source = tmp_path / "loop.py"
    source.write_text(
        "import pathlib, resource, sys\n"
        "if sys.argv[1] == 'full': resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "if sys.argv[1] == 'homeless': pathlib.os.path.expanduser = lambda path: path\n"
        "from slogan.storage.compilation import compiled\n"
        "@compiled\n"
        "def double(n):\n"
        "    return 2 * n\n"
        "assert double(21) == 42\n"
    )

    def cached(how, folder):
        command = [sys.executable, "-B", "-W", "error", source, how]
        env = {**os.environ, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(PACKAGE.parent)}
        done = subprocess.run(
            command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        return sorted(path.suffix for path in tmp_path.rglob("*") if path.suffix[:3] == ".nb")

    assert cached("homeless", "") == []
    assert not (tmp_path / "~").exists()
    assert ".nbc" not in cached("full", str(tmp_path / "full"))
    assert ".nbc" in cached("plain", str(tmp_path / "cache"))
