"""slogan ledger: recording, caps, and a file that was cut."""

import json
from fractions import Fraction

from tests.helpers import fill
from tests.unit.cli.commands import BUDGET, slogan

from slogan.dp.accounting import Cost
from slogan.ledger.ledger import Charge, Ledger, publish_recorded


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

    assert refused.returncode == seeded.returncode == 5
    assert unknown.returncode == 2
    assert "no ledger" in unknown.stderr
    assert "No ledger yet" in none.stdout
    assert "--allow-unaccounted" in refused.stderr
    assert "protects no user" in seeded.stderr
    assert first.returncode == 0
    told, recorded = json.loads(capped.stdout), json.loads(first.stdout)["ledger"]
    assert recorded["population"] == told["population"] == "web"
    assert recorded["head"] == told["entries"][-2]["hash"]
    assert told["releases"] == told["unaccounted"] == 1
    assert told["remaining"]["one_release"] == {"epsilon": 1.0, "delta": 1e-6}
    assert told["head"] in shown.stdout
    assert "cannot be accounted for" in shown.stdout
    assert "Left for one more release: up to ε = 1, δ = 1e-6." in shown.stdout
    assert shown.stderr == ""
    assert "web" in listed.stdout
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

    assert raised.returncode == 5
    assert cut.returncode == changed.returncode == 1
    assert "--raise-cap" in raised.stderr
    assert "cut off" in cut.stderr
    assert "damaged or changed" in changed.stderr
    assert half.returncode == 2
    assert honest.returncode == 0


def test_every_run_is_shown_with_what_became_of_it(tmp_path, here):
    held = Ledger.open("web", tmp_path / "web.ledger")
    held.create()
    half = Cost(mu_squared=Fraction(1, 2))

    def reserve(title):
        charge = Charge(method="m", parameters={}, cost=half, title=title, recipient="[b]us")
        return held.reserve(charge)

    reserve("first")
    reserve("second").end(drawn=False)
    reserve("third").end(drawn=True)
    saved = reserve("fourth")
    for name in ("one", "two"):
        publish_recorded(
            tmp_path / name, fill, force=False, charge=saved.charge, ledger=held, reservation=saved
        )
    shown = slogan("ledger", "--ledger", "web.ledger", cwd=tmp_path, COLUMNS="200").stdout
    told = json.loads(here("ledger", "--ledger", "web.ledger", "--json").stdout)

    runs, notes = shown.split("\n\n")
    lines = {line.split()[0]: line.rstrip() for line in runs.splitlines()}
    assert "“first” for [b]us" in lines["1"]
    assert "reserved: running or killed" in lines["1"]
    assert "returned: drew nothing" in lines["2"]
    assert "“third”" in lines["5"]
    assert lines["5"].endswith("nothing released")
    assert "μ² 0.5" in lines["7"]
    assert "none: saved before" in lines["9"]
    assert not {"3", "4", "6", "8"} & {*lines}
    assert "1 runs are not finished or were killed" in notes
    assert (told["reserved"], told["nothings"], told["releases"]) == (1, 1, 2)
    assert told["spent"]["mu_squared"] == 1.5


def test_a_shared_folder_is_not_an_option_of_a_verb(tmp_path, log, here, monkeypatch):
    monkeypatch.setenv("SLOGAN_LEDGER_DIR", str(tmp_path / "team"))
    made = here("ledger", "--population", "web", "--create")
    released = here(
        *("sanitize", log, *BUDGET, "-o", "out", "--population", "web", "--title", "Autumn"),
    )

    assert made.returncode == released.returncode == 0, released.stderr
    assert "Autumn" in (tmp_path / "team/web.ledger").read_text()
