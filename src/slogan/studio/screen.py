"""Screen: one step of the way, as the list of steps and the pages know it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from slogan.studio.choices import Command
    from slogan.studio.forms import Form
    from slogan.studio.state import Case, Studio


@dataclass(frozen=True, kw_only=True)
class Screen:
    """A step: what it shows, what it does, and the command line it stands for."""

    name: str
    """In addresses, and of its template."""
    label: str
    view: Callable[[Studio, Case], object]
    """What its template fills in beside the case."""
    act: Callable[[Studio, Case, Form], str | None]
    """What its forms do; the screen that comes next, or this one again."""
    command: Callable[[Studio, Case], Command | None]
    opens: Callable[[Case], bool]
    """Whether what comes before is done."""
    practice: str
    """What to try in a demo."""
