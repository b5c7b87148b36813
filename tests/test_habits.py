"""What a run asks of the machine: its own files, no network, no other program, no shell."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import slogan
from slogan.engines.spark.sql import Arrivals
from slogan.errors import OptionError
from slogan.progress import silent
from slogan.storage.database import connected, limit_memory

OURS = {"PYTHONPATH": str(Path(slogan.__file__).parents[1])}

# An audit hook sees what Python code asks the system for. DuckDB's own downloads, which it does not
# see, are switched off where databases are opened: in one place, as the last tests here ask.
HOOKED = """
import json, os, sys

seen = []
WATCHED = ("socket.", "subprocess.", "os.system", "os.exec", "os.spawn", "os.posix_spawn",
           "os.fork", "webbrowser.", "ftplib.", "smtplib.", "urllib.", "http.")

def watch(event, args):
    if event == "open" and isinstance(args[0], (str, bytes)) and isinstance(args[2], int):
        if args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC):
            seen.append(["write", os.path.abspath(os.fsdecode(args[0]))])
    elif event.startswith(WATCHED) and event != "socket.gethostname":
        seen.append([event, ""])

from slogan.__main__ import main
sys.addaudithook(watch)
report, sys.argv = sys.argv[1], ["slogan", *sys.argv[2:]]
try:
    main()
finally:
    found = list(seen)
    with open(report, "w") as file:
        json.dump(found, file)
"""


def asked_for(folder, *command):
    """The watched events of a run, and where it wrote."""
    report = folder / "report.json"
    done = subprocess.run(
        [sys.executable, "-B", "-c", HOOKED, report, *command],  # bytecode is Python's to write
        cwd=folder,
        env={"PATH": "/nonexistent", "TMPDIR": str(folder), "HOME": str(folder), **OURS},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    events = json.loads(report.read_text())
    written = {Path(place) for event, place in events if event == "write"}
    return [event for event, _ in events if event != "write"], written


def test_a_run_opens_no_connection_starts_no_program_and_writes_only_to_its_folders(tmp_path):
    folder = tmp_path.resolve()
    slogan.generate(folder / "clicks.tsv", users=60, seed=1)
    budget = ["--exp-epsilon", "2", "--delta", "0.5"]
    sanitize = ["sanitize", "clicks.tsv", "-o", "release", *budget, "--solver", "exact"]
    for command in (sanitize, ["verify", "clicks.tsv", "release"]):
        events, written = asked_for(folder, *command)
        elsewhere = {p for p in written if not p.is_relative_to(folder)} - {Path("/dev/null")}

        assert events == []
        assert elsewhere == set()


def test_databases_are_opened_in_one_place():
    package = Path(slogan.__file__).parent
    opening = re.compile(r"duckdb\s*\.\s*(connect|sql|query|execute|read_\w+)\b|import connect\b")
    found = [file.name for file in package.rglob("*.py") if opening.search(file.read_text())]

    assert found == ["database.py"]


def test_a_database_loads_nothing_and_spills_to_the_given_folder(tmp_path):
    names = ("autoinstall_known_extensions", "autoload_known_extensions", "enable_progress_bar")
    settings = ", ".join(f"current_setting('{name}')" for name in (*names, "temp_directory"))
    for spill, folder in ((None, ""), (tmp_path, str(tmp_path))):
        with connected(spill=spill) as sql:
            assert sql.execute(f"SELECT {settings}").fetchall() == [(False, False, False, folder)]


@pytest.mark.parametrize("limit", ["-1", "none", "0GB", "0.0MB", "", "-4GB", "4", "much", "nan GB"])
def test_a_memory_limit_is_a_positive_size(limit):
    with connected() as sql:
        with pytest.raises(OptionError, match="is not understood"):
            limit_memory(sql, limit)
        limit_memory(sql, " 1.5 GB")
        assert sql.execute("SELECT current_setting('memory_limit')").fetchall() == [("1.3 GiB",)]


@pytest.mark.parametrize("limit", ["-1", "0GB", "none", "1,5GB", "80%", "4GB or so"])
def test_so_is_the_room_for_what_comes_from_spark(limit):
    with pytest.raises(OptionError, match="is not understood"):
        Arrivals.within(limit, silent)


@pytest.mark.parametrize(
    ("limit", "room"),
    [
        ("4GB", 4 * 10**9),
        ("4 GiB", 2**32),
        ("1.5g", 15 * 10**8),
        ("2kib", 2048),
        ("300MB", 3 * 10**8),
    ],
)
def test_units_are_those_of_duckdb(limit, room):
    assert Arrivals.within(limit, silent).room == room
