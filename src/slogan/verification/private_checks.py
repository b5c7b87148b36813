"""Checks of releases by `sanitize --counts private` and `synthesize`: constants, noise, users.

What Theorems R and S need is computed anew, from the manifest and both logs.
"""

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from scipy.special import chdtri

from slogan.budget import PrivacyBudget
from slogan.errors import BudgetError
from slogan.manifest.manifest import SpentStage
from slogan.manifest.promise import ACCEPTED, weaknesses
from slogan.verification.accounting import (
    account,
    budget_of,
    cost,
    delta_at_most,
    part,
    shown_at_most,
    spent_on,
)
from slogan.verification.checks import users_from_log
from slogan.verification.comparison import types_of
from slogan.verification.conditions import rational
from slogan.verification.evidence import Checks, Evidence, Finding, NotPossibleError

_NORM, _MOST_CLICKS = 6, 2**15
_NORM_SQUARED = {"counts": _NORM**2, "sizes": 1, "coverage": 75**2, "association": 1}
"""Of the stages that are not selection."""
_CLOSE = Fraction(1, 1000)
"""Noise scales are rounded up to a grid, and budgets down."""

_ROW_SHARES = {"selection": Fraction(7, 10), "counts": Fraction(1, 4), "sizes": Fraction(1, 20)}
_ROW_MECHANISMS = {"counts": "gaussian", "sizes": "gaussian", "sampling": "capped_sampling"}
"""Of the stages that every such release has; the others select pairs, with Gaussian noise."""
_ROW_CONSTANTS = {"counts_norm": _NORM, "counts_most_clicks": _MOST_CLICKS, "sizes_largest": 30}
_ROUNDED = 1 + Fraction(1, 10**15)
"""A budget is read with other digits here than where the release was made; the account is exact."""

_USER_SHARES = {"selection": 50, "counts": 20, "association": 23, "sizes": 5, "coverage": 2}
"""In parts of 100, where association is looked at."""
_USER_CONSTANTS = {
    **_ROW_CONSTANTS,
    "coverage_most_clicks": 75,
    "association_head": 600,
    "association_most_categories": 800,
}
_CHANCE = 1e-9
_MANY_IDS = 2**31 - 1
_FEW_IDS = {
    "TINYINT": 2**7 - 1,
    "UTINYINT": 2**8 - 1,
    "SMALLINT": 2**15 - 1,
    "USMALLINT": 2**16 - 1,
    "FLOAT": 2**24,
}
_Stages: TypeAlias = Sequence[SpentStage]
_Shares: TypeAlias = Mapping[str, Fraction]
_Budget: TypeAlias = tuple[Fraction, Fraction]


def _constants(
    evidence: Evidence, constants: Mapping[str, int], shares: _Shares, own: _Stages
) -> Finding:
    """Whether parameters, shares and the norms of the stages but selection are as published."""
    told, names = evidence.manifest.parameters, {stage.name for stage in own}
    faults = sum(told.get(name) != value for name, value in constants.items())
    faults += sum(told.get(f"share_{name}") != str(share) for name, share in shares.items())
    # without any category there is nothing to associate, and nothing is looked at
    faults += len((names ^ (set(shares) - {"selection"})) - {"association"})
    faults += sum(part(stage, "norm_squared") != _NORM_SQUARED[stage.name] for stage in own)
    return faults == 0, f"{faults} parameters differ from the published constants"


