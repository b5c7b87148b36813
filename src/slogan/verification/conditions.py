"""Checks, the verdict, and the bounds of a budget, decided exactly."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

from slogan.errors import BudgetError
from slogan.manifest.certificate import html_table

_LARGEST_EPSILON = 700
_LONGEST_NUMBER = 1_000
_HUGE_EXPONENT = re.compile(r"[eE][+-]?[\d_]{5}")
_DOWN = Context(prec=50, rounding=ROUND_FLOOR, Emin=-999)
_UP = Context(prec=50, rounding=ROUND_CEILING, Emin=-999)
# Logarithms are added as integers, in units of 10^-60.
_UNIT = 10**60
# Larger products would take minutes and count as violations: a charge this close to the bound
# (1 part in 10^40) with such powers does not occur by chance.
_MOST_BITS = 20_000_000
NOT_POSSIBLE = "not possible: "
"""How the detail of a check that could not run begins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The outcome of one check. Its texts hold numbers, never a text of the log."""

    name: str
    ok: bool
    detail: str
    """One plain sentence."""
    figures: str = ""
    """Further numbers, shown with `--details`."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Verdict:
    """The result of all checks of a release. For the curator: its numbers depend on the log."""

    checks: tuple[Check, ...]
    budget: Mapping[str, str | None] | None = None
    """ε or e^ε, and δ, as the manifest writes them; None if there is no manifest."""
    without_log: bool = False
    """Whether only the public half was checked."""

    @property
    def conclusion(self) -> str:
        """What was verified, and what remains to be decided."""
        if not self.ok or self.budget is None:
            return "Not verified: do not publish this release."
        written = budget_text(self.budget)
        if self.without_log:
            return (
                f"The files are complete and consistent; their budget is {written}. Only a check "
                "against the log can show that they were made as the manifest states."
            )
        return (
            f"Verified: the files match the manifest, and the manifest's budget ({written}) is "
            "kept. Whether that budget is strict enough is your decision."
        )

    @property
    def ok(self) -> bool:
        """Whether every check passed."""
        return bool(self.checks) and all(check.ok for check in self.checks)

    def outcomes(self) -> list[tuple[Check, ...]]:
        """The checks in order; those that could not run for one and the same reason together."""
        together: dict[str, list[Check]] = {}
        for check in self.checks:
            key = check.detail if check.detail.startswith(NOT_POSSIBLE) else check.name
            together.setdefault(key, []).append(check)
        return [tuple(checks) for checks in together.values()]

    def to_dict(self) -> dict[str, Any]:
        """The fields of `verify --json`."""
        return {
            "ok": self.ok,
            "budget": self.budget and dict(self.budget),
            "conclusion": self.conclusion,
            "checks": [asdict(check) for check in self.checks],
        }

    def __repr__(self) -> str:
        failed = [check.name for check in self.checks if not check.ok]
        outcome = f"failed: {', '.join(failed)}" if failed else "ok"
        return f"<Verdict: {outcome}; {len(self.checks)} checks>"

    def _repr_html_(self) -> str:
        rows = (
            ("ok" if one.ok else "FAILED", ", ".join(c.name for c in (one, *more)), one.detail)
            for one, *more in self.outcomes()
        )
        return html_table(("", "check", "detail"), rows, note=f"{self.conclusion} For the curator.")


