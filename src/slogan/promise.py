"""What a release promises and what it does not, in plain words; manifest and reports quote it."""

from __future__ import annotations

import math
from dataclasses import dataclass

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


def synthetic_promise(budget: PrivacyBudget) -> Promise:
    """What Theorem S gives: everything published is differentially private, end to end."""
    delta, ratio = budget.delta_value, math.exp(budget.epsilon_value)
    return Promise(
        name="end to end, for any user added or removed",
        guarantees=(
            "Protected unit: one user's whole log. Neighbours: any two logs of which one has one "
            "user more than the other.",
            f"Whatever is computed from public/ is at most {ratio:.4g} times as likely with a "
            f"user's log as without it, and the other way round, up to a probability of "
            f"δ = {delta:g} (Theorem S: ε = {budget.epsilon_value:.4g}).",
            "That covers everything published: which pairs, their counts, how many users there "
            "are, what they hold together, and the manifest.",
            "No row belongs to a real user. User-IDs are drawn at random and stand for nobody.",
        ),
        not_guaranteed=(
            "What holds for many users is learned, and may be true of somebody who is in no log.",
            "Columns, their types and the format are those of the input log and taken as public.",
            "Several releases from overlapping logs add up; nothing here accounts for the others.",
            "The text of a released query may itself name somebody: then many users asked for it.",
            "How long the computation took, and what the curator was told, is not covered.",
        ),
    )


_PROMISES = {"sanitize": sampling_promise, "synthesize": synthetic_promise}


def promise_of(method: str, budget: PrivacyBudget) -> Promise:
    """The promise of a method under a budget."""
    return _PROMISES[method](budget)


TEST_RUN = (
    "This is a test run: its random draws come from a seed, so whoever knows the seed can undo "
    "them. It protects nobody and must not be published."
)
