"""slogan generate: its help names every format."""

from tests.unit.cli.commands import slogan

from slogan.generation.generate import FORMATS


def test_help_names_every_format(tmp_path):
    done = slogan("generate", "--help", cwd=tmp_path, COLUMNS="200")

    *first, last = FORMATS
    assert f"{', '.join(first)} or {last}." in done.stdout
