"""PrivacyBudget: the budget of each user that follows from epsilon and delta, exactly."""

import math
from contextlib import suppress
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from fractions import Fraction
from functools import cached_property

from slogan.errors import BudgetError

Number = str | int | float | Decimal | Fraction

_DIGITS = 40
_LARGEST_POWER = 300
_IN_FULL = 1e5
"""Numbers from here on are written without decimals."""
_LARGEST_EPSILON = 600


def exact(number: Number) -> Fraction:
    """The rational that was written: "0.1" and 0.1 are 1/10, "1/500" is 1/500.

    A float stands for its shortest decimal, the text a person typed: the double 0.1 exceeds 1/10.
    """
    if isinstance(number, Fraction):
        return number
    try:
        above, _, below = str(number).strip().partition("/")
        return _decimal(above) / (_decimal(below) if below else 1)
    except (ValueError, ZeroDivisionError, InvalidOperation) as cause:
        raise BudgetError(
            f"{str(number)[:40]!r} is not a number slogan can read", hint=_corrected(str(number))
        ) from cause


def _corrected(text: str) -> str:
    """How to write a number that was written as people do: 0,5 or 50%."""
    with suppress(ValueError, InvalidOperation):
        if text.count(",") == 1:
            point = text.strip().replace(",", ".")
            _decimal(point)
            return f"use a decimal point: {point}"
        if text.strip().endswith("%"):
            share = Decimal(text.strip().removesuffix("%").replace(",", ".")) / 100
            return f"write it as a share: {share.normalize():f}"
    return "write it as 0.5, 1/500 or 1e-6"


def _decimal(text: str) -> Fraction:
    number = Decimal(text)
    if not number.is_finite() or len(text) > 400 or abs(number.adjusted()) > _LARGEST_POWER:
        raise ValueError(text[:40])
    return Fraction(number)


def exp_rounded_down(power: Fraction) -> Fraction:
    """A rational just below e^power, by about one part in 10^38 for each unit of power."""
    down = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
    exponent = down.divide(Decimal(power.numerator), Decimal(power.denominator))
    # Decimal.exp rounds half-even whatever the context says: step down one unit to stay below.
    return Fraction(exponent.exp(down).next_minus(down))


def at_most(number: Number, digits: int = 4) -> str:
    """A positive number for people, rounded up: 2.719 for e, 22,030 for e^10, 1e-6 for 1/10^6."""
    return _shown(number, digits, ROUND_CEILING)


def at_least(number: Number, digits: int = 4) -> str:
    """A number for people, rounded down: 2.718 for e, 0 for 0."""
    return _shown(number, digits, ROUND_FLOOR) if number else "0"


def readable(number: float) -> str:
    """A number for people: whole and large ones in full, others with six digits."""
    in_full = float(number).is_integer() or abs(number) >= _IN_FULL
    return f"{number:,.0f}" if in_full else f"{number:,.6g}"


def short(number: float | Fraction, digits: int = 6) -> str:
    """A number for people, as they write it: 0.5, 1e-6."""
    return f"{float(number):.{digits}g}".replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def _shown(number: Number, digits: int, rounding: str) -> str:
    value, context = Fraction(str(number)), Context(prec=digits, rounding=rounding)
    shown = context.divide(Decimal(value.numerator), Decimal(value.denominator)).normalize(context)
    if -5 < (power := shown.adjusted()) < 15:
        return f"{shown:,f}"
    return f"{shown.scaleb(-power, context):f}e{power}"


@dataclass(frozen=True, kw_only=True)
class PrivacyBudget:
    """How far one user's presence may change the output, as (ε, δ).

    Give `epsilon`, or `exp_epsilon` (e^ε, as the paper's tables do), and `delta`.
    All comparisons that decide about privacy use `allowance`, a rational rounded down.
    """

    epsilon: Number | None = None
    exp_epsilon: Number | None = None
    delta: Number

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.exp_epsilon is None):
            raise BudgetError(
                "a budget needs epsilon or e^epsilon, and not both",
                hint="give --epsilon 0.69 or --exp-epsilon 2",
            )
        delta = exact(self.delta)
        if not 0 < delta < 1:
            raise BudgetError(
                f"delta must be above 0 and below 1, got {self.delta}",
                hint="1e-6 is common for synthesize; for sanitize it is the share of people shown",
            )
        _ = self.allowance  # a budget that exists is valid

    @cached_property
    def allowance(self) -> Fraction:
        """min(e^ε, 1/(1 − δ)), rounded down."""
        return min(self._exp_epsilon(), 1 / (1 - exact(self.delta)))

    def _exp_epsilon(self) -> Fraction:
        if self.exp_epsilon is not None:
            if 1 < (ratio := exact(self.exp_epsilon)) < 10**_LARGEST_POWER:
                return ratio
            raise BudgetError(
                f"e^epsilon must be above 1 and below 10^{_LARGEST_POWER}, got {self.exp_epsilon}",
                hint="with e^epsilon = 2 one user at most doubles the odds of an output",
            )
        power = exact(self.epsilon or 0)
        if not 0 < power <= _LARGEST_EPSILON:
            raise BudgetError(
                f"epsilon must be above 0 and at most {_LARGEST_EPSILON}, got {self.epsilon}",
                hint="0.1 is strict, 1 is common, above 3 protects little",
            )
        return max(exp_rounded_down(power), 1 + power)

    @property
    def per_user(self) -> float:
        """What each user may be charged: b = min(ε, log 1/(1−δ)), for display and solvers."""
        return math.log1p(float(self.allowance - 1))

    @property
    def epsilon_value(self) -> float:
        """ε as a number."""
        if self.epsilon is not None:
            return float(exact(self.epsilon))
        return math.log(exact(self.exp_epsilon or 0))

    @property
    def epsilon_at_most(self) -> Fraction:
        """ε; where e^ε was given, its logarithm rounded up."""
        if self.epsilon is not None:
            return exact(self.epsilon)
        up, ratio = Context(prec=_DIGITS, rounding=ROUND_CEILING), exact(self.exp_epsilon or 0)
        # Decimal.ln and exp round half-even whatever the context says: one unit further is above.
        quotient = up.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
        return Fraction(quotient.ln(up).next_plus(up))

    @property
    def ratio_at_most(self) -> Fraction:
        """e^ε, rounded up where it is irrational."""
        if self.exp_epsilon is not None:
            return exact(self.exp_epsilon)
        up, power = Context(prec=_DIGITS, rounding=ROUND_CEILING), exact(self.epsilon or 0)
        exponent = up.divide(Decimal(power.numerator), Decimal(power.denominator))
        return Fraction(exponent.exp(up).next_plus(up))

    @property
    def delta_value(self) -> float:
        """δ as a number."""
        return float(exact(self.delta))

    def parameters(self) -> dict[str, str | None]:
        """The budget as it was written, for the manifest."""
        numbers = {name: getattr(self, name) for name in ("epsilon", "exp_epsilon", "delta")}
        return {name: None if n is None else str(n) for name, n in numbers.items()}
