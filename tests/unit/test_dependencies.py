"""The reading of locks, SBOMs and audits: what could not be asked is never taken for well."""

import json
import tomllib

import pytest
from tests.dependencies import LOCK, ROOT, UNREACHABLE, judged, listed, locked

FINE = {"name": "numpy", "version": "2.3.4", "vulns": []}
SKIPPED = {"name": "scipy", "skip_reason": "not found"}
KNOWN = {"name": "jinja2", "version": "3.1.0", "vulns": [{"id": "PYSEC-1"}]}


@pytest.mark.parametrize(
    "lock", ["requirements.lock", "requirements-bench.lock", "requirements-audit.lock"]
)
def test_every_locked_package_has_a_hash(lock):
    found = locked((ROOT / lock).read_text())

    assert len(found) > 20
    assert [name for (name, _), hashes in found.items() if not hashes] == []


def test_every_direct_dependency_is_locked():
    names = {name for name, _ in locked(LOCK.read_text())}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = {part.split(">")[0].split("[")[0] for part in project["dependencies"]}

    assert direct
    assert direct <= names


def test_a_package_without_a_hash_is_seen():
    lock = "numpy==2.3.4 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nscipy==1.16 ; x\n"

    assert locked(lock) == {("numpy", "2.3.4"): 2, ("scipy", "1.16"): 0}


def test_the_hashes_of_an_sbom_are_counted():
    hashes = [{"alg": "SHA-256", "content": "00"}, {"alg": "SHA-256", "content": "11"}]
    sbom = {
        "components": [
            {"name": "numpy", "version": "2.3.4", "externalReferences": [{"hashes": hashes}]},
            {"name": "scipy", "version": "1.16"},
        ]
    }

    assert listed(json.loads(json.dumps(sbom))) == {("numpy", "2.3.4"): 2, ("scipy", "1.16"): 0}


@pytest.mark.parametrize(
    ("answer", "ok"),
    [
        (None, None),  # no network: pip-audit prints nothing
        ({"dependencies": []}, None),
        ({"dependencies": [SKIPPED, SKIPPED]}, None),  # a mirror that knows no vulnerabilities
        ({"dependencies": [FINE, SKIPPED]}, False),
        ({"dependencies": [FINE, KNOWN]}, False),
        ({"dependencies": [FINE, FINE]}, True),
    ],
)
def test_an_audit_passes_only_if_every_package_was_asked_about(answer, ok):
    found, words = judged(answer)

    assert found is ok
    assert (words == UNREACHABLE) == (ok is None)
