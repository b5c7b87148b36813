"""The command line as a whole: exit codes, configuration, help, and where its words go."""

import json
import shlex
import subprocess
import sys
from types import SimpleNamespace

import pytest
from tests.commands import command
from tests.unit.cli.commands import BUDGET, slogan

from slogan.cli.app import VERBS
from slogan.ledger.ledger import Ledger


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["inspect", "nowhere.tsv"], 2),
        (["inspect", "clicks.tsv", "--engine", "abacus"], 2),
        (["inspect", "clicks.tsv", "--user", "absent"], 2),
        (["inspect"], 2),
        (["dance"], 2),
        (["sanitize", "clicks.tsv", "-o", "out"], 2),
        (["sanitize", "clicks.tsv", "-o", "out", "--epsilon", "x", "--delta", ".1"], 2),
        (["sanitize", "clicks.tsv", "-o", "out", *BUDGET, "--objective", "fame"], 2),
        (["sanitize", "clicks.tsv", "-o", "out", *BUDGET, "--solver", "luck"], 2),
        (["sanitize", "clicks.tsv", "-o", "out", *BUDGET, "--output-size", "3"], 2),
        (["sanitize", "clicks.tsv", "-o", "clicks.tsv", *BUDGET], 2),
        (["sanitize", "clicks.tsv", "-o", "out", "--epsilon", "0.01", "--delta", "0.01"], 3),
        (["verify", "clicks.tsv", "nowhere"], 2),
        (["verify", "clicks.tsv"], 2),
        (["generate", "clicks.tsv"], 2),
        (["--config", "nowhere.toml", "inspect", "clicks.tsv"], 2),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, list) else str(v),
)
def test_exit_codes_and_hints(tmp_path, log, words, code):
    before = log.read_bytes()
    done = slogan(*words, cwd=tmp_path)

    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert log.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix != ".toml") == ["clicks.tsv"]


def test_flag_beats_environment_beats_file_beats_default(tmp_path, log):
    (tmp_path / "slogan.toml").write_text('[sanitize]\nexp_epsilon = 2\ndelta = "0.2"\ngap = 0.5\n')
    words = ("--config", "slogan.toml", "sanitize", log, "--time-limit", "5", "--json")

    def asked(*more, **env):
        out = f"out{len(list(tmp_path.iterdir()))}"
        done = slogan(*words, "-o", out, *more, cwd=tmp_path, **env)
        manifest = json.loads((tmp_path / out / "public/manifest.json").read_text())
        return manifest["budget"]["delta"], manifest["parameters"]["gap"], done.returncode

    assert asked() == ("0.2", 0.5, 0)
    assert asked(SLOGAN_SANITIZE_DELTA="0.3") == ("0.3", 0.5, 0)
    assert asked("--delta", "0.4", SLOGAN_SANITIZE_DELTA="0.3") == ("0.4", 0.5, 0)


def test_no_variable_crosses_verbs(tmp_path, log):
    """δ of sanitize is a share of people; it must never become the δ of synthesize."""
    given = {"SLOGAN_EPSILON": "1", "SLOGAN_DELTA": "0.5", "SLOGAN_SANITIZE_DELTA": "0.5"}
    asked = ("synthesize", log, "-o", "out")
    done = slogan(*asked, cwd=tmp_path, **given)
    own = slogan(*asked, cwd=tmp_path, SLOGAN_SYNTHESIZE_EPSILON="1", SLOGAN_SYNTHESIZE_DELTA="0.5")

    assert done.returncode == own.returncode == 2
    assert "a release needs a privacy budget" in done.stderr
    assert "this budget protects too little" in " ".join(own.stderr.split())


def test_each_verb_explains_delta_for_itself(tmp_path):
    said = {
        verb: " ".join(slogan(verb, "--help", cwd=tmp_path, COLUMNS="300").stdout.split())
        for verb in ("sanitize", "synthesize", "verify", "audit")
    }
    own = {
        "sanitize": "Largest chance that a given person's real rows are published [required]",
        "synthesize": "Chance that the ε limit fails [required]. Keep it below 1 / (10 × users)",
        "verify": "δ that was agreed on",
        "audit": "δ of the release to attack",
    }
    for verb, words in own.items():
        assert {other for other in said if words in said[other]} == {verb}
    assert {verb for verb in said if "--accept-weak-privacy" in said[verb]} == {
        "sanitize",
        "synthesize",
    }


