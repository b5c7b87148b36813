"""The reading of locks, SBOMs and audits: what could not be asked is never taken for well."""

import json
import tomllib
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import distributions
from threading import Thread

import pytest
from packaging.utils import canonicalize_name
from tools.dependencies import (
    CORE_LOCK,
    LOCK,
    LOCKS,
    ROOT,
    UNREACHABLE,
    ask,
    for_everybody,
    judged,
    listed,
    locked,
    pins,
)

FINE = {"name": "numpy", "version": "2.3.4", "vulns": []}
SKIPPED = {"name": "scipy", "skip_reason": "not found"}
KNOWN = {"name": "jinja2", "version": "3.1.0", "vulns": [{"id": "PYSEC-1"}]}
FAILED = {"name": "pip-audit", "failure": "a line without a hash"}
TOOLS = ROOT / ".venv-audit/bin"


@pytest.mark.parametrize("lock", [*LOCKS, CORE_LOCK], ids=lambda lock: lock.name)
def test_a_lock_names_no_address_and_no_folder(lock):
    lines = lock.read_text().splitlines()

    assert [line for line in lines if "/" in line or line.startswith("-")] == []


@pytest.mark.parametrize("lock", [*LOCKS, CORE_LOCK], ids=lambda lock: lock.name)
def test_every_locked_package_has_a_hash(lock):
    found = locked(lock.read_text())

    assert len(found) > 20
    assert [name for (name, _), hashes in found.items() if not hashes] == []


def test_the_core_is_a_part_of_all_and_has_no_extra():
    core, everything = (pins(lock.read_text()) for lock in (CORE_LOCK, LOCK))

    assert core.items() <= everything.items()
    assert {"numba", "duckdb", "hatchling"} <= {name for name, _ in core}
    assert not {"pyspark", "pyarrow", "polars", "pytest", "ruff"} & {name for name, _ in core}


@pytest.mark.parametrize("lock", [LOCK, CORE_LOCK], ids=lambda lock: lock.name)
def test_every_direct_dependency_is_locked(lock):
    names = {name for name, _ in locked(lock.read_text())}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    direct = {part.split(">")[0].split("[")[0] for part in project["dependencies"]}

    assert direct
    assert direct <= names


def test_the_environment_holds_nothing_that_is_not_locked():
    """What is in no lock is in no SBOM, and no audit asks about it."""
    pins = {package for lock in LOCKS[:2] for package in locked(lock.read_text())}
    there = {(canonicalize_name(part.name), part.version) for part in distributions()}
    other = {part for part in there if part[0] != "slogan"} - pins

    assert other == set(), "run make clean setup"


def test_a_package_without_a_hash_is_seen():
    lock = "numpy==2.3.4 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nscipy==1.16 ; x\n"

    assert locked(lock) == {("numpy", "2.3.4"): 2, ("scipy", "1.16"): 0}


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_pip_audit_is_handed_every_pin_and_no_marker(lock):
    """One file may not hold two versions of a package."""
    files = for_everybody(lock.read_text())
    found = [locked(text) for text in files]

    assert sum(map(len, found)) == len(locked(lock.read_text()))
    assert {pin: n for file in found for pin, n in file.items()} == locked(lock.read_text())
    assert all(len({name for name, _ in file}) == len(file) for file in found)
    assert not any(";" in text for text in files)


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
    ("answers", "ok"),
    [
        ([[]], None),
        ([[SKIPPED, SKIPPED]], None),  # no network, or a mirror that knows no vulnerabilities
        ([[FINE], [SKIPPED]], None),
        ([[KNOWN], []], False),
        ([[KNOWN], [SKIPPED]], False),
        ([[FINE], [FAILED]], False),
        ([[FAILED, SKIPPED], [SKIPPED]], False),
        ([[FINE, SKIPPED]], False),
        ([[FINE, KNOWN]], False),
        ([[FINE], [KNOWN]], False),
        ([[FINE, FINE]], True),
    ],
)
def test_an_audit_passes_only_if_every_package_was_asked_about(answers, ok):
    found, words = judged(answers)

    assert found is ok
    assert (words == UNREACHABLE) == (ok is None)


@pytest.fixture
def pip_audit(tmp_path):
    """A pip-audit that prints and says one thing; what is made of it for a lock of two packages."""

    def asked(out="", err=""):
        (tmp_path / "out").write_text(out)
        (tmp_path / "err").write_text(err)
        script = tmp_path / "pip-audit"
        script.write_text(f"#!/bin/sh\ncat {tmp_path}/out\ncat {tmp_path}/err >&2\nexit 1\n")
        script.chmod(0o700)
        lock = tmp_path / "lock"
        lock.write_text("jinja2==3.1.0 --hash=sha256:00\nscipy==1.16 --hash=sha256:00\n")
        return judged([ask(tmp_path, lock)])

    return asked


@pytest.mark.parametrize(
    ("answers", "ok", "words"),
    [
        ("ERROR:pip_audit._cli:Could not connect to PyPI's vulnerability feed", None, UNREACHABLE),
        ("requests.exceptions.ConnectionError: refused", None, UNREACHABLE),
        ("requests.exceptions.ProxyError: 403", None, UNREACHABLE),
        ("Traceback\nKeyError: 'vulns'", False, "pip-audit failed: KeyError: 'vulns'"),
        ("", False, "pip-audit failed: it ended with code 1"),
    ],
)
def test_only_a_missing_connection_is_called_one(pip_audit, capsys, answers, ok, words):
    assert pip_audit(err=answers) == (ok, words)
    assert (answers in capsys.readouterr().err) or ok is None


def test_a_package_that_pip_audit_passes_over_is_missed(pip_audit):
    answer = {"dependencies": [{"name": "jinja2", "version": "3.1.0", "vulns": []}]}

    assert pip_audit(out=json.dumps(answer)) == (False, "pip-audit could not ask about scipy")


@contextmanager
def osv(known):
    """A service on this machine that knows something against one package; what it was asked."""
    asked = []

    class Service(BaseHTTPRequestHandler):
        def do_POST(self):
            about = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append((about["package"]["name"], about["version"]))
            affected = [{"package": about["package"], "ranges": []}]
            found = [{"id": "PYSEC-1", "summary": "", "affected": affected}]
            answer = {"vulns": found} if about["package"]["name"] == known else {}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Service) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1/query", asked
        finally:
            server.shutdown()


@pytest.mark.long
@pytest.mark.parametrize(("known", "ok"), [(None, True), ("jinja2", False)])
def test_pip_audit_asks_about_the_locks_and_is_heard(known, ok):
    """`make test-all` has its environment."""
    with osv(known) as (url, asked):
        answers = [ask(TOOLS, lock, url) for lock in LOCKS]

    assert judged(answers)[0] is ok
    assert {*asked} == {package for lock in LOCKS for package in locked(lock.read_text())}


@pytest.mark.long
def test_pip_audits_own_failures_are_distinguished(tmp_path):
    lock = tmp_path / "lock"
    lock.write_text("numpy==2.4.6\n")
    with osv(None) as (url, asked):
        ok, words = judged([ask(TOOLS, lock, url)])

    assert (ok, asked) == (False, [])
    assert "does not contain a hash" in words
    # the server is gone
    assert judged([ask(TOOLS, LOCKS[-1], url)]) == (None, UNREACHABLE)
