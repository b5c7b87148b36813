"""What people type at a terminal, and what they see: rows of a review by new users."""

import json
import os
import pty
import re
import shlex
import subprocess
import sys

import pytest
from tests.commands import command
from tests.unit.cli.commands import BUDGET, slogan

from slogan.cli.app import GROUPS, VERBS
from slogan.ledger.ledger import Ledger

RELEASE = (*BUDGET, "--solver", "spe")
SYNTHESIZE = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def release(tmp_path, log):
    done = slogan("sanitize", "clicks.tsv", "-o", "my release", *RELEASE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_redirected_result_is_in_the_file(tmp_path, log):
    done = slogan("inspect", log, cwd=tmp_path)

    assert "clicks" in done.stdout
    assert done.stderr == ""


def test_the_next_command_can_be_pasted_as_it_stands(tmp_path, release):
    (line,) = (line for line in release.splitlines() if line.startswith("Next:"))
    words = shlex.split(line.removeprefix("Next:"))

    assert words == ["slogan", "verify", "clicks.tsv", "my release"]
    assert slogan(*words[1:], cwd=tmp_path).returncode == 0
    assert "Share my release/public only." in release
    assert "my release/curator/report.html" in release


def test_the_next_command_is_not_broken_on_a_narrow_terminal(tmp_path, log):
    main, other = pty.openpty()
    words = ("sanitize", "clicks.tsv", "-o", "a-release-with-a-rather-long-name", *RELEASE)
    with subprocess.Popen(
        [*command(), *words], cwd=tmp_path, stdout=other, env={**os.environ, "COLUMNS": "30"}
    ) as run:
        run.wait(60)
    os.close(other)
    shown = os.read(main, 65536).decode()
    os.close(main)

    assert "slogan verify clicks.tsv a-release-with-a-rather-long-name\r\n" in shown


def test_a_release_is_described_in_plain_words(release):
    assert "shared by 2+ users" in release
    assert re.search(r"Released \d+ clicks; no more than \d+ are possible", release)
    assert "Another solver (leave --solver out) could add at most" in release
    assert "users share no query-url pair with anyone" in release
    assert "Protected: who made the released clicks." in release
    assert "Not recorded in a ledger; use --population NAME" in release
    for internal in ("output_size =", "solver spe", "may be charged", "LOG"):
        assert internal not in release


def test_original_user_ids_are_not_called_protected(tmp_path, log):
    words = ("-o", "kept", *RELEASE, "--pseudonyms", "keep")
    shown = slogan("sanitize", log, *words, cwd=tmp_path).stdout

    assert "Protected: who" not in shown
    assert "Not protected: the user IDs, which are the original ones" in shown


def test_quiet_prints_nothing_and_verbose_prints_details(tmp_path, log):
    quiet = slogan("sanitize", log, "-o", "one", *RELEASE, "-q", cwd=tmp_path)
    verbose = slogan("-v", "sanitize", log, "-o", "two", *RELEASE, cwd=tmp_path)
    both = slogan("-q", "-v", "inspect", log, cwd=tmp_path)
    wrong = slogan("-q", "inspect", "nowhere", cwd=tmp_path)

    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, "", "")
    assert "Solver: spe" in verbose.stdout
    assert "Seconds by step: count" in verbose.stdout
    assert both.returncode == wrong.returncode == 2
    assert "error: no file at nowhere" in wrong.stderr


@pytest.mark.parametrize(
    "words", [("--version",), ("-V",), ("version",), ("help",), ("help", "sanitize"), ()]
)
def test_habits_of_other_tools_work(tmp_path, words):
    done = slogan(*words, cwd=tmp_path)
    shown = {"help": "Usage: slogan", "": "Usage: slogan"}.get("".join(words[:1]), "0.")

    assert done.returncode == 0
    assert done.stdout.startswith(shown)
    assert done.stdout.count("SLOGAN_CONFIG") <= 1
    if words[1:]:
        assert "--objective" in done.stdout


