"""A log to be attacked, and attacks that are counted."""

from functools import cache
from unittest.mock import patch

import pytest

import slogan
from slogan.auditor.whole import WholeVerb
from slogan.dp import accounting, statistics


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Users who share what they click with a few others, so that constraints are tight."""
    file = tmp_path_factory.mktemp("attacked") / "log.tsv"
    rows = [
        (u, f"query {(u + n * n) % 40}", "a.com", 1 + (u * n) % 3)
        for u in range(90)
        for n in range(3)
    ]
    lines = ["user\tquery\turl\tcount", *("\t".join(map(str, row)) for row in dict.fromkeys(rows))]
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.fixture(autouse=True)
def _every_stage_runs(monkeypatch):
    """These logs are too small for an association that the noise would not hide."""
    monkeypatch.setattr(statistics, "visible", lambda categories, *_: float(categories > 0))
    monkeypatch.setattr(statistics, "FEWEST_PAIRS", 0)


@pytest.fixture(autouse=True)
def _on_the_ladder(monkeypatch, ladder):
    real = slogan.audit

    def audit(*asked, **options):
        found = real(*asked, **options)
        ladder.count("attacks run", len(found.attacks))
        return found

    monkeypatch.setattr(slogan, "audit", audit)


@pytest.fixture(scope="session", autouse=True)
def _accounts_are_computed_once():
    """An audit makes a dozen releases with the same budget, and a test run makes hundreds."""
    with patch.object(accounting, "gaussian_delta", cache(accounting.gaussian_delta)):
        yield


@pytest.fixture
def trials_alone(monkeypatch):
    """Audit by statistics and account only: replay would find most mistakes first."""
    monkeypatch.setattr(WholeVerb, "attacked", lambda *_: ())
