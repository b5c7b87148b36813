"""A generated log as UBI: valid lines, which are the log of the same seed in any other format."""

from collections import Counter
from datetime import datetime

import pytest
from tests.ubi_schema import require_valid

import slogan
from slogan.generation.generate import generate


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    for name in ("log.ubi.jsonl", "log.tsv"):
        generate(folder / name, users=60, seed=3, clicks_per_user=20)
    return folder


def test_lines_are_valid_linked_and_in_order_of_time(made):
    queries, events = require_valid((made / "log.ubi.jsonl").read_text(encoding="utf-8"))
    asked = {one["query_id"]: one for one in queries}
    clicks = Counter(event["query_id"] for event in events)

    assert len({one["client_id"] for one in queries}) == 60
    assert max(clicks.values()) > 1  # several clicks of one search
    assert len(clicks) < len(queries)  # searches without a click
    for event in events:
        search = asked[event["query_id"]]
        assert event["session_id"] == search["session_id"]
        moments = (datetime.fromisoformat(one["timestamp"]) for one in (search, event))
        searched, clicked = moments
        assert 0 < (clicked - searched).total_seconds() < 1_000
        assert event["event_attributes"]["position"]["ordinal"] >= 1


def test_it_has_the_clicks_of_other_formats(made):
    ubi, tsv = (slogan.inspect(made / name) for name in ("log.ubi.jsonl", "log.tsv"))

    assert ubi.whole == tsv.whole
    assert ubi.counted.hist.digest() == tsv.counted.hist.digest()
    assert ubi.counted.rows_without_click > 0


def test_the_same_seed_gives_the_same_bytes(made, tmp_path):
    generate(tmp_path / "again", format="ubi", users=60, seed=3, clicks_per_user=20, events=True)

    assert (tmp_path / "again").read_bytes() == (made / "log.ubi.jsonl").read_bytes()
