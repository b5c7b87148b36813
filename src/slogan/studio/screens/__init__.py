"""Screens: the steps from a log to a release, in their order."""

from slogan.studio.screen import Screen
from slogan.studio.screens import explore, inspect, ledger, load, recipients, release, report

STEPS: tuple[Screen, ...] = (
    load.SCREEN,
    inspect.SCREEN,
    recipients.SCREEN,
    explore.SCREEN,
    release.SCREEN,
    report.SCREEN,
    ledger.SCREEN,
)
BY_NAME = {screen.name: screen for screen in STEPS}
