"""Ledger: what was released about these people, and what still fits. Caps are only lowered here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from slogan.studio.choices import Command
from slogan.studio.screen import Screen
from slogan.studio.screens import recipients
from slogan.studio.screens.books import LedgerView, ledger_view

if TYPE_CHECKING:
    from slogan.studio.forms import Form
    from slogan.studio.state import Case, Studio


def view(studio: Studio, case: Case) -> LedgerView:
    """The timeline and the gauge."""
    return ledger_view(studio, case.population)


def act(studio: Studio, case: Case, form: Form) -> str | None:
    """Set a cap, or lower it."""
    from slogan.ledger.cap import Cap

    cap = Cap.of(
        form.decimal("epsilon_cap", "the cap of ε"), form.decimal("delta_cap", "that of δ")
    )
    studio.ledger(case.population).set_cap(cap)
    return None


def command(studio: Studio, case: Case) -> Command | None:
    """The same list."""
    return recipients.command(studio, case)


SCREEN = Screen(
    name="ledger",
    label="Ledger",
    view=view,
    act=act,
    command=command,
    opens=lambda case: bool(case.population),
    practice="Try to raise the cap. It is refused.",
)
