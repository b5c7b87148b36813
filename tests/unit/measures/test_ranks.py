"""Clicks by rank, by hand."""

from tests.strategies import events_of

from slogan.measures.events import Both
from slogan.measures.ranks import ranks


def ranked(*clicks):
    rows = [(n, 0, 0, rank, count) for n, (rank, count) in enumerate(clicks)]
    return events_of(rows, "user pair query rank count")


def test_ranks_by_hand():
    """Of the first page: 3/4 and 1/4 against 1/2 and 1/2; the second page does not count."""
    found = ranks(Both(ranked((1, 3), (10, 1), (11, 8)), ranked((1, 2), (10, 2), (40, 1))))

    assert found.variation == 0.25
    assert found.clicks == [2, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    assert found.clicks_of_original == [3, 0, 0, 0, 0, 0, 0, 0, 0, 1]


def test_a_log_is_like_itself_and_second_pages_have_no_curve():
    log = ranked((1, 3), (2, 1))

    assert ranks(Both(log, log)).variation == 0
    assert ranks(Both(log, ranked((12, 3)))).variation is None
    assert ranks(Both(log, ranked((3, 5)))).variation == 1
