"""Full disks, closed doors, vanished folders: one clear error, its exit code, and nothing left."""

import errno
import os

import pytest
from tests.faults.doomed_runs import MODES

FULL = ["error", errno.ENOSPC]
STAYS_FULL = ["full", errno.ENOSPC]
NO_SPACE = os.strerror(errno.ENOSPC)
either_way = pytest.mark.parametrize("fault", [FULL, STAYS_FULL], ids=["once", "from-then-on"])


def check_words(answer, said, *, code, saying):
    assert answer["code"] in code, said
    assert saying in said
    assert "internal error" not in said
    assert "query " not in said


def failed(site, *, code, saying, **faults):
    """A run of which we know how it fails."""
    answer = site.perform(site.run("sanitize", "release", **faults))[0]
    check_words(answer, site.say(), code={code}, saying=saying)


def steps_of(site, mode="sanitize"):
    answer = site.perform(site.run(mode, "release"))[0]
    assert answer["code"] == 0, site.say()
    return answer["steps"]


# What a run can do without: stages write nothing themselves, and what cannot be cleared away is
# left to the next run.
DISPENSABLE = ("stage ", "remove ", "rmdir ")


def full_at(site, mode, steps, n, fault):
    """A run that finds the disk full at its nth step, or from there on; whether it failed."""
    target = f"release-{n}"
    answer, said = site.perform(site.run(mode, target, at=n, fault=fault))[0], site.say()
    assert answer["steps"][-1].replace(target, "release") == steps[n - 1]
    struck = steps[n - 1 :] if fault == STAYS_FULL else steps[n - 1 : n]
    if not all(name.startswith(DISPENSABLE) for name in struck):
        check_words(answer, said, code={1}, saying=NO_SPACE)
        there = f"rename {target}" in answer["steps"][:-1]
        assert ("is whole" in said) == there
    else:
        assert answer["code"] == 0, said
    site.check_releases()
    site.next_run(mode, recorded=True)
    site.check_books()
    site.check_outcome(answer, target)
    return answer["code"] != 0


@either_way
def test_a_disk_that_is_full_at_some_step(site, ladder, fault):
    """At the lock of the ledger, while the release is filled, booked, and when it has its name."""
    steps = steps_of(site)
    names = ("open .web-users.ledger.lock", "open manifest.json", "rename web-users.ledger")
    chosen = [*map(steps.index, names), steps.index("rename release") + 1]
    struck = [full_at(site, "sanitize", steps, n + 1, fault) for n in chosen]

    ladder.count("faults injected", len(struck))
    assert all(struck)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", MODES)
@either_way
def test_a_disk_that_is_full_at_every_step(site, ladder, mode, fault):
    steps = steps_of(site, mode)
    struck = sum(full_at(site, mode, steps, n + 1, fault) for n in range(len(steps)))

    ladder.count("faults injected", struck)
    assert struck > 30


def full_while_replacing(site, mode, steps, n, fault):
    """The same of a run that replaces an older release, which stays until the new one is there."""
    before, known = site.manifest(), site.outcomes("release")
    answer = site.perform(site.run(mode, "release", "--force", at=n, fault=fault))[0]
    said, there = site.say(), "rename release" in answer["steps"][:-1]
    assert answer["steps"][-1] == steps[n - 1]
    if answer["code"] != 0:
        assert ("is whole" in said) == there
        # Where nothing can be renamed any more, the older one waits for the next run.
        older = {before, None} if fault == STAYS_FULL else {before}
        assert (site.manifest() in older) != there
    site.check_releases()
    site.next_run(mode, recorded=False)
    site.replaced[before] += site.manifest() != before
    site.check_books()
    site.check_outcome(answer, "release", before=before, known=known)
    return answer["code"] != 0


def replacing(site, mode="sanitize"):
    """The steps of a run that replaces a release, and the number of the first that makes it."""
    steps_of(site, mode)
    before = site.manifest()
    answer = site.perform(site.run(mode, "release", "--force"))[0]
    assert answer["code"] == 0, site.say()
    site.replaced[before] += 1
    return answer["steps"], answer["steps"].index("mkdir .release.partial-") + 1


@either_way
def test_a_disk_that_is_full_when_a_release_is_replaced(site, ladder, fault):
    steps, _ = replacing(site)
    moved, named = steps.index("rename replaced") + 1, steps.index("rename release") + 1
    chosen = (moved, named, named + 1)
    struck = [full_while_replacing(site, "sanitize", steps, n, fault) for n in chosen]

    ladder.count("faults injected", len(struck))
    assert all(struck)


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("mode", MODES)
@either_way
def test_a_disk_that_is_full_at_every_step_of_a_replacement(site, ladder, mode, fault):
    steps, first = replacing(site, mode)
    struck = sum(
        full_while_replacing(site, mode, steps, n, fault) for n in range(first, len(steps) + 1)
    )

    ladder.count("faults injected", struck)
    assert struck > 20


@pytest.mark.parametrize("largest", [1_024, 8_192])
def test_files_that_cannot_grow(site, ladder, largest):
    """The kernel itself refuses to write on, to Python and to DuckDB alike."""
    rows = site.log.read_text().splitlines(keepends=True)
    more = [line.replace("query ", f"query {n} ") for n in range(40) for line in rows[1:]]
    site.log.write_text("".join([rows[0], *more]))
    failed(site, largest_file=largest, code=1, saying="File too large")

    ladder.count("faults injected")
    site.check_nothing_left()
    assert site.check_books().releases == []


@pytest.mark.parametrize("largest", [1_024, 20_000, 1_000_000])
def test_a_made_up_log_that_cannot_be_written(site, ladder, largest):
    """Not its numbers, not what DuckDB notes of them, not the log itself."""
    older = site.releases / "clicks.tsv"
    older.write_text("older")
    run = site.run("sanitize", "", largest_file=largest)
    run["command"] = ["generate", str(older), "--users", "400", "--force"]
    answer = site.perform(run)[0]

    ladder.count("faults injected")
    check_words(answer, site.say(), code={1}, saying="File too large")
    site.check_nothing_left()
    assert older.read_text() == "older"


def test_a_folder_that_may_not_be_written(site, ladder):
    site.releases.chmod(0o500)
    try:
        failed(site, unprivileged=True, code=1, saying="Permission denied")
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
    failed(site, unprivileged=True, code=2, saying="Permission denied")

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
    """All that a run can do is say so; a ledger with an entry counts it as spent."""
    steps, place = steps_of(site), site.folder / "elsewhere"
    for name in ("open manifest.json", "fsync releases", "rename release", "fsync ledgers"):
        place.mkdir()
        step = steps.index(name) + 1
        run = site.run("sanitize", "release", at=step, fault=["vanish", str(place)])
        run["command"][3] = str(place / "release")
        answer, said = site.perform(run)[0], site.say()
        check_words(answer, said, code={1}, saying="No such file or directory")
        assert not place.exists()
        site.check_nothing_left()

    ladder.count("faults injected", 4)
    assert list(site.ledger.books().outcomes.values()) == ["published", "in doubt", "in doubt"]
