"""The command line as a user meets it: exit codes, JSON, configuration, and no text of the log."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from slogan.dp.ledger import Ledger

ROWS = [(u, f"query {n}", f"www.s{n}.com", 1) for u in range(1, 9) for n in range(3)]
SECRET = (1, "my secret illness", "www.doc.com", 2)


@pytest.fixture
def log(tmp_path):
    file = tmp_path / "clicks.tsv"
    write(file, [*ROWS, SECRET])
    return file


def write(file, rows, header="user\tquery\turl\tcount\n"):
    file.write_text(header + "".join("\t".join(map(str, r)) + "\n" for r in rows))


def slogan(*words, cwd, **env):
    return subprocess.run(
        [sys.executable, "-m", "slogan", *map(str, words)],
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


BUDGET = ("--exp-epsilon", "2", "--delta", "0.5", "--time-limit", "5")


def test_sanitize_prints_one_json_object_and_nothing_else(tmp_path, log):
    done = slogan("sanitize", log, "-o", "out", *BUDGET, "--json", cwd=tmp_path)
    told = json.loads(done.stdout)

    assert done.returncode == 0
    asked = """objective epsilon delta budget_per_user users pairs clicks_in clicks_out pairs_out
        users_out value bound gap status exposed_users_expected seconds release"""
    assert set(asked.split()) <= told.keys()
    assert told["release"] == "out"
    assert told["users"] == 8
    assert told["pairs"] == 4
    assert told["clicks_in"] == 26
    assert told["gap"] == abs(told["bound"] - told["value"]) / max(1, abs(told["bound"]))


def test_inspect_is_table_3(tmp_path, log):
    told = json.loads(slogan("inspect", log, "--json", cwd=tmp_path).stdout)

    assert [told[n] for n in ("clicks", "users", "queries", "urls", "pairs")] == [26, 8, 4, 4, 4]
    assert told["shared"] == {"clicks": 24, "users": 8, "queries": 3, "urls": 3, "pairs": 3}


def test_words_go_to_stderr_without_colour_and_without_text_of_the_log(tmp_path, log):
    done = slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)

    assert done.returncode == 0
    assert done.stdout == ""
    assert "released" in done.stderr
    assert "\x1b[" not in done.stderr
    assert "secret" not in done.stderr
    assert "query 1" not in done.stderr


def test_verify_accepts_an_honest_release_and_refuses_an_edited_one(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)
    honest = slogan("verify", log, "out", "--json", cwd=tmp_path)
    released = tmp_path / "out/public/log.tsv"
    released.write_text(released.read_text() + "77\tmy secret illness\twww.doc.com\t1\n")
    edited = slogan("verify", log, "out", "--json", cwd=tmp_path)

    assert honest.returncode == 0
    assert json.loads(honest.stdout)["ok"] is True
    assert edited.returncode == 4
    failed = {c["name"] for c in json.loads(edited.stdout)["checks"] if not c["ok"]}
    assert {"checksum", "no_unique_pair"} <= failed
    assert "secret" not in edited.stdout + edited.stderr


def test_verify_refuses_a_seeded_release(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, "--seed", "1", cwd=tmp_path)
    done = slogan("verify", log, "out", cwd=tmp_path)

    assert done.returncode == 4
    assert "not_a_test_run" in done.stderr


def test_verify_refuses_a_release_made_for_another_budget(tmp_path, log):
    slogan("sanitize", log, "-o", "out", *BUDGET, cwd=tmp_path)
    done = slogan("verify", log, "out", "--exp-epsilon", "1.1", "--delta", "0.1", cwd=tmp_path)

    assert done.returncode == 4
    assert "budget" in done.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["inspect", "nowhere.tsv"], 2),
        (["inspect", "clicks.tsv", "--engine", "abacus"], 2),
        (["inspect", "clicks.tsv", "--user", "nobody"], 2),
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


@pytest.mark.parametrize(
    ("rows", "code", "words"),
    [
        ([], 2, "no click"),
        ([(1, "my secret", "u", -1)], 2, "negative"),
        ([(1, "my secret", "u", 0)], 2, "zero"),
        ([(1, "my secret", "u", 0.5)], 2, "fraction"),
        ([(1, "my secret", "u", 2**60)], 2, "2^53"),
        ([(1, "my secret", "u", "")], 2, "missing"),
        ([(1, "my secret", "u", 1)], 3, "single user"),
        ([(1, "my secret", "u", 1), (2, "other secret", "u", 1)], 3, "no pair is shared"),
    ],
)
def test_bad_logs_each_have_their_own_message(tmp_path, rows, code, words):
    write(tmp_path / "bad.tsv", rows)
    done = slogan("sanitize", "bad.tsv", "-o", "out", *BUDGET, cwd=tmp_path)

    assert done.returncode == code
    assert words in " ".join(done.stderr.split())
    assert "hint:" in done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_flag_beats_environment_beats_file_beats_default(tmp_path, log):
    (tmp_path / "slogan.toml").write_text('[sanitize]\nexp_epsilon = 2\ndelta = "0.2"\ngap = 0.5\n')
    words = ("--config", "slogan.toml", "sanitize", log, "--time-limit", "5", "--json")

    def asked(*more, **env):
        out = f"out{len(list(tmp_path.iterdir()))}"
        done = slogan(*words, "-o", out, *more, cwd=tmp_path, **env)
        manifest = json.loads((tmp_path / out / "public/manifest.json").read_text())
        return manifest["budget"]["delta"], manifest["parameters"]["gap"], done.returncode

    assert asked() == ("0.2", 0.5, 0)
    assert asked(SLOGAN_DELTA="0.3") == ("0.3", 0.5, 0)
    assert asked("--delta", "0.4", SLOGAN_DELTA="0.3") == ("0.4", 0.5, 0)


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


@pytest.fixture
def here(tmp_path, monkeypatch, capsys):
    """Run the command line in this process, which saves the start of another."""
    from slogan import __main__ as entry
    from slogan.cli import app

    def run(*words):
        tokens = [str(word) for word in words]
        monkeypatch.setattr(entry, "app", SimpleNamespace(meta=lambda: app.meta(tokens)))
        try:
            entry.main()
            code = 0
        except SystemExit as stop:
            code = stop.code or 0
        said = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=said.out, stderr=" ".join(said.err.split()))

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return run


def test_a_release_is_recorded_and_a_capped_population_refuses_it_with_code_5(tmp_path, log, here):
    words = ("sanitize", log, *BUDGET, "--population", "web")

    unknown = here(*words, "-o", "out")
    none = here("ledger")
    here("ledger", "--population", "web", "--create")
    first = here(*words, "-o", "out", "--json")
    cap = ("--set-epsilon-cap", "1", "--set-delta-cap", "1e-6")
    capped = here("ledger", "--population", "web", *cap, "--json")
    refused = here(*words, "-o", "more")
    seeded = here(*words, "-o", "more", "--seed", "1")
    shown = here("ledger", "--population", "web")
    listed = here("ledger")

    assert unknown.returncode == refused.returncode == seeded.returncode == 5
    assert "no ledger" in unknown.stderr
    assert "no ledger yet" in none.stderr
    assert "--allow-unaccounted" in refused.stderr
    assert "protects nobody" in seeded.stderr
    assert first.returncode == 0
    told, recorded = json.loads(capped.stdout), json.loads(first.stdout)["ledger"]
    assert recorded["population"] == told["population"] == "web"
    assert recorded["head"] == told["entries"][-2]["hash"]
    assert told["releases"] == told["unaccounted"] == 1
    assert told["remaining"]["one_release"] == {"epsilon": 1.0, "delta": 1e-6}
    assert told["head"] in shown.stderr
    assert "not accountable" in shown.stderr
    assert shown.stdout == ""
    assert "web" in listed.stderr
    assert not (tmp_path / "more").exists()


def test_a_cap_is_not_raised_by_accident_and_a_cut_tail_is_noticed(tmp_path, here):
    def ledger(*words):
        return here("ledger", "--ledger", "web.ledger", *words, "--json")

    ledger("--create", "--set-epsilon-cap", "1", "--set-delta-cap", "1e-6")
    raised = ledger("--set-epsilon-cap", "2", "--set-delta-cap", "1e-6")
    half = ledger("--set-epsilon-cap", "2")
    head = json.loads(ledger().stdout)["head"]
    honest = ledger("--expect-head", head)
    lines = (tmp_path / "web.ledger").read_bytes().splitlines(keepends=True)
    (tmp_path / "web.ledger").write_bytes(lines[0])
    cut = ledger("--expect-head", head)
    (tmp_path / "web.ledger").write_bytes(lines[0].replace(b"web", b"wed"))
    changed = ledger()

    assert raised.returncode == cut.returncode == changed.returncode == 5
    assert "--raise-cap" in raised.stderr
    assert "cut off" in cut.stderr
    assert "damaged or changed" in changed.stderr
    assert half.returncode == 2
    assert honest.returncode == 0


@pytest.mark.parametrize(
    "verb", ["demo", "inspect", "ledger", "sanitize", "synthesize", "verify", "generate"]
)
def test_help_has_an_example_to_paste(tmp_path, verb):
    done = slogan(verb, "--help", cwd=tmp_path)

    assert done.returncode == 0
    assert f"slogan {verb}" in done.stdout.split("Usage:")[1].split("\n", 1)[1]


def test_synthesize_prints_its_contract_takes_a_configuration_and_is_verified(tmp_path):
    rows = [(u, f"query {n}", f"www.s{n}.com", 1) for u in range(300) for n in range(3)]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in rows)]
    (tmp_path / "log.tsv").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "slogan.toml").write_text('[synthesize]\nepsilon = "4"\ndelta = "1e-4"\n')
    words = ["--config", "slogan.toml", "synthesize", "log.tsv", "-o", "out", "--json"]
    done = slogan(*words, cwd=tmp_path)
    told = json.loads(done.stdout)

    assert done.returncode == 0
    assert (told["epsilon"], told["delta"], told["pairs_out"]) == (4, 1e-4, 3)
    assert sum(told["budget_shares"].values()) == pytest.approx(1)
    assert slogan("verify", "log.tsv", "out", cwd=tmp_path).returncode == 0


def test_synthesize_on_a_small_log_says_how_many_users_it_takes(tmp_path, log):
    words = ["-o", "out", "--epsilon", "1", "--delta", "1e-6"]
    done = slogan("synthesize", log, *words, cwd=tmp_path)

    assert done.returncode == 3
    assert "users of this kind would release a first pair" in " ".join(done.stderr.split())
    assert "secret" not in done.stderr
    assert not (tmp_path / "out").exists()


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


@pytest.mark.parametrize("solver", ["packing", "exact"])
def test_an_interrupt_stops_the_solver_and_leaves_nothing(tmp_path, solver):
    """At this budget no solver proves optimality in time, so the signal arrives while it works."""
    slogan("generate", "log.tsv", "--seed", "3", cwd=tmp_path)
    words = ["sanitize", "log.tsv", "-o", "out", "--exp-epsilon", "2.3", "--delta", "0.8"]
    private = tmp_path / "private"
    private.mkdir()
    run = subprocess.Popen(
        [sys.executable, "-m", "slogan", *words, "--time-limit", "120", "--solver", solver],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(private)},
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(8)
    run.send_signal(signal.SIGINT)
    said = run.communicate(timeout=60)[1]

    assert run.returncode == 130, said
    assert "stopped" in said
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith((".out", "out"))] == []
    assert list(private.iterdir()) == []


# --- what cannot be told, or asked for ---


@pytest.mark.parametrize(
    ("outlet", "code", "said"),
    [
        ("| true", 141, ""),
        (">/dev/full", 1, "No space left"),
        (">&-", 1, "standard output is closed"),
    ],
)
@pytest.mark.parametrize("verb", ["inspect", "sanitize"])
def test_a_result_that_nobody_takes_is_no_internal_error(tmp_path, log, outlet, code, said, verb):
    made = f"-o out {' '.join(BUDGET)}" if verb == "sanitize" else ""
    run = f"{sys.executable} -m slogan {verb} clicks.tsv {made} --json {outlet}"
    script = f"{run}; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert done.stderr.count("\n") == (2 if said else 0)
    assert (tmp_path / "out/public/manifest.json").exists() == (verb == "sanitize")


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
    told = {"output": "out", "epsilon": "1", "delta": "0.5", "population": "us"}
    text = "".join(f'{k} = "{v}"\n' for k, v in {**told, option: "a\\u0000b"}.items())
    (tmp_path / "slogan.toml").write_text(f"[synthesize]\n{text}")
    Ledger.locate("us", tmp_path / "data/slogan/ledgers/us.ledger").create()
    words = ("--config", "slogan.toml", "synthesize", log)
    done = slogan(*words, cwd=tmp_path, XDG_DATA_HOME=str(tmp_path / "data"))

    assert done.returncode == 2, done.stderr
    assert "internal" not in done.stderr
    assert "name" in done.stderr
