"""F-UMP as Tables 5 and 6 and Figures 3 and 6 need it: every minimum support, every output size."""

from __future__ import annotations

import math
from dataclasses import asdict
from fractions import Fraction
from typing import Any

import numpy as np

from slogan.climbing import Step, climb
from slogan.frontier import DELTAS, EXP_EPSILONS
from slogan.objectives.frequent_pairs import FrequentPairs
from slogan.privacy import PrivacyBudget, exact
from slogan.report.measures.supports import frequent_pairs
from slogan.report.measures.totals import Totals
from slogan.reproduction import _published as published
from slogan.reproduction._laboratory import Laboratory, written
from slogan.reproduction._store import Found

Cell = dict[str, Any]


def cells(lab: Laboratory) -> dict[tuple[str, int], Cell]:
    """By minimum support and published |O|, at e^ε = 2 and δ = 0.5."""

    def compute() -> Found:
        asked = [(s, size) for s in published.SUPPORTS for size in published.SIZES]
        told = lab.noted("F-UMP")
        found: Found = {}
        for n, (support, size) in enumerate(asked):
            told(n, len(asked))
            found[f"{support} {size}"] = _cell(lab, support, lab.scaled(size))
        return found

    found = lab.part("frequent_pairs", {"seconds": lab.seconds.supports}, compute)
    return {(key.split()[0], int(key.split()[1])): cell for key, cell in found.items()}


def over_budgets(lab: Laboratory) -> dict[tuple[str, str], Cell]:
    """By e^ε and δ, at the support and the scaled output size of Figure 3."""

    def compute() -> Found:
        size, support = lab.scaled(published.FIGURE_3_SIZE), published.FIGURE_3_SUPPORT
        budgets = {
            (e, d): PrivacyBudget(exp_epsilon=e, delta=d) for e in EXP_EPSILONS for d in DELTAS
        }
        steps = _climbed(lab, support, size, list(budgets.values()))
        return {
            f"{e} {d}": _told(lab, support, size, steps.get(budget.allowance))
            for (e, d), budget in budgets.items()
        }

    found = lab.part("frequent_pairs_by_budget", {"seconds": lab.seconds.supports}, compute)
    return {(key.split()[0], key.split()[1]): cell for key, cell in found.items()}


def _cell(lab: Laboratory, support: str, size: int) -> Cell:
    power, delta = published.FIXED
    budget = PrivacyBudget(exp_epsilon=power, delta=delta)
    steps = _climbed(lab, support, size, [budget])
    return _told(lab, support, size, steps.get(budget.allowance))


def _climbed(
    lab: Laboratory, support: str, size: int, budgets: list[PrivacyBudget]
) -> dict[Fraction, Step]:
    if size < 1:
        return {}
    return climb(
        lab.hist,
        budgets,
        FrequentPairs(min_support=support, output_size=size),
        effort=lab.effort(lab.seconds.supports),
        largest=lab.largest,
    )


def _told(lab: Laboratory, support: str, size: int, step: Step | None) -> Cell:
    """The measures of section 6.3, or nothing where this output size is out of reach."""
    if step is None:
        return {"output_size": size}
    totals = Totals(before=lab.hist.pair_total, after=step.plan.counts, query=lab.hist.query)
    return {
        "output_size": size,
        **written(step),
        **asdict(frequent_pairs(totals, exact(support))),
        "recall_bound": recall_bound(lab, support, size),
    }


def recall_bound(lab: Laboratory, support: str, size: int) -> float | None:
    """No output of this size keeps more: a pair that stays frequent needs ⌈s·|O|⌉ ≤ u_ij clicks."""
    totals = Totals(before=lab.hist.pair_total, after=lab.hist.pair_total, query=lab.hist.query)
    frequent = totals.frequent_before(exact(support))
    if not frequent.any():
        return None
    needed = max(1, math.ceil(exact(support) * size))
    fitting = int(np.count_nonzero(lab.fixed.upper[frequent] >= needed))
    return min(fitting, size // needed) / int(np.count_nonzero(frequent))
