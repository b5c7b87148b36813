import os
import subprocess
import sys

LOOPS = """
from slogan.storage.compilation import compiled

@compiled
def total(numbers):
    result = numbers[0] - numbers[0]
    for number in numbers:
        result += number
    return result
"""
CALL = "import sys, numpy, loops; print(loops.total(numpy.arange(10, dtype=sys.argv[1])))"


def total(folder, kind):
    """What a new process computes with the loop in the folder, and its cache there."""
    paths = {"PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.run(
        [sys.executable, "-c", CALL, kind],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")} | paths,
        capture_output=True,
        check=True,
        text=True,
    ).stdout.strip()


def test_a_version_for_other_types_in_the_cache_is_ignored(tmp_path):
    (tmp_path / "loops.py").write_text(LOOPS)
    for kind in ("int64", "int32"):
        assert total(tmp_path, kind) == "45"
    one, other = sorted((tmp_path / "cache").rglob("*.nbc"))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)

    assert {total(tmp_path, kind) for kind in ("int64", "int32")} == {"45"}
    assert one.read_bytes() != second, "it was compiled and saved again"
