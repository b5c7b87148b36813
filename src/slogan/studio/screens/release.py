"""Release: the checklist, the labels, and the one confirmation that spends budget."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

from slogan.errors import OptionError
from slogan.studio.choices import Command
from slogan.studio.screen import Screen
from slogan.studio.screens import report
from slogan.studio.screens.books import LedgerView, ledger_view, prices
from slogan.studio.screens.load import PERSONS
from slogan.studio.screens.recipients import BY_NAME, ledger_option
from slogan.studio.state import Plan

if TYPE_CHECKING:
    from slogan.studio.forms import Form
    from slogan.studio.state import Case, Studio

LABELS = ("title", "publisher", "contact", "period", "licence", "region", "published")
_NOTES = {
    "title": "The name of the data set.",
    "publisher": "Person or organisation that publishes it.",
    "contact": "Where to send questions, such as an e-mail address.",
    "period": "First and last day, such as 2026-01-01/2026-03-31. Without it no times are made up.",
    "licence": "Terms of use, such as CC BY 4.0.",
    "region": "Where the searches come from, such as Germany.",
    "published": "Date of publication, such as 2026-12-01.",
}


@dataclass(frozen=True, kw_only=True)
class CheckItem:
    """One line of the checklist."""

    ok: bool
    text: str


@dataclass(frozen=True, kw_only=True)
class ReleaseView:
    """What the template fills in."""

    checklist: tuple[CheckItem, ...]
    ledger: LedgerView
    sentence: str
    """What is confirmed."""
    labels: tuple[tuple[str, str, str], ...]
    """Name, value and note of each published label."""
    output: str
    real_rows: bool
    unaccounted: bool
    """Whether the cap says nothing about this release, which must be accepted."""
    refused: bool
    """Whether the cap refuses it."""


def view(studio: Studio, case: Case) -> ReleaseView | None:
    """The checklist, and a sentence that belongs to this page alone."""
    stop = case.stop
    if stop is None:
        return None
    ledger = ledger_view(studio, case.population)
    [price] = prices(studio, case.population, [stop.cost])
    capped, real_rows = bool(ledger.cap_epsilon), case.mode == "sanitize"
    case.confirmation = "" if case.release else secrets.token_urlsafe(16)
    return ReleaseView(
        checklist=tuple(_checklist(studio, case, fits=price.fits)),
        ledger=ledger,
        sentence=_sentence(case, ledger, after=price.after),
        labels=tuple((name, getattr(case.plan, name), _NOTES[name]) for name in LABELS),
        output=case.plan.output or _place(studio, case),
        real_rows=real_rows,
        unaccounted=real_rows and capped,
        refused=price.fits is False,
    )


def _checklist(studio: Studio, case: Case, *, fits: bool | None) -> list[CheckItem]:
    stop, sizes = case.stop, case.sizes
    assert stop is not None  # noqa: S101  the view asks before
    items = [
        CheckItem(ok=case.person == "yes", text=PERSONS[case.person][1]),
        CheckItem(ok=not BY_NAME[case.recipient].real_rows, text=BY_NAME[case.recipient].gets),
        CheckItem(
            ok=not case.looked,
            text="The budget was chosen after looking at your log. The ledger says so."
            if case.looked
            else "The budget was chosen without looking at your log.",
        ),
    ]
    if sizes is not None and case.users is not None and sizes.whole.users > 2 * case.users:
        items.append(
            CheckItem(
                ok=False,
                text=f"You declared {case.users:,} people, and the log has more than twice as "
                "many. Declare the number again: δ follows from it.",
            )
        )
    if fits is not None:
        words = "fits what is left in the ledger" if fits else "does not fit: the ledger refuses it"
        items.append(CheckItem(ok=fits, text=f"The release {words}."))
    if _again(studio, case):
        items.append(
            CheckItem(
                ok=False,
                text="A release with this budget is in the ledger already. This is another one, "
                "with its own price. Do not keep the better of two.",
            )
        )
    return items


def _again(studio: Studio, case: Case) -> bool:
    """Whether the ledger has a run of this mode and budget."""
    from slogan.ledger.entries import Booked, CameToNothing

    stop = case.stop
    assert stop is not None  # noqa: S101  the view asks before
    books = studio.ledger(case.population).books()
    budget = {"epsilon": stop.epsilon, "exp_epsilon": stop.exp_epsilon, "delta": stop.delta}
    return any(
        isinstance(entry, Booked | CameToNothing)
        and all(entry.parameters.get(name) == value for name, value in budget.items() if value)
        for entry in books.entries
    )


def _sentence(case: Case, ledger: LedgerView, *, after: str) -> str:
    stop = case.stop
    assert stop is not None  # noqa: S101  the view asks before
    if stop.exposed is not None:
        return (
            f"You will publish rows of real people from {ledger.population}: each of them is shown "
            f"with a chance of up to {float(stop.delta):.0%}. This cannot be undone."
        )
    whole = f" of {ledger.cap_epsilon}" if ledger.cap_epsilon else ""
    total = f" All releases together then reach ε = {after}{whole}." if after else ""
    return (
        f"You will spend ε = {stop.epsilon} at δ = {stop.delta} on {ledger.population}.{total} "
        "This cannot be undone."
    ).replace(" = ", "\u00a0=\u00a0")


def _place(studio: Studio, case: Case) -> str:
    """A folder that does not exist: beside the log, or in the studio's own folder in a demo."""
    beside = Path(case.log.source.partition("::")[0]).absolute().parent
    if studio.demo:
        beside = studio.folder
    elif case.log.uploaded or not beside.is_dir():
        beside = Path.cwd()
    place, number = beside / "release", 1
    while place.exists():
        number += 1
        place = beside / f"release-{number}"
    return str(place)


