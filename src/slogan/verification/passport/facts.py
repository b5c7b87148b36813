"""What a file of the passport states: its faults, its sentences, and its date of publication."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was read."""

    faults: tuple[str, ...]
    prose: str = ""
    """All texts, for the search for numbers and names that do not belong there."""
    date: str = ""
    """The date of publication; empty if none is stated."""


def faults_of(found: dict[str, bool]) -> tuple[str, ...]:
    """The descriptions of those that are present."""
    return tuple(fault for fault, present in found.items() if present)
