"""slogan ledger: recording, caps, and a file that was cut."""

import json

from tests.unit.cli.commands import BUDGET


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
