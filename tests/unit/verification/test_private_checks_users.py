"""The verifier's checks of a synthetic release, each next to its bounds: no log, only numbers."""

import math
from fractions import Fraction
from types import SimpleNamespace

import duckdb
import pytest

from slogan.budget import PrivacyBudget
from slogan.dp.statistics import constants, spread
from slogan.dp.sums import MOST_COVERED, NORM
from slogan.logs.columns import Columns
from slogan.logs.searchlog import SearchLog
from slogan.manifest.manifest import SpentStage
from slogan.verification import private_checks as checks
from slogan.verification.accounting import delta_at_most, log_at_most
from slogan.verification.comparison import Counted
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
    told = {"norm_squared": norm, "variance": Fraction(norm) / mu_squared, "slack": slack}
    texts = {key: str(value) for key, value in told.items()}
    return SpentStage(name=name, mechanism="gaussian", parameters=texts, theorem="none", cost={})


class Release(SimpleNamespace):
    """What an honest manifest says, and what a test changes about it."""

    def __init__(self, *, looks=True, spend=None, slack=DELTA / 2, without=(), norms=None, **told):
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
        stages += told.pop("more", [])
        account = SimpleNamespace(stages=stages)
        super().__init__(
            manifest=SimpleNamespace(parameters=parameters | told, account=account),
            promised=Bounds(likelihood=Fraction(3), appearance=1 / (1 - DELTA)),
        )


# --- constants ---


@pytest.mark.parametrize("looks", [True, False])
def test_the_published_constants_are_accepted(looks):
    said = "0 parameters differ from the published constants"
    assert checks._user_constants(Release(looks=looks)) == (True, said)


def test_without_any_category_association_is_not_looked_at():
    assert checks._user_constants(Release(without=["association"]))[0]
    assert checks._user_scales(Release(without=["association"]))[0]


@pytest.mark.parametrize("looks", [True, False])
def test_every_constant_that_differs_is_counted(looks):
    judged = [name for name in PUBLISHED[looks] if name != "selection_delta"]
    for name in judged:
        told = PUBLISHED[looks][name]
        for other in (None, str(told) + "0", told + 1 if isinstance(told, int) else "1/3"):
            found = checks._user_constants(Release(looks=looks, **{name: other}))
            assert found == (False, "1 parameters differ from the published constants"), name
    for name in NORMS if looks else NORMS.keys() - {"association"}:
        ok, detail = checks._user_constants(Release(looks=looks, norms={name: NORMS[name] + 1}))
        assert (ok, detail[:2]) == (False, "1 "), name
    for name in ("counts", "sizes", "coverage"):
        ok, detail = checks._user_constants(Release(looks=looks, without=[name]))
        assert (ok, detail[:2]) == (False, "1 "), name


def test_faults_of_several_kinds_add_up():
    release = Release(
        without=["coverage"],
        norms={"counts": 35},
        share_sizes="1/3",
        counts_norm=5,
        sizes_largest=9,
    )
    assert checks._user_constants(release)[1][:2] == "5 "
    for two in (
        {"share_sizes": "1/3", "counts_norm": 5},
        {"share_sizes": "1/3", "without": ["coverage"]},
        {"without": ["sizes"], "norms": {"counts": 35}},
        {"counts_norm": 5, "norms": {"counts": 35}},
    ):
        ok, detail = checks._user_constants(Release(**two))
        assert (ok, detail[:2]) == (False, "2 ")


# --- scales ---

SHARED = "its stages do not share the budget as published"
SELECTION = "selection spends more than its share"
SMALLER = "noise is smaller than the budget allows"
OTHER = "noise is not what the budget asks for"


def scales(**spend):
    return checks._user_scales(Release(spend=spend))


def everything(times):
    return dict.fromkeys(["selection", *NORMS], times)


@pytest.mark.parametrize("looks", [True, False])
def test_noise_that_the_budget_asks_for_is_accepted(looks):
    said = "every noise scale follows from the budget alone"
    assert checks._user_scales(Release(looks=looks)) == (True, said)


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


def test_every_fault_of_the_scales_is_told():
    found = checks._user_scales(
        Release(spend={"counts": 2, "selection": 5, "sizes": Fraction(1, 9)}, slack=DELTA)
    )
    assert found == (False, f"{SHARED}; {SELECTION}; {SMALLER}")


def test_a_stage_without_a_share_is_not_taken_on_trust():
    more = [stage("association", Fraction(1, 100))]
    with pytest.raises(NotPossibleError, match="without a share"):
        checks._user_scales(Release(looks=False, more=more))


