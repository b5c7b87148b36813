"""frontier(): monotone, below its bound, saved as three files, and never called publishable."""

import errno
import json
import os
import xml.etree.ElementTree as ET
from itertools import pairwise, permutations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from tests.helpers import write

import slogan
from slogan.cli.frontier import text
from slogan.errors import AllPairsUniqueError, OptionError, ReleaseExistsError, StorageError
from slogan.report.html import CHOICE, CURATOR_ONLY
from slogan.storage import atomic
from slogan.workflows.frontier.points import SynthesizedPoint, running_maximum

POWERS, DELTAS = ("1.1", "1.7", "3"), ("0.1", "0.5", "0.8")
SECRET = "my secret illness"


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """Sixty users who share nine pairs, and one pair that no other user has."""
    shared = [
        (u, f"query {n // 2}", f"www.s{n}.com", 1 + (u + n) % 2)
        for u, n in product(range(60), range(9))
        if (u * n) % 4 != 1
    ]
    file = tmp_path_factory.mktemp("log") / "clicks.tsv"
    return write(file, [*shared, (1, SECRET, "www.only-me.com", 2)])


@pytest.fixture(scope="module")
def found(log):
    return slogan.frontier(
        log, on_log=True, exp_epsilons=POWERS, deltas=DELTAS, solver="exact", time_limit=1
    )


def test_more_of_either_budget_never_buys_less(found):
    for a, b in product(found.points, found.points):
        if a.epsilon <= b.epsilon and a.delta <= b.delta:
            assert a.value <= b.value


def test_no_point_passes_its_bound(found):
    assert len(found.points) == 9
    for point in found.points:
        assert point.value <= point.bound <= point.size_bound
        assert point.clicks == point.value
        assert 0 <= point.exposed_users_expected <= found.log.users
    assert max(point.value for point in found.points) > 0


def test_support_distances_fall_at_one_size(log):
    found = slogan.frontier(
        log,
        on_log=True,
        exp_epsilons=("1.7", "3"),
        deltas=("0.5", "0.8"),
        objective=slogan.FrequentPairs(min_support="1/20"),
        solver="exact",
        time_limit=1,
    )
    known = sorted((p.budget_per_user, -p.value) for p in found.points if p.value is not None)

    assert {p.clicks for p in found.points if p.value is not None} == {found.output_size}
    assert known == sorted(known, key=lambda point: point[1])
    assert found.chart().headings[-1] != "size limit"


def test_dry_runs_of_synthesize_are_the_same_every_time(log):
    options = {"mode": "synthesize", "epsilons": ("1", "9"), "deltas": ("1e-2",), "runs": 2}
    once, again = (slogan.frontier(log, on_log=True, **options) for _ in range(2))
    strict, loose = once.points

    assert once.points == again.points
    assert strict.value <= loose.value
    assert loose.pairs_least <= loose.average <= loose.pairs_most
    assert once.log.pairs == 10


@pytest.fixture(scope="module")
def shaken(tmp_path_factory):
    """Budgets so near to each other that in a single run chance decides which one does best."""
    file = tmp_path_factory.mktemp("shaken") / "clicks.tsv"
    slogan.generate(file, users=200, seed=1)
    near = {"epsilons": ("4", "4.01", "4.02"), "deltas": ("1e-3", "1.01e-3")}
    return slogan.frontier(file, on_log=True, mode="synthesize", runs=1, **near)


def test_no_line_falls_though_averages_do(shaken):
    under_and_over = [
        (a, b)
        for a, b in product(shaken.points, shaken.points)
        if a.epsilon <= b.epsilon and a.delta <= b.delta
    ]

    assert any(a.average > b.average for a, b in under_and_over), "there was nothing to mend"
    assert all(a.value <= b.value for a, b in under_and_over)
    for row, after in pairwise(shaken.chart().rows):
        assert all(float(a) <= float(b) for a, b in zip(row, after, strict=True))


def test_averages_are_shown_next_to_the_values(shaken, tmp_path):
    shaken.save(tmp_path)
    page = (tmp_path / "frontier.html").read_text()
    told = json.loads((tmp_path / "frontier.json").read_text())["points"]
    words = Console(width=200, record=True)
    words.print(text(shaken))

    assert [p["average"] for p in told] == [p.average for p in shaken.points]
    assert "smoothed so that it never falls as the budget grows" in page
    assert ">mean of dry runs<" in page
    assert "mean of dry runs" in words.export_text().splitlines()[0]


