"""The total privacy cost of a release's stages, computed again from its manifest.

Gaussian stages are composed in decimals of 600 digits, rounded outward.
"""

import math
import re
from collections.abc import Iterable, Mapping
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

from slogan.manifest.manifest import Spent, SpentStage
from slogan.verification.conditions import Bounds
from slogan.verification.evidence import Evidence, Finding, NotPossibleError

_DIGITS = 600
_WORK = Context(prec=_DIGITS, Emin=-999_999, Emax=999_999)
_MARGIN = Decimal("1e-500")
"""More than the rounding errors of any sum below: some thousand terms, each off by 10^-590."""
_ROUNDING = Decimal("1e-590")
_FAR = 40
"""Beyond this many standard deviations, tails are bounded instead of summed."""


def delta_at_most(epsilon: Fraction, mu_squared: Fraction) -> Fraction:
    """δ(ε; μ) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ), rounded up, for ε ≥ 0 and μ² > 0."""
    mu = _decimal(mu_squared).sqrt(_WORK)
    ratio = _WORK.divide(_decimal(epsilon), mu)
    half = _WORK.divide(mu, Decimal(2))
    below = _tail(_WORK.subtract(ratio, half))[1]
    above = _tail(_WORK.add(ratio, half))[0]
    power = _decimal(epsilon).exp(_WORK)
    # `above` is rounded down by far more than `power` may be rounded up
    found = _WORK.subtract(below, _WORK.multiply(power, above))
    return min(Fraction(1), Fraction(_WORK.add(found, _MARGIN)))


def log_at_most(number: Fraction) -> Fraction:
    """A rational just below log(number), for a number ≥ 1."""
    return max(Fraction(0), Fraction(_WORK.subtract(_decimal(number).ln(_WORK), _MARGIN)))


def _tail(x: Decimal) -> tuple[Decimal, Decimal]:
    """Two numbers around 1 − Φ(x).

    Φ(x) = 1/2 + φ(x) · (x + x³/3 + x⁵/(3·5) + …), a sum of one sign.
    Far out, 0 < 1 − Φ(x) < φ(x) for x ≥ 1.
    """
    if x.copy_abs() > _FAR:
        low, high = Decimal(0), _density(x)
    else:
        term = total = x.copy_abs()
        square, n = _WORK.multiply(x, x), 1
        while term > _ROUNDING:
            n += 2
            term = _WORK.divide(_WORK.multiply(term, square), Decimal(n))
            total = _WORK.add(total, term)
        near = _WORK.subtract(Decimal("0.5"), _WORK.multiply(_density(x), total))
        low, high = _WORK.subtract(near, _MARGIN), _WORK.add(near, _MARGIN)
    return (low, high) if x >= 0 else (_WORK.subtract(1, high), _WORK.subtract(1, low))


def _density(x: Decimal) -> Decimal:
    """φ(x) = e^(−x²/2) / √(2π)."""
    power = _WORK.divide(_WORK.multiply(x, x), Decimal(-2)).exp(_WORK)
    return _WORK.divide(power, _WORK.multiply(Decimal(2), _pi()).sqrt(_WORK))


@cache
def _pi() -> Decimal:
    """π = 16 arctan(1/5) − 4 arctan(1/239) (Machin), in integers of 610 digits."""
    unit = 10 ** (_DIGITS + 10)

    def arctan(n: int) -> int:
        total, term, k = 0, unit // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term, k = term // (n * n), k + 2
        return total

    return _WORK.divide(Decimal(16 * arctan(5) - 4 * arctan(239)), Decimal(unit))


def _decimal(number: Fraction) -> Decimal:
    return _WORK.divide(Decimal(number.numerator), Decimal(number.denominator))


_LONGEST = 5_000
_MOST_STAGES = 64
"""Many stages with long fractions would stall the verifier."""
_LARGEST = 1e300
_EXACT = Context(prec=120)
_SLACK = Decimal("1e-100")
_MARGIN_OF_EPSILON = Fraction(1, 10**6)


