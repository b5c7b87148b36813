"""Folders as registries: `objectives/x.py` is `--objective x`, with no edit elsewhere."""

import pkgutil
import sys
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from slogan.errors import OptionError, suggestion

_KINDS = {
    "objectives": "objective",
    "solvers": "solver",
    "selection": "selector",
    "engines": "engine",
}
"""What a file of a folder is called."""


def module_names(package: str, *, packages_only: bool = False) -> tuple[str, ...]:
    """The public modules of a package, or only those that are packages; nothing is imported."""
    if package in sys.modules:
        folders = sys.modules[package].__path__
    else:
        spec = find_spec(package)
        folders = spec.submodule_search_locations if spec else None
    modules = pkgutil.iter_modules(folders or ())
    names = (module.name for module in modules if module.ispkg or not packages_only)
    return tuple(sorted(name for name in names if not name.startswith("_")))


def load_module(package: str, name: str, *, packages_only: bool = False) -> ModuleType:
    """Import one of them by name."""
    names = module_names(package, packages_only=packages_only)
    if name not in names:
        kind = _KINDS.get(package.rsplit(".", 1)[-1], "module")
        meant = suggestion(name, names)
        choices = f"choose one of: {', '.join(names)}"
        raise OptionError(
            f"there is no {kind} {name[:40]!r}",
            hint=f"{meant} Or {choices}" if meant else choices,
        )
    return import_module(f"{package}.{name}")
