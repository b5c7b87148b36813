"""Progress where there is no terminal: a line now and then, also if a step reports nothing."""

import time

from slogan.progress import lines


def test_a_line_comes_now_and_then_whether_or_not_the_step_reports():
    shown = []
    with lines(shown.append, every=0.05) as progress:
        for n in range(1_000):
            progress("count", f"{n} rows")
        progress("solve", "best 4", 0.5)
        time.sleep(0.3)

    assert 2 <= len(shown) <= 7
    assert shown[-1] == "0 s: solve, 50%, best 4"


def test_a_short_run_prints_no_line():
    shown = []
    with lines(shown.append) as progress:
        progress("count")

    assert shown == []
