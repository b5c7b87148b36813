"""Runs that meet a fault, and what must be true of the disk after any of them."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import slogan
from slogan.storage.atomic import sha256_of

SERVER = Path(__file__).with_name("run_server.py")
EXACT = ("--exp-epsilon", "2", "--delta", "0.5", "--solver", "spe")
LAPLACE = (
    "--counts",
    "laplace",
    "--laplace-bound",
    "5",
    "--laplace-epsilon",
    "1",
    "--allow-unaccounted",
)
MODES = {
    "sanitize": ("sanitize", EXACT),
    "laplace": ("sanitize", (*EXACT, *LAPLACE)),
    "private": ("sanitize", ("--epsilon", "8", "--delta", "0.1", "--counts", "private")),
    "synthesize": ("synthesize", ("--epsilon", "8", "--delta", "1e-3")),
}
USERS, PAIRS = 240, 6
KILL = ("signal", int(signal.SIGKILL))


class Server:
    """Has commands run in forks of a process that knows slogan already."""

    def __init__(self):
        self._start()

    def _start(self):
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout.readline() == "ready\n"

    def perform(self, runs):
        self._process.stdin.write(json.dumps(runs) + "\n")
        self._process.stdin.flush()
        try:
            return json.loads(self._process.stdout.readline())
        except BaseException:  # a test that ran out of time must not leave its answer to the next
            self._process.kill()
            self.close()
            self._start()
            raise

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=60)


def write_log(file):
    rows = [
        f"{user}\tquery {n}\twww.site{n}.com\t{1 + (user + n) % 3}\n"
        for user in range(USERS)
        for n in range(PAIRS)
        if (user + n) % 4
    ]
    file.write_text("user\tquery\turl\tcount\n" + "".join(rows))
    return file


class Site:
    """A log, a ledger without a cap, a folder for releases and one for temporary files."""

    def __init__(self, folder, server):
        self.folder, self.server = folder, server
        self.log = folder / "clicks.tsv"
        self.releases, self.temporary = folder / "releases", folder / "temporary"
        self.words = folder / "words.txt"
        self.replaced = Counter()
        for place in (self.releases, self.temporary):
            place.mkdir()
        write_log(self.log)
        self.ledger = slogan.Ledger.open("web-users", folder / "ledgers/web-users.ledger")
        self.ledger.create()

    def run(self, mode, target, *more, recorded=True, **faults):
        """One run as the server takes it."""
        verb, budget = MODES[mode]
        recording = ["--ledger", str(self.ledger.file)] if recorded else []
        return {
            "command": [
                *(verb, str(self.log), "-o", str(self.releases / target), *budget),
                *(*recording, *more, "--json"),
            ],
            "folder": str(self.folder),
            "environment": {"TMPDIR": str(self.temporary)},
            "words": str(self.words),
            **faults,
        }

    def perform(self, *runs):
        """Exit codes and steps of runs that start together."""
        return self.server.perform(list(runs))

    def say(self):
        """What the last runs wrote; says it once."""
        said = self.words.read_text() if self.words.exists() else ""
        self.words.unlink(missing_ok=True)
        return said

    def manifest(self, target="release"):
        """The checksum of a release's manifest; None if there is no release."""
        file = self.releases / target / "public/manifest.json"
        return sha256_of(file) if file.exists() else None

    def outcomes(self, target):
        """What became of each release that was booked for a place, the oldest first."""
        books = self.ledger.books()
        return [
            books.outcomes[number]
            for number, entry in books.booked()
            if Path(entry.target).name == target
        ]

    def next_run(self, mode, *, recorded):
        """Another run beside, after which nothing of killed ones is left; its release is taken."""
        answer = self.perform(self.run(mode, "next", recorded=recorded))[0]
        assert answer["code"] == 0, self.say()
        self.check_nothing_left()
        if recorded:
            self.replaced[self.manifest("next")] += 1
        shutil.rmtree(self.releases / "next")

    # --- what must be true ---

    def check_releases(self):
        """No half release, none without its entry; returns the manifests by their place."""
        found = {}
        for release in self.releases.iterdir():
            if release.name.startswith("."):
                continue
            assert_whole(release)
            found[release] = sha256_of(release / "public/manifest.json")
        counted = {entry.manifest_sha256 for entry in self._as_it_stands().releases}
        assert set(found.values()) <= counted
        return found

    def check_books(self):
        """No entry that counts without a release that is there, or was there and was replaced."""
        books = self.ledger.books()
        found = self.check_releases()
        assert set(books.outcomes.values()) <= {"published", "abandoned"}
        assert {number for number, _ in books.booked()} == set(books.outcomes)
        counted = Counter(entry.manifest_sha256 for entry in books.releases)
        assert counted == Counter(found.values()) + self.replaced
        return books

    def check_outcome(self, answer, target, *, before=None, known=()):
        """What a run did before its fault, and nothing else, is what became of its release.

        `before` is the manifest and `known` are the outcomes at this place before the run.
        """
        done = answer["steps"][:-1]
        booked = answer["code"] == 0 or "rename web-users.ledger" in done[write_begins(done) :]
        published = answer["code"] == 0 or f"rename {target}" in done
        outcome = ["published" if published else "abandoned"] * booked
        assert self.outcomes(target) == [*known, *outcome], answer
        assert (self.manifest(target) != before) == published, answer

    def check_nothing_left(self):
        """No temporary file or folder of slogan's anywhere."""
        hidden = [p for p in self.releases.iterdir() if p.name.startswith(".")]
        beside = {p.name for p in self.ledger.file.parent.iterdir()}
        assert hidden == []
        assert list(self.temporary.iterdir()) == []
        assert beside == {"web-users.ledger", ".web-users.ledger.lock"}

    def _as_it_stands(self):
        """The books without settling anything."""
        from slogan.ledger.entries import Books

        return Books(self.ledger.file, tuple(self.ledger._chain.read()))


def write_begins(steps):
    """The place of the step from which on a run writes its release; what it reserved is earlier."""
    return steps.index("stage write") if "stage write" in steps else len(steps)


def assert_whole(release):
    """Every file is there, and the log is the one that the manifest describes."""
    manifest = json.loads((release / "public/manifest.json").read_text())
    public = {p.name for p in (release / "public").iterdir()}
    assert public == {
        *("manifest.json", "report.html", "data-card.html", "log.tsv"),
        *("croissant.json", "deployment.yaml", "SHA256SUMS"),
    }
    assert sha256_of(release / "public/log.tsv") == manifest["log"]["sha256"]
    assert (release / "public/report.html").read_text().rstrip().endswith("</html>")
    assert (release / "curator/report.html").read_text().rstrip().endswith("</html>")
    json.loads((release / "curator/certificate.json").read_text())
    assert {p.name for p in release.iterdir()} == {"public", "curator"}
    assert (release / "curator").stat().st_mode & 0o777 == 0o700
