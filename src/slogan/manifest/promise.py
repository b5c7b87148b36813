"""What a release promises and what it does not, in plain words; manifest and reports quote it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from slogan.budget import PrivacyBudget
from slogan.modes import ReleaseKind


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
            "The text of a released query may itself name somebody. A pair of few users is "
            "unlikely to be released, and not excluded.",
            "It holds for a run that was not chosen among several: to run again until an output "
            "pleases is not covered.",
            "How long the computation took, and what the curator was told, is not covered.",
        ),
    )


def laplace_promise(budget: PrivacyBudget, *, bound: object, epsilon: object) -> Promise:
    """The sampling step's, with noisy counts of the paper's kind, which earn nothing further."""
    given = sampling_promise(budget)
    _, *rest = given.not_guaranteed
    return Promise(
        name=f"{given.name}; the noise on the counts is a heuristic without an end-to-end proof",
        guarantees=(
            *given.guarantees,
            f"A user without whom some optimal count differs by more than d = {bound} was removed "
            "beforehand. Who was removed is taken as given, too; none of them is shown.",
        ),
        not_guaranteed=(
            f"The number of clicks of each pair got Laplace noise of scale d/ε' = {bound}/"
            f"{epsilon}, as the paper's section 4.2 suggests. This is a heuristic. The counts are "
            f"not proven to be private, and ε' = {epsilon} is not a guarantee: users are chosen "
            "for removal, and noisy counts made to fit, by looking at the log.",
            *rest,
        ),
    )


def private_rows_promise(budget: PrivacyBudget) -> Promise:
    """What Theorem R gives: end to end, and real rows, each user's with a small chance."""
    delta, ratio = budget.delta_value, math.exp(budget.epsilon_value)
    return Promise(
        name="end to end, for any user added or removed, with rows of real users",
        guarantees=(
            "Protected unit: one user's whole log. Neighbours: any two logs of which one has one "
            "user more than the other.",
            f"Whatever is computed from public/ is at most {ratio:.4g} times as likely with a "
            f"user's log as without it, and the other way round, up to a probability of "
            f"δ = {delta:g} (Theorem R: ε = {budget.epsilon_value:.4g}).",
            "That covers everything published: which pairs, how many clicks, whose, and the "
            "manifest.",
            f"For each user, the chance that any row of that user is shown is at most "
            f"δ = {delta:g}, whatever the log.",
        ),
        not_guaranteed=(
            "The rows shown are rows of real users: δ bounds the chance of showing a given user, "
            "it is not the chance of a rare accident.",
            "A user who is shown is shown with real clicks. A fresh user-ID hides the name, and "
            "nothing else.",
            "Columns, their types and the format are those of the input log and taken as public.",
            "Several releases from overlapping logs add up; nothing here accounts for the others.",
            "The text of a released query may itself name somebody.",
            "It holds for a run that was not chosen among several: to run again until an output "
            "pleases is not covered.",
            "How long the computation took, and what the curator was told, is not covered.",
        ),
    )


def promise_of(
    kind: ReleaseKind, parameters: Mapping[str, object], budget: PrivacyBudget
) -> Promise:
    """The promise of a kind of release under a budget."""
    if kind is ReleaseKind.SYNTHETIC_USERS:
        return synthetic_promise(budget)
    if kind is ReleaseKind.PRIVATE_ROWS:
        return private_rows_promise(budget)
    if kind is ReleaseKind.LAPLACE_COUNTS:
        return laplace_promise(
            budget, bound=parameters["laplace_bound"], epsilon=parameters["laplace_epsilon"]
        )
    return sampling_promise(budget)


TEST_RUN = (
    "This is a test run: its random draws come from a seed, so whoever knows the seed can undo "
    "them. It protects nobody and must not be published."
)
