"""What a release promises and what it does not, in plain words; manifest and reports quote it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from slogan.modes import Counts, Laplace
from slogan.privacy import PrivacyBudget


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The guarantee of one mode, with the name it honestly deserves."""

    name: str
    guarantees: tuple[str, ...]
    not_guaranteed: tuple[str, ...]


def sampling_promise(budget: PrivacyBudget) -> Promise:
    """What the paper's sampling step gives, given the counts (docs/explanation/privacy-promise)."""
    delta, ratio = budget.delta_value, math.exp(budget.epsilon_value)
    return Promise(
        name="given the counts, for the removal of any user in the log",
        guarantees=(
            "Protected unit: one user's whole log. Neighbours: the log, and the log without one of "
            "its users.",
            f"Given the released number of clicks of each pair: for each user of the log, the "
            f"chance that any row of that user is shown is at most δ = {delta:g}.",
            f"Given those numbers: any output that does not show the user is at most {ratio:.4g} "
            "times as likely without the user's log as with it, and never less likely.",
            "No pair that only one user clicked is released.",
        ),
        not_guaranteed=(
            "The number of clicks of each pair is itself computed from the log without noise. "
            "What it reveals, and through it the choice of released pairs and the size of the "
            "output, is not covered.",
            "The rows shown are rows of real users: δ bounds the chance of showing a given user, "
            "it is not the chance of a rare accident.",
            "A user added to the log is not covered: the counts need not fit the larger log.",
            "Several releases from overlapping logs add up; nothing here accounts for the others.",
            "The text of a released query may itself name somebody.",
        ),
    )


def laplace_promise(budget: PrivacyBudget, mode: Laplace) -> Promise:
    """The same with noisy counts of the paper's kind, which earn no further guarantee."""
    given = sampling_promise(budget)
    _, *rest = given.not_guaranteed
    return Promise(
        name=f"{given.name}; the noise on the counts is a heuristic without an end-to-end proof",
        guarantees=(
            *given.guarantees,
            f"A user without whom some optimal count differs by more than d = {mode.bound} was "
            "removed beforehand. Who was removed is taken as given, too; none of them is shown.",
        ),
        not_guaranteed=(
            f"The number of clicks of each pair got Laplace noise of scale d/ε' = {mode.bound}/"
            f"{mode.epsilon}, as the paper's section 4.2 suggests. This is a heuristic. The "
            f"counts are not proven to be private, and ε' = {mode.epsilon} is not a guarantee: "
            "users are chosen for removal, and noisy counts made to fit, by looking at the log.",
            *rest,
        ),
    )


def promise_of(mode: Counts, budget: PrivacyBudget) -> Promise:
    """What a release with such counts promises."""
    return laplace_promise(budget, mode) if isinstance(mode, Laplace) else sampling_promise(budget)


TEST_RUN = (
    "This is a test run: its random draws come from a seed, so whoever knows the seed can undo "
    "them. It protects nobody and must not be published."
)
