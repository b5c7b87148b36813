"""A small log with its output for a fixed seed. Refresh: python tests/golden/test_golden.py"""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import slogan

HERE = Path(__file__).parent
OBJECTIVES = {
    "output_size": slogan.OutputSize(),
    "diversity": slogan.Diversity(),
    "query_diversity": slogan.QueryDiversity(),
    "frequent_pairs": slogan.FrequentPairs(min_support="1/10"),
}


def released(name: str) -> str:
    budget = slogan.PrivacyBudget(exp_epsilon=2, delta="0.5")
    release = slogan.sanitize(
        HERE / "clicks.tsv", budget, objective=OBJECTIVES[name], solver="exact", seed=7
    )
    with TemporaryDirectory() as folder:
        release.save(Path(folder) / "out")
        release.close()
        return (Path(folder) / "out/public/log.tsv").read_text()


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_golden_log_gives_the_golden_output(name):
    assert released(name) == (HERE / f"{name}.tsv").read_text()


if __name__ == "__main__":
    for name in OBJECTIVES:
        (HERE / f"{name}.tsv").write_text(released(name))
