"""Stages about time, rank and session: which a release has, at which norms, shares and sizes.

The rules are those of docs/proofs/columns.md, computed again from the manifest.
"""

import math
from collections.abc import Callable
from fractions import Fraction

from slogan.errors import OptionError
from slogan.logs.times import Period
from slogan.manifest.manifest import Manifest, MeasuredFields, Outputs
from slogan.verification.contributions.one_pair import is_one
from slogan.verification.evidence import NotPossibleError

_PER_MILLE = {
    "hours": 5,
    "days": 4,
    "ranks": 14,
    "sessions": 7,
    "lengths": 7,
    "searches": 4,
    "steps": 9,
}
NORM_SQUARED = dict.fromkeys(_PER_MILLE, 1)
_COARSE = {
    "hours": 8,
    "days": 8,
    "ranks": 4,
    "sessions": 4,
    "lengths": 4,
    "searches": 2,
    "steps": 4,
}
_OF_ALL_USERS = {"hours", "days"}
_NEEDED = {"time": {"hours"}, "rank": {"ranks"}, "session": {"sessions", "lengths"}}
"""The stages that a column with values is made from."""
_DROWNED, _MOST_DAYS, _LARGEST = 0.25, 100, 1000.0
_CLOSE = 1e-3
"""Noise scales are rounded up to a grid, and budgets down."""
SESSION_GAP = 1800


def shares(manifest: Manifest) -> dict[str, Fraction]:
    """The share of μ² of each stage that the columns ask for."""
    events = manifest.log.events
    if events is None:
        return {}
    time, rank, session = (name is not None for name in (events.time, events.rank, events.session))
    searches = manifest.log.url is not None and manifest.parameters.get("searches") != "all"
    needed = {
        "hours": time,
        "days": time,
        "ranks": rank,
        "sessions": time or session,
        "lengths": time or session,
        "searches": (time or session) and searches,
        "steps": time,
    }
    return {name: Fraction(_PER_MILLE[name], 1000) for name, wanted in needed.items() if wanted}


def constants(manifest: Manifest) -> dict[str, int]:
    """The parameters that come with these stages."""
    return {"session_gap": SESSION_GAP} if "sessions" in shares(manifest) else {}


def dropped(manifest: Manifest) -> set[str]:
    """The stages that the manifest says were left out."""
    found = _measured(manifest) if shares(manifest) else None
    return set() if found is None else set(found.dropped)


def follow(manifest: Manifest, room: Fraction) -> bool:
    """Whether the stages that were left out are those that noise would drown, and no others.

    `room` is the μ² of all stages together.
    """
    wanted = shares(manifest)
    if not wanted:
        return True
    found, outputs = _measured(manifest), manifest.outputs
    if found is None or not isinstance(outputs, Outputs):
        return False
    everyone = max(sum(outputs.users_by_pairs), 0.0)
    for name, share in wanted.items():
        adding = everyone if name in _OF_ALL_USERS else float(outputs.users)
        noise = math.sqrt(NORM_SQUARED[name] * _COARSE[name] / float(share * room))
        expected = min(noise / adding, _LARGEST) if adding else _LARGEST
        near = abs(expected - _DROWNED) < _CLOSE * _DROWNED
        if name in found.dropped:
            right = math.isclose(found.dropped[name], expected, rel_tol=_CLOSE)
            right = right and (expected > _DROWNED or near)
        else:
            right = expected <= _DROWNED or near
        if not right:
            return False
    return True


def plain(manifest: Manifest) -> bool:
    """Whether the noisy sums are those of the stages, with as many cells as these have.

    A column without its stages has no values.
    """
    wanted, found = shares(manifest), _measured(manifest)
    filled = manifest.log.events.filled if manifest.log.events is not None else ()
    if found is None:  # nothing is measured of users with one pair each
        return not filled and (not wanted or is_one(manifest))
    if not all(_NEEDED[role] <= found.sums.keys() for role in filled):
        return False
    if found.sums.keys() & found.dropped.keys() or {*found.sums, *found.dropped} != {*wanted}:
        return False
    sizes = {name: len(sums) for name, sums in found.sums.items()}
    fixed = {"hours": 168, "days": _day_cells(manifest), "sessions": 10, "lengths": 15}
    rules: dict[str, Callable[[int], bool]] = {
        "ranks": lambda n: n % 12 == 0 and n > 0,
        "searches": lambda n: n % 2 == 0 and n > 0,
        "steps": lambda n: n > 4 and math.isqrt(n - 4) ** 2 == n - 4,
    }
    return all(
        rules[name](size) if name in rules else size == fixed[name] for name, size in sizes.items()
    )


def numbers(manifest: Manifest) -> list[float]:
    """All the noisy sums."""
    found = _measured(manifest)
    return [] if found is None else [n for sums in found.sums.values() for n in sums]


def _measured(manifest: Manifest) -> MeasuredFields | None:
    return manifest.outputs.fields if isinstance(manifest.outputs, Outputs) else None


def _day_cells(manifest: Manifest) -> int:
    events = manifest.log.events
    if events is None or events.time is None:
        return 0
    try:
        days = Period.of(events.period or "").days
    except OptionError as cause:
        raise NotPossibleError(f"the manifest's period: {cause.problem}") from cause
    return -(-days // -(-days // _MOST_DAYS))
