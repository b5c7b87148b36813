"""What the stages of a private release add up, to the last step, and what they say it costs."""

from fractions import Fraction
from math import isqrt
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import histogram

from slogan.budget import PrivacyBudget
from slogan.dp import private_rows, statistics, sums
from slogan.dp.accounting import Cost, Gaussian, gaussian_room, variance
from slogan.dp.grouping import MOST_CATEGORIES, Grouping
from slogan.dp.selection import Selected
from slogan.dp.sums import (
    NoisySums,
    brought,
    clipped_counts,
    coverage_sums,
    noisy_association,
    noisy_counts,
    noisy_coverage,
    noisy_sizes,
    noisy_sums,
    projected,
    size_sums,
    together_sums,
)
from slogan.errors import OptionError
from slogan.progress import Steps
from slogan.randomness import SeededRandomness
from slogan.verification import private_checks

ONE = 1 << 20
BUDGET = PrivacyBudget(epsilon=1, delta="1e-6")
STAGE = Gaussian(name="any", norm_squared=1, variance=4)
COUNTS = NoisySums(steps=np.array([5, 5]), stage=STAGE)

clicks = st.one_of(st.just(0), st.integers(0, 3), st.integers(0, 200), st.integers(0, 2**40))
tables = st.integers(1, 5).flatmap(
    lambda n: st.lists(st.lists(clicks, min_size=n, max_size=n), min_size=1, max_size=5)
)


@given(tables, st.data())
def test_coverage_is_added_up_to_the_last_step(table, data):
    hist = histogram(table)
    pairs = sorted(data.draw(st.sets(st.integers(0, hist.pairs - 1))))
    expected = [0, 0]
    for row in table:
        total, inside = sum(row), sum(row[pair] for pair in pairs)
        for place, part in enumerate((inside, total - inside)):
            expected[place] += part * 75 * ONE // total if total > 75 else part * ONE

    assert coverage_sums(hist, np.array(pairs, dtype=np.int64)).tolist() == expected


def test_sizes_are_counted_to_the_largest():
    """Users with 0, 1, 29, 30, 31 and 35 of the released pairs, and one with no click at all."""
    held = (0, 1, 29, 30, 31, 35)
    table = [[1] * n + [0] * (39 - n) + [1] for n in held] + [[0] * 40]
    found = size_sums(histogram(table), np.arange(39)).tolist()

    assert len(found) == 31
    assert {n: size for n, size in enumerate(found) if size} == {
        0: ONE,
        1: ONE,
        29: ONE,
        30: 3 * ONE,
    }


