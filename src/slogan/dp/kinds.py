"""Kinds: what the curator asked synthetic users to follow, decided before the log is looked at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slogan.arrays import Floats, Ints
from slogan.dp.association import INDEPENDENT
from slogan.dp.grouping import Grouping, by_domain, by_pair, by_taxonomy, read_taxonomy
from slogan.errors import OptionError

NAMES = ("domains", "spectral", "taxonomy", INDEPENDENT)
DEFAULT = "domains"

Urls = Callable[[Ints], list[str]]
"""The urls of released pairs."""


@dataclass(frozen=True, kw_only=True)
class Kinds:
    """Which pairs are of one kind: by a public taxonomy, by their domains, or each its own."""

    name: str
    taxonomy: dict[str, str]
    checksum: str | None

    @classmethod
    def asked(cls, name: str | None, taxonomy: str | Path | None) -> Kinds:
        """What these options mean together."""
        chosen = name or (DEFAULT if taxonomy is None else "taxonomy")
        if chosen not in NAMES:
            raise OptionError(
                f"there is no association {chosen[:40]!r}", hint=f"one of: {', '.join(NAMES)}"
            )
        if (chosen == "taxonomy") != (taxonomy is not None):
            raise OptionError(
                "a taxonomy and its file go together",
                hint="give --taxonomy FILE, and --association taxonomy or none",
            )
        if taxonomy is None:
            return cls(name=chosen, taxonomy={}, checksum=None)
        found, digest = read_taxonomy(Path(taxonomy))
        return cls(name=chosen, taxonomy=found, checksum=digest)

    @property
    def looks(self) -> bool:
        """Whether the association of the log is looked at."""
        return self.name != INDEPENDENT

    def grouping(self, urls: Urls) -> Callable[[Ints, Floats], Grouping] | None:
        """How released pairs are grouped, once there are any."""
        if not self.looks:
            return None

        def group(pairs: Ints, counts: Floats) -> Grouping:
            if self.name == "spectral":
                return by_pair(counts)
            texts = urls(pairs)
            if self.name == "domains":
                return by_domain(texts, counts)
            return by_taxonomy(texts, counts, self.taxonomy)

        return group

    def parameters(self) -> dict[str, str | int | float | None]:
        """For the manifest."""
        told: dict[str, str | int | float | None] = {"association": self.name}
        return told if self.checksum is None else {**told, "taxonomy_sha256": self.checksum}
