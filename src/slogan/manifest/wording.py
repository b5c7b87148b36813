"""The words in which the kinds of releases differ; the pages fill in the numbers."""

from __future__ import annotations

from dataclasses import dataclass

from slogan.modes import ReleaseKind

_ALIKE = "It has the columns of the original and can be analysed alike."
_MORE_LIKELY = (
    "an output is at most {ratio} times as likely with a user as without, and the other way round"
)
_NOT_SHOWN = (
    "an output that does not show a user is at most {ratio} times as likely without that user's log"
)
_REMOVAL = "the log, and the log without one of its users"
_ADDED_OR_REMOVED = "any two logs, one of which has one user more"
_COUNT = (
    "Count: the clicks of each user on each query-url pair. Pairs that only one user clicked "
    "are removed."
)
_CONSTRAIN = (
    "Constrain: ε and δ allow each user a charge, and every released click charges those who "
    "clicked its pair."
)
_GATE = (
    "Gate: whatever the solver said, the numbers are checked again for every user in exact "
    "arithmetic, and lowered where they break a constraint."
)
_SAMPLE = (
    "Sample: for each released click one of the pair's users is drawn, in proportion to how "
    "often they clicked it, in integers, from the operating system's random source."
)
_SELECT = "Select: which pairs can be released is decided on noisy sums of what users hold."
_WRITE = "Write: the columns and format of the original; rows in an order that says nothing."


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """What reports say of one kind of release, with {ratio}, {chance}, {epsilon} and {delta}."""

    heading: str
    opening: str
    """What it is, in a few sentences."""
    verdict: str
    """The promise in one line."""
    counts: str
    """What the numbers of clicks are."""
    neighbours: str
    epsilon: str
    delta: str
    end_to_end: bool
    """Whether the promise covers the numbers of clicks."""
    steps: tuple[str, ...]
    """How the method goes, in order."""


EXACT_COUNTS = Wording(
    heading="A sanitized search log",
    opening="The clicks in this file were chosen, and their users drawn, so that no single "
    f"user of the original log weighs much. {_ALIKE}",
    verdict="Given the number of clicks of each pair, the chance that any row of a given user is "
    "shown is at most {chance}. The numbers themselves are not private.",
    counts="exact: without noise",
    neighbours=_REMOVAL,
    epsilon=_NOT_SHOWN,
    delta="{chance}: the largest chance that any row of a given user is shown",
    end_to_end=False,
    steps=(
        _COUNT,
        _CONSTRAIN,
        "Solve: the numbers of clicks that serve the objective best within all charges.",
        _GATE,
        _SAMPLE,
        _WRITE,
    ),
)
LAPLACE_COUNTS = Wording(
    heading="A sanitized search log",
    opening="The clicks in this file were chosen, and their users drawn, so that no single "
    "user of the original log weighs much. Users who sway the numbers of clicks were left out "
    f"beforehand, and the numbers got noise. {_ALIKE}",
    verdict="Given the number of clicks of each pair, and who was left out beforehand, the chance "
    "that any row of a given user is shown is at most {chance}. The noise on the numbers is a "
    "heuristic without an end-to-end proof: they are not proven to be private.",
    counts="laplace: a heuristic without an end-to-end proof",
    neighbours=_REMOVAL,
    epsilon=_NOT_SHOWN,
    delta="{chance}: the largest chance that any row of a given user is shown",
    end_to_end=False,
    steps=(
        _COUNT,
        "Remove: users without whom some optimal number of clicks differs by more than a bound "
        "leave the log, and so do pairs that only one of the others clicked.",
        _CONSTRAIN,
        "Solve: the best numbers of clicks within all charges, fractions allowed.",
        "Disturb: each number gets Laplace noise and is rounded down. This is the paper's "
        "heuristic; it is not proven to make the numbers private.",
        _GATE,
        _SAMPLE,
        _WRITE,
    ),
)
PRIVATE_ROWS = Wording(
    heading="A sanitized search log",
    opening="The rows in this file are rows of real users, each user drawn rarely enough that "
    "the whole release is differentially private. Which pairs could be drawn, and how often, was "
    "decided from noisy counts. The log may be short, or empty. It has the columns of the "
    "original.",
    verdict="Private from end to end, with ε = {epsilon} and δ = {delta}. But the rows are rows "
    "of real users: the chance that any row of a given user is shown is at most {chance}.",
    counts="private: measured with noise, as part of the budget",
    neighbours=_ADDED_OR_REMOVED,
    epsilon=_MORE_LIKELY,
    delta="{chance}: what ε leaves out, and the largest chance that any row of a given user is "
    "shown; it is not the chance of a rare accident",
    end_to_end=True,
    steps=(
        "Divide: a part of ε and δ is for drawing rows, the other for noise. No log has a say.",
        _SELECT,
        "Count: their clicks, and how many of them users hold, are measured with noise.",
        "Solve: how often clicks of each pair are drawn to serve the objective, from those noisy "
        "figures alone.",
        "Cap: who would be expected to show more clicks than a public cap is drawn less often.",
        "Draw: clicks of each user, whatever is drawn of others, in integers, from the operating "
        "system's random source.",
        _WRITE,
    ),
)
SYNTHETIC_USERS = Wording(
    heading="A synthetic search log",
    opening="The users in this file never lived. Which pairs there are, how often they are "
    "clicked and which are held together was measured in the original log with noise, so that no "
    f"single user of it weighs much. {_ALIKE}",
    verdict="Private from end to end, with ε = {epsilon} and δ = {delta}: whatever is published "
    "hardly depends on any one user, and no row belongs to a real one.",
    counts="private: measured with noise, as part of the budget",
    neighbours=_ADDED_OR_REMOVED,
    epsilon=_MORE_LIKELY,
    delta="{chance}: what ε leaves out, as a chance",
    end_to_end=True,
    steps=(
        _SELECT,
        "Count: their clicks, how many pairs users hold, which share of all clicks they stand for, "
        "and which pairs go together are measured with noise.",
        "Synthesize: users who never lived are given the released clicks by those noisy figures.",
        "Write: the columns and format of the original.",
    ),
)


WORDINGS = {
    ReleaseKind.EXACT_COUNTS: EXACT_COUNTS,
    ReleaseKind.LAPLACE_COUNTS: LAPLACE_COUNTS,
    ReleaseKind.PRIVATE_ROWS: PRIVATE_ROWS,
    ReleaseKind.SYNTHETIC_USERS: SYNTHETIC_USERS,
}
