"""The records of the quality benchmark as Markdown, one table per objective."""

from __future__ import annotations

from bench import harness
from bench.cases import Case
from bench.machine import line
from bench.store import Record, Store

OURS = "packing"
FACTOR, GRACE = 1.5, 0.3
"""It should prove an optimum in at most this many times the time of the fastest, plus seconds."""


def key(case: Case, peer: str, variant: str, seconds: float) -> str:
    """How a record is called."""
    return f"{case.key} | {peer} | {variant} | {seconds:g} s"


def current(store: Store, case: Case, peer: str, seconds: float) -> dict[str, Record]:
    """The records by variant that were made with the code of today."""
    records, code = _known(store, case, peer, seconds), harness.code(peer)
    return {name: record for name, record in records.items() if record["code"] == code}


def _known(store: Store, case: Case, peer: str, seconds: float) -> dict[str, Record]:
    found = {}
    for name, record in store.records.items():
        parts = name.split(" | ")
        asked = [case.key, peer, f"{seconds:g} s"]
        if len(parts) == 4 and [parts[0], parts[1], parts[3]] == asked:
            found[parts[2]] = record
    return found


def best(records: dict[str, Record], *, minimises: bool = False) -> str | None:
    """The variant with the best value, then the best bound."""
    sign = -1.0 if minimises else 1.0
    able = {name: record for name, record in records.items() if "value" in record}
    return max(
        able, key=lambda name: (sign * able[name]["value"], -able[name]["gap"]), default=None
    )


def words(record: Record) -> str:
    """One cell: value / bound / gap / seconds."""
    if "value" not in record:
        return "–" if "unsupported" in record else "failed"
    value, bound = (_number(record[name]) for name in ("value", "bound"))
    marks = ("*" if record["proven"] else "") + ("!" if record["wrong_bound"] else "")
    marks += f" (gate −{record['repaired']})" if record["repaired"] else ""
    marks += f" (size −{record['missing']})" if record["missing"] else ""
    return f"{value} / {bound}{marks} / {100 * record['gap']:.1f} % / {_seconds(record)}"


def _number(value: float) -> str:
    return f"{value:.0f}" if value == round(value) else f"{value:.5f}"


def _seconds(record: Record) -> str:
    at = record["best_at"]
    total = f"{record['seconds']:.3g} s"
    return total if at is None else f"{total} (best at {at:.3g})"


def markdown(store: Store, peers: tuple[str, ...], times: tuple[float, float]) -> str:
    """Every objective that has records, at these two times."""
    cases = sorted({_case(name) for name in store.records if name.count(" | ") == 3})
    parts = ["# Quality of answers", _LEGEND]
    for objective in dict.fromkeys(case.objective for case in cases):
        own = [case for case in cases if case.objective == objective]
        parts.append(f"## {objective}\n\n{_table(store, own, peers, times)}")
        parts.append("\n".join(_verdicts(store, own, peers, times)))
    return "\n\n".join([*parts, line(store.machine)])


_LEGEND = """Logs of `bench/logs.py`; every answer has passed the gate `plan()`.
A cell is value / bound / gap / seconds; `*` is proven by the solver, `!` contradicts its bound;
`gate −n` means that the gate had to take n clicks away, `size −n` that n clicks of |O| are missing.
An output of F-UMP without a click has no supports: it stands here, and is not compared.
The best value of a row is bold; of several variants of a peer the better is shown.
Each peer runs in a separate process, on the same pruned problem; with a + after slogan's presolve.
A `†` was measured with an earlier version of the solver's code and is asked again by a new run."""


def _case(name: str) -> Case:
    objective, log, budget = name.split(" | ", maxsplit=1)[0].split()
    words = budget.removeprefix("budget=").split(",")
    return Case(objective, log.removeprefix("log="), words[0], words[1])


def _shown(store: Store, case: Case, peer: str, seconds: float) -> Record | None:
    records = _known(store, case, peer, seconds)
    chosen = best(records, minimises=case.minimises)
    return records[chosen] if chosen else next(iter(records.values()), None)


def _table(
    store: Store, cases: list[Case], peers: tuple[str, ...], times: tuple[float, float]
) -> str:
    columns = [
        (peer, seconds)
        for peer in peers
        for seconds in times
        if any(_shown(store, case, peer, seconds) for case in cases)
    ]
    heads = [f"{peer} {seconds:g} s" for peer, seconds in columns]
    codes = {peer: harness.code(peer) for peer in peers}
    rows = [["log", "e^ε, δ", *heads], ["---"] * (2 + len(heads))]
    for case in cases:
        cells = [_shown(store, case, peer, seconds) for peer, seconds in columns]
        able = [cell for cell in cells if cell and "value" in cell and not _empty(case, cell)]
        values = [cell["value"] for cell in able]
        top = (min if case.minimises else max)(values, default=None)
        rows.append([case.log, case.budget.replace(",", ", ")])
        for (peer, _), cell in zip(columns, cells, strict=True):
            old = cell is not None and cell["code"] != codes[peer]
            rows[-1].append(_cell(cell, top) + (" †" if old else ""))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(record: Record | None, top: float | None) -> str:
    if record is None:
        return ""
    if "value" not in record or record["value"] != top:
        return words(record)
    value, _, rest = words(record).partition(" / ")
    return f"**{value}** / {rest}"


