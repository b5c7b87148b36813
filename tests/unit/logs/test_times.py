"""Periods and formats of times are declared: what is not understood is refused before any row."""

import pytest

from slogan.errors import OptionError
from slogan.logs.searchlog import read
from slogan.logs.times import Period, TimeFormat

AOL = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"


@pytest.fixture
def aol(tmp_path):
    file = tmp_path / "log.txt"
    file.write_text(f"{AOL}7\tweather\t2006-03-01 10:00:00\t1\tw.com\n")
    return file


def test_a_period_has_both_of_its_days():
    period = Period.of("2024-02-28/2024-03-01")

    assert (period.days, period.weekday, str(period)) == (3, 2, "2024-02-28/2024-03-01")
    assert Period.of_label("2026-01 to 2026-03") is None


@pytest.mark.parametrize(
    "text",
    ["", "2026-01-01", "2026-02-30/2026-03-01", "2026-01-02/2026-01-01", "1900-01-01/2026-01-01"],
)
def test_another_period_is_refused(text):
    with pytest.raises(OptionError, match="period"):
        Period.of(text)


def test_the_header_of_aol_declares_rank_and_with_a_period_time(aol):
    without, within = read(aol), read(aol, period="2006-03-01/2006-05-31")

    assert without.columns.event_roles == {"rank": "ItemRank"}
    assert without.undated == "QueryTime"
    assert within.columns.event_roles == {"time": "QueryTime", "rank": "ItemRank"}
    assert (within.time_format, within.undated) == ("%Y-%m-%d %H:%M:%S", None)
    assert not read(
        aol, period="2006-03-01/2006-05-31", time="none", rank="none"
    ).columns.event_roles


def test_a_column_of_times_needs_a_period(aol):
    with pytest.raises(OptionError, match="declared period") as caught:
        read(aol, time="QueryTime")
    assert "--period 20" in caught.value.hint


def test_a_text_does_not_declare_how_it_writes_times(tmp_path):
    file = tmp_path / "log.tsv"
    file.write_text("user\tquery\turl\twhen\n7\tq\tw\t2026-01-01\n")

    with pytest.raises(OptionError, match="texts do not declare"):
        read(file, time="when", period="2026-01-01/2026-01-31")


@pytest.mark.parametrize(
    "text",
    [
        *("ISO", "iso+15:00", "seconds", "%Y", "%Y-%m-%d %S", "%Y-%m-%d %I:%M", "%Y%m%d%b"),
        *("%Y-%m-%d%z", "%Y-%m-%d at %H", "%Y-%m-%d\t%H", "%Y-%m-%d %H%p", "%Y-%m-%d%"),
        "%Y-%Y-%m-%d",
    ],
)
def test_another_format_is_refused(aol, text):
    with pytest.raises(OptionError, match="format of times"):
        read(aol, period="2006-03-01/2006-05-31", time_format=text)


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("iso", 1),
        ("epoch", 1),
        ("%d/%b/%Y %H:%M", 60),
        ("%Y%m%d %I %p", 3600),
        ("%Y-%m-%d", 86_400),
    ],
)
def test_a_format_says_how_fine_it_is(name, step):
    assert TimeFormat(name).step == step
