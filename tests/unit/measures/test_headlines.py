"""Headlines decide tasks: good, partly or not, in the direction of the measure."""

import pytest

from slogan.measures import all_measures
from slogan.measures.headlines import GROUPS, Task


def task(good, poor):
    return Task(name="x", good=good, poor=poor, evidence="{:.0%}", value=lambda value: value)


@pytest.mark.parametrize(
    ("good", "poor", "value", "fitness"),
    [
        (0.8, 0.5, 0.8, "good_for"),
        (0.8, 0.5, 0.79, "partly"),
        (0.8, 0.5, 0.5, "partly"),
        (0.8, 0.5, 0.49, "not_for"),
        (0.1, 0.3, 0.1, "good_for"),
        (0.1, 0.3, 0.2, "partly"),
        (0.1, 0.3, 0.31, "not_for"),
        (0.1, 0.3, None, None),
    ],
)
def test_thresholds_decide_in_the_direction_of_the_task(good, poor, value, fitness):
    assert task(good, poor).fitness(value) == fitness


def test_every_task_agrees_with_the_direction_of_its_headline():
    lines = [line for measure in all_measures() for line in measure.headlines]

    assert len({line.label for line in lines}) == len(lines)
    assert {line.group for line in lines} == set(GROUPS)
    for line in lines:
        if line.task:
            assert (line.task.good > line.task.poor) == (line.better == "higher"), line.label