def together(table, category, size):
    """The formula of the docstring in Python's integers."""
    found = [[0] * size for _ in range(size)]
    for row in table:
        v = [0] * size
        for place, n in enumerate(row):
            if n and category[place] >= 0:
                v[category[place]] += 1
        v = [min(n, 255) for n in v]
        parts = {
            (g, h): v[g] * (v[g] - 1) // 2 if g == h else v[g] * v[h]
            for g in range(size)
            for h in range(g, size)
        }
        square = sum(part * part for part in parts.values())
        weight = isqrt(ONE * ONE // square) if square else 0
        for (g, h), part in parts.items():
            found[g][h] += part * weight
    return [found[g][h] for g in range(size) for h in range(g, size)]


@given(st.lists(st.lists(st.integers(0, 1), min_size=9, max_size=9), min_size=1, max_size=5))
def test_co_held_pairs_are_summed_exactly(table):
    for category, size in (([0, 1, 2, -1, 0, 1, 1, 1, 0], 3), ([0] * 8 + [-1], 1)):
        grouping = Grouping(name="taxonomy", category=np.array(category), categories=size)

        found = together_sums(histogram(table), np.arange(9), grouping)

        assert found.tolist() == together(table, category, size)


def test_of_one_category_no_more_than_255_pairs_count():
    table, category = [[1] * 300], [0] * 290 + [1] * 10
    grouping = Grouping(name="taxonomy", category=np.array(category), categories=2)

    assert together_sums(histogram(table), np.arange(300), grouping).tolist() == together(
        table, category, 2
    )


@pytest.mark.parametrize("size", [0, -1, MOST_CATEGORIES + 1])
def test_a_table_that_does_not_fit_is_refused(size):
    grouping = Grouping(name="taxonomy", category=np.zeros(1, np.int64), categories=size)
    with pytest.raises(ValueError, match="64 bits"):
        together_sums(histogram([[1]]), np.array([0]), grouping)


def test_the_largest_table_is_not_refused():
    grouping = Grouping(name="t", category=np.zeros(1, np.int64), categories=MOST_CATEGORIES)
    found = together_sums(histogram([[1]]), np.array([0]), grouping)

    assert len(found) == MOST_CATEGORIES * (MOST_CATEGORIES + 1) // 2


def test_counts_that_do_not_fit_are_refused():
    hist = histogram([[1, 1], [2, 0]])
    for norm in (0, -1, 64):
        with pytest.raises(OptionError, match="64 bits"):
            clipped_counts(hist, np.arange(2), norm=norm)
    assert clipped_counts(hist, np.arange(2), norm=63).tolist() == [3 * ONE, ONE]
    with pytest.raises(OptionError, match="4194304 pairs"):
        clipped_counts(hist, np.arange(2**22))


def test_the_largest_user_fits_in_what_long_division_can_do():
    """A user with all pairs and the most clicks of each: its square is at most 2^53."""
    assert sums.MOST_CLICKS**2 * sums._MOST_PAIRS <= 2**53
    assert (sums.MOST_CLICKS * 63) ** 2 < 2**62


# --- noise ---


class Recorded:
    """Noise that is known, and how much was asked for."""

    def __init__(self, monkeypatch, noise=7):
        self.noise, self.asked = noise, []
        monkeypatch.setattr(sums, "floored_gaussian", self.draw)

    def draw(self, n, rng, *, variance, grid):
        self.asked.append((n, variance, grid))
        return np.full(n, self.noise)


def test_noise_is_added_once_with_the_variance_that_is_accounted_for(monkeypatch):
    recorded = Recorded(monkeypatch)
    found = noisy_sums(
        np.array([1, 2, 3]), name="s", norm_squared=5, mu_squared=Fraction(1, 7), rng=None
    )
    square = variance(Fraction(1, 7), norm_squared=5)

    assert recorded.asked == [(3, square, Fraction(1, ONE))]
    assert found.steps.tolist() == [8, 9, 10]
    assert found.values.tolist() == [8 / ONE, 9 / ONE, 10 / ONE]
    assert found.stage == Gaussian(name="s", norm_squared=5, variance=square)


def test_each_stage_claims_the_norm_that_its_sums_keep(monkeypatch):
    Recorded(monkeypatch)
    hist, pairs, part = histogram([[1, 1], [1, 1]]), np.arange(2), Fraction(1, 9)
    grouping = Grouping(name="taxonomy", category=np.arange(2), categories=2)
    found = {
        "counts": noisy_counts(hist, pairs, mu_squared=part, rng=None).stage,
        "fewer": noisy_counts(hist, pairs, mu_squared=part, rng=None, norm=3).stage,
        "sizes": noisy_sizes(hist, pairs, mu_squared=part, rng=None).stage,
        "coverage": noisy_coverage(hist, pairs, COUNTS, mu_squared=part, rng=None).stage,
        "association": noisy_association(hist, pairs, grouping, mu_squared=part, rng=None).stage,
    }

    assert {name: stage.norm_squared for name, stage in found.items()} == {
        "counts": sums.NORM**2,
        "fewer": 9,
        "sizes": 1,
        "coverage": sums.MOST_COVERED**2,
        "association": 1,
    }
    assert all(stage.cost.mu_squared <= part for stage in found.values())
    assert all(stage.cost.mu_squared > part * Fraction(999, 1000) for stage in found.values())


@pytest.mark.parametrize(
    ("steps", "counts", "share"),
    [
        # counts with as much noise as the direct measurement: the mean of both
        ([3, 1], 1, 2 / 3),
        ([3, 1], 3, 3 / 4),
        ([-3, 1], 1, 0.0),
        ([-3, 1], 5, 1 / 2),
        ([3, -1], 3, 1.0),
        ([-3, -1], -3, 0.0),
        ([0, 0], 0, 0.0),
    ],
)
def test_coverage_is_the_share_of_two_measurements(monkeypatch, steps, counts, share):
    noisy = NoisySums(steps=np.array(steps), stage=STAGE)
    monkeypatch.setattr(sums, "noisy_sums", lambda *_, **__: noisy)
    counted = NoisySums(steps=np.array([counts]), stage=STAGE)

    found = noisy_coverage(
        histogram([[1]]), np.array([0]), counted, mu_squared=Fraction(1), rng=None
    )

    assert found.share == pytest.approx(share)
    assert (found.counted, found.counted_variance) == (counts / ONE, 4.0)


def test_a_sum_of_many_counts_with_little_noise_is_not_trusted_beyond_its_scaling():
    given_counts = sums.Coverage(
        inside=1e6, outside=1e6, counted=2e6, counted_variance=1.0, stage=STAGE
    )
    # the direct measurement has noise of 2 clicks, the counts are off by 5%
    assert given_counts.share == pytest.approx(0.5, abs=1e-6)


def test_sizes_are_whole_numbers_of_users_who_hold_a_released_pair():
    found = sums.Sizes(bins=np.array([90.0, 5.0, -2.0, 15.0, *[0.0] * 27]), stage=STAGE)

    assert found.users == 18
    assert found.held.tolist() == [4, 0, 14, *[0] * 27]  # 5 - 1, 15 - 1
    few = sums.Sizes(bins=np.array([9.0, 0.25, 0.75]), stage=STAGE)
    assert (few.users, few.held.tolist()) == (1, [0, 1])
    nothing = sums.Sizes(bins=np.zeros(31), stage=STAGE)
    assert (nothing.users, nothing.held.tolist()) == (0, [0] * 30)


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=30), st.floats(0, 1e5))
def test_projected_numbers_are_the_nearest_of_their_sum(numbers, total):
    """No other numbers of that sum, not negative, are nearer: the condition of the optimum."""
    given_numbers = np.array(numbers)
    found = projected(given_numbers, total)
    lowered = given_numbers - found

    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, abs=1e-6)
    # numbers above 0 were lowered by the same amount, and no other by more
    if (found > 0).any():
        same = lowered[found > 0]
        assert np.ptp(same) < 1e-6
        assert (lowered <= same[0] + 1e-6).all()


