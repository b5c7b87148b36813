"""The records of the selection benchmark as Markdown, one table per shape."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bench.store import Record

OURS, BASE, PURE = "pooled", "weighted_gaussian", "laplace_histogram"

_LEGEND = """Logs of `bench/shapes.py`; noise of the operating system; means of several runs.
Each selector has the whole of (ε, δ), and the account of what it spent is checked against it.
A cell is the pairs released and, in brackets, the recall of the 1,000 pairs with most users.
"× weighted" is pooled over weighted_gaussian, "× peer" pooled over the best Gaussian peer.
"× pure" is pooled over laplace_histogram, which spends all of ε on one pair of each user.
That is possible only if nothing else is ever computed from the log: beside other stages its ε adds
up, while Gaussian stages share μ².
A `†` was measured with an earlier version of the code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One question: a log, a budget, a selector."""

    shape: str
    users: int
    epsilon: str
    delta: str
    selector: str

    @property
    def key(self) -> str:
        """How its record is called."""
        return f"{self.shape} {self.users} | {self.epsilon} {self.delta} | {self.selector}"


def markdown(records: dict[str, Record], code: str) -> str:
    """Every shape that has records."""
    parts = ["# Pairs released by each selector", _LEGEND]
    rows = sorted({_row(key) for key in records}, key=lambda row: (row[0], row[1], *row[2:]))
    selectors = sorted({key.split(" | ")[2] for key in records}, key=lambda name: name != OURS)
    for shape in dict.fromkeys(row[0] for row in rows):
        heads = ["users", "ε", "δ", *selectors, "× weighted", "× peer", "× pure", "seconds"]
        table = [heads, ["---"] * len(heads)]
        table += [_cells(records, row, selectors, code) for row in rows if row[0] == shape]
        lines = "\n".join(f"| {' | '.join(cells)} |" for cells in table)
        parts.append(f"## {shape}\n\n{lines}")
    return "\n\n".join(parts)


def _row(key: str) -> tuple[str, int, str, str]:
    log, budget, _ = key.split(" | ")
    (shape, users), (epsilon, delta) = log.split(), budget.split()
    return shape, int(users), epsilon, delta


def _cells(
    records: dict[str, Record], row: tuple[str, int, str, str], selectors: list[str], code: str
) -> list[str]:
    shape, users, epsilon, delta = row
    found: dict[str, Record] = {}
    for name in selectors:
        asked = Asked(shape=shape, users=users, epsilon=epsilon, delta=delta, selector=name)
        if asked.key in records:
            found[name] = records[asked.key]
    mean = {name: float(np.mean(record["pairs"])) for name, record in found.items()}
    peers = [n for name, n in mean.items() if name not in (OURS, PURE)]
    compared = (mean.get(BASE), max(peers, default=None), mean.get(PURE))
    seconds = f"{found[OURS]['seconds']:.2f}" if OURS in found else ""
    return [
        f"{users:,}",
        epsilon,
        delta,
        *(_cell(found.get(name), code) for name in selectors),
        *(_ratio(mean.get(OURS), other) for other in compared),
        seconds,
    ]


def _cell(record: Record | None, code: str) -> str:
    if record is None:
        return ""
    old = "" if record["code"] == code else " †"
    return f"{np.mean(record['pairs']):.1f} ({record['recall']:.3f}){old}"


def _ratio(ours: float | None, other: float | None) -> str:
    return f"{ours / other:.2f}" if ours is not None and other else ""
