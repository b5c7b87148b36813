"""Checks of the numbers of a release with private counts; without a log or a release."""

from copy import deepcopy
from fractions import Fraction
from functools import cache
from itertools import combinations_with_replacement
from types import SimpleNamespace

import pytest

from slogan.budget import PrivacyBudget
from slogan.dp.accounting import Account, Gaussian, variance
from slogan.dp.private_rows import divide
from slogan.manifest.manifest import SpentStage
from slogan.verification import private_checks as checks
from slogan.verification.accounting import account, log_at_most, shown_at_most
from slogan.verification.conditions import Bounds, bounds_of
from slogan.verification.evidence import NotPossibleError
from slogan.workflows.sanitize_private import _constants as constants_of

EDGE_OF_EPSILON = PrivacyBudget(epsilon="0.1", delta="0.5")
"""Half of this ε allows a smaller cap than half of this δ."""
EDGE_OF_DELTA = PrivacyBudget(epsilon="1", delta="1e-6")
BUDGETS = [
    (EDGE_OF_EPSILON, "1/2"),
    (EDGE_OF_DELTA, "1/2"),
    (PrivacyBudget(epsilon="4", delta="0.5"), "1e-9"),
    (PrivacyBudget(exp_epsilon="2", delta="0.5/2"), "0.5/2"),
    (PrivacyBudget(epsilon="600", delta="0.99"), "0.999"),
    (PrivacyBudget(epsilon="1", delta="1e-100"), "1/2"),
    (PrivacyBudget(epsilon="1e-12", delta="1e-13"), " 1 / 3 "),
]
FOLLOWS = "every noise scale follows from the budget alone"


def stages_of(division, selection):
    part = division.parts
    own = [
        Gaussian(name=name, norm_squared=norm, variance=variance(part[name], norm_squared=norm))
        for name, norm in (("counts", 36), ("sizes", 1))
    ]
    return (selection, *own, division.sampling)


def gaussian_selection(division):
    budget = division.selection
    noise = variance(budget.mu_squared, norm_squared=1)
    return Gaussian(name="selection", norm_squared=1, variance=noise, slack=budget.delta)


@cache
def made(budget, share):
    division = divide(budget, share)
    spent = Account(stages_of(division, gaussian_selection(division)))
    spent.require(budget)
    return spent.summary(budget)["stages"], {"sampling_share": share, **constants_of(division)}


class Release(SimpleNamespace):
    """The evidence of a release as `sanitize` would make it."""

    def __init__(self, budget, share="1/2"):
        written, fields = made(budget, share)
        stages = [SpentStage.model_validate(stage) for stage in deepcopy(written)]
        manifest = SimpleNamespace(
            account=SimpleNamespace(stages=stages),
            parameters={**fields},
            log=SimpleNamespace(events=None),
        )
        promised = bounds_of(budget.parameters())
        super().__init__(manifest=manifest, promised=promised, bounds=promised)

    @property
    def stages(self):
        return self.manifest.account.stages

    def stage(self, name):
        return next(stage for stage in self.stages if stage.name == name)

    def times(self, factor, *names, parameter="variance"):
        """Another number for these stages."""
        for name in names:
            fields = self.stage(name).parameters
            fields[parameter] = str(Fraction(fields[parameter]) * Fraction(factor))
        return self


ALL = ("selection", "counts", "sizes")


@pytest.mark.parametrize(("budget", "share"), BUDGETS)
def test_an_honest_release_is_accepted(budget, share):
    release = Release(budget, share)

    assert account(release)[0]
    assert checks._row_constants(release) == (
        True,
        "all parameters have their documented values",
    )
    assert checks._cap(release)[0]
    assert checks._row_scales(release) == (True, FOLLOWS)


# --- constants ---

