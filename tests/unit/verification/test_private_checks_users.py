"""The verifier's checks of a synthetic release, each next to its bounds: no log, only numbers."""

from fractions import Fraction
from types import SimpleNamespace

import pytest

from slogan.budget import PrivacyBudget
from slogan.dp.statistics import constants, spread
from slogan.dp.sums import MOST_COVERED, NORM
from slogan.manifest.manifest import SpentStage
from slogan.verification import private_checks as checks
from slogan.verification.accounting import delta_at_most, log_at_most
from slogan.verification.conditions import Bounds
from slogan.verification.evidence import NotPossibleError

PUBLISHED = {
    looks: constants(spread(PrivacyBudget(epsilon=1, delta="1e-5"), association=looks))
    for looks in (True, False)
}
NORMS = {"counts": NORM**2, "sizes": 1, "coverage": MOST_COVERED**2, "association": 1}
ROOM = Fraction(1, 2)
"""What all stages spend together, as μ²."""
EPSILON = log_at_most(Fraction(3))
DELTA = 2 * delta_at_most(EPSILON, ROOM)
HAIR = Fraction(1, 10**20)


def stage(name, mu_squared, *, norm=1, slack=0):
    fields = {"norm_squared": norm, "variance": Fraction(norm) / mu_squared, "slack": slack}
    texts = {key: str(value) for key, value in fields.items()}
    return SpentStage(name=name, mechanism="gaussian", parameters=texts, theorem="none", cost={})


class Release(SimpleNamespace):
    """An honest manifest, with the changes of a test."""

    def __init__(
        self, *, looks=True, spend=None, slack=DELTA / 2, without=(), norms=None, **fields
    ):
        parameters = {"association": "domains" if looks else "independent", **PUBLISHED[looks]}
        shares = {
            name.removeprefix("share_"): Fraction(share)
            for name, share in parameters.items()
            if name.startswith("share_")
        }
        norms = NORMS | (norms or {})
        stages = [
            stage(
                "weights" if name == "selection" else name,
                share * ROOM * (spend or {}).get(name, 1),
                norm=norms.get(name, 1),
                slack=slack if name == "selection" else 0,
            )
            for name, share in shares.items()
            if name not in without
        ]
        stages += fields.pop("more", [])
        account = SimpleNamespace(stages=stages)
        super().__init__(
            manifest=SimpleNamespace(
                parameters=parameters | fields, account=account, log=SimpleNamespace(events=None)
            ),
            promised=Bounds(likelihood=Fraction(3), appearance=1 / (1 - DELTA)),
        )


# --- constants ---

DIFFERENT = "parameters that differ from their documented values: {}"


@pytest.mark.parametrize("looks", [True, False])
def test_the_published_constants_are_accepted(looks):
    expected = "all parameters have their documented values"
    assert checks._user_constants(Release(looks=looks)) == (True, expected)


def test_counts_have_the_share_of_an_association_that_was_not_measured():
    share = {name: Fraction(PUBLISHED[True][f"share_{name}"]) for name in ("counts", "association")}
    more = {"counts": 1 + share["association"] / share["counts"]}
    assert checks._user_constants(Release(without=["association"], spend=more))[0]
    assert checks._user_scales(Release(without=["association"], spend=more))[0]
    assert not checks._user_scales(Release(without=["association"]))[0]


@pytest.mark.parametrize("looks", [True, False])
def test_every_constant_that_differs_is_counted(looks):
    judged = [name for name in PUBLISHED[looks] if name != "selection_delta"]
    for name in judged:
        fields = PUBLISHED[looks][name]
        for other in (None, str(fields) + "0", fields + 1 if isinstance(fields, int) else "1/3"):
            found = checks._user_constants(Release(looks=looks, **{name: other}))
            assert found == (False, DIFFERENT.format(1)), name
    for name in NORMS if looks else NORMS.keys() - {"association"}:
        found = checks._user_constants(Release(looks=looks, norms={name: NORMS[name] + 1}))
        assert found == (False, DIFFERENT.format(1)), name
    for name in ("counts", "sizes", "coverage"):
        found = checks._user_constants(Release(looks=looks, without=[name]))
        assert found == (False, DIFFERENT.format(1)), name


