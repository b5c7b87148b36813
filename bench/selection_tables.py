"""The records of the selection benchmark as Markdown, one table per shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bench.store import Record

OURS, BASE, PURE = "pooled", "weighted_gaussian", "laplace_histogram"

_LEGEND = """Logs of `bench/shapes.py`; noise of the operating system; means of several runs.
A `†` was measured with an earlier version of the selector or of a stage after it."""

_ALONE = """Each selector has the whole of (ε, δ), and the account of what it spent is checked.
A cell is the pairs released and, in brackets, the recall of the 1,000 pairs with most users.
"× weighted" is pooled over weighted_gaussian, "× peer" pooled over the best Gaussian peer.
"× pure" is pooled over laplace_histogram, which spends all of ε on one pair of each user.
That is possible only if nothing else is ever computed from the log: beside other stages its ε adds
up, while Gaussian stages share μ²."""

_END_TO_END = """Each selector has its part of (ε, δ), and counts, sizes, coverage and association
have theirs, as in `slogan synthesize`; laplace_histogram has what ε the other stages leave it.
Recall is of the 1,000 pairs with most users; distance is the sum of support distances over pairs
with support from 1/2000; coverage is the share of clicks on released pairs, as the release states
it and, in brackets, as it is; hit@10 is how often one of ten guesses is a hidden pair of a real
user, made from what synthetic users hold together and, in brackets, from what real ones do.
Association is looked for by sites on search logs and by single pairs on the others; the column says
what users of most of the synthetic logs follow."""


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

    @property
    def end_to_end_key(self) -> str:
        """How the record of its synthetic logs is called."""
        return f"{self.key} | end to end"


Current = Callable[[Asked, str, Record], bool]
"""Whether a record, by its question and the name of its key, is of what the code does now."""


def markdown(records: dict[str, Record], current: Current) -> str:
    """Every shape that has records, selection alone and then end to end."""
    asked = sorted({_asked(key) for key in records}, key=_place)
    alone = [one for one in asked if one.key in records]
    whole = [one for one in asked if one.end_to_end_key in records]
    parts = ["# Pairs released by each selector, and what they are worth", _LEGEND]
    parts += ["## Selection alone", _ALONE]
    selectors = list(dict.fromkeys(one.selector for one in alone))
    heads = ["users", "ε", "δ", *selectors, "× weighted", "× peer", "× pure", "seconds"]
    for shape in dict.fromkeys(one.shape for one in alone):
        rows = dict.fromkeys(replace(one, selector="") for one in alone if one.shape == shape)
        table = [_cells(records, row, selectors, current) for row in rows]
        parts.append(f"### {shape}\n\n{_table(heads, table)}")
    parts += ["## End to end", _END_TO_END]
    heads = ["users", "ε", "δ", "selector", "pairs", "recall", "distance", "coverage", "hit@10"]
    heads += ["association", "seconds"]
    for shape in dict.fromkeys(one.shape for one in whole):
        rows = [one for one in whole if one.shape == shape]
        table = [_end_to_end(one, records[one.end_to_end_key], current) for one in rows]
        parts.append(f"### {shape}, end to end\n\n{_table(heads, table)}")
    return "\n\n".join(parts)


def _asked(key: str) -> Asked:
    log, budget, selector, *_ = key.split(" | ")
    (shape, users), (epsilon, delta) = log.split(), budget.split()
    return Asked(shape=shape, users=int(users), epsilon=epsilon, delta=delta, selector=selector)


def _place(asked: Asked) -> tuple[str, int, float, float, bool, str]:
    """Large budgets last, our own selector first."""
    budget = float(asked.epsilon), -float(asked.delta)
    return asked.shape, asked.users, *budget, asked.selector != OURS, asked.selector


def _table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [heads, ["---"] * len(heads), *rows])


def _cells(
    records: dict[str, Record], row: Asked, selectors: list[str], current: Current
) -> list[str]:
    asked = {name: replace(row, selector=name) for name in selectors}
    found = {name: records[one.key] for name, one in asked.items() if one.key in records}
    mean = {name: float(np.mean(record["pairs"])) for name, record in found.items()}
    peers = [n for name, n in mean.items() if name not in (OURS, PURE)]
    compared = (mean.get(BASE), max(peers, default=None), mean.get(PURE))
    seconds = f"{found[OURS]['seconds']:.2f}" if OURS in found else ""
    return [
        f"{row.users:,}",
        row.epsilon,
        row.delta,
        *(_cell(one, found.get(name), current) for name, one in asked.items()),
        *(_ratio(mean.get(OURS), other) for other in compared),
        seconds,
    ]


def _cell(asked: Asked, record: Record | None, current: Current) -> str:
    if record is None:
        return ""
    old = "" if current(asked, "key", record) else " †"
    return f"{np.mean(record['pairs']):.1f} ({record['recall']:.3f}){old}"


def _end_to_end(asked: Asked, record: Record, current: Current) -> list[str]:
    old = "" if current(asked, "end_to_end_key", record) else " †"
    return [
        f"{asked.users:,}",
        asked.epsilon,
        asked.delta,
        asked.selector + old,
        f"{record['pairs']:.1f}",
        f"{record['recall']:.3f}",
        f"{record['distance']:.4f}",
        f"{record['coverage']:.4f} ({record['true_coverage']:.4f})",
        f"{record['hits']:.3f} ({record['hits_of_the_log']:.3f})",
        record["association"],
        f"{record['seconds']:.2f}",
    ]


def _ratio(ours: float | None, other: float | None) -> str:
    return f"{ours / other:.2f}" if ours is not None and other else ""
