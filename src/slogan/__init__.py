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
    from slogan.auditor import Findings as Findings
    from slogan.auditor.audit import audit as audit
    from slogan.budget import PrivacyBudget as PrivacyBudget
    from slogan.engines.duckdb import DuckDB as DuckDB
    from slogan.engines.spark import Spark as Spark
    from slogan.errors import SloganError as SloganError
    from slogan.generation.generate import generate as generate
    from slogan.ledger.cap import Cap as Cap
    from slogan.ledger.ledger import Ledger as Ledger
    from slogan.logs.searchlog import SearchLog as SearchLog
    from slogan.logs.searchlog import read as read
    from slogan.manifest.certificate import PrivateRowsSummary as PrivateRowsSummary
    from slogan.manifest.certificate import SanitizedSummary as SanitizedSummary
    from slogan.manifest.certificate import SyntheticSummary as SyntheticSummary
    from slogan.manifest.labels import Labels as Labels
    from slogan.modes import ExactCounts as ExactCounts
    from slogan.modes import LaplaceCounts as LaplaceCounts
    from slogan.modes import PrivateCounts as PrivateCounts
    from slogan.modes import SyntheticUsers as SyntheticUsers
    from slogan.planning.objectives.diversity import Diversity as Diversity
    from slogan.planning.objectives.frequent_pairs import FrequentPairs as FrequentPairs
    from slogan.planning.objectives.joint import Joint as Joint
    from slogan.planning.objectives.output_size import OutputSize as OutputSize
    from slogan.planning.objectives.query_diversity import QueryDiversity as QueryDiversity
    from slogan.planning.solvers import Solver as Solver
    from slogan.release.base import Release as Release
    from slogan.release.base import Saved as Saved
    from slogan.release.kinds import PrivateRowsRelease as PrivateRowsRelease
    from slogan.release.kinds import SanitizedRelease as SanitizedRelease
    from slogan.release.kinds import SyntheticRelease as SyntheticRelease
    from slogan.release.opened import OpenedRelease as OpenedRelease
    from slogan.release.opened import PublicSummary as PublicSummary
    from slogan.reproduction.reproduce import Reproduction as Reproduction
    from slogan.reproduction.reproduce import reproduce as reproduce
    from slogan.verification.conditions import Verdict as Verdict
    from slogan.verification.verify import verify as verify
    from slogan.verification.verify import verify_public as verify_public
    from slogan.workflows.advise import Advice as Advice
    from slogan.workflows.advise import advise as advise
    from slogan.workflows.compare import ReleaseComparison as ReleaseComparison
    from slogan.workflows.compare import compare as compare
    from slogan.workflows.evaluate import Evaluation as Evaluation
    from slogan.workflows.evaluate import evaluate as evaluate
    from slogan.workflows.frontier import frontier as frontier
    from slogan.workflows.frontier.points import FrontierPoint as FrontierPoint
    from slogan.workflows.frontier.result import Frontier as Frontier
    from slogan.workflows.frontier.trade_off import TradeOff as TradeOff
    from slogan.workflows.inspect import Inspection as Inspection
    from slogan.workflows.inspect import inspect as inspect
    from slogan.workflows.passport import Passport as Passport
    from slogan.workflows.passport import passport as passport
    from slogan.workflows.review import Review as Review
    from slogan.workflows.review import review as review
    from slogan.workflows.sanitize import sanitize as sanitize
    from slogan.workflows.synthesize import synthesize as synthesize

    __version__: str

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
    "manifest.labels": ("Labels",),
    "modes": ("ExactCounts", "LaplaceCounts", "PrivateCounts", "SyntheticUsers"),
    "planning.objectives.diversity": ("Diversity",),
    "planning.objectives.frequent_pairs": ("FrequentPairs",),
    "planning.objectives.joint": ("Joint",),
    "planning.objectives.output_size": ("OutputSize",),
    "planning.objectives.query_diversity": ("QueryDiversity",),
    "planning.solvers": ("Solver",),
    "release.base": ("Release", "Saved"),
    "release.kinds": ("PrivateRowsRelease", "SanitizedRelease", "SyntheticRelease"),
    "release.opened": ("OpenedRelease", "PublicSummary"),
    "reproduction.reproduce": ("Reproduction", "reproduce"),
    "verification.conditions": ("Verdict",),
    "verification.verify": ("verify", "verify_public"),
    "workflows.compare": ("ReleaseComparison", "compare"),
    "workflows.advise": ("Advice", "advise"),
    "workflows.evaluate": ("Evaluation", "evaluate"),
    "workflows.frontier": ("frontier",),
    "workflows.frontier.points": ("FrontierPoint",),
    "workflows.frontier.result": ("Frontier",),
    "workflows.frontier.trade_off": ("TradeOff",),
    "workflows.inspect": ("Inspection", "inspect"),
    "workflows.passport": ("Passport", "passport"),
    "workflows.review": ("Review", "review"),
    "workflows.sanitize": ("sanitize",),
    "workflows.synthesize": ("synthesize",),
}
"""The public names by the module that defines them."""
_MODULES = dict(sorted((name, module) for module, names in _NAMES.items() for name in names))
__all__ = list(_MODULES)  # pyright: ignore[reportUnsupportedDunderAll]


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
