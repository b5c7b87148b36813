"""Roundings go outwards: each operation encloses, and none is taken for its twin on the way.

A result is right to sixty digits, so that a value that was rounded inwards once can hardly be seen
in it. Numbers that remember which end they are show it at once.
"""

from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import MPContext

from slogan.budget import PrivacyBudget
from slogan.dp import accounting, private_rows
from slogan.dp import intervals as enclosures
from slogan.dp.intervals import Enclosure, enclose

ULP = Fraction(1, 10**59)
exactly = Context(prec=10_000, Emin=MIN_EMIN, Emax=MAX_EMAX)
high = MPContext()
high.dps = 90

rationals = st.fractions(-1000, 1000, max_denominator=10**30)
positive = st.fractions("1/1000000", 1000, max_denominator=10**30)


def around(one, other):
    """An enclosure of two rationals, with ends that fill their sixty digits."""
    return Enclosure(enclose(min(one, other)).low, enclose(max(one, other)).high)


def holds(found, least, most):
    """Both ends are outside, by less than a unit of the last digit."""
    low, top = Fraction(found.low), Fraction(found.high)
    assert low <= least <= low + abs(least) * ULP
    assert top - abs(most) * ULP <= most <= top
    assert low < least or Fraction(exactly.plus(found.low)) == least
    assert most < top or Fraction(exactly.plus(found.high)) == most


@given(rationals)
def test_a_rational_is_enclosed_as_tightly_as_digits_allow(number):
    holds(enclose(number), number, number)


@given(rationals, rationals, rationals, rationals)
def test_sums_differences_and_products_are_enclosed(a, b, c, d):
    left, right = around(a, b), around(c, d)
    p, q, r, s = map(Fraction, (*left, *right))

    holds(enclosures.add(left, right), p + r, q + s)
    holds(enclosures.subtract(left, right), p - s, q - r)
    corners = [p * r, p * s, q * r, q * s]
    holds(enclosures.multiply(left, right), min(corners), max(corners))


@given(rationals, rationals, positive, positive)
def test_quotients_are_enclosed(a, b, c, d):
    left, right = around(a, b), around(c, d)
    p, q, r, s = map(Fraction, (*left, *right))
    corners = [p / r, p / s, q / r, q / s]

    holds(enclosures.divide(left, right), min(corners), max(corners))


@given(positive, positive)
def test_elementary_functions_of_an_enclosure_are_enclosed(a, b):
    inside = around(a, b)
    for ours, theirs in (
        (enclosures.exp, high.exp),
        (enclosures.log, high.log),
        (enclosures.sqrt, high.sqrt),
    ):
        found = ours(inside)
        least, most = (theirs(high.mpf(str(end))) for end in inside)
        low, top = (high.mpf(str(end)) for end in found)
        assert low < least <= low + abs(least) * high.mpf("3e-59")
        assert top - abs(most) * high.mpf("3e-59") <= most < top


@given(rationals)
def test_shortened_numbers_are_rounded_in_the_given_direction(number):
    inside = enclose(number)
    up, down = (
        enclosures.shortened(end, towards)
        for end, towards in ((inside.high, enclosures.UP), (inside.low, enclosures.DOWN))
    )

    assert down <= number <= up
    assert up - down <= abs(number) * Fraction(3, 10**19)


# --- numbers that know which end they are ---


class End(Decimal):
    """A decimal below the true value ("low"), above it ("high"), or of no use ("lost")."""

    side = "exact"

    def copy_negate(self):
        other = {"low": "high", "high": "low"}
        return end(super().copy_negate(), other.get(self.side, self.side))

    def __neg__(self):
        return end(super().__neg__(), "lost")  # rounds to the digits of the current context


def end(value, side):
    made = End(value)
    made.side = side
    return made


def side(number):
    return getattr(number, "side", "exact")


def kept(number, wanted):
    return number if side(number) in ("exact", wanted) else end(number, "lost")


class Towards:
    """A context that keeps account of ends; for positive numbers."""

    def __init__(self, context, way):
        self.context, self.way, self.rounding = context, way, context.rounding
        self.other = {"low": "high", "high": "low"}[way]

    def __getattr__(self, name):
        return getattr(self.context, name)

    def _done(self, value, operands):
        right = all(side(operand) in ("exact", wanted) for operand, wanted in operands)
        return end(value, self.way if right else "lost")

    def add(self, a, b):
        return self._done(self.context.add(a, b), [(a, self.way), (b, self.way)])

    def subtract(self, a, b):
        return self._done(self.context.subtract(a, b), [(a, self.way), (b, self.other)])

    def multiply(self, a, b):
        return self._done(self.context.multiply(a, b), [(a, self.way), (b, self.way)])

    def divide(self, a, b):
        return self._done(self.context.divide(a, b), [(a, self.way), (b, self.other)])