def test_it_shows_itself_in_a_line_and_as_a_table(found, shaken):
    best = max(point.value for point in found.points)
    table = found._repr_html_()

    assert repr(found).startswith("<Frontier of sanitize: 9 budgets, released clicks ")
    assert repr(found).endswith(f"to {best:,.6g}>")
    assert table.count("<tr>") == 1 + len(found.useful())
    assert found.table()[0] == [
        "ε",
        "δ",
        "released clicks",
        "best possible",
        "pairs",
        "frequent pairs kept",
    ]
    assert shaken.table()[0] == [
        "ε",
        "δ",
        "released pairs",
        "mean of dry runs",
        "share of clicks",
        "frequent pairs kept",
    ]
    assert not [text for text in (SECRET, "query 1", "www.s1") if text in table + repr(found)]


def test_the_bound_is_drawn_in(found):
    chart = found.chart()

    assert chart.headings[1:] == ("δ = 0.1", "δ = 0.5", "δ = 0.8", "size limit")
    assert ">size limit<" in chart.svg


def test_it_stays_private_in_a_folder_that_is_not(found, tmp_path):
    tmp_path.chmod(0o755)
    (tmp_path / "frontier.svg").write_text("")
    found.save(tmp_path)

    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}


def test_it_is_saved_for_the_curator_alone(found, tmp_path):
    folder = tmp_path / "deep" / "frontier"
    found.save(folder)
    page = (folder / "frontier.html").read_text()

    assert folder.stat().st_mode & 0o777 == 0o700
    assert json.loads((folder / "frontier.json").read_text())["curator_only"].startswith(
        CURATOR_ONLY
    )
    assert CURATOR_ONLY in page
    assert CHOICE in page
    assert page.count("<tr>") == 1 + len(found.useful())
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    root = ET.parse(folder / "frontier.svg").getroot()
    assert root.find("{http://www.w3.org/2000/svg}style") is not None
    with pytest.raises(ReleaseExistsError):
        found.save(folder)
    found.save(folder, force=True)


