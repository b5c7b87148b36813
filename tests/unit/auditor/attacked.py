"""Every mode under attack, and what an attack caught."""

import slogan

CONDITIONAL = slogan.PrivacyBudget(exp_epsilon="2", delta="0.5")
END_TO_END = slogan.PrivacyBudget(epsilon="4", delta="0.1")
FEW = slogan.PrivacyBudget(epsilon="1", delta="1e-3")
MODES = {
    "exact": (slogan.ExactCounts(), CONDITIONAL),
    "laplace": (slogan.LaplaceCounts(bound="5", epsilon="1"), CONDITIONAL),
    "private": (slogan.PrivateCounts(), END_TO_END),
    "synthetic": (slogan.SyntheticUsers(), END_TO_END),
    "one": (slogan.SyntheticUsers(contributions="one"), FEW),
}


def attacked(log, mode, trials=2_000, *, time_limit=0.5, **options):
    kind, budget = MODES[mode]
    return slogan.audit(log, budget, kind, trials=trials, time_limit=time_limit, seed=1, **options)


def caught(found):
    return {a.target for a in found.attacks if not a.ok}
