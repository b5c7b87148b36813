"""draw_events(): the clicks of a generated log in sessions, with times, ranks and rewordings."""

import csv
import hashlib
from dataclasses import fields

import duckdb
import numpy as np
import pytest

from slogan.generation import vocabulary
from slogan.generation.crowd import DAY, DAYS, draw_clicks, draw_crowd
from slogan.generation.events import BEGINS, SESSION_GAP, Events, draw_events
from slogan.generation.generate import generate

USERS = 3_000


@pytest.fixture(scope="module")
def crowd():
    return draw_crowd(USERS, seed=11, clicks_per_user=30.0)


@pytest.fixture(scope="module")
def events(crowd):
    return draw_events(crowd, 0, USERS)


def first_rows(events):
    """The first row of each search."""
    return np.flatnonzero(
        (np.diff(events.user, prepend=-1) != 0) | (np.diff(events.search, prepend=-1) != 0)
    )


def topic(query):
    return (query >> 54) & 63


def shares(values, length):
    return np.bincount(values, minlength=length)[:length] / len(values)


def variation(one, other):
    return np.abs(one - other).sum() / 2


def test_the_clicks_are_those_of_the_log_without_events(crowd, events):
    clicks = draw_clicks(crowd, 0, USERS)
    clicked = events.rank > 0
    keys = np.stack((events.user, events.query, events.url))[:, clicked]
    found, count = np.unique(keys, axis=1, return_counts=True)

    assert found.tolist() == [clicks.user.tolist(), clicks.query.tolist(), clicks.url.tolist()]
    assert count.tolist() == clicks.count.tolist()


def test_users_do_not_depend_on_their_company(crowd, events):
    for first, last in ((0, 1), (700, 750), (USERS - 1, USERS)):
        alone = draw_events(crowd, first, last)
        inside = np.flatnonzero((events.user >= first) & (events.user < last))
        for column in fields(Events):
            whole, part = getattr(events, column.name), getattr(alone, column.name)
            assert whole[inside].tolist() == part.tolist()


def test_another_seed_gives_other_events(events):
    other = draw_events(draw_crowd(USERS, seed=12, clicks_per_user=30.0), 0, USERS)

    assert other.searched[:100].tolist() != events.searched[:100].tolist()


def test_a_session_is_what_the_gap_says(events):
    same_user = np.diff(events.user) == 0
    gap = np.diff(events.searched)
    new = np.diff(events.session)

    assert (gap[same_user] >= 0).all()
    assert (new[same_user] == (gap[same_user] > SESSION_GAP)).all()
    assert (events.session[1:][~same_user] == 0).all()
    assert (events.searched >= 0).all()
    assert (events.searched < DAYS * DAY).all()


def test_the_clicks_of_a_search_go_down_its_page(events):
    same = (np.diff(events.user) == 0) & (np.diff(events.search) == 0)

    assert same.sum() > 1_000
    assert (np.diff(events.rank)[same] > 0).all()
    assert (np.diff(events.second)[same] > 0).all()
    assert (np.diff(events.searched)[same] == 0).all()
    assert (np.diff(events.query)[same] == 0).all()
    assert (events.second[events.rank > 0] > events.searched[events.rank > 0]).all()
    assert (events.second < DAYS * DAY).all()
    assert (events.url[events.rank == 0] == -1).all()


def test_nights_are_quiet_and_weekends_later(events):
    one = first_rows(events)
    hour, day = events.searched[one] % DAY // 3_600, events.searched[one] // DAY
    weekend = (BEGINS.weekday() + day) % 7 >= 5
    by_hour = shares(hour, 24)

    assert by_hour[3:5].max() < 0.3 * by_hour[10:22].min()
    assert 0.08 < variation(shares(hour[weekend], 24), shares(hour[~weekend], 24)) < 0.3
    assert weekend.mean() < 2 / 7 - 0.01