def _verdicts(
    store: Store, cases: list[Case], peers: tuple[str, ...], times: tuple[float, float]
) -> list[str]:
    """In how many cases packing, at the shorter time, is at least as good as each peer."""
    said = []
    for peer in peers:
        known = [_compared(store, cases, peer, times[0], seconds) for seconds in times]
        known = [words for words in known if words]
        if peer != OURS and known:
            said.append(f"- {OURS} is at least as good as {peer} in {', '.join(known)}")
    return [
        *said,
        *_optima(store, cases, peers, times),
        *_slower(store, cases, peers, times[0]),
        *_integrals(store, cases, peers, times[0]),
    ]


def _slower(store: Store, cases: list[Case], peers: tuple[str, ...], seconds: float) -> list[str]:
    """Where a peer proves its optimum within the time, is packing's proof as fast?"""
    late, known = [], 0
    for case in cases:
        shown = {peer: _shown(store, case, peer, seconds) for peer in peers}
        mine = shown.pop(OURS, None)
        proofs = {
            peer: proven_at(record)
            for peer, record in shown.items()
            if record and record.get("proven") and not record["wrong_bound"]
        }
        if not mine or "value" not in mine or not proofs:
            continue
        known += 1
        first = min(proofs, key=lambda peer: proofs[peer])
        if not mine["proven"] or proven_at(mine) > FACTOR * proofs[first] + GRACE:
            own = f"{proven_at(mine):.3g} s" if mine["proven"] else "not at all"
            late.append(f"{case.log} {case.budget} ({own}, {first} {proofs[first]:.3g} s)")
    quick = (
        f"- {OURS} proves the optimum in at most {FACTOR:g} × the fastest peer's time + {GRACE:g} s"
    )
    return [f"{quick} in {known - len(late)} of {known}; not in {'; '.join(late) or 'none'}"]


def proven_at(record: Record) -> float:
    """When the proof was complete; packing looks for a more precise F-UMP afterwards."""
    at: float | None = record.get("proven_at")
    return record["seconds"] if at is None else at


def _integrals(
    store: Store, cases: list[Case], peers: tuple[str, ...], seconds: float
) -> list[str]:
    """The primal integral, as a share of the time: the mean distance from the best value known."""
    whole: dict[str, list[float]] = {}
    for case in cases:
        shown = {peer: _shown(store, case, peer, seconds) for peer in peers}
        able = {peer: record for peer, record in shown.items() if record and "value" in record}
        values = [record["value"] for record in able.values() if not _empty(case, record)]
        top = (min if case.minimises else max)(values, default=None)
        for peer, record in able.items():
            if top is not None and record["trace"]:
                whole.setdefault(peer, []).append(primal_integral(record, top, seconds))
    means = [f"{peer} {100 * sum(n) / len(n):.2g} % ({len(n)})" for peer, n in whole.items()]
    return [f"- mean distance from the best value over the time (cases): {', '.join(means)}"]


def primal_integral(record: Record, top: float, seconds: float) -> float:
    """∫ |top − v(t)| / max(top, v(t)) dt, divided by the time; 1 before the first answer."""
    ends = [at for at, _ in record["trace"][1:]] + [seconds]
    total = min(record["trace"][0][0], seconds)
    for (at, value), end in zip(record["trace"], ends, strict=True):
        largest = max(abs(top), abs(value))
        away = abs(top - value) / largest if largest else 0.0
        total += away * max(0.0, min(end, seconds) - min(at, seconds))
    return total / seconds


def _optima(
    store: Store, cases: list[Case], peers: tuple[str, ...], times: tuple[float, float]
) -> list[str]:
    """In how many of the cases with a known optimum packing reaches it."""
    reached = known = 0
    for case in cases:
        mine = _shown(store, case, OURS, times[0])
        found = [_shown(store, case, peer, seconds) for peer in peers for seconds in times]
        proven = [record["value"] for record in found if record and record.get("proven")]
        if mine and "value" in mine and proven:
            known += 1
            reached += abs(mine["value"] - proven[0]) <= 1e-9
    return [f"- {OURS} reaches {reached} of {known} proven optima"] if known else []


def _empty(case: Case, record: Record) -> bool:
    """An output without a click has no supports, so there is no distance to compare."""
    return case.minimises and record["size"] == 0


def _compared(store: Store, cases: list[Case], peer: str, ours: float, seconds: float) -> str:
    """Only runs of that length count; a peer that was done before is not run again."""
    good = every = 0
    for case in cases:
        mine, other = _shown(store, case, OURS, ours), _shown(store, case, peer, seconds)
        if mine and other and "value" in mine and "value" in other and not _empty(case, other):
            sign = -1.0 if case.minimises else 1.0
            good += sign * mine["value"] >= sign * other["value"] - 1e-12
            every += 1
    return f"{good} of {every} at {seconds:g} s" if every else ""