@pytest.mark.parametrize("step", range(1, 4))
def test_a_disk_that_is_full_leaves_an_older_one_as_it_was(found, tmp_path, monkeypatch, step):
    found.save(tmp_path)
    before = {file: (file.read_bytes(), file.stat().st_ino) for file in tmp_path.iterdir()}
    left = [step]

    def sync(path):
        left[0] -= 1
        if not left[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(atomic, "sync", sync)
    with pytest.raises(StorageError, match="No space left"):
        found.save(tmp_path, force=True)

    assert before == {file: (file.read_bytes(), file.stat().st_ino) for file in tmp_path.iterdir()}


@pytest.mark.parametrize(
    "wrong",
    [
        {"epsilons": ("1",), "exp_epsilons": ("2",)},
        {"exp_epsilons": ()},
        {"deltas": ()},
        {"mode": "publish"},
        {"time_limit": 0},
        {"runs": 0},
        {"users": 5},
    ],
    ids=str,
)
def test_what_is_not_a_grid_is_refused(log, wrong):
    with pytest.raises(OptionError):
        slogan.frontier(log, **wrong)


def test_a_log_without_a_shared_pair_has_no_frontier(tmp_path):
    file = write(tmp_path / "clicks.tsv", [(u, f"q{u}", "www.a.com", 1) for u in range(3)])

    with pytest.raises(AllPairsUniqueError):
        slogan.frontier(file, on_log=True)


# --- a made-up log, and the budgets that are shown ---

GRID = {"exp_epsilons": ("1.4", "2", "2.3"), "deltas": ("1e-4", "0.5"), "time_limit": 1}


def test_without_on_log_a_made_up_log_is_used(log):
    found = slogan.frontier(log, **GRID)
    declared = slogan.frontier(users=60, clicks_per_user=11.7, **GRID)

    assert found.planned_on == "made-up log of its size"
    assert "read from your log" in found.to_dict()["curator_only"]
    assert declared.planned_on == "made-up log"
    assert declared.to_dict()["curator_only"] is None
    assert SECRET not in str(found.to_dict())


def test_on_log_needs_a_log():
    with pytest.raises(OptionError, match="no log to look at"):
        slogan.frontier(users=60, on_log=True)


def test_a_budget_is_shown_if_it_keeps_more_than_every_smaller_one(found):
    useful = found.useful()

    assert 0 < len(useful) < len(found.points)
    assert all(point.clicks > 0 for point in useful)
    for one, other in permutations(useful, 2):
        if one.epsilon <= other.epsilon and one.delta <= other.delta:
            assert one.value < other.value
    for point in found.points:
        if point.clicks:
            assert any(
                p.epsilon <= point.epsilon and p.delta <= point.delta and p.value >= point.value
                for p in useful
            )


def test_a_grid_that_releases_nothing_is_reported_in_a_line():
    found = slogan.frontier(users=30, mode="synthesize", epsilons=["0.5"], deltas=["1e-9"], runs=1)
    words = Console(width=200, record=True)
    words.print(text(found))

    assert found.useful() == ()
    assert words.export_text().startswith("No budget of this grid releases anything.")
    assert found.chart().rows == ()


# --- running_maximum(): the best average that a budget or a smaller one reaches ---


def point(epsilon, delta, average):
    return SynthesizedPoint(
        epsilon=epsilon,
        delta=delta,
        value=average,
        average=average,
        pairs_least=0,
        pairs_most=9,
        clicks=1.0,
        coverage=0.5,
        recall=None,
        precision=None,
        sum_support_distance=0.0,
    )


points = st.lists(
    st.builds(
        point,
        st.integers(1, 4).map(float),
        st.integers(1, 3).map(float),
        st.integers(0, 50).map(float),
    ),
    max_size=10,
)


def values(*given):
    return [found.value for found in running_maximum([point(*one) for one in given])]


@given(points)
def test_a_larger_budget_never_has_less(points):
    found = running_maximum(points)

    for one, other in permutations(found, 2):
        if one.epsilon <= other.epsilon and one.delta <= other.delta:
            assert one.value <= other.value


@given(points)
def test_a_value_is_an_average_of_this_or_a_smaller_budget(points):
    for found, tried in zip(running_maximum(points), points, strict=True):
        assert found.value >= found.average == tried.average
        assert any(
            other.average == found.value
            and other.epsilon <= found.epsilon
            and other.delta <= found.delta
            for other in points
        )


def test_averages_that_never_fall_are_values():
    assert values((1, 0.1, 2.0), (1, 0.2, 2.0), (2, 0.1, 5.0), (2, 0.2, 6.0)) == [2, 2, 5, 6]


def test_a_fall_is_filled_up_whatever_the_order_of_budgets():
    assert values((2, 0.1, 3.0), (1, 0.1, 7.0), (3, 0.1, 5.0)) == [7, 7, 7]


def test_equal_budgets_have_one_value():
    assert values((1, 0.1, 3.0), (1, 0.1, 1.0)) == [3, 3]


def test_budgets_of_which_neither_is_larger_are_left_alone():
    assert values((1, 0.2, 7.0), (2, 0.1, 3.0)) == [7, 3]


def test_two_objectives_are_traded_under_one_budget(log, tmp_path):
    found = slogan.frontier(
        log,
        on_log=True,
        objectives=("output_size", "diversity"),
        exp_epsilons=("3",),
        deltas=("0.8",),
        time_limit=2,
    )
    found.save(tmp_path / "out")
    headings, rows = found.table()

    assert found.points
    for point in found.points:
        assert point.values[0] <= point.bound <= found.bounds[0]
        assert 0 < point.shares[1] <= 1
        # What the last column asks for is reached by this output.
        name, share = point.at_least.split("=")
        assert name == "diversity"
        assert 0 <= point.shares[1] - float(share) < 2e-4
    assert len(rows) == len(found.points)
    assert {len(row) for row in rows} == {len(headings)}
    assert "What one costs the other" in (tmp_path / "out" / "frontier.html").read_text()
    assert CURATOR_ONLY in found.warnings
    with pytest.raises(ReleaseExistsError):
        found.save(tmp_path / "out")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objectives": ("output_size",)}, "compares two objectives"),
        ({"objectives": "diversity"}, "two different objectives"),
        ({"objectives": ("diversity", "divers")}, "not a part of a joint objective"),
        ({"objectives": ("diversity", "output_size"), "deltas": ("0.1", "0.5")}, "one budget"),
        ({"objectives": ("diversity", "output_size"), "mode": "synthesize"}, "plans of sanitize"),
        ({"objectives": ("diversity", "output_size"), "objective": "diversity"}, "both given"),
        ({"objectives": slogan.Joint(at_least={"diversity": "0.5"})}, "without floors"),
    ],
)
def test_objectives_that_cannot_be_compared_are_refused(options, words):
    grid = {"exp_epsilons": ("2",), "deltas": ("0.5",)}
    with pytest.raises(OptionError, match=words):
        slogan.frontier(users=100, **{**grid, **options})
