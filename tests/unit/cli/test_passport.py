"""slogan passport: files for catalogues, for releases of this and of earlier versions."""

import json
import shutil
import subprocess

import pytest
from pydantic_core import to_json

import slogan

LOOSE = ("--exp-epsilon", "20", "--delta", "0.95", "--objective", "diversity")
NEW = ("croissant.json", "deployment.yaml", "SHA256SUMS")


@pytest.fixture
def release(here, log, tmp_path):
    assert here("sanitize", log, "-o", "release", *LOOSE).returncode == 0
    return tmp_path / "release"


def aged(release):
    """As if an earlier version had made it."""
    public = release / "public"
    for name in NEW:
        (public / name).unlink()
    manifest = json.loads((public / "manifest.json").read_bytes()) | {"wording": "0" * 16}
    del manifest["log"]["parted"], manifest["labels"]["region"], manifest["labels"]["published"]
    (public / "manifest.json").write_bytes(to_json(manifest, indent=2) + b"\n")
    return public


def test_labels_are_set_later_and_the_release_still_verifies(here, log, release):
    before = (release / "public/log.tsv").read_bytes()
    done = here("passport", "release", "--published", "2026-12-01", "--region", "EU", "--json")
    found = json.loads(done.stdout)

    assert done.returncode == 0
    assert (found["published"], found["older"], found["files"]) == ("2026-12-01", False, [*NEW])
    assert (release / "public/log.tsv").read_bytes() == before
    assert slogan.Release.open(release).manifest.labels.region == "EU"
    assert "2026-12-01" in (release / "public/croissant.json").read_text()
    assert here("verify", log, "release").returncode == 0
    assert (release / "curator").stat().st_mode & 0o777 == 0o700


def test_an_earlier_release_gets_a_passport_and_keeps_its_manifest(here, log, release):
    public = aged(release)
    manifest = (public / "manifest.json").read_bytes()
    assert here("verify", log, "release").returncode == 0
    done = here("passport", "release", "--published", "2026-12-01")

    assert done.returncode == 0
    assert "Another version made this release" in done.text
    assert (public / "manifest.json").read_bytes() == manifest
    assert all((public / name).is_file() for name in NEW)
    assert here("verify", log, "release").returncode == 0
    refused = here("passport", "release", "--title", "Other")
    assert refused.returncode == 2
    assert "stays as it is" in refused.stderr


def test_sha256sum_checks_the_public_half(release):
    if shutil.which("sha256sum") is None:
        pytest.fail("the tests need sha256sum")
    words = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    done = subprocess.run(words, cwd=release / "public", capture_output=True, check=False)

    assert (done.returncode, done.stdout) == (0, b"")


def test_a_release_that_does_not_verify_is_left_as_it_is(here, release):
    public = release / "public"
    with (public / "log.tsv").open("a") as file:
        file.write("1\tx\ty\t1\n")
    before = {path.name: path.read_bytes() for path in public.iterdir()}
    refused = here("passport", "release", "--published", "2026-12-01")

    assert refused.returncode == 2
    assert "nothing was changed" in refused.stderr
    assert {path.name: path.read_bytes() for path in public.iterdir()} == before
    assert [path.name for path in release.parent.iterdir() if "partial" in path.name] == []


def test_other_folders_and_dates_are_refused(here, release):
    half = here("passport", "release/public")
    assert half.returncode == 2
    assert "slogan passport release" in half.stderr
    assert here("passport", "nowhere").returncode == 2
    wrong = here("passport", "release", "--published", "soon")
    assert wrong.returncode == 2
    assert "--published 2026-12-01" in wrong.stderr
