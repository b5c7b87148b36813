"""Slogan's own modes, made, saved and read back as anybody would."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

import slogan
from bench.methods import CROWD, USER, Promise
from slogan.budget import PrivacyBudget, exact
from slogan.engines.engine import Engine
from slogan.histogram import PairHistogram

Made = slogan.SanitizedRelease | slogan.PrivateRowsRelease | slogan.SyntheticRelease
REMOVED = "one user's whole log, removed"


@dataclass(frozen=True, kw_only=True)
class Own:
    """One mode of slogan. Its promise is on the page `docs/explanation/privacy-promise.md`."""

    name: str
    promise: Promise
    make: Callable[[Path], Made]
    users: Literal["same", "others"]
    """Whether it shows users of the log, under their own names here, or synthetic ones."""

    same_schema = True

    def released(self, log: Path, host: Engine, folder: Path) -> tuple[PairHistogram, Fraction]:
        """What is in the saved release, numbered as the log that the host counted, and κ if any."""
        made = self.make(log)
        try:
            told = made.save(folder, force=True).to_dict()
        finally:
            made.close()
        (file,) = (folder / "public").glob("log.*")
        output = host.count_beside(slogan.read(file), self.users).hist
        return output, exact(told.get("coverage", 1))


def given_the_counts(objective: str, budget: PrivacyBudget, time_limit: float) -> Own:
    """Sanitize with exact counts: the paper's Algorithm 1."""
    found = {
        "output_size": slogan.OutputSize(),
        "diversity": slogan.Diversity(),
        "frequent_pairs": slogan.FrequentPairs(),
    }[objective]
    return Own(
        name=f"sanitize, {objective}",
        promise=Promise(
            kind="given the counts",
            unit=REMOVED,
            meaning="(ε, δ), if the released counts may be known",
            open="the counts themselves, and users who are added; a share of up to δ of the users "
            "is published with a row",
            epsilon=exact(round(budget.epsilon_value, 4)),
            delta=exact(budget.delta),
        ),
        make=lambda log: slogan.sanitize(
            log, budget, objective=found, time_limit=time_limit, pseudonyms="keep"
        ),
        users="same",
    )


def private_counts(budget: PrivacyBudget) -> Own:
    """Sanitize with private counts: real rows, private end to end (Theorem R)."""
    return Own(
        name="sanitize --counts private",
        promise=Promise(
            kind="end to end",
            unit=USER,
            meaning="(ε, δ)-differential privacy",
            open=f"{CROWD}; a share of up to δ of the users is published with a row",
            epsilon=exact(round(budget.epsilon_value, 4)),
            delta=exact(budget.delta),
        ),
        make=lambda log: slogan.sanitize(
            log, budget, counts=slogan.PrivateCounts(), pseudonyms="keep"
        ),
        users="same",
    )


def synthetic(budget: PrivacyBudget) -> Own:
    """Synthetic users, private end to end (Theorem S)."""
    return Own(
        name="synthesize",
        promise=Promise(
            kind="end to end",
            unit=USER,
            meaning="(ε, δ)-differential privacy",
            open=CROWD,
            epsilon=exact(round(budget.epsilon_value, 4)),
            delta=exact(budget.delta),
        ),
        make=lambda log: slogan.synthesize(log, budget),
        users="others",
    )