FAULTS = {
    "norm": lambda release: release.manifest.parameters.update(counts_norm=7),
    "clicks": lambda release: release.manifest.parameters.update(counts_most_clicks=2**16),
    "largest": lambda release: release.manifest.parameters.update(sizes_largest=31),
    "selection": lambda release: release.manifest.parameters.update(share_selection="1/2"),
    "counts": lambda release: release.manifest.parameters.update(share_counts="1/3"),
    "sizes": lambda release: release.manifest.parameters.pop("share_sizes"),
    "counts' norm": lambda release: release.times(2, "counts", parameter="norm_squared"),
    "sizes' norm": lambda release: release.times(2, "sizes", parameter="norm_squared"),
}


def test_every_constant_that_differs_is_counted():
    """Two faults count as two; none compensates for another."""
    for pair in map(set, combinations_with_replacement(FAULTS, 2)):
        release = Release(EDGE_OF_DELTA)
        for fault in pair:
            FAULTS[fault](release)

        expected = f"parameters that differ from their documented values: {len(pair)}"
        assert checks._row_constants(release) == (False, expected)


# --- the cap ---


@pytest.mark.parametrize("budget", [EDGE_OF_EPSILON, EDGE_OF_DELTA])
def test_the_cap_is_neither_more_nor_less_than_the_share_allows(budget):
    for factor in ("1.000000000001", "1.01", "2", "0.9985", "0.5", "1/1000"):
        changed = Release(budget).times(factor, "sampling", parameter="cap")
        allowed, detail = checks._cap(changed)
        assert not allowed
        assert detail.endswith("this cap does not follow from the budget")
    allowed, detail = checks._cap(Release(budget))
    assert allowed
    assert detail.endswith("this cap follows from the budget")


def test_a_cap_may_differ_by_its_rounding_only():
    def follows(cap):
        release = Release(EDGE_OF_EPSILON)
        release.stage("sampling").parameters["cap"] = str(cap)
        return checks._cap(release)[0]

    most = log_at_most(Release(EDGE_OF_EPSILON).promised.likelihood) / 2
    least = most / (1 + Fraction(1, 1000))

    assert not follows(least)
    assert follows(least * (1 + Fraction(1, 10**9)))
    assert follows(most * (1 + Fraction(1, 10**15)))
    assert not follows(most * (1 + Fraction(11, 10**16)))


@pytest.mark.parametrize("budget", [EDGE_OF_EPSILON, EDGE_OF_DELTA])
@pytest.mark.parametrize("share", ["1/3", "2/3", "0.49", "0.51"])
def test_the_cap_must_follow_from_the_manifests_share(budget, share):
    release = Release(budget)
    release.manifest.parameters["sampling_share"] = share

    assert not checks._cap(release)[0]


NO_SHARES = [None, 1, 2.0, "", "0", "1", "-1/2", "3/2", "x", "1/0", "nan", "1e-999999999"]


@pytest.mark.parametrize("share", [*NO_SHARES, "0." + "3" * 999])
def test_an_invalid_share_is_refused(share):
    release = Release(EDGE_OF_DELTA)
    release.manifest.parameters["sampling_share"] = share

    with pytest.raises(NotPossibleError, match="no usable sampling_share"):
        checks._cap(release)


# --- noise ---

UNEVEN = "the stages do not share the budget as documented"
TOO_MUCH = "selection spends more than its share"
SMALL = "noise is smaller than the budget allows"
LARGE = "noise is larger than the budget requires"


