"""Checks of releases of one pair of each user: constants, noise of bounded size, users.

Noise is at most its reach, so most of what a release must be follows without any chance.
"""

import math
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats
from slogan.manifest.manifest import Manifest, Outputs, SpentStage
from slogan.verification.accounting import part, shown_alone
from slogan.verification.contributions import look
from slogan.verification.evidence import Evidence, Finding, NotPossibleError
from slogan.verification.mechanism import FALSE_ALARM, at_least

_SHARES = {"draw": Fraction(199, 200), "users": Fraction(1, 200)}
_MECHANISMS = {"draw": "truncated_geometric", "users": "pure"}
_CLOSE = Fraction(1, 10**6)
_KEPT_AS_MEASURED = ("output_size", "frequent_pairs", None)


def is_one(manifest: Manifest) -> bool:
    """Whether one pair of each user counted, by a declaration or by a look."""
    stages = () if manifest.account is None else manifest.account.stages
    looked = manifest.parameters.get("contributions") == "auto"
    drawn = any(stage.name == "draw" for stage in stages)
    return manifest.parameters.get("contributions") == "one" or (looked and drawn)


def _stages(evidence: Evidence) -> tuple[SpentStage, SpentStage]:
    listed = look.stages_after(evidence)
    if [(stage.name, stage.mechanism) for stage in listed] != [*_MECHANISMS.items()]:
        raise NotPossibleError("the manifest does not list the stages of such a release")
    return listed[0], listed[1]


def constants(evidence: Evidence) -> Finding:
    """Check that the stages are those of such a release, with the documented shares of ε."""
    parameters = evidence.manifest.parameters
    draw, users = _stages(evidence)
    faults = sum(parameters.get(f"share_{name}") != str(part) for name, part in _SHARES.items())
    faults += parameters.get("association") != "independent"
    faults += look.faults(evidence)
    both = part(draw, "epsilon") + part(users, "epsilon")
    faults += part(draw, "epsilon") != both * _SHARES["draw"]
    if faults == 0:
        return True, "all parameters have their documented values"
    return False, f"parameters that differ from their documented values: {faults}"


def scales(evidence: Evidence) -> Finding:
    """Check that the noise follows from the budget alone, and not from the log."""
    epsilon, delta = look.budget_after(evidence)
    draw, users = _stages(evidence)
    spent, aside = part(draw, "epsilon") + part(users, "epsilon"), shown_alone(draw)
    faults = {
        "noise is smaller than the budget allows": spent > epsilon or aside > delta,
        "noise is larger than the budget requires": spent < epsilon * (1 - _CLOSE)
        or aside < delta * (1 - _CLOSE),
    }
    found = [fault for fault, present in faults.items() if present]
    return not found, "; ".join(found) or "every noise scale follows from the budget alone"


def selectable(evidence: Evidence) -> Finding:
    """Check that each number is within the reach of noise of what users can have contributed."""
    if evidence.manifest.parameters.get("objective") not in _KEPT_AS_MEASURED:
        return True, "not checked: the objective changes the counts"
    reach = float(part(_stages(evidence)[0], "reach"))
    shown, holders, alone = evidence.compared.numbers_of_users()
    faults = int(((shown < reach) | (shown > holders + reach) | (shown < alone - reach)).sum())
    if faults:
        return False, f"{faults} released pairs have numbers that no noise explains"
    return True, f"noise explains the numbers of all {len(shown)} released pairs"


def noise(evidence: Evidence) -> Finding:
    """Check that the noise of pairs whose users hold no other pair has its law."""
    if evidence.manifest.parameters.get("output_size") is not None:
        return True, "not checked: the objective changes the counts, so their noise is not visible"
    draw = _stages(evidence)[0]
    shown, holders, alone = evidence.compared.numbers_of_users()
    known = holders == alone
    drawn = (shown - holders)[known]
    at, laws = _laws(draw, holders[known])
    faults = {
        "its sum": _chance(laws, at, float(drawn.sum())) < FALSE_ALARM,
        "its squares": _chance(laws, at**2, float((drawn**2).sum())) < FALSE_ALARM,
        "numbers without noise": at_least(int((drawn == 0).sum()), float(laws[:, at == 0].sum()))
        < FALSE_ALARM,
    }
    found = [fault for fault, present in faults.items() if present]
    if found:
        return False, f"the noise of {len(drawn)} numbers is not as claimed: {', '.join(found)}"
    return True, f"chance explains the noise of {len(drawn)} numbers"


def _laws(draw: SpentStage, users: Floats) -> tuple[Floats, Floats]:
    """The values of noise, and their chances for a released pair of each number of users."""
    reach, often = int(part(draw, "reach")), float(part(draw, "often"))
    at = np.arange(-reach, reach + 1, dtype=float)
    laws = np.zeros((len(users), len(at)))
    for most, share in ((reach, often), (reach - 1, 1 - often)):
        mass = np.exp(-float(part(draw, "epsilon")) * np.abs(at)) * (np.abs(at) <= most)
        laws += share * mass / mass.sum() * (users[:, None] + at > most)
    return at, laws / np.maximum(laws.sum(axis=1, keepdims=True), 1e-300)


def _chance(laws: Floats, value: Floats, total: float) -> float:
    """A bound on the chance of a sum of such values as far from its mean as this (Chernoff)."""
    mean = laws @ value
    gap = total - float(mean.sum())
    centred = math.copysign(1.0, gap) * (value - mean[:, None])
    bounds = [0.0]
    for power in np.geomspace(1e-6, 2.0, 60).tolist():
        grown = np.log((laws * np.exp(np.minimum(power * centred, 600.0))).sum(axis=1)).sum()
        bounds.append(float(grown) - power * abs(gap))
    return min(1.0, 2 * math.exp(min(bounds)))


def outputs(evidence: Evidence) -> Finding:
    """Check that the published numbers of users are those of the draw and of its noise."""
    published = evidence.manifest.outputs
    if not isinstance(published, Outputs):
        raise NotPossibleError("the manifest has no outputs")
    rate = float(part(_stages(evidence)[1], "epsilon"))
    everyone = published.clicks_released + published.clicks_other
    bins = published.users_by_pairs
    _, clicks, pairs = evidence.compared.shown_users()
    measured = (published.clicks_released, published.clicks_other)
    faults = {
        # noise of e^(−rate·|x|) is so large with a chance of at most 2·FALSE_ALARM
        "all users": abs(everyone - evidence.compared.users) > -math.log(FALSE_ALARM) / rate + 1,
        "users by pairs": (bins[1], bins[0]) != measured or any(bins[2:]),
        "users of one pair and one click": bool((clicks != 1).any() or (pairs != 1).any()),
        "synthetic users": evidence.compared.clicks != published.clicks_released
        and evidence.manifest.parameters.get("output_size") is None
        and evidence.manifest.parameters.get("objective") in _KEPT_AS_MEASURED,
    }
    wrong = [name for name, present in faults.items() if present]
    if wrong:
        return False, f"some published figures are not this log's plus noise: {', '.join(wrong)}"
    return True, "the published figures are the log's plus noise of the stated size"
