"""Releases side by side: the same figures as evaluate, a winner only where one is clear."""

import json

import pytest

import slogan
from slogan.errors import OptionError
from slogan.workflows.compare import RE_ROLL, ComparedMeasure


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("compared")
    rows = [f"{u}\tq{n}\twww.{n}.com\t{1 + (u + n) % 3}" for u in range(30) for n in range(5)]
    log = folder / "clicks.tsv"
    log.write_text("\n".join(["user\tquery\turl\tcount", *rows]) + "\n")
    for name, epsilon in (("small", "0.1"), ("large", "3")):
        with slogan.sanitize(log, epsilon=epsilon, delta="0.5", solver="exact") as release:
            release.save(folder / name)
    return folder


def test_without_an_evaluation_the_log_is_needed(made, tmp_path):
    with pytest.raises(OptionError, match="has not been evaluated") as refused:
        slogan.compare(made / "small", made / "large")
    assert "slogan evaluate LOG" in refused.value.hint


def test_the_figures_are_those_of_evaluate_and_are_kept(made):
    found = slogan.compare(made / "small", made / "large", log=made / "clicks.tsv", samples=2)
    again = slogan.compare(made / "small", made / "large")
    one = json.loads((made / "large/curator/evaluation.json").read_text())

    assert again == found
    assert [m.values[1] for m in found.measures] == [h["release"] for h in one["headlines"]]
    assert [r.epsilon for r in found.releases] == ["0.1", "3"]
    assert found.same_log
    assert found.words[-1] == RE_ROLL
    assert json.loads(json.dumps(found.to_dict()))["measures"][0]["label"] == "Clicks released"
    assert "0.1" in found._repr_html_()
    assert len(repr(found)) < 60


@pytest.mark.parametrize("releases", [["small"], ["small", "small"]])
def test_one_release_cannot_be_compared(made, releases):
    with pytest.raises(OptionError, match="two or more different"):
        slogan.compare(*(made / name for name in releases))


@pytest.mark.parametrize(
    ("better", "values", "best", "winner"),
    [
        ("higher", (0.1, 0.9), (1,), 1),
        ("lower", (0.1, 0.9), (0,), 0),
        ("higher", (0.90, 0.91), (1,), None),  # too close
        ("higher", (0.9, 0.9), (), None),
        ("higher", (0.9, 0.9, 0.1), (0, 1), None),
        ("higher", (None, 0.9), (), None),
        ("", (0.1, 0.9), (), None),
        ("lower", (0.0, 0.5), (0,), 0),
    ],
)
def test_a_winner_is_clearly_better(better, values, best, winner):
    measure = ComparedMeasure(
        label="x", task="", group="Users", better=better, values=values, texts=()
    )

    assert (measure.best, measure.winner) == (best, winner)
