"""Recipients: who gets the release, which decides the mode; and whose ledger records it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from slogan.errors import OptionError
from slogan.studio.choices import Command
from slogan.studio.screen import Screen
from slogan.studio.screens.books import LedgerView, ledger_view

if TYPE_CHECKING:
    from slogan.studio.forms import Form
    from slogan.studio.state import Case, Studio


@dataclass(frozen=True, kw_only=True)
class Card:
    """One kind of recipient: what it gets, and what can happen."""

    name: str
    title: str
    gets: str
    worst: str
    missing: str
    real_rows: bool


CARDS = (
    Card(
        name="web",
        title="Anyone, on the web",
        gets="Made-up users with the columns of your log. Usual budget: ε = 1.",
        worst="Copies stay for ever. A file that was published cannot be called back.",
        missing="Rare searches, and the history of any one person. Times are made up, or left out.",
        real_rows=False,
    ),
    Card(
        name="researchers",
        title="Named researchers, under an agreement",
        gets="Made-up users too. Usual budget: ε = 1. Real rows are rarely needed.",
        worst="An agreement does not undo a leak, so the budget is the same as for the web.",
        missing="Rare searches, and the history of any one person. Times are made up, or left out.",
        real_rows=False,
    ),
    Card(
        name="colleagues",
        title="Colleagues who may see the log anyway",
        gets="Made-up users with a loose budget: ε up to 3.",
        worst="Copies travel. At ε = 3 an attacker can name up to 21 of 100 people in the log.",
        missing="Most rare searches. Times are made up, or left out.",
        real_rows=False,
    ),
    Card(
        name="reproduction",
        title="No one else: to reproduce the paper",
        gets="Real rows under new IDs, by the method of Hong et al. (2012).",
        worst="Real people are shown: with δ = 0.5 up to half of them. Counts are not protected.",
        missing="Times, and all that only one person searched. No ledger can add this release up.",
        real_rows=True,
    ),
)
BY_NAME = {card.name: card for card in CARDS}


@dataclass(frozen=True, kw_only=True)
class RecipientsView:
    """What the template fills in."""

    cards: tuple[Card, ...]
    populations: tuple[str, ...]
    ledger: LedgerView | None


def view(studio: Studio, case: Case) -> RecipientsView:
    """The cards, and the ledgers that there are."""
    return RecipientsView(
        cards=CARDS,
        populations=tuple(studio.populations()),
        ledger=ledger_view(studio, case.population) if case.population else None,
    )


def act(studio: Studio, case: Case, form: Form) -> str | None:
    """Choose a recipient and a ledger."""
    case.require_open()
    recipient, population = form.text("recipient"), form.text("population")
    if recipient not in BY_NAME:
        raise OptionError("no recipient is chosen", hint="choose who gets the release")
    if BY_NAME[recipient].real_rows and not form.chosen("real_rows"):
        raise OptionError(
            "this release shows rows of real people",
            hint="tick the box that says so, or choose another recipient",
        )
    before = case.recipient
    case.recipient = recipient
    if (before == "reproduction") != (recipient == "reproduction"):
        case.forget_budget()
    if new := form.text("new_population"):
        population = _create(studio, new, form)
    if not population:
        raise OptionError(
            "no population is chosen",
            hint="choose the people of this log, or create a ledger for them: there is no release "
            "without one",
        )
    case.population = studio.ledger(population).books().population
    return "explore"


def _create(studio: Studio, name: str, form: Form) -> str:
    """A new ledger with a cap; the cap is read first, so that a mistake leaves no ledger."""
    from slogan.ledger.cap import Cap

    cap = Cap.of(
        form.decimal("epsilon_cap", "the cap of ε"), form.decimal("delta_cap", "that of δ")
    )
    ledger = studio.ledger(name)
    ledger.create()
    ledger.set_cap(cap)
    return name


def command(studio: Studio, case: Case) -> Command | None:
    """The ledger."""
    if not case.population:
        return None
    own = {"population": case.population, **ledger_option(studio, case)}
    return Command(verb="ledger", own=own)


def ledger_option(studio: Studio, case: Case) -> dict[str, str]:
    """Where the ledger is, if not at the usual place."""
    if studio.ledgers is None:
        return {}
    return {"ledger": str(studio.ledger(case.population).file)}


SCREEN = Screen(
    name="recipients",
    label="Recipients",
    view=view,
    act=act,
    command=command,
    opens=lambda case: case.sizes is not None and bool(case.sizes.shared.pairs),
    practice="Choose the web, and call the people shop-customers.",
)
