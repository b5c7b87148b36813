"""Observe a run of tests: how long each takes, the lines it reaches, which one fails."""

import json
import signal
import time
from dataclasses import dataclass

import pytest
from hypothesis import settings

TIMES = 3
"""A test may take this many times its usual time, and two seconds more."""
_DRAWN = "_hypothesis_internal_use_settings"


@dataclass(frozen=True)
class Outcome:
    """How a trial ended: killed, survived, timeout or error, and by which test."""

    status: str
    seconds: float
    by: str = ""


@dataclass(frozen=True)
class Plain:
    """How the tests behave without a mutant: what each takes, and the lines it reaches."""

    outcome: Outcome
    seconds: dict[str, float]
    reached: dict[str, dict[str, list[int]] | None]


class Watch:
    """Runs tests in an order, each within its time; notes what they take and which one failed."""

    def __init__(self, copy, usual=None, order=None, reached=None):
        self.notes, self.examples = copy.notes, copy.examples
        self.usual, self.order, self.reached = usual or {}, order, reached

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "timeout: kept by the clock of this watch instead")

    def pytest_collection_modifyitems(self, items):
        if self.order:
            items[:] = [item for item in items if item.nodeid in self.order]
            items.sort(key=lambda item: self.order[item.nodeid])
        for function in {item.function for item in items} if self.examples else ():
            if drawn := getattr(function, _DRAWN, None):
                fewer = min(self.examples, drawn.max_examples)
                setattr(function, _DRAWN, settings(drawn, max_examples=fewer))

    def pytest_collectreport(self, report):
        if report.failed:
            self._note(report.nodeid, "failed")

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef):
        done = yield
        if self.reached and fixturedef.scope != "function":
            self.reached.share()
        return done

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self._note(item.nodeid, "started")
        if item.nodeid in self.usual:
            # this signal is not handled, so it ends the process
            signal.setitimer(signal.ITIMER_VIRTUAL, 2 + TIMES * self.usual[item.nodeid])
        if self.reached:
            self.reached.begin()
        begin = time.process_time()
        done = yield
        seconds = time.process_time() - begin
        self._note(item.nodeid, "ended", seconds, self.reached and self.reached.lines())
        return done

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self._note(report.nodeid, "failed")

    def _note(self, test, what, seconds=0.0, reached=None):
        with self.notes.open("a") as file:
            file.write(json.dumps([test, what, seconds, reached]) + "\n")