def test_topics_have_their_seasons(events):
    one = first_rows(events)
    of, day = topic(events.query[one]), events.searched[one] // DAY
    peaks = []
    for which in range(1, 61):
        days = shares(day[of == which], DAYS)
        peaks.append(np.convolve(days, np.ones(14), mode="same").max() * DAYS / 14)

    # About a third of the topics are searched for twice as often in their season as on average.
    assert 8 < sum(peak > 2.0 for peak in peaks) < 40


def test_some_queries_have_their_days(events):
    one = first_rows(events)
    query, count = np.unique(events.query[one], return_counts=True)
    day = events.searched[one] // DAY
    often = query[(count >= 25) & (topic(query) > 0)]
    peak = [shares(day[events.query[one] == which], DAYS).max() for which in often]

    assert len(peak) > 40
    assert 0.05 < np.mean(np.array(peak) > 0.25) < 0.5


def test_ranks_depend_on_what_is_searched_for(events):
    clicked = events.rank > 0
    site = (events.query >> 60) == vocabulary.SITE
    to_site, to_answer = (shares(events.rank[clicked & kind], 31) for kind in (site, ~site))

    assert to_site[1] > 0.8
    assert 0.2 < to_answer[1] < 0.6
    assert to_answer[11:].sum() > 0.005
    for curve in (to_site, to_answer):
        assert (np.diff(curve[1:8]) < 0).all()


def test_searches_of_a_session_share_a_topic(events):
    one = first_rows(events)
    user, session = events.user[one], events.session[one]
    of = topic(events.query[one])
    follows = (np.diff(user) == 0) & (np.diff(session) == 0)
    elsewhere = (np.diff(user) == 0) & (np.diff(session) > 0)
    same = np.diff(of) == 0

    assert follows.sum() > 5_000
    assert same[follows].mean() > same[elsewhere].mean() + 0.25


def test_some_searches_end_without_a_click_and_are_reworded(events):
    one = first_rows(events)
    idle = events.rank[one] == 0
    before = np.flatnonzero(idle[:-1] & (np.diff(events.user[one]) == 0))
    near = topic(events.query[one][before]) == topic(events.query[one][before + 1])
    same = events.query[one][before] == events.query[one][before + 1]

    assert 0.2 < idle.mean() < 0.5
    assert near.mean() > 0.9
    assert 0.2 < same.mean() < 0.7


@pytest.mark.parametrize(
    ("name", "digest"),
    [
        ("log.aol.tsv", "351ee2e03dd66326"),
        ("log.csv", "3a2efcb7b290bec8"),
        ("log.jsonl", "b61668a660199a03"),
    ],
)
def test_a_seed_gives_the_bytes_it_always_gave(tmp_path, name, digest):
    generate(tmp_path / name, users=60, seed=3, events=True)

    assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest().startswith(digest)


def test_the_columns_of_each_format(tmp_path):
    names = {"a.txt": ["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]}
    for name in ("a.tsv", "a.csv", "a.jsonl", "a.parquet"):
        names[name] = ["user", "query", "url", "time", "rank", "session"]
    rows = {}
    for name, header in names.items():
        generate(tmp_path / name, users=40, seed=2, clicks_per_user=5, events=True)
        found = duckdb.sql(
            f"SELECT * FROM '{tmp_path / name}'"
            if name != "a.txt"
            else f"SELECT * FROM read_csv('{tmp_path / name}', delim='\t')"
        )
        assert found.columns == header
        rows[name] = found.fetchall()

    assert len({len(found) for found in rows.values()}) == 1
    assert len(rows["a.csv"]) > 200
    with (tmp_path / "a.csv").open(newline="") as file:
        sessions = {row["session"]: row["user"] for row in csv.DictReader(file)}
    assert all(session.startswith(f"{user}-") for session, user in sessions.items())


@pytest.mark.parametrize("users", [1, 2])
def test_the_smallest_logs(tmp_path, users):
    generate(tmp_path / "a.txt", users=users, clicks_per_user=1, events=True)

    assert len((tmp_path / "a.txt").read_text().splitlines()) > users
