"""audit() replays releases with public pairs: honest ones pass, noise for held pairs only fails."""

from dataclasses import replace

import numpy as np
import pytest
from tests.helpers import write
from tests.unit.auditor.attacked import END_TO_END, caught
from tests.unit.auditor.zoo import patched

import slogan
from slogan.engines.duckdb.engine import DuckDBEngine


@pytest.fixture
def log(tmp_path):
    """Visitors of a few sites, and one user with most pairs, who alone holds a listed one."""
    rows = [
        (u, f"page {(u + n) % 12}", f"www.site{(u + n) % 12}.org", 1)
        for u in range(150)
        for n in (0, 5)
    ]
    rows += [(999, f"page {n}", f"www.site{n}.org", 2) for n in range(12)]
    rows += [(999, "rare page", "www.rare.org", 1)]
    return write(tmp_path / "log.tsv", rows)


@pytest.fixture
def listed(tmp_path):
    file = tmp_path / "sites.txt"
    file.write_text("www.site1.org\nwww.site2.org\nwww.rare.org\nrare page\twww.rare.org\n")
    return slogan.SyntheticUsers(vocabulary=file)


def replayed(log, kind, monkeypatch):
    monkeypatch.setattr("slogan.auditor.audit.Attacker.synthetic", lambda *_: [])
    return slogan.audit(log, END_TO_END, kind, trials=100, seed=1)


def test_a_release_with_public_pairs_passes(log, listed, monkeypatch):
    found = replayed(log, listed, monkeypatch)

    assert caught(found) == set()
    assert sum(attack.evidence == "replay" for attack in found.attacks) >= 9


def test_noise_for_held_pairs_only_is_found(log, listed, monkeypatch):
    def count(real, *given, **options):
        counted = real(*given, **options)
        held = np.bincount(counted.rows.pair, minlength=counted.rows.pairs) > 0
        return replace(counted, listed=counted.listed[held[counted.listed]])

    with patched((DuckDBEngine, "count", count)):
        found = replayed(log, listed, monkeypatch)

    assert "replay" in {attack.evidence for attack in found.attacks if not attack.ok}
