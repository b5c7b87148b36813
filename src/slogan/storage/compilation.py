"""Compiled loops, cached on disk wherever numba finds a folder that it can write to.

numba looks at NUMBA_CACHE_DIR, `__pycache__` beside the source, and the user's cache folder, in
this order. Without any of them it refuses to compile; here it compiles again in every process.
"""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache


class _Cache(FunctionCache):
    """A cache whose disk may be full, and which processes may fill at the same time.

    What cannot be saved is compiled again next time. Two processes that save versions of a function
    for different types may give both the same file name, so a version for other types is ignored.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        cache: Any = super()
        found = cache.load_overload(sig, target_context)
        return found if found is not None and found.signature.args == sig else None

    def save_overload(self, sig: Any, data: Any) -> None:
        with suppress(OSError):
            super().save_overload(sig, data)


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called; other threads go on while it runs."""
    dispatcher: Any = njit(nogil=True)(function)
    if hasattr(dispatcher, "enable_caching"):  # not with NUMBA_DISABLE_JIT
        with suppress(RuntimeError):  # no folder, or no home in which to look for one
            if not os.environ.get("NUMBA_CACHE_DIR"):
                Path.home()
            dispatcher._cache = _Cache(function)  # noqa: SLF001 - numba offers no other way
    return dispatcher
