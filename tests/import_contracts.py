"""The import contracts of pyproject.toml, checked for a source tree."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lint_imports(source, contract):
    """The exit status and the words of import-linter about the package slogan in a folder."""
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    config = ROOT / "pyproject.toml"
    done = subprocess.run(
        [sys.executable, "-c", command, "--config", config, "--contract", contract, "--no-cache"],
        env={**os.environ, "PYTHONPATH": str(source), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr
