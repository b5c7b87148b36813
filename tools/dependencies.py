"""python -m tools.dependencies: an SBOM of the locked packages, and their known vulnerabilities.

pip-audit exits with code 0 if it could not check anything, and with 1 for any failure, so its
output is read, not its code.
"""

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path
from tempfile import NamedTemporaryFile

from tests.conftest import record

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
CORE_LOCK = ROOT / "requirements-core.lock"
"""A part of the first, so it is not audited again."""
LOCKS = (LOCK, ROOT / "requirements-bench.lock", ROOT / "requirements-audit.lock")
SBOM = ROOT / "dist/sbom.cdx.json"
UNREACHABLE = "NOT AUDITED: the service of known vulnerabilities cannot be reached from here"
# The errors of pip-audit without a network, for its own service and for an OSV service.
_NO_CONNECTION = re.compile(
    r"^(requests\.exceptions\.(Connect|Proxy|SSL|ReadTimeout)|ERROR:.*Could not connect to )",
    re.MULTILINE,
)


def pins(text):
    """The part of a lock about each package, by (name, version)."""
    parts = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)
    heads = [(re.match(r"([^=\s]+)==([^\s;\\]+)", part), part) for part in parts if part.strip()]
    return {head.groups(): part for head, part in heads if head}


def locked(text):
    """The packages of a lock, as (name, version), each with how many hashes it has."""
    return {package: part.count("--hash=sha256:") for package, part in pins(text).items()}


def for_everybody(text):
    """A lock as locks without markers, each with one version of a package at most.

    pip-audit ignores packages for another Python or system than its own.
    """
    versions = defaultdict(list)
    for (name, _), part in pins(text).items():
        versions[name].append(re.sub(r" ;[^\\\n]*", " ", part))
    return ["".join(filter(None, some)) for some in zip_longest(*versions.values())]


def listed(sbom):
    """The packages of an SBOM, with how many hashes each has."""
    return {
        (part["name"], part["version"]): sum(
            len(place.get("hashes", [])) for place in part.get("externalReferences", [])
        )
        for part in sbom["components"]
    }


def judged(answers):
    """The verdict on pip-audit's answers, one for each lock: whether all is well, and a text."""
    asked = [part for answer in answers for part in answer]
    known = sorted({f"{p['name']} {v['id']}" for p in asked for v in p.get("vulns", [])})
    failed = sorted({part["failure"] for part in asked if "failure" in part})
    skipped = sorted({part["name"] for part in asked if "skip_reason" in part})
    if known:
        return False, f"known vulnerabilities: {', '.join(known)}"
    if failed:
        return False, f"pip-audit failed: {'; '.join(failed)}"
    if any(all("skip_reason" in part for part in answer) for answer in answers):
        return None, UNREACHABLE
    if skipped:
        return False, f"pip-audit could not ask about {', '.join(skipped)}"
    number = len({(part["name"], part["version"]) for part in asked})
    return True, f"pip-audit knows nothing against any of {number} packages of {len(answers)} locks"


def make_sbom(tools):
    """Write the SBOM; return the differences between it and the lock."""
    SBOM.parent.mkdir(exist_ok=True)
    command = [tools / "cyclonedx-py", "requirements", LOCK, "--pyproject", ROOT / "pyproject.toml"]
    options = ["--mc-type", "library", "--short-PURLs", "--output-reproducible", "-o", SBOM]
    subprocess.run([*command, *options], check=True)
    packages = listed(json.loads(SBOM.read_text(encoding="utf-8")))
    return set(packages.items()) ^ set(locked(LOCK.read_text(encoding="utf-8")).items())


def ask(tools, lock, osv_url=None):
    """pip-audit's answer for every package of a lock; packages without one are marked."""
    text = lock.read_text(encoding="utf-8")
    heard = [part for some in for_everybody(text) for part in _ask(tools, some, osv_url)]
    answered = {(part["name"], part["version"]) for part in heard if "vulns" in part}
    silent = [name for name, version in pins(text) if (name, version) not in answered]
    answers = [part for part in heard if "skip_reason" not in part]
    return answers + [{"name": name, "skip_reason": "no answer"} for name in silent]


def _ask(tools, text, osv_url):
    with NamedTemporaryFile("w", suffix=".lock", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        command = [tools / "pip-audit", "-r", file.name, "--disable-pip", "--require-hashes"]
        service = ["--vulnerability-service", "osv", "--osv-url", osv_url] if osv_url else []
        options = ["-f", "json", "--progress-spinner", "off"]
        done = subprocess.run(
            [*command, *service, *options], capture_output=True, text=True, check=False
        )
    if done.stdout.strip():
        return json.loads(done.stdout)["dependencies"]
    if _NO_CONNECTION.search(done.stderr):
        return []
    print(done.stderr, file=sys.stderr)
    last = (done.stderr.strip() or f"it ended with code {done.returncode}").splitlines()[-1]
    return [{"name": "pip-audit", "failure": last}]


def main():
    """Write the SBOM, audit the locks, and report the result."""
    parser = argparse.ArgumentParser(prog="python -m tools.dependencies", description=__doc__)
    parser.add_argument("--tools", type=Path, default=ROOT / ".venv-audit/bin")
    parser.add_argument(
        "--strict", action="store_true", help="fail if the service cannot be reached"
    )
    parser.add_argument("--osv-url", help="ask this OSV service instead, such as a mirror's")
    asked = parser.parse_args()
    packages = locked(LOCK.read_text(encoding="utf-8"))
    bare = [name for (name, _), hashes in packages.items() if not hashes]
    differing = make_sbom(asked.tools)
    ok, words = judged([ask(asked.tools, lock, asked.osv_url) for lock in LOCKS])
    record(
        "remark", 1, f"{len(packages)} packages are locked by hash and listed in the SBOM; {words}."
    )
    print(f"{SBOM}: {len(packages)} packages", words, sep="\n")
    if bare or differing:
        wrong = f"without a hash: {bare}; in one of lock and SBOM only: {differing}"
        record("failed", 1, f"dependencies: {wrong}")
        print(wrong, file=sys.stderr)
    if ok is False:
        record("failed", 1, f"dependencies: {words}")
    if ok is None:
        print(f"{'*' * len(UNREACHABLE)}\n{UNREACHABLE}\n{'*' * len(UNREACHABLE)}", file=sys.stderr)
    return int(bool(bare or differing) or ok is False or (ok is None and asked.strict))


if __name__ == "__main__":
    sys.exit(main())
