"""slogan inspect: the paper's Table 3."""

import json

from tests.unit.cli.commands import slogan


def test_inspect_is_table_3(tmp_path, log):
    told = json.loads(slogan("inspect", log, "--json", cwd=tmp_path).stdout)

    assert [told[n] for n in ("clicks", "users", "queries", "urls", "pairs")] == [26, 8, 4, 4, 4]
    assert told["shared"] == {"clicks": 24, "users": 8, "queries": 3, "urls": 3, "pairs": 3}
