"""Checks of a release by `sanitize --counts private`: what Theorem R needs, computed anew."""

from __future__ import annotations

import math
from fractions import Fraction

from slogan.errors import BudgetError
from slogan.manifest.manifest import SpentStage
from slogan.verification.accounting import (
    account,
    cost,
    delta_at_most,
    log_at_most,
    part,
    shown_at_most,
    spent_on,
)
from slogan.verification.conditions import rational
from slogan.verification.evidence import Checks, Evidence, Finding, NotPossibleError
from slogan.verification.real_rows import users_from_log

_SHARES = {"selection": Fraction(7, 10), "counts": Fraction(1, 4), "sizes": Fraction(1, 20)}
_NORM_SQUARED = {"counts": 6**2, "sizes": 1}
_MECHANISMS = {"counts": "gaussian", "sizes": "gaussian", "sampling": "capped_sampling"}
"""Of the stages that every such release has; the others select pairs, with Gaussian noise."""
_CONSTANTS = {"counts_norm": 6, "counts_most_clicks": 2**15, "sizes_largest": 30}
_CLOSE = Fraction(1, 1000)
"""Noise scales are rounded up to a grid, and budgets down."""
_ROUNDED = 1 + Fraction(1, 10**15)
"""A budget is read with other digits here than where the release was made; the account is exact."""


def _constants(evidence: Evidence) -> Finding:
    told, stages = evidence.manifest.parameters, _stages(evidence)
    faults = sum(told.get(name) != value for name, value in _CONSTANTS.items())
    faults += sum(told.get(f"share_{name}") != str(share) for name, share in _SHARES.items())
    faults += sum(part(stages[n], "norm_squared") != norm for n, norm in _NORM_SQUARED.items())
    return faults == 0, f"{faults} parameters differ from the published constants"


def _cap(evidence: Evidence) -> Finding:
    """The cap follows from the budget and the share alone, so no log can have chosen it."""
    cap, share = part(_stages(evidence)["sampling"], "cap"), _share(evidence)
    epsilon, delta = _budget(evidence)
    shown = shown_at_most(cap)
    within = cap <= share * epsilon * _ROUNDED and shown <= share * delta * _ROUNDED
    more = cap * (1 + _CLOSE)
    follows = within and (more > share * epsilon or shown_at_most(more) > share * delta)
    detail = f"a user is shown with a chance of at most {float(shown):.6g}, by a cap that "
    return follows, f"{detail}{'follows' if follows else 'does not follow'} from the budget"


def _scales(evidence: Evidence) -> Finding:
    """Noise scales follow from what sampling leaves of the budget, and from the shares."""
    stages = _stages(evidence)
    cap = part(stages["sampling"], "cap")
    epsilon, delta = _budget(evidence)
    left, aside = epsilon - cap, (delta - shown_at_most(cap)) / 2
    if left <= 0 or aside <= 0:
        return False, "sampling leaves nothing of the budget"
    rooms = [cost([stages[name]])[0] / _SHARES[name] for name in _NORM_SQUARED]
    room = max(rooms)
    mu_squared, _, slack = cost(s for name, s in stages.items() if name not in _MECHANISMS)
    faults = {
        "its stages do not share the budget as published": room - min(rooms) > _CLOSE * room,
        "selection spends more than its share": mu_squared
        > _SHARES["selection"] * room * (1 + _CLOSE)
        or slack > aside * (1 + _CLOSE),
        "noise is smaller than the budget allows": delta_at_most(left, room) > aside * _ROUNDED,
        "noise is not what the budget asks for": delta_at_most(left, room * (1 + 2 * _CLOSE))
        <= aside,
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, "; ".join(found) or "every noise scale follows from the budget alone"


def _rate(evidence: Evidence) -> Finding:
    """No more clicks than the cap explains: users × cap on average, and 7 σ more at most."""
    clicks, users = evidence.compared.clicks, evidence.compared.users
    mean = users * float(part(_stages(evidence)["sampling"], "cap"))
    most = mean + 7 * math.sqrt(mean) + 20
    return clicks <= most, f"{clicks} clicks released, where the cap explains up to {most:.0f}"


def _stages(evidence: Evidence) -> dict[str, SpentStage]:
    listed = spent_on(evidence).stages
    stages = {stage.name: stage for stage in listed}
    mechanisms = {stage.name: stage.mechanism for stage in listed}
    expected = dict.fromkeys(stages, "gaussian") | _MECHANISMS
    if len(stages) < len(listed) or mechanisms != expected or len(expected) == len(_MECHANISMS):
        raise NotPossibleError("the manifest lists other stages than such a release has")
    return stages


def _share(evidence: Evidence) -> Fraction:
    try:
        share = rational(str(evidence.manifest.parameters.get("sampling_share")))
    except BudgetError:
        share = Fraction(0)
    if not 0 < share < 1:
        raise NotPossibleError("the manifest has no usable sampling_share")
    return share


def _budget(evidence: Evidence) -> tuple[Fraction, Fraction]:
    bounds = evidence.promised
    return log_at_most(bounds.likelihood), 1 - 1 / bounds.appearance


CHECKS: Checks = {
    "users_from_log": users_from_log,
    "account": account,
    "constants": _constants,
    "cap": _cap,
    "scales": _scales,
    "rate": _rate,
}
