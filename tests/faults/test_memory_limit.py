"""--memory-limit: DuckDB spills into a private folder, gone at the end and at the next start."""

import os
import signal
import stat
import subprocess
import sys
import time

import duckdb
import pytest

ROWS = 800_000
LIMIT = "400MB"  # of which the database gets half


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log of many long texts, which do not fit a few megabytes."""
    file = tmp_path_factory.mktemp("log") / "log.parquet"
    duckdb.sql(f"""
        SELECT 'user ' || u % 300000 AS user, 'query ' || md5((u // 2)::VARCHAR) AS query,
               'www.' || md5((u // 2 * 7)::VARCHAR) AS url
        FROM range({ROWS}) t(u)""").write_parquet(str(file))
    return file


@pytest.fixture
def private(tmp_path):
    folder = tmp_path / "private"
    folder.mkdir()
    return folder


def inspecting(log, private, *more):
    return subprocess.Popen(
        [sys.executable, "-m", "slogan", "inspect", str(log), "--json", *more],
        env={**os.environ, "TMPDIR": str(private)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def spilled(private):
    return [path for path in private.rglob("*") if path.is_file()]


def wait_for_spilling(run, private):
    while not spilled(private):
        assert run.poll() is None, run.communicate()
        time.sleep(0.01)


@pytest.mark.long
def test_a_killed_run_leaves_what_it_spilled_to_its_owner_and_the_next_one_wipes_it(
    log, private, tmp_path, ladder
):
    run = inspecting(log, private, "--memory-limit", LIMIT)
    wait_for_spilling(run, private)
    run.kill()
    run.communicate()
    (folder,) = private.iterdir()

    ladder.count("faults injected")
    assert run.returncode == -signal.SIGKILL
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert spilled(private)

    small = tmp_path / "small.tsv"
    small.write_text("user\tquery\turl\n1\tq\tu\n2\tq\tu\n")
    following = inspecting(small, private)
    said = following.communicate(timeout=120)
    assert following.returncode == 0, said
    assert list(private.iterdir()) == []


def test_a_limit_makes_the_run_spill_and_changes_nothing(log, private):
    run = inspecting(log, private, "--memory-limit", LIMIT)
    wait_for_spilling(run, private)
    told, said = run.communicate(timeout=300)

    assert run.returncode == 0, said
    assert f'"clicks": {ROWS}' in told
    assert list(private.iterdir()) == []


def test_a_limit_that_is_too_small_is_a_clear_error(log, private):
    run = inspecting(log, private, "--memory-limit", "3MB")
    _, said = run.communicate(timeout=300)

    assert run.returncode == 1, said
    assert "ran out of memory" in said
    assert "--memory-limit" in said
    assert list(private.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda n: n.name)
def test_a_signal_while_the_database_counts(log, private, ladder, number):
    """DuckDB answers a signal with its own error, in the middle of its query."""
    run = inspecting(log, private, "--memory-limit", LIMIT)
    wait_for_spilling(run, private)
    run.send_signal(number)
    _, said = run.communicate(timeout=120)

    ladder.count("faults injected")
    assert run.returncode == 128 + number, said
    assert "Interrupted" in said
    assert list(private.iterdir()) == []
