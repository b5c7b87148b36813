"""python -m tests.dependencies: an SBOM of what is locked, and what is known against it.

pip-audit ends with code 0 where it could ask about nothing, so its answer is read, not its code.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import record

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "requirements.lock"
LOCKS = (LOCK, ROOT / "requirements-bench.lock", ROOT / "requirements-audit.lock")
SBOM = ROOT / "dist/sbom.cdx.json"
UNREACHABLE = "NOT AUDITED: the service of known vulnerabilities cannot be reached from here"


def locked(text):
    """The packages of a lock, as (name, version), each with how many hashes it has."""
    parts = re.split(r"^(?=\S+==)", text, flags=re.MULTILINE)
    heads = [(re.match(r"([^=\s]+)==([^\s;\\]+)", part), part) for part in parts if part.strip()]
    return {head.groups(): part.count("--hash=sha256:") for head, part in heads if head}


def listed(sbom):
    """The packages of an SBOM, with how many hashes each has."""
    return {
        (part["name"], part["version"]): sum(
            len(place.get("hashes", [])) for place in part.get("externalReferences", [])
        )
        for part in sbom["components"]
    }


def judged(answers):
    """What pip-audit's answers come to, one for each lock: whether all is well, what to say."""
    asked = [part for answer in answers for part in answer]
    skipped = sorted({part["name"] for part in asked if "skip_reason" in part})
    known = sorted({f"{p['name']} {v['id']}" for p in asked for v in p.get("vulns", [])})
    if any(all("skip_reason" in part for part in answer) for answer in answers):
        return None, UNREACHABLE
    if skipped:
        return False, f"pip-audit could not ask about {', '.join(skipped)}"
    if known:
        return False, f"known vulnerabilities: {', '.join(known)}"
    number = len({(part["name"], part["version"]) for part in asked})
    return True, f"pip-audit knows nothing against any of {number} packages of {len(answers)} locks"


def make_sbom(tools):
    """Write the SBOM; what differs between it and the lock."""
    SBOM.parent.mkdir(exist_ok=True)
    command = [tools / "cyclonedx-py", "requirements", LOCK, "--pyproject", ROOT / "pyproject.toml"]
    options = ["--mc-type", "library", "--short-PURLs", "--output-reproducible", "-o", SBOM]
    subprocess.run([*command, *options], check=True)
    told = listed(json.loads(SBOM.read_text(encoding="utf-8")))
    return set(told.items()) ^ set(locked(LOCK.read_text(encoding="utf-8")).items())


def ask(tools, lock, osv_url=None):
    """What pip-audit says of every package of a lock that is for this Python, on this system."""
    command = [tools / "pip-audit", "-r", lock, "--disable-pip", "--require-hashes", "-f", "json"]
    service = ["--vulnerability-service", "osv", "--osv-url", osv_url] if osv_url else []
    done = subprocess.run(
        [*command, *service, "--progress-spinner", "off"],
        capture_output=True,
        text=True,
        check=False,
    )
    return json.loads(done.stdout)["dependencies"] if done.stdout.strip() else []


def main():
    """Write the SBOM, ask, say what was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.dependencies", description=__doc__)
    parser.add_argument("--tools", type=Path, default=ROOT / ".venv-audit/bin")
    parser.add_argument("--strict", action="store_true", help="fail where nothing could be asked")
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
        print(f"without a hash: {bare}; in one of lock and SBOM only: {differing}", file=sys.stderr)
    if ok is None:
        print(f"{'*' * len(UNREACHABLE)}\n{UNREACHABLE}\n{'*' * len(UNREACHABLE)}", file=sys.stderr)
    return int(bool(bare or differing) or ok is False or (ok is None and asked.strict))


if __name__ == "__main__":
    sys.exit(main())
