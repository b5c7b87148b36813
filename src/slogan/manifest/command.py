"""The command that made a release, from its manifest alone.

Paths, hosts, the ledger, the recipient and the seed are not in a manifest, so they cannot be here.
"""

import shlex

from slogan.manifest.manifest import Manifest
from slogan.manifest.promise import MINIMIZE, REQUIRE
from slogan.modes import ReleaseKind

_DEFAULTS = {
    "require": None,
    "minimize": None,
    "objective": "output_size",
    "weights": None,
    "at_least": None,
    "min_support": None,
    "output_size": None,
    "laplace_bound": None,
    "laplace_epsilon": None,
    "sampling_share": "1/2",
    "selector": "pooled",
    "contributions": "several",
    "association": "auto",
    "solver": "auto",
    "time_limit": 60.0,
    "gap": 1e-4,
    "encoding": "utf-8",
    "on_bad_row": "error",
    "click_action": "click",
}
"""Parameters that have an option of the same name, with the value that need not be typed."""
_ROLES = ("user", "query", "url", "count")


def command_of(manifest: Manifest) -> list[str]:
    """The command line in parts, with LOG, RELEASE and the like in place of the steward's paths.

    Each part is the verb, an argument, or an option with its value, quoted for a shell.
    """
    words = [f"slogan {manifest.method}", "LOG", "-o RELEASE"]
    budget = {name: text for name, text in manifest.budget.model_dump().items() if text}
    # a required utility takes the place of the budget, which was found on the log
    found = REQUIRE in manifest.parameters and MINIMIZE not in manifest.parameters
    words += [] if found else _options(budget)
    if manifest.kind in (ReleaseKind.LAPLACE_COUNTS, ReleaseKind.PRIVATE_ROWS):
        words += _options({"counts": manifest.counts})
    chosen = {name: manifest.parameters.get(name) for name in _DEFAULTS}
    words += _options(
        {
            name: str(value)
            for name, value in chosen.items()
            if value is not None and value != _DEFAULTS[name]
        }
    )
    roles = {
        role: str(getattr(manifest.log, role)) for role in _ROLES if getattr(manifest.log, role)
    }
    words += _options({role: column for role, column in roles.items() if column != role})
    if not manifest.log.header and manifest.log.format in ("tsv", "csv"):
        words += _options({"columns": ",".join(manifest.log.columns)})
    if "taxonomy_sha256" in manifest.parameters:
        words += _options({"taxonomy": "TAXONOMY"})
    for name in ("vocabulary", "hints"):
        if name in manifest.parameters:
            words += _options({name: name.upper()})
    if manifest.pseudonyms == "keep":
        words += _options({"pseudonyms": manifest.pseudonyms})
    if "accept_weak_privacy" in manifest.parameters:
        words.append("--accept-weak-privacy")
    return [*words, *_options(manifest.labels.given())]


def _options(values: dict[str, str]) -> list[str]:
    return [f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in values.items()]