@pytest.mark.parametrize("budget", [EDGE_OF_EPSILON, EDGE_OF_DELTA, BUDGETS[4][0]])
@pytest.mark.parametrize(
    ("factor", "stages", "parameter", "expected"),
    [
        ("0.99999", ALL, "variance", {SMALL}),
        ("0.5", ALL, "variance", {SMALL}),
        ("1.0025", ALL, "variance", {LARGE}),
        ("4", ALL, "variance", {LARGE}),
        ("0.9995", ["counts"], "variance", {SMALL}),
        ("0.9995", ["sizes"], "variance", {SMALL}),
        ("1.0015", ["sizes"], "variance", {UNEVEN}),
        ("1.0015", ["counts"], "variance", {UNEVEN}),
        ("100", ["counts"], "variance", {UNEVEN}),
        ("0.99", ["sizes"], "variance", {UNEVEN, SMALL}),
        ("0.9985", ["selection"], "variance", {TOO_MUCH}),
        ("0.5", ["selection"], "variance", {TOO_MUCH}),
        ("1.0015", ["selection"], "slack", {TOO_MUCH}),
        ("1.9", ["selection"], "slack", {TOO_MUCH}),
        ("2", ["selection"], "variance", set()),
        ("0.5", ["selection"], "slack", set()),
    ],
)
def test_noise_follows_from_budget_and_shares(budget, factor, stages, parameter, expected):
    found, detail = checks._row_scales(Release(budget).times(factor, *stages, parameter=parameter))

    assert found == (not expected)
    assert {*detail.split("; ")} == (expected or {FOLLOWS})


def test_sampling_must_leave_some_budget():
    """A cap that uses all of ε or δ is refused; one that uses slightly less is not."""
    whole = log_at_most(Fraction(2))
    shown = shown_at_most(Fraction("0.1"))
    hair = Fraction(1, 10**20)
    release = Release(EDGE_OF_DELTA)

    def expected(cap, delta):
        release.stage("sampling").parameters["cap"] = str(cap)
        release.promised = Bounds(likelihood=Fraction(2), appearance=1 / (1 - delta))
        ok, detail = checks._row_scales(release)
        assert not ok
        return detail

    nothing = "sampling leaves nothing of the budget"
    for cap, delta in (
        (whole, Fraction(9, 10)),
        (whole + Fraction(1, 5), Fraction(9, 10)),
        (Fraction("0.1"), shown),
        (Fraction("0.1"), shown / 2),
        (Fraction(2), Fraction(1, 10)),
    ):
        assert expected(cap, delta) == nothing
    assert expected(whole - hair, Fraction(9, 10)) != nothing
    assert expected(Fraction("0.1"), shown + hair) != nothing


# --- which stages there are ---


def doubled(stages):
    return [*stages, stages[0]]


def hiding(mechanism, *names):
    """Stages that claim a cheaper mechanism than theirs."""

    def hidden(stage):
        fields = {**stage.parameters, "cap": "1/1000000", "epsilon": "1/1000000", "delta": "0"}
        return stage.model_copy(update={"mechanism": mechanism, "parameters": fields})

    return lambda stages: [hidden(one) if one.name in names else one for one in stages]


def without(name):
    return lambda stages: [stage for stage in stages if stage.name != name]


@pytest.mark.parametrize(
    "change",
    [
        doubled,
        *map(without, ("selection", "counts", "sizes", "sampling")),
        *(hiding("pure", name) for name in ("selection", "counts", "sizes", "sampling")),
        *(hiding("capped_sampling", name) for name in ("selection", "counts", "sizes")),
        hiding("pure", "counts", "sizes"),
    ],
)
def test_stages_that_such_a_release_does_not_have_are_refused(change):
    release = Release(EDGE_OF_DELTA)
    release.manifest.account.stages = change(release.stages)
    release.compared = SimpleNamespace(clicks=0, users=0)

    for check in (checks._row_constants, checks._cap, checks._row_scales, checks._rate):
        with pytest.raises(NotPossibleError, match="does not list the stages"):
            check(release)


# --- how much was drawn ---


def test_a_release_has_no_more_clicks_than_the_cap_explains():
    release = Release(EDGE_OF_DELTA)
    release.stage("sampling").parameters["cap"] = "1/100"
    for clicks, explained in ((0, True), (190, True), (191, False), (10**6, False)):
        release.compared = SimpleNamespace(clicks=clicks, users=10_000)
        assert checks._rate(release) == (
            explained,
            f"{clicks} clicks released; the cap explains up to 190",
        )
    release.compared = SimpleNamespace(clicks=21, users=0)
    assert not checks._rate(release)[0]
