"""What the figures were measured on: machine and versions, no names of hosts, users or folders."""

from __future__ import annotations

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("slogan", "numpy", "scipy", "duckdb", "highspy", "pyscipopt", "ortools", "numba")


def machine() -> dict[str, object]:
    """Processor, cores, memory, operating system and the versions that matter."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(pages / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}, {_distribution()}",
        "python": platform.python_version(),
        "libraries": versions(),
    }


def versions(libraries: tuple[str, ...] = LIBRARIES) -> dict[str, str]:
    """The installed version of each library, "absent" where there is none."""
    return {name: _version(name) for name in libraries}


def line(record: dict[str, object]) -> str:
    """The record as one sentence for the foot of a table."""
    libraries = record["libraries"]
    known = libraries.items() if isinstance(libraries, dict) else ()
    words = ", ".join(f"{name} {found}" for name, found in known)
    return (
        f"{record['processor']}, {record['cores']} cores, {record['memory_gib']} GiB, "
        f"{record['system']}, Python {record['python']}; {words}."
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "absent"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or "unknown"
    names = [row.partition(":")[2].strip() for row in text.splitlines() if "model name" in row]
    return names[0] if names else platform.processor() or "unknown"


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "unknown")
    except OSError:
        return platform.release()
