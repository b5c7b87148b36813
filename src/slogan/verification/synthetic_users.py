"""Checks of a release by `synthesize`: its account, its constants, its noise, its users."""

from __future__ import annotations

import math
import re
from fractions import Fraction

from scipy.special import chdtri

from slogan.verification.accounting import account, cost, delta_at_most, log_at_most, part, spent_on
from slogan.verification.comparison import types_of
from slogan.verification.evidence import Checks, Evidence, Finding, NotPossibleError

_SHARES = {"selection": 50, "counts": 20, "association": 23, "sizes": 5, "coverage": 2}
"""In parts of 100, where association is looked at."""
_NORM_SQUARED = {"counts": 6**2, "sizes": 1, "coverage": 75**2, "association": 1}
_CONSTANTS = {
    "counts_norm": 6,
    "counts_most_clicks": 2**15,
    "sizes_largest": 30,
    "coverage_most_clicks": 75,
    "association_head": 600,
    "association_most_categories": 800,
}
_CLOSE = Fraction(1, 1000)
"""Noise scales are rounded up to a grid, and budgets down."""
_CHANCE = 1e-9
_MANY_IDS = 2**31 - 1
_FEW_IDS = {
    "TINYINT": 2**7 - 1,
    "UTINYINT": 2**8 - 1,
    "SMALLINT": 2**15 - 1,
    "USMALLINT": 2**16 - 1,
    "FLOAT": 2**24,
}


def _constants(evidence: Evidence) -> Finding:
    told, faults = evidence.manifest.parameters, 0
    faults += sum(told.get(name) != value for name, value in _CONSTANTS.items())
    shares = _shares(told.get("association") != "independent")
    faults += sum(told.get(f"share_{name}") != str(part) for name, part in shares.items())
    own = {stage.name: stage for stage in spent_on(evidence).stages if stage.name in _NORM_SQUARED}
    expected = set(shares) - {"selection"}
    # without any category there is nothing to associate, and nothing is looked at
    faults += len((set(own) ^ expected) - {"association"})
    faults += sum(part(s, "norm_squared") != _NORM_SQUARED[name] for name, s in own.items())
    return faults == 0, f"{faults} parameters differ from the published constants"


def _scales(evidence: Evidence) -> Finding:
    """Noise scales follow from the budget and the shares alone, so no log can have chosen them."""
    spent, told = spent_on(evidence), evidence.manifest.parameters
    shares = _shares(told.get("association") != "independent")
    own = [stage for stage in spent.stages if stage.name in _NORM_SQUARED]
    selection = [stage for stage in spent.stages if stage.name not in _NORM_SQUARED]
    if not own or not selection or any(stage.mechanism != "gaussian" for stage in spent.stages):
        raise NotPossibleError("the manifest lists other stages than such a release has")
    rooms = [cost([stage])[0] / shares[stage.name] for stage in own if stage.name in shares]
    if len(rooms) < len(own):
        raise NotPossibleError("the manifest lists stages without a share of the budget")
    room, spread = max(rooms), (max(rooms) - min(rooms)) / max(rooms)
    chosen, _, aside = cost(selection)
    epsilon, delta = log_at_most(evidence.promised.likelihood), 1 - 1 / evidence.promised.appearance
    faults = {
        "its stages do not share the budget as published": spread > _CLOSE,
        "selection spends more than its share": chosen > shares["selection"] * room * (1 + _CLOSE)
        or aside > delta / 2,
        "noise is smaller than the budget allows": delta_at_most(epsilon, room) > delta / 2,
        "noise is not what the budget asks for": delta_at_most(epsilon, room * (1 + 2 * _CLOSE))
        <= delta / 2,
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, "; ".join(found) or "every noise scale follows from the budget alone"


def _noise(evidence: Evidence) -> Finding:
    """Released counts differ from the clipped ones as much as the noise they are said to have."""
    if evidence.manifest.parameters.get("output_size") is not None:
        return True, "counts were brought to a given size, so their noise cannot be seen"
    stage = next((s for s in spent_on(evidence).stages if s.name == "counts"), None)
    if stage is None:
        raise NotPossibleError("the manifest lists no stage of counts")
    rows = evidence.compared.clipped(_CONSTANTS["counts_norm"], _CONSTANTS["counts_most_clicks"])
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
    columns = shown.log.columns
    user_type = types_of(evidence.sql, shown)[columns.names.index(columns.user)]
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", user_type):
        return min(10 ** (int(digits[1]) - int(digits[2])) - 1, _MANY_IDS)
    return _FEW_IDS.get(user_type, _MANY_IDS)


def _shares(association: bool) -> dict[str, Fraction]:
    kept = {n: part for n, part in _SHARES.items() if association or n != "association"}
    return {name: Fraction(part, sum(kept.values())) for name, part in kept.items()}


CHECKS: Checks = {
    "account": account,
    "constants": _constants,
    "scales": _scales,
    "noise": _noise,
    "synthetic_users": _synthetic_users,
}
