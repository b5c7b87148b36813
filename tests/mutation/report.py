"""What became of the mutants, and why some may survive."""

import tomllib
from collections import Counter

from tests.conftest import record
from tests.mutation.guards import ROOT

REASONS = ROOT / "tests/mutation/survivors.toml"


def reasons():
    """By file and mutant, why it may survive; reviewed by hand."""
    return tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}


def survivors(outcomes):
    return [name for name, line in outcomes.items() if line["status"] == "survived"]


def show(found):
    """Print what became of the mutants of these files; the survivors without a reason."""
    reviewed, unexplained = reasons(), []
    for file, outcomes in found.items():
        count = Counter(line["status"] for line in outcomes.values())
        print(f"{file}: {dict(count)}")
        record("mutants killed", count["killed"] + count["timeout"], file)
        for name in survivors(outcomes):
            if name not in reviewed.get(file, {}):
                unexplained.append((file, name))
    for file, name in unexplained:
        print(f"SURVIVED {file}\n    {name}")
    return unexplained


def write(found):
    pass
