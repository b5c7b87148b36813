"""The outcomes of the mutants, and why some may survive."""

import tomllib
from collections import Counter

from tests.conftest import record
from tools.mutation.guards import AFTER_THE_NOISE, ROOT
from tools.mutation.mutants import mutants

REASONS = ROOT / "tools/mutation/survivors.toml"
REPORT = ROOT / ".mutants/report.md"
NOTICED = ("killed", "timeout")

HEAD = """# Mutants

Written by `make mutants`, which docs/explanation/trust.md explains.
Each line of the table is a file that decides a guarantee.
*Noticed* are mutants on which a test failed, or did not end in several times its usual time.
*Survived* are those that no test noticed; each is listed below with the reason why it may.
*Not tried* are those that the last run did not reach.
"""
LEFT_OUT = """
## Left out

These files of `dp/` see only what is private or public already.
A mistake there makes a release less useful, not less private.
"""


def reasons():
    """By file and mutant, why it may survive; reviewed by hand."""
    return tomllib.loads(REASONS.read_text(encoding="utf-8")) if REASONS.exists() else {}


def survivors(outcomes):
    """The mutants that no test noticed."""
    return [name for name, line in outcomes.items() if line["status"] not in NOTICED]


def unexplained(found):
    """Survivors without a reason, as (file, mutant)."""
    reviewed = reasons()
    return [
        (file, name)
        for file, outcomes in found.items()
        for name in survivors(outcomes)
        if name not in reviewed.get(file, {})
    ]


def show(found):
    """Print the outcomes of the mutants of these files; return the survivors without a reason."""
    for file, outcomes in found.items():
        count = Counter(line["status"] for line in outcomes.values())
        print(file, ", ".join(f"{number} {status}" for status, number in count.most_common()))
        record("mutants killed", sum(count[status] for status in NOTICED), file)
    left = unexplained(found)
    for file, name in left:
        print(f"SURVIVED {file}\n    {name}")
        record("failed", 1, f"{file}: {name}")
    return left


def write(found):
    """Write the counts of each file, and the survivors with their reasons."""
    text = "\n".join([HEAD, *_table(found), *_listed(found), LEFT_OUT, *_left_out()])
    REPORT.write_text(text, encoding="utf-8")


def _table(found):
    rows = {}
    for file, outcomes in found.items():
        count = Counter(line["status"] for line in outcomes.values())
        noticed = sum(count[status] for status in NOTICED)
        there = sum(1 for _ in mutants((ROOT / file).read_text(encoding="utf-8")))
        rows[f"`{file}`"] = (there, noticed, len(outcomes) - noticed, there - len(outcomes))
    rows["together"] = tuple(map(sum, zip(*rows.values(), strict=True)))
    yield "| file | mutants | noticed | survived | not tried |"
    yield "|---|---|---|---|---|"
    yield from (f"| {file} | {' | '.join(map(str, row))} |" for file, row in rows.items())


def _listed(found):
    reviewed = reasons()
    for file, outcomes in found.items():
        left = survivors(outcomes)
        if left:
            yield f"\n## {file}\n"
        for name in left:
            yield f"```text\n{name}\n```\n"
            yield reviewed.get(file, {}).get(name, "**No reason yet.**") + "\n"


def _left_out():
    yield from (f"- `{file}`" for file in sorted(AFTER_THE_NOISE))
    yield ""
