"""price_figures(): what limits a plan and what a larger budget would give, in figures and words."""

import math

from slogan.budget import PrivacyBudget, at_most, readable
from slogan.manifest.certificate import BudgetPrices, LargerBudget, RelaxationPrices
from slogan.planning.prices import LARGER, QUANTILES, TOP, Larger, Prices, Relaxed

_LIMITED = {
    "epsilon": "ε limits the budget per user: a larger δ alone changes nothing.",
    "delta": "δ limits the budget per user: a larger ε alone changes nothing.",
    "both": "ε and δ limit the budget per user alike: raising only one of them changes nothing.",
}
_UNSOLVED = {
    "time": "the search for this plan used its whole time limit (--time-limit).",
    "budget": "this budget protects hardly anybody, and slogan plans with no larger one.",
    "solver": "the solver did not finish in the time for it.",
}
_NO_PRICES = "The linear relaxation was not solved in the time for it, so there are no prices."


def price_figures(
    prices: Prices, budget: PrivacyBudget, value: float, *, unit: str, gap: float
) -> BudgetPrices:
    """The figures for the certificate and `--json`, without anything about a single user.

    Args:
        prices: As computed.
        budget: That of the release.
        value: The released value.
        unit: The objective's, in words.
        gap: Its distance from the proven bound; 0 if it counts as optimal.
    """
    relaxed, larger = prices.relaxed, prices.larger
    words = [_LIMITED[prices.limited_by]]
    if isinstance(larger, Larger):
        words.append(_sentence(larger, budget, value, unit=unit, gap=gap, relaxed=relaxed))
        if gap > 0:
            words.append(
                "Part of the gain may be possible without a larger budget: the present plan has a "
                f"proven gap of {gap:.1%}."
            )
    else:
        words.append(f"Not solved again under a larger budget: {_UNSOLVED[larger]}")
    if relaxed is None:
        words.append(_NO_PRICES)
    return BudgetPrices(
        users_at_limit=prices.users_at_limit,
        limited_by=prices.limited_by,
        relaxation=None if relaxed is None else _relaxation(relaxed),
        larger_budget=_larger(larger, value) if isinstance(larger, Larger) else None,
        words=tuple(words),
    )


def _relaxation(relaxed: Relaxed) -> RelaxationPrices:
    return RelaxationPrices(
        value=relaxed.value,
        users=len(relaxed.priced),
        elasticity=relaxed.elasticity,
        worth={f"{share:.0%}": relaxed.quantile(share) for share in QUANTILES},
        top_shares={f"{share:.0%}": relaxed.carried_by(share) for share in TOP},
    )


def _larger(larger: Larger, value: float) -> LargerBudget:
    return LargerBudget(
        epsilon=larger.budget.epsilon_value,
        delta=larger.budget.delta_value,
        budget_per_user=larger.budget.per_user,
        value=larger.value,
        bound=larger.bound,
        gain=larger.value / value - 1,
        gain_at_most=larger.bound / value - 1,
    )


def _sentence(
    larger: Larger,
    budget: PrivacyBudget,
    value: float,
    *,
    unit: str,
    gap: float,
    relaxed: Relaxed | None,
) -> str:
    """What a larger budget would give; its ε and δ can be pasted."""
    new, changes = larger.budget, list[str]()
    if (new.epsilon, new.exp_epsilon) != (budget.epsilon, budget.exp_epsilon):
        old = at_most(budget.epsilon_at_most)
        changes.append(f"ε = {new.epsilon} in place of {old}")
    if new.delta != budget.delta:
        changes.append(f"δ = {new.delta} in place of {budget.delta}")
    gain, most = larger.value / value - 1, math.floor(larger.bound + 1e-6) / value - 1
    if most <= gain and gap == 0:
        would = f"give {gain:.1%} more {unit}" if gain else f"not give more {unit}"
    else:
        would = f"give at least {_down(gain):.1%} and at most {_up(most):.1%} more {unit}"
    found = f"{readable(larger.value)} in place of {readable(value)}, found by solving again"
    alone = ""
    if relaxed is not None:
        alone = f"; the prices of the linear relaxation alone say {LARGER * relaxed.elasticity:.1%}"
    budgets = " and ".join(changes)
    return f"A budget {LARGER:.0%} larger ({budgets}) would {would} ({found}{alone})."


def _down(share: float) -> float:
    return math.floor(share * 1000 + 1e-9) / 1000


def _up(share: float) -> float:
    return math.ceil(share * 1000 - 1e-9) / 1000
