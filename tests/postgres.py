"""A PostgreSQL server for tests: on a socket in a private folder, closed to the network."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote


def program(name):
    """The newest that Debian's package has, or one on the path; fails where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda p: int(p.parts[4]))
    place = str(found[-1]) if found else shutil.which(name)
    assert place, "PostgreSQL is missing: run make postgres, or apt-get install postgresql"
    return place


@contextmanager
def server():
    """The address of a database on a server that runs as an unprivileged user."""
    # A socket's name is short, so its folder is not deep.
    with tempfile.TemporaryDirectory(prefix="slogan-pg-") as folder:
        place, data = Path(folder), Path(folder) / "data"
        run = _as_nobody(place)
        made = [program("initdb"), "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "-N"]
        subprocess.run([*run, *made], check=True, capture_output=True, cwd=folder)
        options = f"-k {folder} -c listen_addresses='' -c fsync=off"
        control = [*run, program("pg_ctl"), "-D", data, "-w"]
        log = ["-l", place / "server.log"]
        subprocess.run([*control, *log, "-o", options, "start"], check=True, cwd=folder)
        try:
            yield f"postgresql://tester@{quote(folder, safe='')}/postgres"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], check=True, cwd=folder)


def _as_nobody(folder):
    """PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return []
    shutil.chown(folder, "nobody", "nogroup")
    return ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