def named(function):
    """An operation on enclosures, which is right by the tests above, with its ends named."""

    def called(*arguments):
        found = function(*arguments)
        ends = [number for argument in arguments for number in argument]
        lost = any(side(n) == "lost" for n in ends)
        return Enclosure(
            end(found.low, "lost" if lost else "low"), end(found.high, "lost" if lost else "high")
        )

    return called


def rising(function):
    """The same for a function that grows with its argument: each end comes from its own."""

    def called(argument):
        found = function(argument)
        return Enclosure(
            end(found.low, "low" if side(argument.low) in ("exact", "low") else "lost"),
            end(found.high, "high" if side(argument.high) in ("exact", "high") else "lost"),
        )

    return called


def enclosed(low, top):
    return Enclosure(kept(low, "low"), kept(top, "high"))


def falling(function):
    """A function that falls as its argument grows: an end of the one is the other of the other."""

    def called(point):
        found = function(Decimal(point))
        return Enclosure(
            end(found.low, "low" if side(point) in ("exact", "high") else "lost"),
            end(found.high, "high" if side(point) in ("exact", "low") else "lost"),
        )

    return called


def at_one_end(function):
    """A function that rises and falls: between two points it is above the smaller of its values."""

    def called(point):
        found = function(Decimal(point))
        known = side(point) == "exact"
        return Enclosure(
            end(found.low, "low" if known else f"at {side(point)}"),
            end(found.high, "high" if known else "lost"),
        )

    return called


def smaller(*numbers):
    """`min`, which knows what it says about a function between two points."""
    found = min(*numbers)
    if {side(number) for number in numbers} == {"at low", "at high"}:
        return end(found, "low")
    return found


MODULES = (enclosures, accounting, private_rows)


@pytest.fixture
def watched(monkeypatch):
    """Every operation keeps account of ends; what is shortened inwards fails."""
    really = enclosures.shortened

    def shortened(number, towards):
        assert side(number) in ("exact", towards.way)
        return really(Decimal(number), towards.context)

    replaced = {
        "DOWN": Towards(enclosures.DOWN, "low"),
        "UP": Towards(enclosures.UP, "high"),
        "Enclosure": enclosed,
        "shortened": shortened,
        "_root_of_two_pi": enclosures._root_of_two_pi.__wrapped__,
    }
    replaced |= {name: rising(getattr(enclosures, name)) for name in ("exp", "log", "sqrt")}
    names = ("add", "subtract", "multiply", "divide")
    replaced |= {name: named(getattr(enclosures, name)) for name in names}
    replaced["enclose"] = lambda number: Enclosure(*map(end, enclose(number), ("low", "high")))
    for module in MODULES:
        for name in replaced.keys() & vars(module).keys():
            monkeypatch.setattr(module, name, replaced[name])


POINTS = ["0", "0.3", "1", "3.999", "4", "4.001", "12", "39"]


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("point", [*POINTS, *(f"-{point}" for point in POINTS[1:])])
def test_both_ends_of_the_normal_density_and_tail_are_rounded_outwards(point):
    number = Decimal(point)
    asked = [enclosures.density, enclosures.tail, enclosures.mills]

    for function in asked:
        found = function(number)
        assert (side(found.low), side(found.high)) == ("low", "high")
    assert side(enclosures._root_of_two_pi().low) == "low"
    if number >= 0:
        found = enclosures._series(number)
        assert (side(found.high), {side(found.low)} <= {"low", "exact"}) == ("high", True)


@pytest.mark.usefixtures("watched")
@pytest.mark.parametrize("epsilon", ["0", "0.5", "-0.5", "3"])
@pytest.mark.parametrize("cost", ["0.01", "0.8", "5"])
def test_curves_are_rounded_up_at_every_step(epsilon, cost, monkeypatch):
    for name in ("tail", "mills"):
        monkeypatch.setattr(enclosures, name, falling(getattr(enclosures, name)))
    monkeypatch.setattr(enclosures, "density", at_one_end(enclosures.density))
    monkeypatch.setattr(accounting, "min", smaller, raising=False)

    assert 0 < accounting.gaussian_delta(Fraction(epsilon), Fraction(cost)) <= 1


@pytest.mark.usefixtures("watched")
def test_epsilons_are_rounded_up_and_budgets_down():
    assert accounting.CappedSampling(name="rows", cap="0.1").cost.delta > 0
    for delta in ("0.1", "1e-90"):
        budget = PrivacyBudget(exp_epsilon=2, delta=delta)
        assert accounting.spendable(budget)[0] > 0
        assert private_rows.sampling_cap(budget, "1/2") > 0