def account(evidence: Evidence) -> Finding:
    """Check that the stages of the manifest fit the budget."""
    spent = spent_on(evidence)
    epsilon, delta = budget_of(evidence.bounds)
    mu_squared, linear, aside = cost(spent.stages)
    if linear > epsilon or (mu_squared and linear == epsilon):
        return False, "the stages spend more epsilon than the budget has"
    whole = aside + (delta_at_most(epsilon - linear, mu_squared) if mu_squared else 0)
    figures = f"{len(spent.stages)} stages need delta = {float(whole):.6g} at this epsilon, "
    figures += f"and the budget has {float(delta):.6g}"
    if whole > delta:
        return False, figures
    return True, "the stages together spend no more than the budget", figures


_STAGES = {
    "gaussian": ({"norm_squared", "variance", "slack"}, "Gaussian composition (Theorem S)"),
    "capped_sampling": ({"cap"}, "Theorem R"),
    "truncated_geometric": ({"epsilon", "reach", "often"}, "Theorem T"),
    "pure": ({"epsilon", "delta"}, "basic composition"),
}
"""Each mechanism with its parameters and the theorem that states its cost."""
_STAGE_NAME = re.compile(r"[a-z_]{1,30}")
_GRID = 2**20
_SAME = 1e-9
"""Relative tolerance for numbers that are rounded differently here and in the release."""


def account_as_written(evidence: Evidence) -> bool:
    """Whether each number of the account follows from the parameters of its stages."""
    if evidence.manifest.account is None:
        return True
    spent = spent_on(evidence)
    if not all(map(_stage_as_written, spent.stages)):
        return False
    total = cost(spent.stages)
    if not _costs(spent.cost, total):
        return False
    mu_squared, linear, aside = total
    epsilon, delta = budget_of(evidence.promised)
    if not mu_squared:  # ε and δ add up
        exact = spent.delta_at_epsilon, spent.epsilon_at_delta
        pairs = zip(exact, (aside, linear), strict=True)
        within = linear <= epsilon and aside <= delta
        return within and all(math.isclose(n, m, rel_tol=_SAME) for n, m in pairs)
    if linear >= epsilon or aside >= delta:
        return False
    curved = delta_at_most(epsilon - linear, mu_squared)
    close = math.isclose(spent.delta_at_epsilon, aside + curved, rel_tol=_SAME)
    # At the written ε, the stages need the δ of the budget or slightly less.
    written = Fraction(spent.epsilon_at_delta) - linear
    needed = [
        delta_at_most(max(written * (1 + n * _MARGIN_OF_EPSILON), Fraction(0)), mu_squared)
        for n in (1, -1)
    ]
    return close and needed[0] <= delta - aside <= needed[1]


def _stage_as_written(stage: SpentStage) -> bool:
    if stage.mechanism not in _STAGES or not _STAGE_NAME.fullmatch(stage.name):
        return False
    names, theorem = _STAGES[stage.mechanism]
    if set(stage.parameters) != names or stage.theorem != theorem:
        return False
    if any(str(_fraction(text)) != text for text in stage.parameters.values()):
        return False
    on_grid = "variance" not in names or (part(stage, "variance") * _GRID).denominator == 1
    return on_grid and _costs(stage.cost, cost([stage]))


def _costs(written: Mapping[str, str], total: tuple[Fraction, Fraction, Fraction]) -> bool:
    """Whether a cost lists exactly its parts that are not 0, rounded up at most slightly."""
    mu_squared, epsilon, delta = total
    expected: dict[str, Fraction] = {"mu_squared": mu_squared, "epsilon": epsilon, "delta": delta}
    if set(written) != {name for name, value in expected.items() if value}:
        return False
    numbers = {name: _fraction(text) for name, text in written.items()}
    return all(
        number is not None
        and str(number) == written[name]
        and math.isclose(number, expected[name], rel_tol=_SAME)
        for name, number in numbers.items()
    )


