"""The records of the comparison as Markdown: one table for each size of log and kind of promise."""

from __future__ import annotations

from bench.store import Record

_LEGEND = """Logs of `slogan generate`, seed 0.
Means of several runs with noise of the operating system; where a solver plans, one run.
**Numbers of different tables, and promises of different units, are not comparable.**

Every row has the same D: the whole log, pairs of one user included.
Supports are shares of what is released, as in the paper.
Where only popular pairs are released they are multiplied by the coverage: the share of the log's
clicks that these pairs stand for.
`synthesize` estimates it within its budget.
ZEALOUS, Korolova et al. and k-anonymity are given the true one for nothing, which favours them.
A pair is frequent from 1/500 of the clicks on, in brackets from 1/2000 on.
The distance is the sum of support distances over frequent pairs.
hit@10 is how often a hidden pair of a real user is among ten recommended from what is released,
beside what the log itself predicts.
A method that publishes counts alone can recommend only what is popular: its hit@10 is in brackets.
Where a method leaves open for how many pairs or clicks a user may speak (m, d), several are shown;
to pick the best afterwards favours it."""

_HEADS = (
    "method",
    "promise",
    "same schema",
    "clicks",
    "of the log",
    "pairs",
    "queries",
    "precision",
    "recall",
    "distance",
    "hit@10",
)


def markdown(records: dict[str, Record], order: dict[str, list[str]]) -> str:
    """Every size of log that has records; groups and methods in the given order."""
    parts = ["# Who keeps what, and with which promise", _LEGEND]
    every: list[tuple[str, Record]] = []
    for users in sorted({int(key.partition(" | ")[0]) for key in records}):
        parts.append(f"## {users:,} users")
        for group, names in order.items():
            keys = {name: f"{users} | {group} | {name}" for name in names}
            rows = [(name, records[key]) for name, key in keys.items() if key in records]
            if rows:
                parts.append(f"### {group}\n\n{_table(rows)}")
            every += rows
    parts.append(f"## What each promises\n\n{_promises(every)}")
    return "\n\n".join(parts)


def _table(rows: list[tuple[str, Record]]) -> str:
    lines = [_HEADS, ("---",) * len(_HEADS), *(_cells(*row) for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _cells(name: str, record: Record) -> tuple[str, ...]:
    empty = record["clicks"] == 0
    if record["same_schema"]:
        hits = _number(record["hit_at_10"])
    else:
        hits = f"({_number(record['hit_at_10_of_popularity'])})"
    hits = f"{hits} of {_number(record['hit_at_10_of_original'])}"
    return (
        name,
        record["promise"],
        "yes" if record["same_schema"] else "no",
        f"{record['clicks']:,.0f}",
        f"{record['size_ratio']:.2%}",
        f"{record['pairs']:,.0f}",
        f"{record['queries']:,.0f}",
        *(
            f"{_number(record[measure])} ({_number(record[f'{measure}_rare'])})"
            if not empty
            else "–"
            for measure in ("precision", "recall", "sum_support_distance")
        ),
        "–" if empty else hits,
    )


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _promises(rows: list[tuple[str, Record]]) -> str:
    """Once for each family of methods: what stands before the first comma of a name."""
    heads = ("method", "unit", "what it says", "what it leaves open")
    told: dict[tuple[str, ...], None] = {}
    for name, record in rows:
        family = name.partition(",")[0]
        words = (record["unit"] or "none", record["meaning"], record["open"])
        told.setdefault((family, *words))
    lines = [heads, ("---",) * len(heads), *told]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