def act(studio: Studio, case: Case, form: Form) -> str | None:
    """Make the release, once."""
    from slogan.studio.work.facts import Made
    from slogan.studio.work.releases import Make

    case.require_open()
    stop, confirmation = case.stop, case.confirmation
    if stop is None:
        raise OptionError("no budget is chosen", hint="choose one")
    case.confirmation = ""
    names = {field.name for field in fields(Plan)}
    case.plan = Plan(**{name: form.text(name) for name in names})
    if form.text("next") == "plan":
        return None
    if not confirmation or form.text("confirmation") != confirmation:
        raise OptionError("this page was used already", hint="read it again, and confirm it")
    if not form.chosen("confirmed"):
        raise OptionError("the sentence is not confirmed", hint="read it, and tick the box")
    plan = case.plan
    labels = {name: text for name in LABELS if (text := getattr(plan, name))}
    seed = form.whole("seed", "the seed") if studio.demo and plan.seed else None
    case.unaccounted = form.chosen("unaccounted")

    def keep(result: object) -> None:
        assert isinstance(result, Made)  # noqa: S101  what the task returns
        case.made = result

    task = Make(
        log=case.log,
        mode=case.mode,
        epsilon=stop.epsilon,
        exp_epsilon=stop.exp_epsilon,
        delta=stop.delta,
        output=_output(plan),
        ledger=None if seed is not None else studio.ledger(case.population),
        unaccounted=case.unaccounted and seed is None,
        labels=labels,
        recipient=plan.recipient or None,
        approver=plan.approver or None,
        seed=seed,
    )
    studio.start(
        case,
        "Making the release",
        task,
        keep,
        essential=True,
        following=lambda: report.examine(studio, case),
    )
    return "release"


def _output(plan: Plan) -> str:
    if not plan.output:
        raise OptionError("the release has no folder", hint="name a new one")
    return str(Path(plan.output).expanduser())


def command(studio: Studio, case: Case) -> Command | None:
    """The release itself, ready for a terminal."""
    stop, plan = case.stop, case.plan
    if stop is None:
        return None
    real_rows = case.mode == "sanitize"
    capped = real_rows and bool(ledger_view(studio, case.population).cap_epsilon)
    seed = plan.seed or None if studio.demo else None
    own = {
        "output": plan.output or _place(studio, case),
        "epsilon": stop.epsilon,
        "exp_epsilon": stop.exp_epsilon,
        "delta": stop.delta,
        **({} if seed else {"population": case.population, **ledger_option(studio, case)}),
        "allow_unaccounted": capped and not seed,
        **{name: getattr(plan, name) or None for name in LABELS},
        "recipient": plan.recipient or None,
        "approver": plan.approver or None,
        "seed": seed,
    }
    options = case.log.options()
    own |= {} if real_rows else case.log.event_options()
    return Command(verb=case.mode, names=[case.log.name], reading=options, own=own)


SCREEN = Screen(
    name="release",
    label="Release",
    view=view,
    act=act,
    command=command,
    opens=lambda case: case.stop is not None,
    practice="Give it a title. Break something first: press the button without ticking the box, or "
    "name a folder that exists.",
)
