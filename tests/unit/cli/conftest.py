"""A small log with a secret in it, and the command line in this process."""

from types import SimpleNamespace

import pytest
from tests.helpers import write
from tests.unit.cli.commands import ROWS, SECRET


@pytest.fixture
def log(tmp_path):
    return write(tmp_path / "clicks.tsv", [*ROWS, SECRET])


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """Run the command line in this process, which saves the start of another."""
    from slogan import __main__ as entry
    from slogan.cli.app import app

    def run(*words):
        tokens = [str(word) for word in words]
        monkeypatch.setattr(entry, "app", SimpleNamespace(meta=lambda: app.meta(tokens)))
        try:
            entry.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        out, err = capsys.readouterr()
        return SimpleNamespace(
            returncode=code,
            stdout=out,
            stderr=" ".join(err.split()),
            text=" ".join((out + err).split()),
        )

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return run