def test_faults_of_several_kinds_add_up():
    release = Release(
        without=["coverage"],
        norms={"counts": 35},
        share_sizes="1/3",
        counts_norm=5,
        sizes_largest=9,
    )
    assert checks._user_constants(release) == (False, DIFFERENT.format(5))
    for two in (
        {"share_sizes": "1/3", "counts_norm": 5},
        {"share_sizes": "1/3", "without": ["coverage"]},
        {"without": ["sizes"], "norms": {"counts": 35}},
        {"counts_norm": 5, "norms": {"counts": 35}},
    ):
        assert checks._user_constants(Release(**two)) == (False, DIFFERENT.format(2))


# --- scales ---

SHARED = "the stages do not share the budget as documented"
SELECTION = "selection spends more than its share"
SMALLER = "noise is smaller than the budget allows"
OTHER = "noise is larger than the budget requires"


def scales(**spend):
    return checks._user_scales(Release(spend=spend))


def everything(times):
    return dict.fromkeys(["selection", *NORMS], times)


@pytest.mark.parametrize("looks", [True, False])
def test_noise_that_the_budget_requires_is_accepted(looks):
    expected = "every noise scale follows from the budget alone"
    assert checks._user_scales(Release(looks=looks)) == (True, expected)


def test_the_budget_may_be_met_and_not_exceeded():
    assert scales(**everything(1 + HAIR)) == (False, SMALLER)
    assert scales(counts=1 + HAIR) == (False, SMALLER)  # one stage alone
    assert scales(**everything(Fraction(3, 2))) == (False, SMALLER)


def test_noise_may_be_two_per_mille_larger_for_the_grid():
    edge = 1 / (1 + Fraction(2, 1000))
    assert scales(**everything(edge * (1 + HAIR)))[0]
    assert scales(**everything(edge)) == (False, OTHER)
    assert scales(**everything(Fraction(1, 10))) == (False, OTHER)


@pytest.mark.parametrize("name", NORMS)
def test_stages_may_differ_by_one_per_mille(name):
    assert scales(**{name: 1 - Fraction(1, 1000)})[0]
    assert scales(**{name: 1 - Fraction(1, 1000) - HAIR}) == (False, SHARED)
    assert scales(**{name: Fraction(1, 2)}) == (False, SHARED)


def test_selection_may_spend_its_share():
    assert scales(selection=Fraction(1, 1000))[0]
    assert scales(selection=1 + Fraction(1, 1000))[0]
    assert scales(selection=1 + Fraction(1, 1000) + HAIR) == (False, SELECTION)
    assert checks._user_scales(Release(slack=DELTA / 2 + HAIR)) == (False, SELECTION)
    assert checks._user_scales(Release(slack=0))[0]


def test_every_fault_of_the_scales_is_reported():
    found = checks._user_scales(
        Release(spend={"counts": 2, "selection": 5, "sizes": Fraction(1, 9)}, slack=DELTA)
    )
    assert found == (False, f"{SHARED}; {SELECTION}; {SMALLER}")


def test_a_stage_without_a_share_is_refused():
    more = [stage("association", Fraction(1, 100))]
    with pytest.raises(NotPossibleError, match="without a share"):
        checks._user_scales(Release(looks=False, more=more))


def sampling(name):
    fields = {"cap": "1/1000000"}
    return SpentStage(
        name=name, mechanism="capped_sampling", parameters=fields, theorem="none", cost={}
    )


@pytest.mark.parametrize(
    "release",
    [
        Release(without=NORMS),
        Release(without=["selection"]),
        Release(without=["selection"], more=[sampling("selection")]),
        Release(more=[sampling("sampling")]),
        Release(without=["counts"], more=[sampling("counts")]),
        Release(without=NORMS, more=[sampling(name) for name in NORMS]),
    ],
)
def test_stages_that_such_a_release_does_not_have_are_refused(release):
    with pytest.raises(NotPossibleError, match="does not list the stages"):
        checks._user_scales(release)