def test_verbs_stand_in_the_order_of_the_work(tmp_path):
    shown = slogan("--help", cwd=tmp_path).stdout
    places = [shown.index(f"─ {title} ") for title in GROUPS.values()]
    verbs = re.findall(rf"│ ({'|'.join(VERBS)})  ", shown)

    assert places == sorted(places)
    assert sorted(verbs) == VERBS
    order = [verb for verb in verbs if verb in ("demo", "synthesize", "sanitize", "verify")]
    assert order == ["demo", "synthesize", "sanitize", "verify"]
    assert "paper" not in shown.split("Study")[0]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_verbs_and_options(tmp_path, shell):
    script = slogan("completion", shell, cwd=tmp_path).stdout

    assert "synthesize" in script
    assert "population" in script
    if shell == "bash":
        typed = f"{script}\nCOMP_WORDS=(slogan sani)\nCOMP_CWORD=1\n_slogan\necho ${{COMPREPLY[@]}}"
        done = subprocess.run(
            ["bash", "-c", typed], capture_output=True, text=True, check=False, timeout=30
        )
        assert done.stdout.split() == ["sanitize"], done.stderr


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (("sanitze", "clicks.tsv"), "sanitize"),
        (("inspect", "clicks.tsv", "--usr", "user"), "--user"),
        (("sanitize", "clicks.tsv", "-o", "out", *BUDGET, "--objective", "divrsity"), "diversity"),
        (("sanitize", "clicks.tsv", "-o", "out", *BUDGET, "--solver", "exat"), "exact"),
        (("sanitize", "clicks.tsv", "-o", "out", *BUDGET, "--counts", "privat"), "private"),
        (("inspect", "clicks.tsv", "--engine", "dukdb"), "duckdb"),
        (("inspect", "cliks.tsv"), "clicks.tsv"),
        (("verify", "clicks.tsv", "my-release"), "my release"),
        (("ledger", "--population", "web-usrs"), "web-users"),
        (("config", "sanitise"), "sanitize"),
        (("--config", "verb.toml", "inspect", "clicks.tsv"), "sanitize"),
        (("--config", "key.toml", "sanitize", "clicks.tsv", "-o", "out"), "epsilon"),
        (("--config", "shared.toml", "inspect", "clicks.tsv"), "on-bad-row"),
        (("--config", "session.toml", "inspect", "clicks.tsv"), "threads"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value[:3]),
)
def test_a_mistyped_word_is_answered_with_what_was_meant(tmp_path, log, words, meant):
    (tmp_path / "my release" / "public").mkdir(parents=True)
    (tmp_path / "verb.toml").write_text("[sanitise]\ngap = 0.1\n")
    (tmp_path / "key.toml").write_text("[sanitize]\nepsilom = 1\n")
    (tmp_path / "shared.toml").write_text('[reading]\nonbadrow = "skip"\n')
    (tmp_path / "session.toml").write_text("[session]\nthread = 2\n")
    Ledger.open("web-users", tmp_path / "ledgers/web-users.ledger").create()
    done = slogan(*words, cwd=tmp_path, SLOGAN_LEDGER_DIR=str(tmp_path / "ledgers"))
    shown = " ".join(done.stderr.split())

    assert done.returncode == 2, shown
    assert re.search(rf"[Dd]id you mean [^?]*{re.escape(meant)}|{meant}", shown.split("mean", 1)[1])


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        (("--epsilon", "1", "--delta", "0,5"), "use a decimal point: 0.5"),
        (("--epsilon", "1", "--delta", "50%"), "write it as a share: 0.5"),
        (("--epsilon", "0", "--delta", "1e-6"), "epsilon must be above 0 and at most 600, got 0"),
        (("--epsilon", "1"), "add --epsilon 1 --delta 1e-6"),
    ],
)
def test_a_budget_that_cannot_be_read_is_answered_with_one_that_can(tmp_path, log, given, shown):
    done = slogan("synthesize", log, "-o", "out", *given, cwd=tmp_path)

    assert done.returncode == 2
    assert shown in done.stderr


def test_a_delta_for_synthesize_is_recognised(tmp_path, log):
    done = slogan("sanitize", log, "-o", "out", *SYNTHESIZE, cwd=tmp_path)

    assert done.returncode == 3
    assert "a δ this small is for slogan synthesize" in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("inspect", "nowhere.tsv"), 2),
        (("inspect", "clicks.tsv", "--usr", "user"), 2),
        (("sanitize", "clicks.tsv", "-o", "out", *SYNTHESIZE), 3),
        (("ledger", "--population", "unknown"), 2),
        (("inspect", "clicks.tsv", "--threads", "many"), 2),
    ],
)
def test_errors_are_json_too(tmp_path, log, words, code):
    done = slogan(*words, "--json", cwd=tmp_path, SLOGAN_LEDGER_DIR=str(tmp_path))
    told = json.loads(done.stdout)

    assert done.returncode == told["exit_code"] == code
    assert told["schema"] == "slogan/error/1"
    assert told["error"]
    assert told["hint"]
    assert "secret" not in done.stdout


def test_json_names_its_schema_and_a_failed_check_is_one_object(tmp_path, release):
    (tmp_path / "my release/public/log.tsv").write_text("user\tquery\turl\tcount\n")
    done = slogan("verify", "clicks.tsv", "my release", "--json", cwd=tmp_path)
    told = json.loads(done.stdout)

    assert done.returncode == 4
    assert (told["schema"], told["ok"]) == ("slogan/verify/1", False)
    assert "slogan_version" in told


def test_a_failed_check_keeps_its_exit_code_when_its_output_is_not_read(tmp_path, release):
    (tmp_path / "my release/public/log.tsv").write_text("user\tquery\turl\tcount\n")
    line = f"{shlex.join(command())} verify clicks.tsv 'my release' 2>&1 | true"
    done = subprocess.run(
        ["bash", "-c", f"{line}; exit ${{PIPESTATUS[0]}}"], cwd=tmp_path, check=False, timeout=60
    )

    assert done.returncode == 4


def test_letters_that_a_terminal_lacks_are_spelled(tmp_path, log):
    start = [sys.executable, "-m", "slogan", "ledger", "--ledger", "l", "--population", "us"]
    done = subprocess.run(
        [*start, "--create", "--set-epsilon-cap", "1", "--set-delta-cap", "1e-6"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "epsilon = 1" in done.stdout
    assert "\\u" not in done.stdout
