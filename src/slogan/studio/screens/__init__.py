"""Screens: the steps from a log to a release, in their order."""

from slogan.studio.screen import Screen
from slogan.studio.screens import inspect, load

STEPS: tuple[Screen, ...] = (load.SCREEN, inspect.SCREEN)
BY_NAME = {screen.name: screen for screen in STEPS}