def test_an_unknown_key_in_the_file_is_refused(tmp_path, log):
    (tmp_path / "slogan.toml").write_text("[sanitize]\nepsillon = 2\n")
    done = slogan("--config", "slogan.toml", "sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)

    assert done.returncode == 2
    assert "epsillon" in done.stderr


def test_a_broken_configuration_file_is_refused(tmp_path, log):
    (tmp_path / "slogan.toml").write_text("[sanitize\n")
    done = slogan("--config", "slogan.toml", "sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)

    assert done.returncode == 2
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("verb", VERBS)
def test_help_has_an_example_to_paste(tmp_path, verb):
    done = slogan(verb, "--help", cwd=tmp_path)

    assert done.returncode == 0
    assert f"slogan {verb}" in done.stdout.split("Usage:")[1].split("\n", 1)[1]


def test_an_internal_error_shows_no_text_of_the_log(tmp_path, log, monkeypatch, capsys):
    from slogan import __main__ as entry

    def explode():
        raise RuntimeError("my secret illness")

    monkeypatch.delenv("SLOGAN_DEBUG", raising=False)
    monkeypatch.setattr(entry, "app", SimpleNamespace(meta=explode))
    with pytest.raises(SystemExit) as stop:
        entry.main()

    assert stop.value.code == 1
    assert "secret" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("outlet", "code", "message"),
    [
        ("| true", 141, ""),
        (">/dev/full", 1, "No space left"),
        (">&-", 1, "standard output is closed"),
    ],
)
@pytest.mark.parametrize("verb", ["inspect", "sanitize"])
def test_a_result_that_is_not_read_gives_no_internal_error(
    tmp_path, log, outlet, code, message, verb
):
    made = f"-o out {' '.join(BUDGET)} --solver spe" if verb == "sanitize" else ""
    # A stream that is closed can be met by a new interpreter only.
    new = outlet == ">&-" or verb == "inspect"
    start = f"{sys.executable} -m slogan" if new else shlex.join(command())
    run = f"{start} {verb} clicks.tsv {made} --json {outlet}"
    script = f"{run}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert done.stderr.count("\n") == (2 if message else 0)
    assert (tmp_path / "out/public/manifest.json").exists() == (verb == "sanitize")


@pytest.mark.parametrize("words", ["--help", "--version", "sanitize --help"])
@pytest.mark.parametrize(
    ("outlet", "message"),
    [(">/dev/full", "No space left"), (">&-", "standard output is closed")],
)
def test_help_that_cannot_be_printed_gives_no_internal_error(words, outlet, message):
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m slogan {words} {outlet}"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 2


@pytest.mark.parametrize(
    "asked",
    [
        ("sanitize", "--gap", "inf"),
        ("sanitize", "--gap", "nan"),
        ("sanitize", "--time-limit", "inf"),
        ("sanitize", "-o", "/"),
        ("audit", "--mode", "sanitize", "--gap", "inf"),
        ("frontier", "--gap", "inf"),
    ],
)
def test_limits_and_names_that_are_none_are_refused(tmp_path, log, asked):
    verb, *words = asked
    given = {"sanitize": ("-o", "out") if "-o" not in words else ()}.get(verb, ())
    budget = () if verb == "frontier" else BUDGET[:4]
    done = slogan(verb, log, *given, *budget, *words, cwd=tmp_path)

    assert done.returncode == 2, done.stderr
    assert "internal" not in done.stderr
    assert "not possible" in done.stderr or "no name" in done.stderr


@pytest.mark.parametrize("option", ["output", "taxonomy", "ledger"])
def test_a_nul_in_a_configuration_is_refused(tmp_path, log, option):
    told = {"output": "out", "epsilon": "1", "delta": "1e-3", "population": "us"}
    text = "".join(f'{k} = "{v}"\n' for k, v in {**told, option: "a\\u0000b"}.items())
    (tmp_path / "slogan.toml").write_text(f"[synthesize]\n{text}")
    Ledger.open("us", tmp_path / "data/slogan/ledgers/us.ledger").create()
    words = ("--config", "slogan.toml", "synthesize", log)
    done = slogan(*words, cwd=tmp_path, XDG_DATA_HOME=str(tmp_path / "data"))

    assert done.returncode == 2, done.stderr
    assert "internal" not in done.stderr
    assert "name" in done.stderr
