"""A folder is a registry: `objectives/x.py` is `--objective x`, with no edit elsewhere."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from types import ModuleType

from slogan.errors import OptionError


def module_names(package: ModuleType) -> tuple[str, ...]:
    """The public modules of a package, without importing them."""
    found = pkgutil.iter_modules(package.__path__)
    return tuple(sorted(m.name for m in found if not m.name.startswith("_")))


def load_module(package: ModuleType, name: str) -> ModuleType:
    """Import one of them by name."""
    if name not in module_names(package):
        kind = package.__name__.rsplit(".", 1)[-1]
        raise OptionError(
            f"there is no {name[:40]!r} among the {kind}",
            hint=f"choose one of: {', '.join(module_names(package))}",
        )
    return import_module(f"{package.__name__}.{name}")