def budget_of(bounds: Bounds) -> tuple[Fraction, Fraction]:
    """The ε and δ of what a budget allows."""
    return log_at_most(bounds.likelihood), 1 - 1 / bounds.appearance


def shown_at_most(cap: Fraction) -> Fraction:
    """1 − e^−cap ≤ cap, rounded up: the chance that a user with `cap` expected draws appears."""
    power = _EXACT.divide(Decimal(-cap.numerator), Decimal(cap.denominator)).exp(_EXACT)
    return min(Fraction(1), cap, 1 - Fraction(_EXACT.subtract(power, _SLACK)))


def spent_on(evidence: Evidence) -> Spent:
    """The manifest's account."""
    if evidence.manifest.account is None:
        raise NotPossibleError("the manifest has no privacy account")
    if len(evidence.manifest.account.stages) > _MOST_STAGES:
        raise NotPossibleError("the manifest lists more stages than a release has")
    return evidence.manifest.account


def cost(stages: Iterable[SpentStage]) -> tuple[Fraction, Fraction, Fraction]:
    """μ² of Gaussian stages, ε of sampling, and the probabilities set aside."""
    mu_squared = linear = aside = Fraction(0)
    for stage in stages:
        if stage.mechanism == "gaussian":
            mu_squared += part(stage, "norm_squared") / part(stage, "variance")
            aside += part(stage, "slack", least=0)
        elif stage.mechanism == "capped_sampling":
            linear += part(stage, "cap")
            aside += shown_at_most(part(stage, "cap"))
        elif stage.mechanism == "truncated_geometric":
            linear += part(stage, "epsilon")
            aside += shown_alone(stage)
        elif stage.mechanism == "pure" and not part(stage, "delta", least=0):
            linear += part(stage, "epsilon")
        else:
            raise NotPossibleError("the manifest lists a stage of an unknown mechanism")
    return mu_squared, linear, aside


def shown_alone(stage: SpentStage) -> Fraction:
    """The chance, rounded up, that noise of bounded size shows a pair of a single user."""
    epsilon, reach, often = (part(stage, name, least=0) for name in ("epsilon", "reach", "often"))
    if epsilon <= 0 or reach < 1 or reach.denominator != 1 or not 0 < often <= 1:
        raise NotPossibleError("a stage of the manifest has no usable noise")
    larger, smaller = (_largest_noise(_decimal(epsilon), int(reach) - n) for n in (0, 1))
    return often * larger + (1 - often) * smaller


def _largest_noise(epsilon: Decimal, reach: int) -> Fraction:
    """The chance of the largest of the numbers −reach, …, reach, in proportion to e^(−ε·|x|).

    All masses, divided by the largest one: 1 + 2·(e^−ε + … + e^(−ε·reach)).
    """
    if reach == 0:
        return Fraction(1)
    step = _WORK.minus(epsilon).exp(_WORK)
    edge = _WORK.multiply(_WORK.minus(epsilon), Decimal(reach)).exp(_WORK)
    rest = _WORK.multiply(step, _WORK.subtract(1, edge))
    whole = _WORK.add(1, _WORK.multiply(2, _WORK.divide(rest, _WORK.subtract(1, step))))
    return min(Fraction(1), Fraction(_WORK.add(_WORK.divide(edge, whole), _MARGIN)))


def part(stage: SpentStage, name: str, *, least: float = 1e-300) -> Fraction:
    """A parameter of a stage, as the fraction it is written as."""
    number = _fraction(stage.parameters.get(name, ""))
    if number is None or not least <= number <= _LARGEST:
        raise NotPossibleError(f"a stage of the manifest has no usable {name}")
    return number


def _fraction(text: str) -> Fraction | None:
    """Parse a fraction; None if it is invalid or too long."""
    try:
        return Fraction(text) if len(text) <= _LONGEST and "e" not in text.lower() else None
    except (ValueError, ZeroDivisionError):
        return None
