"""Full disks, closed doors, vanished folders: one clear error, its exit code, and nothing left."""

import errno
import os

import pytest

FULL = ["error", errno.ENOSPC]
NO_SPACE = os.strerror(errno.ENOSPC)


def failed(site, *, code, saying, **faults):
    """A run that fails as it should; returns whether it failed."""
    answer = site.perform(site.run("sanitize", **faults))[0]
    said = site.say()
    if answer["code"] == 0:
        return False
    assert answer["code"] in code, said
    assert saying in said
    assert "internal error" not in said
    assert "query " not in said
    return True


def steps_of(site):
    answer = site.perform(site.run("sanitize", "release"))[0]
    assert answer["code"] == 0, site.say()
    return answer["steps"]


def test_a_disk_that_is_full_at_some_step(site, ladder):
    """At the lock of the ledger, while the release is filled, and later."""
    last = steps_of(site)
    for step in (2, last // 2, last - 25):
        assert failed(site, target="other", at=step, fault=FULL, code=(1, 5), saying=NO_SPACE)
        site.check_releases()

    ladder.count("faults injected", 3)
    site.next_run("sanitize", recorded=True)
    site.check_books()


@pytest.mark.long
def test_a_disk_that_is_full_at_every_step(site, ladder):
    struck = 0
    for step in range(1, steps_of(site)):
        target = f"release-{step}"
        struck += failed(site, target=target, at=step, fault=FULL, code=(1, 5), saying=NO_SPACE)
        site.check_releases()
        site.next_run("sanitize", recorded=True)
        site.check_books()

    ladder.count("faults injected", struck)
    assert struck > 30


@pytest.mark.parametrize("largest", [1_024, 8_192])
def test_files_that_cannot_grow(site, ladder, largest):
    """The kernel itself refuses to write on, to Python and to DuckDB alike."""
    rows = site.log.read_text().splitlines(keepends=True)
    more = [line.replace("query ", f"query {n} ") for n in range(40) for line in rows[1:]]
    site.log.write_text("".join([rows[0], *more]))
    assert failed(site, target="release", largest_file=largest, code=(1,), saying="File too large")

    ladder.count("faults injected")
    site.check_nothing_left()
    assert site.check_books().releases == []


def test_a_folder_that_may_not_be_written(site, ladder):
    site.releases.chmod(0o500)
    try:
        assert failed(
            site, target="release", unprivileged=True, code=(1,), saying="Permission denied"
        )
    finally:
        site.releases.chmod(0o700)

    ladder.count("faults injected")
    site.check_nothing_left()


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_a_log_that_may_not_be_read(site, ladder, kind):
    if kind == "parquet":
        import duckdb

        duckdb.read_csv(str(site.log)).write_parquet(str(site.log.with_suffix(".parquet")))
        site.log = site.log.with_suffix(".parquet")
    site.log.chmod(0)
    assert failed(site, target="release", unprivileged=True, code=(2,), saying="Permission denied")

    ladder.count("faults injected")
    site.check_nothing_left()


def test_no_room_for_temporary_files(site, ladder):
    site.temporary.chmod(0o500)
    run = site.run("sanitize", "release", unprivileged=True)
    try:
        answer = site.perform(run)[0]
    finally:
        site.temporary.chmod(0o700)
    said = site.say()

    ladder.count("faults injected")
    assert answer["code"] in (0, 1), said  # 0 where another folder for such files is found
    assert "internal error" not in said


def test_a_folder_that_vanishes(site, ladder):
    """All that a run can do is say so; a ledger that was told counts it as spent."""
    last = steps_of(site)
    place = site.folder / "elsewhere"
    for step in (last - 40, last - 26, last - 16):
        place.mkdir()
        run = site.run("sanitize", "release", at=step, fault=["vanish", str(place)])
        run["command"][3] = str(place / "release")
        answer, said = site.perform(run)[0], site.say()
        assert answer["code"] in (0, 1), said
        assert "internal error" not in said
        assert not place.exists()
        site.check_nothing_left()

    ladder.count("faults injected", 3)
    assert set(site.ledger.books().outcomes.values()) <= {"published", "abandoned", "in doubt"}
