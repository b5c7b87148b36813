"""Checks of releases by `sanitize --counts private` and `synthesize`: constants, noise, users.

The conditions of Theorems R and S are computed again from the manifest and both logs.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TypeAlias

from slogan.budget import PrivacyBudget
from slogan.errors import BudgetError
from slogan.manifest.manifest import SpentStage
from slogan.manifest.promise import ACCEPTED, weaknesses
from slogan.verification import fields
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
from slogan.verification.conditions import rational
from slogan.verification.contributions import look, one_pair
from slogan.verification.evidence import Checks, Evidence, Finding, NotPossibleError
from slogan.verification.mechanism import (
    LARGEST,
    MOST_CLICKS,
    MOST_COVERED,
    NORM,
    counts_noisy,
    outputs_noisy,
    selectable,
)
from slogan.verification.users import dealt

_NORM_SQUARED = {
    "counts": NORM**2,
    "sizes": 1,
    "coverage": MOST_COVERED**2,
    "association": 1,
    **fields.NORM_SQUARED,
}
"""By stage, for all stages but selection."""
_CLOSE = Fraction(1, 1000)
"""Noise scales are rounded up to a grid, and budgets down."""

_ROW_SHARES = {"selection": Fraction(7, 10), "counts": Fraction(1, 4), "sizes": Fraction(1, 20)}
_ROW_MECHANISMS = {"counts": "gaussian", "sizes": "gaussian", "sampling": "capped_sampling"}
"""Of the stages of every such release; any other stage selects pairs, with Gaussian noise."""
_ROW_CONSTANTS = {
    "counts_norm": NORM,
    "counts_most_clicks": MOST_CLICKS,
    "sizes_largest": LARGEST,
}
_ROUNDED = 1 + Fraction(1, 10**15)
"""Allows for another rounding of the budget where the release was made; the account is exact."""

_USER_SHARES = {"selection": 50, "counts": 20, "association": 23, "sizes": 5, "coverage": 2}
"""In percent, for releases that measure association."""
_USER_CONSTANTS = {
    **_ROW_CONSTANTS,
    "coverage_most_clicks": MOST_COVERED,
    "association_head": 600,
    "association_most_categories": 800,
}
_Stages: TypeAlias = Sequence[SpentStage]
_Shares: TypeAlias = Mapping[str, Fraction]
_Budget: TypeAlias = tuple[Fraction, Fraction]


def _constants(
    evidence: Evidence, constants: Mapping[str, int], shares: _Shares, own: _Stages
) -> Finding:
    """Check parameters, shares, and the norms of all stages but selection, against the docs."""
    parameters, names = evidence.manifest.parameters, {stage.name for stage in own}
    faults = sum(parameters.get(name) != value for name, value in constants.items())
    faults += sum(parameters.get(f"share_{name}") != str(share) for name, share in shares.items())
    # what the noise would hide is not measured
    left_out = {"association", *fields.dropped(evidence.manifest)}
    faults += len((names ^ (set(shares) - {"selection"})) - left_out)
    faults += sum(part(stage, "norm_squared") != _NORM_SQUARED[stage.name] for stage in own)
    if faults == 0:
        return True, "all parameters have their documented values"
    return False, f"parameters that differ from their documented values: {faults}"


def _scales(
    own: _Stages, selection: _Stages, shares: _Shares, budget: _Budget, *, exact: bool
) -> Finding:
    """Check that noise scales follow from budget and shares alone, and not from the log.

    Selection may set δ aside, and noise may need as much; slightly more unless δ is exact.
    """
    epsilon, delta = budget
    rooms = [cost([stage])[0] / shares[stage.name] for stage in own]
    room, (mu_squared, _, slack) = max(rooms), cost(selection)
    more, rounded = (Fraction(1), Fraction(1)) if exact else (1 + _CLOSE, _ROUNDED)
    faults = {
        "the stages do not share the budget as documented": room - min(rooms) > _CLOSE * room,
        "selection spends more than its share": mu_squared
        > shares["selection"] * room * (1 + _CLOSE)
        or slack > delta * more,
        "noise is smaller than the budget allows": delta_at_most(epsilon, room) > delta * rounded,
        "noise is larger than the budget requires": delta_at_most(epsilon, room * (1 + 2 * _CLOSE))
        <= delta,
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, "; ".join(found) or "every noise scale follows from the budget alone"


def _strength(evidence: Evidence) -> Finding:
    """Check that slogan allows the budget, or that a weak one was accepted explicitly."""
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
        return False, f"slogan refuses this budget without --accept-weak-privacy. {detail}"
    return True, f"WEAK: {detail}" if weak else detail or "slogan has no warning for this budget"


def _row_constants(evidence: Evidence) -> Finding:
    stages = _row_stages(evidence)
    own = [stages["counts"], stages["sizes"]]
    return _constants(evidence, _ROW_CONSTANTS, _ROW_SHARES, own)


def _cap(evidence: Evidence) -> Finding:
    """Check that the cap follows from the budget and the share alone, and not from the log."""
    cap, share = part(_row_stages(evidence)["sampling"], "cap"), _share(evidence)
    epsilon, delta = budget_of(evidence.promised)
    shown = shown_at_most(cap)
    within = cap <= share * epsilon * _ROUNDED and shown <= share * delta * _ROUNDED
    more = cap * (1 + _CLOSE)
    follows = within and (more > share * epsilon or shown_at_most(more) > share * delta)
    detail = f"rows of a given user appear with a chance of at most {float(shown):.6g}; this cap "
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
    """Check that the clicks fit the cap: users × cap on average, and 7 σ more at most."""
    clicks, users = evidence.compared.clicks, evidence.compared.users
    mean = users * float(part(_row_stages(evidence)["sampling"], "cap"))
    most = mean + 7 * math.sqrt(mean) + 20
    return clicks <= most, f"{clicks} clicks released; the cap explains up to {most:.0f}"


def _row_stages(evidence: Evidence) -> dict[str, SpentStage]:
    listed = spent_on(evidence).stages
    stages = {stage.name: stage for stage in listed}
    mechanisms = {stage.name: stage.mechanism for stage in listed}
    expected = dict.fromkeys(stages, "gaussian") | _ROW_MECHANISMS
    if len(stages) < len(listed) or mechanisms != expected or len(expected) == len(_ROW_MECHANISMS):
        raise NotPossibleError("the manifest does not list the stages of such a release")
    return stages


def _share(evidence: Evidence) -> Fraction:
    try:
        share = rational(str(evidence.manifest.parameters.get("sampling_share")))
    except BudgetError:
        share = Fraction(0)
    if not 0 < share < 1:
        raise NotPossibleError("the manifest has no usable sampling_share")
    return share


PRIVATE_ROWS_ACCOUNT: Checks = {
    "strength": _strength,
    "account": account,
    "constants": _row_constants,
    "cap": _cap,
    "scales": _row_scales,
}
PRIVATE_ROWS: Checks = {
    "users_from_log": users_from_log,
    "selectable": selectable,
    "outputs": outputs_noisy,
    "rate": _rate,
}


def _user_constants(evidence: Evidence) -> Finding:
    own = [stage for stage in spent_on(evidence).stages if stage.name in _NORM_SQUARED]
    if look.faults(evidence):
        return False, "the look at contributions does not have its documented share of the budget"
    constants = _USER_CONSTANTS | fields.constants(evidence.manifest)
    return _constants(evidence, constants, _user_shares(evidence), own)


def _user_scales(evidence: Evidence) -> Finding:
    stages = look.stages_after(evidence)
    shares = _spent_shares(evidence, stages)
    own = [stage for stage in stages if stage.name in _NORM_SQUARED]
    selection = [stage for stage in stages if stage.name not in _NORM_SQUARED]
    if not own or not selection or any(stage.mechanism != "gaussian" for stage in stages):
        raise NotPossibleError("the manifest does not list the stages of such a release")
    if any(stage.name not in shares for stage in own):
        raise NotPossibleError("the manifest lists stages without a share of the budget")
    room = max(cost([stage])[0] / shares[stage.name] for stage in own)
    if not fields.follow(evidence.manifest, room):
        return False, "other stages are left out than those that the noise would drown"
    epsilon, delta = look.budget_after(evidence)
    return _scales(own, selection, shares, (epsilon, delta / 2), exact=True)


def _user_shares(evidence: Evidence) -> dict[str, Fraction]:
    looks = evidence.manifest.parameters.get("association") != "independent"
    parts = {name: n for name, n in _USER_SHARES.items() if looks or name != "association"}
    more = fields.shares(evidence.manifest)
    rest = 1 - sum(more.values(), Fraction(0))
    return {name: rest * n / sum(parts.values()) for name, n in parts.items()} | more


def _spent_shares(evidence: Evidence, stages: _Stages) -> dict[str, Fraction]:
    """The counts have the shares of stages that were not measured."""
    shares = _user_shares(evidence)
    left_out = {"association", *fields.dropped(evidence.manifest)} & shares.keys()
    for name in left_out - {stage.name for stage in stages}:
        shares["counts"] += shares.pop(name)
    return shares


def _by_contributions(
    several: Callable[[Evidence], Finding], one: Callable[[Evidence], Finding]
) -> Callable[[Evidence], Finding]:
    """The check for how many pairs of a user counted."""
    return lambda evidence: (one if one_pair.is_one(evidence.manifest) else several)(evidence)


def _selectable(evidence: Evidence) -> Finding:
    """Check that noise explains how many pairs of a user counted, and the released pairs."""
    one = one_pair.is_one(evidence.manifest)
    looked = look.possible(evidence, one=one)
    if not looked[0]:
        return looked
    return (one_pair.selectable if one else selectable)(evidence)


SYNTHETIC_USERS_ACCOUNT: Checks = {
    "strength": _strength,
    "account": account,
    "constants": _by_contributions(_user_constants, one_pair.constants),
    "scales": _by_contributions(_user_scales, one_pair.scales),
}


def _public_pairs(evidence: Evidence) -> Finding:
    """Check that as many pairs are public, by the files given, as the manifest says."""
    stated, number = evidence.manifest.parameters.get("public_pairs"), evidence.declared
    if (stated or 0) != number:
        return False, f"{number:,} pairs are public by the files given, not as many as stated"
    if not number:
        return True, "no pair was declared public"
    return True, f"{number:,} pairs are those of the named files; that they are public is your word"


SYNTHETIC_USERS: Checks = {
    "public_pairs": _public_pairs,
    "selectable": _selectable,
    "noise": _by_contributions(counts_noisy, one_pair.noise),
    "outputs": _by_contributions(outputs_noisy, one_pair.outputs),
    "synthetic_users": dealt,
}
