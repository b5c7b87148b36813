"""The look that decides how many pairs of a user count: its cost, and what it may have decided.

Where it was declared, there is no such look.
"""

import math
from collections.abc import Sequence
from fractions import Fraction

from slogan.manifest.manifest import SpentStage
from slogan.verification.accounting import budget_of, part, spent_on
from slogan.verification.evidence import Evidence, Finding, NotPossibleError
from slogan.verification.mechanism import FALSE_ALARM

_NAME, _SHARE = "contributions", Fraction(1, 100)
_ONE, _TWO, _MORE = -4, -1, 5
"""What users with one pair, with two, and with more add to the sum that decides."""
_CLOSE = Fraction(1, 10**6)


def _look(evidence: Evidence) -> SpentStage | None:
    """The stage of the look, which comes first; None where it was declared."""
    if evidence.manifest.parameters.get("contributions") != "auto":
        return None
    first = next(iter(spent_on(evidence).stages), None)
    if first is None or (first.name, first.mechanism) != (_NAME, "pure"):
        raise NotPossibleError("the manifest does not list the look at contributions first")
    return first


def stages_after(evidence: Evidence) -> Sequence[SpentStage]:
    """The stages of a release but this one."""
    stages = spent_on(evidence).stages
    return stages if _look(evidence) is None else stages[1:]


def budget_after(evidence: Evidence) -> tuple[Fraction, Fraction]:
    """What the look leaves of ε, and δ."""
    epsilon, delta = budget_of(evidence.promised)
    look = _look(evidence)
    return (epsilon if look is None else epsilon - part(look, "epsilon")), delta


def faults(evidence: Evidence) -> int:
    """How many figures of the look are not the documented ones."""
    look, stated = _look(evidence), evidence.manifest.parameters.get(f"share_{_NAME}")
    if look is None:
        return int(stated is not None)
    due = _SHARE * budget_of(evidence.promised)[0]
    follows = due * (1 - _CLOSE) <= part(look, "epsilon") <= due
    return (not follows) + (stated != str(_SHARE))


def possible(evidence: Evidence, *, one: bool) -> Finding:
    """Check that noise may have made the look decide as the release was made."""
    look = _look(evidence)
    if look is None:
        return True, ""
    more, many = (evidence.compared.longer(n) for n in (1, 2))
    users = evidence.compared.users
    exact = _ONE * (users - more) + _TWO * (more - many) + _MORE * many
    # noise of e^(−rate·|x|) is so large with a chance of at most FALSE_ALARM
    most = -math.log(FALSE_ALARM) * _MORE / float(part(look, "epsilon")) + 1
    if (exact if one else -exact) > most:
        return False, "the look at contributions would have decided otherwise"
    return True, ""
