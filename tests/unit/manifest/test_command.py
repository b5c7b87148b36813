"""The command of a manifest makes the same choices again, and holds no path."""

import json
import shlex

import pytest
from tests.unit.cli.commands import slogan as run

from slogan.manifest.command import command_of
from slogan.manifest.manifest import Manifest

LOG = "\n".join(
    ["anon\tquery\turl\tcount", *(f"u{k}\tq{k % 2}\tz{k % 2}.x\t1" for k in range(700))]
)
CASES = {
    "exact": "sanitize --exp-epsilon 2 --delta 0.5 --objective frequent_pairs --min-support 1/50 "
    "--output-size 9 --solver exact --gap 0.01",
    "required": "sanitize --require 9 --objective output_size",
    "few exposed": "sanitize --exp-epsilon 2 --delta 0.5 --require 9 --minimize exposure",
    "laplace": "sanitize --epsilon 1 --delta 0.5 --counts laplace --laplace-bound 2 "
    "--laplace-epsilon 4 --pseudonyms keep",
    "private": "sanitize --epsilon 11 --delta 0.5 --counts private --accept-weak-privacy "
    "--sampling-share 1/3",
    "synthetic": "synthesize --epsilon 8 --delta 1e-3 --association independent "
    "--title \"Clicks 'n' more\" --licence 'CC BY 4.0' --on-bad-row skip",
}


@pytest.mark.parametrize("kind", CASES)
def test_the_command_makes_the_same_choices_again(tmp_path, kind):
    (tmp_path / "secret-place.tsv").write_text(LOG + "\n")
    verb, *rest = shlex.split(CASES[kind])
    private = ["--recipient", "secret-recipient", "--user", "anon"]
    run(verb, "secret-place.tsv", "-o", "one", *rest, *private, cwd=tmp_path)
    first = (tmp_path / "one/public/manifest.json").read_text()
    command = " ".join(command_of(Manifest.model_validate_json(first)))
    again = command.replace("LOG", "secret-place.tsv").replace("RELEASE", "two")
    assert "secret" not in command
    done = run(*shlex.split(again)[1:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr

    chosen = [
        {name: told[name] for name in ("budget", "parameters", "labels", "pseudonyms", "counts")}
        for told in (
            json.loads(first),
            json.loads((tmp_path / "two/public/manifest.json").read_text()),
        )
    ]
    assert chosen[0] == chosen[1]
    assert "secret" not in "".join(file.read_text() for file in (tmp_path / "one/public").iterdir())
