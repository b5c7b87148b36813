"""Search-log anonymization: publish a click log in its own schema, as useful as privacy allows.

Every name is imported when it is first used, so that `import slogan` takes no time.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

if find_spec("fcntl") is None:
    raise ImportError(
        "slogan runs on Linux and macOS: this system lacks fcntl, which locks its files"
    )

if TYPE_CHECKING:
    from slogan.auditor import Findings
    from slogan.auditor.audit import audit
    from slogan.budget import PrivacyBudget
    from slogan.engines.duckdb import DuckDB
    from slogan.engines.spark import Spark
    from slogan.errors import SloganError
    from slogan.generation.generate import generate
    from slogan.ledger.cap import Cap
    from slogan.ledger.ledger import Ledger
    from slogan.logs.searchlog import SearchLog, read
    from slogan.manifest.certificate import PrivateRowsSummary, SanitizedSummary, SyntheticSummary
    from slogan.modes import ExactCounts, LaplaceCounts, PrivateCounts, SyntheticUsers
    from slogan.planning.objectives.diversity import Diversity
    from slogan.planning.objectives.frequent_pairs import FrequentPairs
    from slogan.planning.objectives.output_size import OutputSize
    from slogan.planning.objectives.query_diversity import QueryDiversity
    from slogan.planning.solvers import Solver
    from slogan.release.base import Saved
    from slogan.release.sanitized import PrivateRowsRelease, SanitizedRelease
    from slogan.release.synthetic import SyntheticRelease
    from slogan.reproduction.reproduce import Reproduction, reproduce
    from slogan.verification.conditions import Verdict
    from slogan.verification.verify import verify
    from slogan.workflows.dry_runs import FrontierPoint
    from slogan.workflows.evaluate import Evaluation, evaluate
    from slogan.workflows.frontier import Frontier, frontier
    from slogan.workflows.inspect import Inspection, inspect
    from slogan.workflows.sanitize import sanitize
    from slogan.workflows.synthesize import synthesize

    __version__: str

__all__ = [
    "Cap",
    "Diversity",
    "DuckDB",
    "Evaluation",
    "ExactCounts",
    "Findings",
    "FrequentPairs",
    "Frontier",
    "FrontierPoint",
    "Inspection",
    "LaplaceCounts",
    "Ledger",
    "OutputSize",
    "PrivacyBudget",
    "PrivateCounts",
    "PrivateRowsRelease",
    "PrivateRowsSummary",
    "QueryDiversity",
    "Reproduction",
    "SanitizedRelease",
    "SanitizedSummary",
    "Saved",
    "SearchLog",
    "SloganError",
    "Solver",
    "Spark",
    "SyntheticRelease",
    "SyntheticSummary",
    "SyntheticUsers",
    "Verdict",
    "audit",
    "evaluate",
    "frontier",
    "generate",
    "inspect",
    "read",
    "reproduce",
    "sanitize",
    "synthesize",
    "verify",
]

_NAMES = {
    "auditor": ("Findings",),
    "auditor.audit": ("audit",),
    "budget": ("PrivacyBudget",),
    "engines.duckdb": ("DuckDB",),
    "engines.spark": ("Spark",),
    "errors": ("SloganError",),
    "generation.generate": ("generate",),
    "ledger.cap": ("Cap",),
    "ledger.ledger": ("Ledger",),
    "logs.searchlog": ("SearchLog", "read"),
    "manifest.certificate": ("PrivateRowsSummary", "SanitizedSummary", "SyntheticSummary"),
    "modes": ("ExactCounts", "LaplaceCounts", "PrivateCounts", "SyntheticUsers"),
    "planning.objectives.diversity": ("Diversity",),
    "planning.objectives.frequent_pairs": ("FrequentPairs",),
    "planning.objectives.output_size": ("OutputSize",),
    "planning.objectives.query_diversity": ("QueryDiversity",),
    "planning.solvers": ("Solver",),
    "release.base": ("Saved",),
    "release.sanitized": ("PrivateRowsRelease", "SanitizedRelease"),
    "release.synthetic": ("SyntheticRelease",),
    "reproduction.reproduce": ("Reproduction", "reproduce"),
    "verification.conditions": ("Verdict",),
    "verification.verify": ("verify",),
    "workflows.dry_runs": ("FrontierPoint",),
    "workflows.evaluate": ("Evaluation", "evaluate"),
    "workflows.frontier": ("Frontier", "frontier"),
    "workflows.inspect": ("Inspection", "inspect"),
    "workflows.sanitize": ("sanitize",),
    "workflows.synthesize": ("synthesize",),
}
"""The public names by the module that defines them."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, "__version__"})


if not TYPE_CHECKING:  # a type checker would believe that every name exists

    def __getattr__(name: str) -> object:
        if name == "__version__":
            value = import_module("importlib.metadata").version("slogan")
        elif name in _MODULES:
            value = getattr(import_module(f"slogan.{_MODULES[name]}"), name)
        else:
            raise AttributeError(f"module 'slogan' has no attribute {name!r}")
        globals()[name] = value
        return value