def budget_text(written: Mapping[str, str | None]) -> str:
    """A budget with its symbols, as the manifest writes its numbers."""
    symbols = {"epsilon": "ε", "exp_epsilon": "e^ε", "delta": "δ"}
    return ", ".join(f"{symbols[k]} = {v}" for k, v in written.items() if v is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a budget allows: e^ε, rounded down where it is irrational, and 1/(1−δ)."""

    likelihood: Fraction
    """e^ε bounds how much likelier an output becomes without a user's log [condition 2]."""
    appearance: Fraction
    """1/(1−δ) bounds the inverse of the chance that a user does not appear [condition 3]."""

    def within(self, other: "Bounds") -> bool:
        """Whether this budget is at least as strict as the other, in ε and in δ."""
        return self.likelihood <= other.likelihood and self.appearance <= other.appearance

    def stricter(self, other: "Bounds") -> "Bounds":
        """The smaller bound of each kind: a release within it is within both budgets."""
        return Bounds(
            likelihood=min(self.likelihood, other.likelihood),
            appearance=min(self.appearance, other.appearance),
        )


def bounds_of(written: Mapping[str, str | None]) -> Bounds:
    """The bounds of a budget as it was written, parsed independently of the release code."""
    epsilon, exp_epsilon = written["epsilon"], written["exp_epsilon"]
    if (epsilon is None) == (exp_epsilon is None):
        raise _no_budget("it needs either epsilon or e^epsilon, and not both")
    delta = rational(written["delta"] or "")
    ratio = exp_below(rational(epsilon)) if epsilon is not None else rational(exp_epsilon or "")
    if ratio <= 1 or not 0 < delta < 1:
        raise _no_budget("epsilon must be above 0, and delta between 0 and 1")
    return Bounds(likelihood=ratio, appearance=1 / (1 - delta))


def rational(text: str) -> Fraction:
    """The number that was written: a decimal, or the quotient of two."""
    # A number of a million digits would stall the verifier.
    if len(text) > _LONGEST_NUMBER or _HUGE_EXPONENT.search(text):
        raise _no_budget("one of its numbers is too long")
    above, _, below = text.partition("/")
    try:
        return Fraction(Decimal(above)) / Fraction(Decimal(below or 1))
    except (ValueError, ArithmeticError):
        raise _no_budget("one of its numbers is not a number") from None


def _no_budget(why: str) -> BudgetError:
    return BudgetError(
        f"not a privacy budget: {why}", hint="write epsilon and delta as 0.5, 1/500 or 1e-6"
    )


def exp_below(power: Fraction) -> Fraction:
    """A rational at most e^power, by less than 1 part in 10^100; it grows strictly with the power.

    The Taylor series: 1 + power exactly, each further term rounded down to a multiple of 10^-120.
    Each rounding error is multiplied by at most e^power, and there are some thousand terms.
    """
    if not 0 < power <= _LARGEST_EPSILON:
        raise _no_budget(f"epsilon must be above 0 and at most {_LARGEST_EPSILON}")
    unit = 10**120
    term, rest, n = power.numerator * unit // power.denominator, 0, 1
    while term:
        n += 1
        term = term * power.numerator // (power.denominator * n)
        rest += term
    return 1 + power + Fraction(rest, unit)


@dataclass(frozen=True, kw_only=True)
class Factor:
    """The factor of one released pair in a user's charge: (total / (total − own))^released.

    In the paper's letters: c_ij, c_ijk and x_ij.
    """

    total: int
    own: int
    released: int

    @cached_property
    def log(self) -> tuple[int, int] | None:
        """Integers around the logarithm in units of 10^-60; None if it is infinite."""
        if self.own >= self.total:
            return None
        low, high = _log_between(self.total, self.total - self.own)
        return math.floor(low * self.released * _UNIT), math.ceil(high * self.released * _UNIT)


Profiles = Iterable[tuple[Sequence[int], int]]
"""Which factors (by number) make up a user's charge, and how many users have exactly these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How many of the users who hold released pairs exceed one bound."""

    users: int
    broken: int
    in_integers: int
    """Users so close to the bound that exact integers had to decide."""
    largest_use: float
    """The largest logarithm of a charge, as a share of the bound's."""


def _log_between(above: int, below: int) -> tuple[Fraction, Fraction]:
    """Two rationals around log(above/below)."""
    # Decimal.ln rounds to nearest in every context: one unit further encloses the value.
    low = _DOWN.divide(Decimal(above), Decimal(below)).ln(_DOWN).next_minus(_DOWN)
    high = _UP.divide(Decimal(above), Decimal(below)).ln(_UP).next_plus(_UP)
    return Fraction(low), Fraction(high)


def judge(bound: Fraction, profiles: Profiles, factors: Sequence[Factor]) -> Judgement:
    """Whether every user's product of factors is at most the bound, a rational above 1.

    [Hong12, Thm 1]: user k is charged the product of (c_ij / (c_ij − c_ijk))^x_ij over its released
    pairs. Clear cases are decided by logarithms between proven bounds, the others by integers.
    """
    log_low, log_high = _log_between(bound.numerator, bound.denominator)
    limit_low, limit_high = math.floor(log_low * _UNIT), math.ceil(log_high * _UNIT)
    users = broken = in_integers = 0
    largest = 0.0
    for numbers, sharing in profiles:
        users += sharing
        logs = [log for n in numbers if (log := factors[n].log) is not None]
        finite = len(logs) == len(numbers)
        low, high = sum(log[0] for log in logs), sum(log[1] for log in logs)
        largest = max(largest, high / limit_high if finite else math.inf)
        if finite and high <= limit_low:
            continue
        if finite and low <= limit_high:
            in_integers += sharing
            if _at_most(bound, [factors[n] for n in numbers]):
                continue
        broken += sharing
    return Judgement(users=users, broken=broken, in_integers=in_integers, largest_use=largest)


def _at_most(bound: Fraction, factors: Iterable[Factor]) -> bool:
    """Π total^x · q ≤ p · Π (total − own)^x for a bound p/q, after cancelling equal bases."""
    powers: Counter[int] = Counter()
    for factor in factors:
        ratio = Fraction(factor.total, factor.total - factor.own)
        powers[ratio.numerator] += factor.released
        powers[ratio.denominator] -= factor.released
    if sum(abs(n) * base.bit_length() for base, n in powers.items()) > _MOST_BITS:
        return False
    above = math.prod(base**n for base, n in powers.items() if n > 0)
    below = math.prod(base**-n for base, n in powers.items() if n < 0)
    return above * bound.denominator <= bound.numerator * below