def test_no_user_holds_more_pairs_than_there_are():
    hist, few = histogram([[1, 1, 1], [1, 0, 0]]), np.array([0, 2])

    assert sums.largest_size(few) == 2
    assert sums.largest_size(np.arange(100)) == 30
    assert (size_sums(hist, few) >> 20).tolist() == [0, 1, 1]


def test_noise_in_thirty_bins_does_not_hide_the_users_of_one():
    noise = np.full(31, -9.0)
    noise[5] = 200.0
    assert sums.Sizes(bins=noise, stage=STAGE).users == 200
    noise[5] = 6.0  # three standard deviations: no more than noise
    assert sums.Sizes(bins=noise, stage=STAGE).users == 0
    noise[5] = 6.5
    assert sums.Sizes(bins=noise, stage=STAGE).users == 6
    many = np.full(31, 5.0)
    many[0], many[5] = 1e6, 50.0
    assert sums.Sizes(bins=many, stage=STAGE).users == 29 * 5 + 50


# --- the table of association ---


def test_the_table_is_mirrored_after_the_noise(monkeypatch):
    Recorded(monkeypatch)
    grouping = Grouping(name="taxonomy", category=np.arange(2), categories=2)
    found = noisy_association(
        histogram([[1, 1]]), np.arange(2), grouping, mu_squared=Fraction(1, 9), rng=None
    )

    assert found.together.tolist() == [[7 / ONE, 1 + 7 / ONE], [1 + 7 / ONE, 7 / ONE]]
    assert found.deviation == pytest.approx(3)


# --- how a budget is spread ---


@pytest.mark.parametrize("with_association", [True, False])
def test_a_budget_is_divided_completely(with_association):
    found = statistics.spread(BUDGET, association=with_association)
    names = ["selection", "counts", "association", "sizes", "coverage"]
    kept = [name for name in names if with_association or name != "association"]
    aside = Fraction("1e-6") / 2
    whole = gaussian_room(BUDGET, Cost(delta=aside))

    assert list(found.parts) == list(found.shares) == kept
    assert sum(found.shares.values()) == 1
    assert found.parts == {name: whole * share for name, share in found.shares.items()}
    assert found.selection.delta == aside
    assert found.selection.mu_squared == found.parts["selection"]
    assert found.cost == Cost(mu_squared=whole, delta=aside)
    weight = statistics.SHARES["counts"] / statistics.SHARES["sizes"]
    assert found.shares["counts"] / found.shares["sizes"] == weight == 4