def sampling(name):
    told = {"cap": "1/1000000"}
    return SpentStage(
        name=name, mechanism="capped_sampling", parameters=told, theorem="none", cost={}
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
def test_other_stages_than_such_a_release_has_are_not_taken_on_trust(release):
    with pytest.raises(NotPossibleError, match="other stages"):
        checks._user_scales(release)


# --- noise ---


def noise(squares, *, variance=1, clipped=5.0, **told):
    """What is said of counts that differ from clipped ones by the roots of these squares."""
    asked = []

    def rows(norm, most):
        asked.append((norm, most))
        return [(clipped + math.sqrt(square), clipped) for square in squares]

    counts = stage("counts", Fraction(36) / variance, norm=36)
    release = Release(without=["counts"], more=[counts], **told)
    release.compared = SimpleNamespace(clipped=rows)
    found = checks._noise(release)
    assert asked in ([], [(NORM, 2**15)])
    return found


@pytest.mark.parametrize("variance", [1, Fraction(1, 4), 4])
def test_few_counts_are_held_against_the_quantiles_of_chi_squared(variance):
    """With two degrees of freedom these are logarithms, and one in 10^9 lies beyond either."""
    highest, lowest = -2 * math.log(1e-9), -2 * math.log1p(-1e-9)
    for found, inside in (
        (highest * 0.999, True),
        (highest * 1.001, False),
        (lowest * 1.01, True),
        (lowest * 0.99, False),
    ):
        assert noise([found * float(variance) / 2] * 2, variance=variance)[0] == inside


def test_many_counts_may_lack_half_of_the_variance_or_have_half_more():
    """Negative counts are not released, so the variance that is seen is not quite the noise's."""
    assert noise([1] * 1000, variance=2) == (
        True,
        "1000 counts have 0.500 times the variance of the noise claimed (accepted: 0.500 to 1.500)",
    )
    assert not noise([1] * 1000, variance=Fraction(2001, 1000))[0]
    assert noise([4, 4, 1] * 333, variance=2)[0]  # 1.5 times
    assert not noise([4, 4, 1] * 333, variance=Fraction(1999, 1000))[0]
    assert not noise([0] * 1000)[0]
    assert not noise([4] * 1000, variance=2)[0]


def test_noise_that_cannot_be_seen():
    assert noise([], output_size=None) == (False, "no released pair is in the input log")
    assert noise([0] * 1000, output_size=100) == (
        True,
        "counts were brought to a given size, so their noise cannot be seen",
    )
    with pytest.raises(NotPossibleError, match="no stage of counts"):
        checks._noise(Release(without=["counts"]))


# --- users ---


def released_with(sql, user_type):
    """Evidence of a released log whose user column, the second one, has this type."""
    sql.execute(f'CREATE OR REPLACE TABLE rows (query VARCHAR, "user" {user_type})')
    columns = Columns(names=("query", "user"), user="user", query="query", url=None, count=None)
    log = SearchLog(format="parquet", columns=columns)
    shown = Counted(log=log, source="rows", bad_rows=0)
    return SimpleNamespace(sql=sql, logs=lambda: (None, shown))


@pytest.fixture(scope="module")
def sql():
    with duckdb.connect() as connection:
        yield connection


def fits(sql, number, user_type):
    """Whether a type keeps a number as it is."""
    try:
        return sql.execute(f"SELECT ({number}::{user_type})::HUGEINT = {number}").fetchall()[0][0]
    except duckdb.ConversionException:
        return False


@pytest.mark.parametrize(
    "user_type",
    ["TINYINT", "UTINYINT", "SMALLINT", "USMALLINT", "FLOAT", "DECIMAL(5,0)", "DECIMAL(7,3)"],
)
def test_a_small_type_has_as_many_ids_as_positive_integers(sql, user_type):
    found = checks._possible_ids(released_with(sql, user_type))

    assert fits(sql, found - 1, user_type)
    assert fits(sql, found, user_type)
    assert not fits(sql, found + 1, user_type)


@pytest.mark.parametrize("user_type", ["INTEGER", "BIGINT", "VARCHAR", "DECIMAL(18,0)", "DOUBLE"])
def test_other_types_have_as_many_ids_as_an_integer(sql, user_type):
    found = checks._possible_ids(released_with(sql, user_type))

    assert fits(sql, found, "INTEGER")
    assert not fits(sql, found + 1, "INTEGER")


def users(sql, real, *, shown=127, plain=127, said=127, of_log=4):
    evidence = released_with(sql, "TINYINT")
    evidence.compared = SimpleNamespace(shown_ids=lambda: (shown, real, plain), users=of_log)
    outputs = None if said is None else SimpleNamespace(users=said)
    evidence.manifest = SimpleNamespace(outputs=outputs)
    return checks._synthetic_users(evidence)


def test_as_many_real_ids_as_chance_explains(sql):
    """127 users among 127 IDs, 4 of them real ones: 4 by chance, and 7·√4 + 7 more at the most."""
    said = "127 synthetic users, 25 with an ID of the input log, where chance explains up to 25; "
    assert users(sql, 25) == (True, f"{said}0 IDs are neither digits nor UUIDs")
    assert users(sql, 0)[0]
    assert not users(sql, 26)[0]


def test_ids_of_other_forms_and_more_users_than_told_are_found(sql):
    ok, detail = users(sql, 0, plain=126)
    assert not ok
    assert detail.endswith("up to 25; 1 IDs are neither digits nor UUIDs")
    assert users(sql, 0, said=128)[0]
    for said in (126, None):
        ok, detail = users(sql, 0, said=said)
        assert not ok
        assert detail.endswith("; more users than the manifest says")
