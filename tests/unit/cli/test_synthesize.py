"""slogan synthesize: its contract, and a log that is too small."""

import json

import pytest
from tests.helpers import write
from tests.unit.cli.commands import slogan


def test_synthesize_prints_its_contract_takes_a_configuration_and_is_verified(tmp_path):
    rows = [(u, f"query {n}", f"www.s{n}.com", 1) for u in range(300) for n in range(3)]
    write(tmp_path / "log.tsv", rows)
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
