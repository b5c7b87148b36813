"""Search-log anonymization: publish a click log in its own schema, as useful as privacy allows."""

from importlib.metadata import version

from slogan.attacks.attack import Synthetic, attack
from slogan.audit.certificate import verify
from slogan.capped_release import CappedRelease
from slogan.dp.cap import Cap
from slogan.dp.ledger import Ledger, nothing_recorded
from slogan.engines import Spark
from slogan.errors import SloganError
from slogan.evaluation import Evaluation, evaluate
from slogan.frontier import Frontier, frontier
from slogan.generate import generate
from slogan.inspection import inspect
from slogan.modes import Exact, Laplace, Private
from slogan.objectives.diversity import Diversity
from slogan.objectives.frequent_pairs import FrequentPairs
from slogan.objectives.output_size import OutputSize
from slogan.objectives.query_diversity import QueryDiversity
from slogan.pipeline import sanitize
from slogan.privacy import PrivacyBudget
from slogan.release import Release
from slogan.reproducing import Reproduction, reproduce
from slogan.searchlog import SearchLog, read
from slogan.synthesizing import synthesize
from slogan.synthetic import SyntheticRelease

__version__ = version("slogan")

__all__ = [
    "Cap",
    "CappedRelease",
    "Diversity",
    "Evaluation",
    "Exact",
    "FrequentPairs",
    "Frontier",
    "Laplace",
    "Ledger",
    "OutputSize",
    "PrivacyBudget",
    "Private",
    "QueryDiversity",
    "Release",
    "Reproduction",
    "SearchLog",
    "SloganError",
    "Spark",
    "Synthetic",
    "SyntheticRelease",
    "attack",
    "evaluate",
    "frontier",
    "generate",
    "inspect",
    "nothing_recorded",
    "read",
    "reproduce",
    "sanitize",
    "synthesize",
    "verify",
]
