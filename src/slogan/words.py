"""What the command line says to a person: tables and sentences, never text of the log."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from slogan.report.headlines import HEADLINES


def inspection(found: dict[str, Any]) -> RenderableType:
    """The paper's Table 3."""
    table = Table(box=None, pad_edge=False, title_justify="left")
    for heading in ("", "the log", "without unique pairs"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name in ("clicks", "users", "queries", "urls", "pairs"):
        table.add_row(name, f"{found[name]:,}", f"{found['shared'][name]:,}")
    columns = found["columns"]
    kind = (
        f"each row has a number of clicks ({columns['count']})"
        if columns["count"]
        else ("each row with a url is one click")
    )
    lines = [
        f"{found['format']}, {found['files']} file(s); user = {columns['user']}, "
        f"query = {columns['query']}, url = {columns['url']}; {kind}",
        *_left_out(found),
    ]
    return Group(table, Text(), Text("\n".join(lines), style="dim"))


def sanitized(done: dict[str, Any]) -> RenderableType:
    """What was released, how good it is, and what it exposes."""
    if done["counts"] == "private":
        return _capped(done)
    lines = [
        f"{done['objective']} = {done['value']:,.6g}, proven bound {done['bound']:,.6g} "
        f"(gap {done['gap']:.2%}, {done['status']}, solver {done['solver']})",
        f"each user may be charged {done['budget_per_user']:.4g}; a row of "
        f"{done['exposed_users_expected']:,.1f} of {done['users']:,} users is expected to be shown",
        "guaranteed given the counts, for the removal of any user in the log; " + _of_counts(done),
        f"{done['users_unconstrained']:,} users have no shared pair and no constraint",
    ]
    return _released(done, lines)


def _capped(done: dict[str, Any]) -> RenderableType:
    lines = [
        f"ε = {done['epsilon']:g}, δ = {done['delta']:g}, end to end, "
        "for any user added or removed",
        f"these are rows of real users: each is shown with a chance of at most δ; no more than "
        f"{done['budget_per_user']:.4g} clicks of a user are expected",
        f"a row of {done['exposed_users_expected']:,.1f} users is expected to be shown, and of "
        f"{done['exposed_users_at_most']:,.1f} of {done['users']:,} at most",
        f"{done['pairs_selected']:,} pairs could be released",
    ]
    return _released(done, lines)


def _of_counts(done: dict[str, Any]) -> str:
    if done["counts"] == "exact":
        return "the counts themselves are not private"
    return (
        "noise on the counts is a HEURISTIC without an end-to-end proof; "
        f"{done['users_removed']:,} users who sway them were removed"
    )


def synthesized(done: dict[str, Any]) -> RenderableType:
    """What was released, and what it is good for."""
    held = {
        "independent": "synthetic users hold pairs independently: no association was asked for, or "
        "it was lost in the noise",
    }.get(done["association"], f"synthetic users hold pairs together by {done['association']}")
    needed = done["weight_needed"]
    lines = [
        f"ε = {done['epsilon']:g}, δ = {done['delta']:g}, end to end, for any user added or "
        "removed; no row belongs to a real user",
        f"about {done['coverage']:.1%} of all clicks fall on the released pairs; {held}",
        f"a pair is released from about {needed:.0f} users on if they hold nothing else, from "
        f"{5 * needed:.0f} if each holds 25 pairs: more users release more pairs",
    ]
    return _released(done, lines)


def _released(done: dict[str, Any], lines: list[str]) -> RenderableType:
    """How much went in and came out, what is to be said of the mode, and what comes next."""
    shared = done.get("shared")
    table = Table(box=None, pad_edge=False)
    for heading in ("", "in the log", *(["shared"] if shared else []), "released"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, whole in (("clicks", "clicks_in"), ("pairs", "pairs"), ("users", "users")):
        between = [f"{shared[name]:,}"] if shared else []
        table.add_row(name, f"{done[whole]:,}", *between, f"{done[f'{name}_out']:,}")
    marked = ["TEST RUN: seeded, protects nobody, refused by verify"] if done["test_run"] else []
    rest = [
        *_left_out(done),
        *(f"came to this process: {what}" for what in done.get("arrived", ())),
        _recorded(done["ledger"]),
        f"took {sum(done['seconds'].values()):.1f} s",
        f"next: slogan verify LOG {done['release']}   (publish only {done['release']}/public)",
    ]
    return Group(table, Text(), Text("\n".join([*marked, *lines, *rest])))


def _recorded(ledger: dict[str, str] | None) -> str:
    if ledger is None:
        return "in no ledger: nobody adds this release to others on the same people (--population)"
    return f"recorded in the ledger of {ledger['population']}, head {ledger['head']}"


def verdict(found: dict[str, Any]) -> RenderableType:
    """Each check with its outcome."""
    table = Table(box=None, pad_edge=False, show_header=False)
    for check in found["checks"]:
        mark = Text("ok", style="green") if check["ok"] else Text("FAILED", style="bold red")
        table.add_row(mark, check["name"], Text(check["detail"], style="dim"))
    end = "the release keeps its promise" if found["ok"] else "do not publish this release"
    return Group(table, Text(end, style="bold"))


def evaluation(found: dict[str, Any]) -> RenderableType:
    """What is kept, beside a random sample of the same size."""
    table = Table(box=None, pad_edge=False)
    for heading in ("", "this release", "random sample"):
        table.add_column(heading, justify="left" if not heading else "right")
    for line in HEADLINES:
        table.add_row(line.name, line.told(found), line.told(found["yardstick"]))
    sizes, support = found["log"], found["frequent_pairs"][0]["min_support"]
    predicted = found["also_clicked"]["hit_at_10_of_original"]
    base = "clicks on shared pairs" if found["coverage"] is None else "all clicks"
    lines = [
        f"the log: {sizes['clicks']:,} clicks, {sizes['shared']['clicks']:,} on shared pairs; "
        f"a pair is frequent from {support} of {base} on",
        f"the log itself predicts a hidden pair with hit@10 = {predicted or 0:.3f}",
        "computed from the raw log: for the curator, not for publication",
    ]
    if found["unknown_pairs"]:
        lines.append(
            f"{found['unknown_pairs']:,} released pairs are not in the log: the right one?"
        )
    return Group(table, Text(), Text("\n".join(lines), style="dim"))


def _left_out(found: dict[str, Any]) -> list[str]:
    lines: list[str] = []
    if found["rows_without_click"]:
        lines.append(f"{found['rows_without_click']:,} rows without a click left out")
    for reason, n in found["bad_rows"].items():
        lines.append(f"{n:,} bad rows skipped: {reason}")
    return lines


def ledger(books: dict[str, Any]) -> RenderableType:
    """Every entry, what it comes to, and what remains."""
    table = Table(box=None, pad_edge=False)
    for heading in ("#", "UTC", "entry", "cost", "outcome"):
        table.add_column(heading, no_wrap=heading in ("#", "UTC"))
    outcomes = {e["release"]: e["outcome"] for e in books["entries"] if e["kind"] == "outcome"}
    for entry in books["entries"]:
        if entry["kind"] != "outcome":
            table.add_row(*_entry(entry, outcomes))
    return Group(table, Text(), Text("\n".join(_totals(books))))


def ledgers(found: dict[str, Any]) -> RenderableType:
    """One line for each population."""
    if not found["ledgers"]:
        return Text("no ledger yet; slogan ledger --population NAME --create starts one")
    table = Table(box=None, pad_edge=False)
    for heading in ("population", "releases", "ε cap", "δ cap", "remains for one release"):
        table.add_column(heading, justify="left" if heading == "population" else "right")
    for books in found["ledgers"]:
        cap = books["cap"] or {"epsilon": "–", "delta": "–"}
        table.add_row(
            books["population"],
            f"{books['releases']:,}",
            f"{cap['epsilon']}",
            f"{cap['delta']}",
            _room(books["remaining"]),
        )
    return table


def _entry(entry: dict[str, Any], outcomes: dict[int, str]) -> list[str]:
    start = [str(entry["number"]), entry["time"][:16].replace("T", " ")]
    if entry["kind"] == "opened":
        return [*start, f"opened for {entry['population']}", "", ""]
    if entry["kind"] == "cap":
        words = "cap raised" if entry["raised"] else "cap set"
        promise = f"{words}: ε = {_short(entry['epsilon'])}, δ = {_short(entry['delta'])}"
        return [*start, promise, f"at most {_parts(entry['limits'])}", ""]
    kind = " (TEST RUN)" if entry["test_run"] else ""
    cost = _parts(entry["cost"]) if entry["cost"] else "not accountable"
    came = "nothing" if entry["kind"] == "nothing" else outcomes.get(entry["number"], "open")
    return [*start, f"{entry['method']}{kind}", cost, came]


def _parts(cost: dict[str, str]) -> str:
    symbols = {"μ²": "mu_squared", "ρ": "rho", "ε": "epsilon", "δ": "delta"}
    parts = {symbol: _short(cost[name]) for symbol, name in symbols.items()}
    return ", ".join(f"{symbol} {part}" for symbol, part in parts.items() if part != "0")


def _short(fraction: str) -> str:
    return f"{float(Fraction(fraction)):.4g}"


def _totals(books: dict[str, Any]) -> list[str]:
    composed, cap = books["composed"], books["cap"]
    reached = composed["epsilon_at_delta"]
    power = "no ε" if reached is None else f"ε = {reached:.4g}"
    lines = [
        f"{books['releases']:,} releases count; what is accountable comes to "
        f"δ = {composed['delta_at_epsilon']:.4g} at ε = {composed['epsilon']:g}, "
        f"{power} at δ = {composed['delta']:g}"
    ]
    if cap is None:
        lines.append("no cap: the ledger records and refuses nothing")
    else:
        lines.append(f"remains: {_room(books['remaining'])}")
        if not cap["came_first"]:
            lines.append(
                "the cap came after a release: it is a promise about all of them only if what "
                "they showed had no part in its choice"
            )
    if books["unaccounted"]:
        lines.append(f"no accounting covers {books['unaccounted']:,} of the releases")
    if books["test_runs"]:
        lines.append(f"{books['test_runs']:,} are test runs, which must not be published")
    return [*lines, f"{books['file']}: every link checks", f"head {books['head']}"]


def _room(remaining: dict[str, Any] | None) -> str:
    if remaining is None:
        return "–"
    room = remaining["one_release"]
    return "nothing" if room is None else f"ε = {room['epsilon']:g} at δ = {room['delta']:g}"
