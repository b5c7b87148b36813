"""Inspect: how large the log is, and how much of it could ever be released."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from slogan.studio.choices import Command
from slogan.studio.screen import Screen

if TYPE_CHECKING:
    from slogan.studio.forms import Form
    from slogan.studio.state import Case, Studio


@dataclass(frozen=True, kw_only=True)
class Switch:
    """Another way to read the log, and what it would gain."""

    name: str
    label: str
    on: bool
    gain: str


@dataclass(frozen=True, kw_only=True)
class InspectView:
    """What the template fills in."""

    sentences: tuple[str, ...]
    shared_percent: int
    switches: tuple[Switch, ...]
    notes: tuple[str, ...]
    nothing: bool
    """Whether nothing is shared."""


def view(_studio: Studio, case: Case) -> InspectView | None:
    """Three sentences and the switches; None before the log is counted."""
    from slogan.logs.words import worded

    sizes = case.sizes
    if sizes is None:
        return None
    whole, shared, items = sizes.whole, sizes.shared, sizes.items
    part = shared.clicks / whole.clicks if whole.clicks else 0.0
    # Rounded so that neither part looks larger than it is at the ends.
    percent = min(99, max(1, round(100 * part))) if 0 < part < 1 else round(100 * part)
    sentences = (
        f"{whole.users:,} user-IDs made {whole.clicks:,} clicks on {whole.pairs:,} query-url "
        "pairs.",
        f"{100 - percent}% of the clicks are on pairs of one user only. These can never be "
        "released.",
        f"{percent}% are on {shared.pairs:,} pairs that two users or more share. At most this "
        "part can be released, and usually much less.",
    )
    notes: list[str] = []
    if sizes.rows_without_click:
        notes.append(f"{sizes.rows_without_click:,} searches without a click are left out.")
    notes += [f"{number:,} rows are skipped: {why}." for why, number in sizes.bad_rows.items()]
    if sizes.advice is not None and sizes.advice.similar_users:
        notes.append(
            f"{sizes.advice.similar_users:,} user-IDs differ from another only in spaces or "
            "leading zeros. If they are the same people, correct the log: each counts as a user."
        )
    return InspectView(
        sentences=tuple(worded(sentence, items) for sentence in sentences),
        shared_percent=percent,
        switches=tuple(_switches(case)),
        notes=tuple(notes),
        nothing=not shared.pairs,
    )


def _switches(case: Case) -> list[Switch]:
    sizes = case.sizes
    if sizes is None:
        return []
    advice, shared, found = sizes.advice, sizes.shared, case.seen.roles if case.seen else {}
    fold = query = "What it gains is shown when it is off."
    if advice is not None:
        if not case.log.fold:
            pairs, clicks = advice.fold_pairs - shared.pairs, advice.fold_clicks - shared.clicks
            fold = f"{_more(pairs, 'shared pair')}, {_more(clicks, 'click')}."
        query = f"{advice.shared_queries:,} queries would be shared: "
        query += _more(advice.query_clicks - shared.clicks, "click") + "."
    switches = [
        Switch(
            name="fold",
            label="Ignore case and spaces of queries, and scheme and last slash of urls",
            on=case.log.fold,
            gain=fold,
        )
    ]
    if "url" in found or case.log.url == "none":
        on = case.log.url == "none"
        gain = "What it gains is shown when it is off." if on else query
        switches.append(
            Switch(name="queries", label="Release queries alone, without urls", on=on, gain=gain)
        )
    return switches


def _more(number: int, what: str) -> str:
    return f"{number:+,} {what}{'s' * (abs(number) != 1)}" if number else f"+0 {what}s"


def count(studio: Studio, case: Case) -> None:
    """Count the log."""
    from slogan.studio.work.facts import Sizes
    from slogan.studio.work.tasks import Count

    def keep(result: object) -> None:
        assert isinstance(result, Sizes)  # noqa: S101  what the task returns
        case.sizes = result
        if case.seen is not None:
            case.seen = replace(case.seen, roles=result.roles, items=result.items)

    studio.start(case, "Counting the log", Count(log=case.log), keep)


def act(studio: Studio, case: Case, form: Form) -> str | None:
    """Turn the switches, and count again."""
    case.require_open()
    if form.text("do") == "switch":
        queries = form.chosen("queries")
        was = case.log.url == "none"
        url = "none" if queries else None if was else case.log.url
        changed = replace(case.log, fold=form.chosen("fold"), url=url)
        if changed != case.log:
            case.log = changed
            case.forget_from_inspect()
    if case.sizes is None:
        count(studio, case)
    return None


def command(_studio: Studio, case: Case) -> Command:
    """The same count."""
    return Command(verb="inspect", names=[case.log.name], reading=case.log.options())


SCREEN = Screen(
    name="inspect",
    label="Inspect",
    view=view,
    act=act,
    command=command,
    opens=lambda case: case.seen is not None and bool(case.seen.roles) and bool(case.person),
    practice="Tick “Release queries alone”, and count again. Then go back to pairs.",
)
