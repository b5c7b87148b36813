"""slogan review: a table, one JSON object, and a release that is written again."""

import json

from tests.unit.cli.commands import slogan

LOOSE = ("--exp-epsilon", "20", "--delta", "0.95", "--objective", "diversity")


def test_a_query_is_withheld_from_the_command_line(log, tmp_path):
    slogan("sanitize", log, "-o", "release", *LOOSE, cwd=tmp_path)
    shown = slogan("review", "release", cwd=tmp_path)
    listed = slogan("review", "release", "--json", cwd=tmp_path)
    query = json.loads(listed.stdout)["queries"][0]["query"]
    done = slogan("review", "release", "--withhold", query, "--json", cwd=tmp_path)
    checked = slogan("verify", log, "release", cwd=tmp_path)
    again = slogan("review", "release", "--withhold", query, cwd=tmp_path)

    assert shown.returncode == done.returncode == checked.returncode == 0
    assert "released queries may point to a person" in shown.stdout + shown.stderr
    assert json.loads(done.stdout)["withheld"] == {"queries": 1, "pairs": 1}
    assert again.returncode == 2
    assert "nothing was changed" in again.stderr
    assert query not in again.stderr
