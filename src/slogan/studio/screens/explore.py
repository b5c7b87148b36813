"""Explore: what each budget keeps and what it leaves an attacker, before the log is looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slogan.budget import exact
from slogan.errors import OptionError
from slogan.report.people import people_picture
from slogan.studio.choices import Command
from slogan.studio.screen import Screen
from slogan.studio.screens.books import LedgerView, Price, ledger_view, prices
from slogan.studio.screens.recipients import ledger_option

if TYPE_CHECKING:
    from slogan.studio.forms import Form
    from slogan.studio.state import Case, Studio
    from slogan.studio.work.facts import Stop

_GUESSED = 1
"""Of 100 people, those whom guessing names."""
_CLICKS = "20"


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One place of the slider."""

    stop: Stop
    kept: str
    people: str
    price: Price
    delta_words: str


@dataclass(frozen=True, kw_only=True)
class ExploreView:
    """What the template fills in."""

    panels: tuple[Panel, ...]
    shown: int
    ledger: LedgerView
    chart: str
    smaller: bool
    """Whether the made-up log has fewer users than declared."""
    real_rows: bool


def view(studio: Studio, case: Case) -> ExploreView | None:
    """A panel for each stop; None before the size is declared."""
    stops = case.stops
    if stops is None:
        return None
    priced = prices(studio, case.population, [stop.cost for stop in stops.stops])
    return ExploreView(
        panels=tuple(
            _panel(stop, price, stops.items)
            for stop, price in zip(stops.stops, priced, strict=True)
        ),
        shown=case.shown,
        ledger=ledger_view(studio, case.population),
        chart=stops.chart,
        smaller=stops.measured_users < stops.users and not stops.on_log,
        real_rows=case.mode == "sanitize",
    )


def _panel(stop: Stop, price: Price, items: str) -> Panel:
    from slogan.logs.words import worded

    about = "at least" if stop.at_least else "about"
    number = f"{stop.pairs:,}"
    if stop.pairs != stop.pairs_most:
        about, number = "", f"{stop.pairs:,} to {stop.pairs_most:,}"
    clicks = "clicks" if stop.exposed is None else "clicks on shared pairs"
    kept = f"Keeps {about} {number} query-url pairs, with {stop.share:.0%} of the {clicks}."
    if not stop.pairs_most:
        kept = "Keeps nothing: no pair has enough users."
    one_in = int(1 / exact(stop.delta))
    if stop.exposed is None:
        delta_words = f"With a chance of 1 in {one_in:,} the ε limit may fail."
    else:
        delta_words = f"Each person is shown with a chance of up to {float(stop.delta):.0%}."
    return Panel(
        stop=stop,
        kept=worded(" ".join(kept.split()), items),
        people=people_picture(
            named=stop.dots,
            guessed=_GUESSED,
            title=f"At most {stop.dots} of 100 people can be named",
            summary=f"100 people of the log. Guessing alone names {_GUESSED}; with this budget an "
            f"attacker names at most {stop.dots}.",
        ),
        price=price,
        delta_words=delta_words,
    )


def act(studio: Studio, case: Case, form: Form) -> str | None:
    """Declare the size, move the slider, choose a budget, or look at the real log."""
    case.require_open()
    step = form.text("do")
    if step == "declare":
        _declare(case, form)
        compare(studio, case)
        return None
    if case.stops is None:
        raise OptionError("the size of the log is not declared", hint="declare it first")
    if step == "look":
        if not form.chosen("recorded"):
            raise OptionError(
                "looking at the real log is recorded", hint="tick the box that says so"
            )
        compare(studio, case, on_log=True)
        return None
    place = form.whole("stop", "the place of the slider")
    if not 0 <= place < len(case.stops.stops):
        raise OptionError("the slider has no such place", hint="use the page")
    case.shown = place
    if form.text("next") == "choose":
        case.stop = case.stops.stops[place]
        return "release"
    return None


def _declare(case: Case, form: Form) -> None:
    from slogan.generation.twin import require_size
    from slogan.workflows.advise import delta_for

    users = form.whole("users", "the number of people")
    clicks = _CLICKS if not form.text("clicks") else form.decimal("clicks", "the mean of clicks")
    require_size(users, float(clicks))
    delta = form.decimal("delta", "δ") if form.text("delta") else ""
    if delta and not 0 < exact(delta) <= exact(delta_for(users)):
        raise OptionError(
            f"δ is at most {delta_for(users)} for {users:,} people",
            hint="leave it empty, or give a smaller one",
        )
    case.users, case.clicks_per_user, case.delta = users, clicks, delta
    case.forget_budget()
    case.looked = False


def delta_of(case: Case) -> str:
    """δ of made-up users."""
    from slogan.workflows.advise import delta_for

    return case.delta or delta_for(case.users or 1)


def compare(studio: Studio, case: Case, *, on_log: bool = False) -> None:
    """Measure the stops."""
    from slogan.studio.work.budgets import Compare
    from slogan.studio.work.facts import Stops

    def keep(result: object) -> None:
        assert isinstance(result, Stops)  # noqa: S101  what the task returns
        case.stops, case.shown, case.stop = result, result.usual, None

    task = Compare(
        mode=case.mode,
        users=case.users or 0,
        clicks_per_user=case.clicks_per_user,
        delta=delta_of(case),
        items=case.seen.items if case.seen else "pairs",
        log=case.log if on_log else None,
        ledger=studio.ledger(case.population) if on_log else None,
    )
    title = "Comparing budgets on your log" if on_log else "Comparing budgets on a made-up log"
    case.looked = case.looked or on_log
    studio.start(case, title, task, keep)


def command(studio: Studio, case: Case) -> Command | None:
    """The budgets that were compared."""
    if case.users is None:
        return None
    if case.stops is not None and case.stops.on_log:
        from slogan.studio.work import budgets

        own: dict[str, str | bool] = {"on_log": True, "mode": case.mode}
        own |= (
            {"epsilons": ",".join(budgets.EPSILONS), "deltas": delta_of(case)}
            if case.mode == "synthesize"
            else {"exp_epsilons": budgets.EXP_EPSILON, "deltas": ",".join(budgets.DELTAS)}
        )
        own |= {"population": case.population, **ledger_option(studio, case)}
        options = case.log.options()
        return Command(verb="frontier", names=[case.log.name], reading=options, own=own)
    return Command(
        verb="advise",
        own={
            "users": str(case.users),
            "clicks_per_user": case.clicks_per_user,
            "for": case.recipient,
        },
    )


SCREEN = Screen(
    name="explore",
    label="Explore",
    view=view,
    act=act,
    command=command,
    opens=lambda case: bool(case.recipient) and bool(case.population),
    practice="Declare 2,500 people with 95 clicks each. Move the slider, and choose “usual”.",
)