def _scales(
    own: _Stages, selection: _Stages, shares: _Shares, budget: _Budget, *, exact: bool
) -> Finding:
    """Noise scales follow from budget and shares alone, so no log can have chosen them.

    Selection may set δ aside, and noise may need as much; unless δ is exact, a little more.
    """
    epsilon, delta = budget
    rooms = [cost([stage])[0] / shares[stage.name] for stage in own]
    room, (mu_squared, _, slack) = max(rooms), cost(selection)
    more, rounded = (Fraction(1), Fraction(1)) if exact else (1 + _CLOSE, _ROUNDED)
    faults = {
        "its stages do not share the budget as published": room - min(rooms) > _CLOSE * room,
        "selection spends more than its share": mu_squared
        > shares["selection"] * room * (1 + _CLOSE)
        or slack > delta * more,
        "noise is smaller than the budget allows": delta_at_most(epsilon, room) > delta * rounded,
        "noise is not what the budget asks for": delta_at_most(epsilon, room * (1 + 2 * _CLOSE))
        <= delta,
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, "; ".join(found) or "every noise scale follows from the budget alone"


def _strength(evidence: Evidence) -> Finding:
    """Whether the budget is one that slogan releases under, or was accepted although it is weak."""
    manifest = evidence.manifest
    _ = evidence.promised
    try:
        budget = PrivacyBudget(**manifest.budget.model_dump())
    except BudgetError as cause:
        raise NotPossibleError(f"the manifest's budget: {cause.problem}") from cause
    weak = weaknesses(manifest.kind, budget, manifest.outputs and manifest.outputs.users)
    accepted = manifest.parameters.get(ACCEPTED) == "yes"
    detail = " ".join(weakness.text for weakness in weak)
    if accepted:
        detail = f"made with --accept-weak-privacy. {detail}".strip()
    elif any(weakness.refused for weakness in weak):
        return False, f"slogan refuses this budget, and nothing says it was accepted. {detail}"
    return True, f"WEAK: {detail}" if weak else detail or "slogan warns of nothing in this budget"


def _row_constants(evidence: Evidence) -> Finding:
    stages = _row_stages(evidence)
    own = [stages["counts"], stages["sizes"]]
    return _constants(evidence, _ROW_CONSTANTS, _ROW_SHARES, own)


def _cap(evidence: Evidence) -> Finding:
    """The cap follows from the budget and the share alone, so no log can have chosen it."""
    cap, share = part(_row_stages(evidence)["sampling"], "cap"), _share(evidence)
    epsilon, delta = budget_of(evidence.promised)
    shown = shown_at_most(cap)
    within = cap <= share * epsilon * _ROUNDED and shown <= share * delta * _ROUNDED
    more = cap * (1 + _CLOSE)
    follows = within and (more > share * epsilon or shown_at_most(more) > share * delta)
    detail = f"a user is shown with a chance of at most {float(shown):.6g}, by a cap that "
    return follows, f"{detail}{'follows' if follows else 'does not follow'} from the budget"


def _row_scales(evidence: Evidence) -> Finding:
    stages = _row_stages(evidence)
    cap = part(stages["sampling"], "cap")
    epsilon, delta = budget_of(evidence.promised)
    left, aside = epsilon - cap, (delta - shown_at_most(cap)) / 2
    if left <= 0 or aside <= 0:
        return False, "sampling leaves nothing of the budget"
    own = [stages["counts"], stages["sizes"]]
    selection = [stage for name, stage in stages.items() if name not in _ROW_MECHANISMS]
    return _scales(own, selection, _ROW_SHARES, (left, aside), exact=False)


def _rate(evidence: Evidence) -> Finding:
    """No more clicks than the cap explains: users × cap on average, and 7 σ more at most."""
    clicks, users = evidence.compared.clicks, evidence.compared.users
    mean = users * float(part(_row_stages(evidence)["sampling"], "cap"))
    most = mean + 7 * math.sqrt(mean) + 20
    return clicks <= most, f"{clicks} clicks released, where the cap explains up to {most:.0f}"


def _row_stages(evidence: Evidence) -> dict[str, SpentStage]:
    listed = spent_on(evidence).stages
    stages = {stage.name: stage for stage in listed}
    mechanisms = {stage.name: stage.mechanism for stage in listed}
    expected = dict.fromkeys(stages, "gaussian") | _ROW_MECHANISMS
    if len(stages) < len(listed) or mechanisms != expected or len(expected) == len(_ROW_MECHANISMS):
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


PRIVATE_ROWS: Checks = {
    "users_from_log": users_from_log,
    "strength": _strength,
    "account": account,
    "constants": _row_constants,
    "cap": _cap,
    "scales": _row_scales,
    "rate": _rate,
}


def _user_constants(evidence: Evidence) -> Finding:
    own = [stage for stage in spent_on(evidence).stages if stage.name in _NORM_SQUARED]
    return _constants(evidence, _USER_CONSTANTS, _user_shares(evidence), own)


def _user_scales(evidence: Evidence) -> Finding:
    stages, shares = spent_on(evidence).stages, _user_shares(evidence)
    own = [stage for stage in stages if stage.name in _NORM_SQUARED]
    selection = [stage for stage in stages if stage.name not in _NORM_SQUARED]
    if not own or not selection or any(stage.mechanism != "gaussian" for stage in stages):
        raise NotPossibleError("the manifest lists other stages than such a release has")
    if any(stage.name not in shares for stage in own):
        raise NotPossibleError("the manifest lists stages without a share of the budget")
    epsilon, delta = budget_of(evidence.promised)
    return _scales(own, selection, shares, (epsilon, delta / 2), exact=True)


def _user_shares(evidence: Evidence) -> dict[str, Fraction]:
    looks = evidence.manifest.parameters.get("association") != "independent"
    parts = {name: n for name, n in _USER_SHARES.items() if looks or name != "association"}
    return {name: Fraction(n, sum(parts.values())) for name, n in parts.items()}


def _noise(evidence: Evidence) -> Finding:
    """Released counts differ from the clipped ones as much as the noise they are said to have."""
    if evidence.manifest.parameters.get("output_size") is not None:
        return True, "counts were brought to a given size, so their noise cannot be seen"
    stage = next((s for s in spent_on(evidence).stages if s.name == "counts"), None)
    if stage is None:
        raise NotPossibleError("the manifest lists no stage of counts")
    rows = evidence.compared.clipped(_NORM, _MOST_CLICKS)
    n, variance = len(rows), float(part(stage, "variance"))
    if not n:
        return False, "no released pair is in the input log"
    found = math.fsum((released - clipped) ** 2 for released, clipped in rows) / variance
    # counts that noise made negative are not released, so a little less is seen than was drawn
    low = min(float(chdtri(n, 1 - _CHANCE)), n / 2)
    high = max(float(chdtri(n, _CHANCE)), 1.5 * n)
    detail = f"{n} counts have {found / n:.3f} times the variance of the noise claimed"
    return low <= found <= high, f"{detail} (accepted: {low / n:.3f} to {high / n:.3f})"


def _synthetic_users(evidence: Evidence) -> Finding:
    users, real, plain = evidence.compared.shown_ids()
    outputs = evidence.manifest.outputs
    by_chance = users * evidence.compared.users / _possible_ids(evidence)
    most = by_chance + 7 * math.sqrt(by_chance) + 7
    detail = f"{users} synthetic users, {real} with an ID of the input log, where chance explains "
    detail += f"up to {most:.0f}; {users - plain} IDs are neither digits nor UUIDs"
    as_told = outputs is not None and users <= outputs.users
    if not as_told:
        detail += "; more users than the manifest says"
    return real <= most and plain == users and as_told, detail


def _possible_ids(evidence: Evidence) -> int:
    """At least so many fresh IDs fit the type of the user column."""
    _, shown = evidence.logs()
    user_type, columns = "VARCHAR", shown.log.columns
    if shown.log.format == "parquet":
        column, *fields = columns.path(columns.user)
        kind: Any = evidence.sql.sqltype(types_of(evidence.sql, shown)[columns.names.index(column)])
        for field in fields:
            kind = dict(kind.children)[field]
        user_type = str(kind)
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", user_type):
        return min(10 ** (int(digits[1]) - int(digits[2])) - 1, _MANY_IDS)
    return _FEW_IDS.get(user_type, _MANY_IDS)


SYNTHETIC_USERS: Checks = {
    "strength": _strength,
    "account": account,
    "constants": _user_constants,
    "scales": _user_scales,
    "noise": _noise,
    "synthetic_users": _synthetic_users,
}
