"""The tables of time, rank and session, from records that were made up."""

import copy

from bench.columns import FIGURES, markdown

MODEL = {"perplexity": 1.5, "perplexity_of_original": 1.45, "ndcg": 0.9, "ndcg_of_original": 0.95}
SESSIONS = {
    "per_user": 9.5,
    "per_user_of_original": 10.0,
    "length_variation": 0.1,
    "click_variation": 0.1,
}
TOLD = {
    "times": {"released_pairs": {"hour_of_day": 0.06, "weekday": 0.01, "day": 0.2}},
    "ranks": {"whole_log": {"variation": 0.02}},
    "click_models": {"position_based": MODEL, "cascade": MODEL},
    "sessions": {"released_pairs": SESSIONS, "whole_log": SESSIONS},
    "next_query": {"hit_at_10": 0.3},
    "mean_pairs": 950.0,
    "size": 1_000,
    "recall": 0.95,
    "sum_support_distance": 0.003,
    "seconds": 9.0,
}


def record(**changed):
    told = copy.deepcopy(TOLD)
    return {**told, "yardstick": told, **changed}


def test_what_misses_its_goal_is_bold_and_what_is_not_there_is_left_out():
    records = {
        "2,500 users | with": record(times={}, mean_pairs=90.0),
        "2,500 users | without": record(mean_pairs=100.0),
        "65,000 users | with": record(),
        "65,000 users | without": record(mean_pairs=1_000.0),
    }
    lines = markdown(records, "here").splitlines()
    found = {line.split(" | ")[0].removeprefix("| "): line for line in lines}

    assert "**0.060** | 0.060 | – | 0.060 |" in found["released pairs: hour of day"]
    assert "| 5.0% | 5.0% |" in found["whole log: sessions per user, change"]
    assert "| +3.4% |" in found["cascade model on all shared queries: perplexity above the log's"]
    assert "| – | – |" in found["ten most clicked pairs of each day"]
    assert "| 65,000 users | pairs, mean of 10 draws | 950.0 | 1,000.0 | 5.0% |" in lines
    assert "| 2,500 users | pairs, mean of 10 draws | 90.0 | 100.0 | **10.0%** |" in lines
    assert "| 65,000 users | recall of frequent pairs | 0.950 | 0.950 | 0.0% |" in lines
    assert len([line for line in lines if line.startswith("|")]) > len(FIGURES)