@pytest.mark.parametrize("share", ["1/2", "1/5"])
def test_a_budget_is_divided_between_sampling_and_counting(share):
    found = private_rows.divide(BUDGET, share)
    sampling = found.sampling.cost
    aside = (Fraction("1e-6") - sampling.delta) / 2
    whole = gaussian_room(BUDGET, Cost(epsilon=sampling.epsilon, delta=sampling.delta + aside))

    assert sampling.delta <= Fraction(share) * Fraction("1e-6") * (1 + Fraction(1, 10**15))
    assert found.selection.delta == aside
    assert found.shares == private_rows.SHARES
    assert found.parts == {name: whole * part for name, part in found.shares.items()}
    assert found.selection.mu_squared == found.parts["selection"]
    assert found.cost.mu_squared == whole
    assert found.cost.delta == sampling.delta + aside
    assert found.cost.epsilon == sampling.epsilon
    assert sum(private_rows.SHARES.values()) == sum(statistics.SHARES.values()) == 1


@pytest.mark.parametrize("categories", [None, 0, 2, 20])
def test_every_stage_is_in_the_account(categories):
    """An association is measured if its table would be visible; else the counts have its share."""
    table = np.zeros((3_000, 20), dtype=np.int64)
    for user in range(3_000):
        table[user, [user % 20, (user // 20) % 20]] = 1
    hist, spending = histogram(table.tolist()), statistics.spread(BUDGET, association=True)
    before = Gaussian(name="selection", norm_squared=1, variance=100)

    def group(pairs, values):
        assert len(pairs) == len(values)
        kind = np.arange(len(pairs)) % categories if categories else np.full(len(pairs), -1)
        return [Grouping(name="taxonomy", category=kind, categories=categories)]

    found = statistics.measure(
        hist,
        Selected(pairs=np.arange(20), stages=(before,)),
        spending,
        None if categories is None else group,
        rng=SeededRandomness(0),
        steps=Steps(),
    )

    bought = categories in (2, 20)
    names = ["selection", "counts", "sizes", "coverage", *(["association"] if bought else [])]
    assert [stage.name for stage in found.account.stages] == names
    shared = spending.shared(association=bought)
    assert sum(shared.values()) == sum(spending.parts.values())
    for stage in found.account.stages[1:]:
        assert shared[stage.name] * Fraction(999, 1000) < stage.cost.mu_squared
        assert stage.cost.mu_squared <= shared[stage.name]
    assert (found.association is None) == (not bought)
    assert found.kind == "independent"


def test_a_table_is_worth_its_cost_where_its_cells_exceed_the_noise():
    many = sums.Sizes(bins=np.array([0.0, 100, 20_000, 10_000]), stage=STAGE)
    few = sums.Sizes(bins=np.array([0.0, 30_000, 100]), stage=STAGE)
    part = Fraction(1, 81)

    assert statistics.visible(100, many, part) > 0.7 > statistics.visible(800, many, part)
    assert statistics.visible(100, few, part) < 0.1
    assert statistics.visible(1, many, part) == 0
    assert statistics.visible(100, many, None) == 0
    assert statistics.first_visible([800, 100], many, Fraction(1, 10_000)) in (None, 1)
    assert statistics.first_visible([100, 50], many, part) == 0
    assert statistics.first_visible([100, 50], few, part) is None


def test_the_manifest_has_the_constants():
    told = statistics.constants(statistics.spread(BUDGET, association=True))

    assert told["counts_norm"] == sums.NORM
    assert told["counts_most_clicks"] == sums.MOST_CLICKS
    assert told["sizes_largest"] == sums.LARGEST
    assert told["coverage_most_clicks"] == sums.MOST_COVERED
    assert told["association_most_categories"] == MOST_CATEGORIES
    assert told["selection_delta"] == "1/2000000"
    assert {name for name in told if name.startswith("share_")} == {
        f"share_{name}" for name in statistics.SHARES
    }
    assert sums.MOST_HELD == 255


def test_the_verifier_expects_these_constants_and_no_others():
    """It knows them by itself, so that a release made with others is refused."""
    told = statistics.constants(statistics.spread(BUDGET, association=True))

    assert private_checks._USER_CONSTANTS.items() <= told.items()
    assert private_checks._ROW_CONSTANTS.items() <= told.items()
    assert {
        name: part * 100 for name, part in statistics.SHARES.items()
    } == private_checks._USER_SHARES
    assert private_rows.SHARES == private_checks._ROW_SHARES
    norms = {"counts": sums.NORM**2, "sizes": 1, "coverage": sums.MOST_COVERED**2}
    assert norms.items() <= private_checks._NORM_SQUARED.items()


def test_a_local_histogram_is_returned_unchanged():
    here = histogram([[1]])

    assert brought(here) is here
    assert brought(SimpleNamespace(brought=lambda: here)) is here
