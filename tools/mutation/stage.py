"""A process with collected tests; each mutant runs in a fork of it.

A mutated function replaces the code of the loaded one: nothing is imported again.
"""

import gc
import importlib
import json
import types

import pytest
from tools.mutation.guards import GUARDS
from tools.mutation.shared import Shared


class Stage:
    """Waits for mutants, and runs the tests on each in a child."""

    def __init__(self, requests, answers, play, keep):
        self.requests, self.answers, self.play, self.keep = requests, answers, play, keep

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        for file in GUARDS:
            importlib.import_module(file.removeprefix("src/").removesuffix(".py").replace("/", "."))
        self.shared = Shared(session, self.keep)
        functions = [f for f in gc.get_objects() if isinstance(f, types.FunctionType)]
        gc.freeze()  # children leave alone what they need not copy
        self._tell("ready")
        for line in self.requests:
            self._tell(self._answer(items, functions, json.loads(line)))
        return True

    def _tell(self, answer):
        self.answers.write(json.dumps(answer) + "\n")
        self.answers.flush()

    def _answer(self, items, functions, request):
        there = [f for f in functions if f.__code__.co_filename == request["path"]]
        if request["source"] is None:
            return self.play(request, lambda: self._act(items, request["order"]))
        found = changed(there, request["path"], request["source"])
        return found and self.play(request, lambda: self._act(items, request["order"], *found))

    def _act(self, items, order, function=None, code=None):
        if function:
            function.__code__ = code
        self.shared.lay_out()
        chosen = [items[test] for test in sorted(order, key=order.get)]
        for item, following in zip(chosen, [*chosen[1:], None], strict=True):
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if item.session.testsfailed:
                return 1
        return 0


def changed(there, path, source):
    """The one function that a mutant changes, and its code there; None if it is not one."""
    codes = {}
    for code in _codes(compile(source, path, "exec")):
        codes.setdefault(code.co_qualname, []).append(code)
    differing = [
        (function, codes[name])
        for function in there
        if (name := function.__code__.co_qualname) in codes
        and not any(_same(function.__code__, code) for code in codes[name])
    ]
    if len(differing) != 1 or len(differing[0][1]) != 1:
        return None
    function, (code,) = differing[0]
    return (function, code) if code.co_freevars == function.__code__.co_freevars else None


def _codes(code):
    """The functions of a module and of its classes, without those inside functions."""
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            if inner.co_flags & 2:  # CO_NEWLOCALS: a function, not the body of a class
                yield inner
            else:
                yield from _codes(inner)


def _same(one, other):
    """Whether two codes do the same; line numbers aside."""
    return (
        one.co_code == other.co_code
        and one.co_names == other.co_names
        and one.co_varnames == other.co_varnames
        and len(one.co_consts) == len(other.co_consts)
        and all(map(_same_constant, one.co_consts, other.co_consts))
    )


def _same_constant(one, other):
    if isinstance(one, types.CodeType) and isinstance(other, types.CodeType):
        return _same(one, other)
    return type(one) is type(other) and repr(one) == repr(other)
