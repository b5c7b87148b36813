"""Limits of the whole process: how many threads it starts, and how much memory it takes.

Threads are limited for DuckDB, HiGHS, our own loops, and the libraries below numpy and numba, which
read environment variables when they are loaded. Memory is watched, since no library limits it.
"""

import os
import resource
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from slogan.errors import OptionError, StorageError

_LIBRARIES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
_OWN_NEED = 600_000_000
"""Bytes that Python and the libraries take without any log; no smaller limit is enforced."""
_LOOK_EVERY = 0.1
_UNITS = ("", "K", "M", "G", "T")


@dataclass
class _Limits:
    threads: int | None = None
    memory: int | None = None
    exceeded: bool = False


_limits = _Limits()


def limit_threads(most: int) -> None:
    """Start no more threads than this at once; call it before numpy is imported."""
    if most < 1:
        raise OptionError(f"--threads must be at least 1, got {most}", hint="leave it out for all")
    _limits.threads = most
    os.environ.update(dict.fromkeys(_LIBRARIES, str(most)))


def threads(otherwise: int) -> int:
    """How many threads to start where `otherwise` would be best without a limit."""
    return otherwise if _limits.threads is None else min(otherwise, _limits.threads)


def threads_limit() -> int | None:
    """The limit; None without one."""
    return _limits.threads


def limit_memory(size: str) -> None:
    """End this process, in order, when it takes more memory than this."""
    _limits.memory, _limits.exceeded = in_bytes(size), False
    most = max(_limits.memory, _OWN_NEED)
    threading.Thread(target=_watch, args=(most,), daemon=True).start()


def memory_for_engine() -> str | None:
    """Half of the limit: the other half is for the counts in this process, and the solver."""
    return None if _limits.memory is None else f"{max(1, _limits.memory // 2)}B"


def out_of_memory() -> StorageError | None:
    """The error to report if the process was ended because of its limit."""
    if not _limits.exceeded or _limits.memory is None:
        return None
    taken = max(_limits.memory, _OWN_NEED)
    return StorageError(
        f"the process took more memory than {taken / 1e6:,.0f} MB",
        hint="raise --memory-limit, run where there is more memory, or take a shorter period",
    )


def in_bytes(size: str) -> int:
    """A size as people write it: 4GB, 500 MB, 1.5GiB."""
    text = size.strip().upper().removesuffix("B")
    thousand = 1024 if text.endswith("I") else 1000
    text = text.removesuffix("I")
    number, unit = (text[:-1], text[-1:]) if text[-1:] in _UNITS[1:] else (text, "")
    try:
        found = int(float(number) * thousand ** _UNITS.index(unit))
        if found <= 0:
            raise ValueError(size)
    except (ValueError, OverflowError):
        raise OptionError(
            f"a memory limit of {size[:20]!r} is not understood", hint="write it as 4GB or 500MB"
        ) from None
    return found


def _watch(most: int) -> None:
    pause = threading.Event()
    while not pause.wait(_LOOK_EVERY):
        if _taken() > most:
            _limits.exceeded = True
            os.kill(os.getpid(), signal.SIGTERM)  # the run cleans up as for any other signal
            return


def _taken() -> int:
    """Bytes of memory that this process has now; on macOS, the most it ever had."""
    if sys.platform == "darwin":
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
