"""Looking at a log: what is guessed, and what is not shown even of its first line."""

import pytest

from slogan.progress import silent
from slogan.studio.choices import LogChoice
from slogan.studio.work.budgets import Compare
from slogan.studio.work.tasks import Count, Look


def look(file, text, **options):
    file.write_text(text)
    return Look(log=LogChoice(source=str(file), **options)).run(silent)


def test_columns_and_roles_are_found(tmp_path):
    seen = look(tmp_path / "a.csv", "user;query;url;age\n1;cat;c.com;7\n")

    assert seen.roles == {"user": "user", "query": "query", "url": "url"}
    assert seen.events == {}
    assert (seen.delimiter, seen.header, seen.problem) == (";", True, "")
    assert seen.rows == (("9", "xxx", "x.xxx", "9"),)


def test_names_that_fit_no_role_are_shown(tmp_path):
    seen = look(tmp_path / "a.csv", "Kundennummer;Suche;Ziel\n1;cat;c.com\n")

    assert seen.roles == {}
    assert "cannot tell" in seen.problem
    assert "--" not in seen.hint  # a control, not an option
    assert [column.name for column in seen.columns] == ["Kundennummer", "Suche", "Ziel"]


@pytest.mark.parametrize("first", ["17\tjane doe\twww.doe.com", "u1\tjane doe\tx"])
def test_a_first_line_that_is_a_row_is_not_shown(tmp_path, first):
    seen = look(tmp_path / "a.tsv", f"{first}\n2\tcat\tc.com\n")

    assert "jane" not in repr(seen)
    assert "looks like a row" in seen.problem
    assert [column.name for column in seen.columns] == ["column 1", "column 2", "column 3"]


def test_a_log_is_counted(tmp_path):
    (tmp_path / "a.tsv").write_text("user\tquery\turl\n1\tcat\tc\n2\tcat\tc\n2\tme\tm\n")
    sizes = Count(log=LogChoice(source=str(tmp_path / "a.tsv"))).run(silent)

    assert (sizes.whole.users, sizes.whole.pairs, sizes.shared.pairs) == (2, 2, 1)
    assert sizes.advice.shared_queries == 1
    assert "cat" not in repr(sizes)


@pytest.mark.long
@pytest.mark.parametrize("mode", ["synthesize", "sanitize"])
def test_the_made_up_log_has_the_declared_size(mode):
    compare = Compare(mode=mode, users=300, clicks_per_user="4.0", delta="1e-6", items="pairs")
    stops = compare.run(silent)

    assert stops.measured_users == 300
    assert [stop.name for stop in stops.stops if stop.name] == ["strict", "usual", "loose"]
    assert [stop.dots for stop in stops.stops] == sorted(stop.dots for stop in stops.stops)
