"""What tests of several packages do alike."""

import os

import duckdb

from slogan.manifest.manifest import SpentStage
from slogan.release import publication


def write(file, rows, header=("user", "query", "url", "count")):
    """A log of tab-separated rows."""
    file.write_text("".join("\t".join(map(str, row)) + "\n" for row in (header, *rows)))
    return file


def table(file):
    """What is in a file that DuckDB knows by its name."""
    return duckdb.sql(f"FROM '{file}'")


def seeds(first, number):
    """This many seeds; or the one that SLOGAN_FUZZ names if it is set."""
    asked = os.environ.get("SLOGAN_FUZZ")
    return range(first, first + number) if asked is None else [int(asked)]


def ended(pid):
    """The exit code of a child, when it has one."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def fill(partial):
    """The least that a folder needs to be a release."""
    (partial / "public").mkdir()
    (partial / "public/manifest.json").write_text("{}")


def write_pages(public, manifest):
    """Write the pages that follow from a manifest and the checksums, as a careful forger would."""
    publication.write_pages(public, manifest)


def stage(mechanism, **parameters):
    """A stage of an account, as a manifest lists it."""
    return SpentStage(name="s", mechanism=mechanism, parameters=parameters, theorem="none", cost={})
