"""Check that the mechanism explains a release: pairs could be selected, and numbers have noise.

Everything is computed again from the log and the manifest's account, in floating point: these are
statistical tests, each with less than one false alarm in 10^7 honest releases.
The calculation is in docs/explanation/verification.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from scipy.special import chdtr, chdtrc, kolmogorov, ndtr, ndtri

from slogan.arrays import Flags, Floats, Ints
from slogan.manifest.manifest import Outputs, SpentStage
from slogan.verification.accounting import part, spent_on
from slogan.verification.evidence import Evidence, Finding, NotPossibleError

FALSE_ALARM = 1e-8
"""The chance that one comparison fails although the release is honest."""
_RARE_EVENT = 1e-2
"""A released pair whose selection had a chance below δ is refused, unless the log has enough such
pairs to expect one. An honest release has one with a chance of at most users × δ/2; it then does
show what one user searched."""
_MOST = 100
_REGIMES = {24: 1 / 3, 700: 1 / 4}
"""How many pairs a user of `pooled` contributes, and the largest weight of one of them."""
_FINE = 1024
_RARELY = 0.1
"""24 is chosen if at most this share of the users seems to have more pairs."""
_DEVIATIONS = 7
_LENGTHS = (2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 9, 10, 11)
_EARLY = 0.1
_FEWEST_PUBLIC = 1000
"""A declared pair without users is selected with a chance of one in this, or in all declared."""
_LEVELS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
NORM, MOST_CLICKS, MOST_COVERED, LARGEST = 6, 2**15, 75, 30
_NEVER, _TINY = 1e-12, 1e-300
_KEPT_AS_MEASURED = ("output_size", "frequent_pairs")
"""Objectives that release each count as measured."""
_UNSEEN = 1e-7
"""Noise of at most this many standard deviations has a chance of less than 10^-7."""


@dataclass(frozen=True, kw_only=True)
class _Thresholds:
    """The selection rule: a pair's sum of weights and noise exceeds a level in one of the rounds.

    `units` is the weight counted up to each round; its noise has variance `variance` per unit.
    """

    units: Floats
    levels: Floats
    variance: float
    heaviest: Floats
    """The most weight, per unit, that a user with n pairs gives to one of them, by n."""

    def chance(self, weight: Floats) -> Floats:
        """The largest chance that a pair of this weight is selected."""
        lacking = self.levels - self.units * weight[:, None]
        return np.minimum(1.0, ndtr(-lacking / np.sqrt(self.variance * self.units)).sum(axis=1))


def _tail(chance: Floats) -> Floats:
    """The value that a standard normal exceeds with this chance."""
    return -np.asarray(ndtri(chance), dtype=np.float64)


def _pooled(variance: float, delta: float, most: int) -> _Thresholds:
    """The schedule of `pooled`, by the derivation in docs/proofs/selection.md."""
    units = np.array(list(accumulate(_LENGTHS)), dtype=float)
    early = delta * _EARLY / (len(_LENGTHS) - 1)
    deltas = np.array([early] * (len(_LENGTHS) - 1) + [delta * (1 - _EARLY)])
    first, end = _blocks(most)
    deviation = math.sqrt(variance / units[-1])
    point = 1 / deviation + float(_tail(np.array(early / most))) + 1 / _FINE
    rate = math.ceil((point + 1 / point) / deviation * _FINE) / _FINE

    def tails(chances: Floats, pairs: Ints | int, weight: Floats | float) -> Floats:
        """For as many of these pairs as a user alone backs, on average."""
        return _tail(np.minimum(chances / (pairs * -np.expm1(-rate * np.asarray(weight))), 0.5))

    weight = np.arange(1, _FINE + 1)[:, None] / _FINE
    highest = _REGIMES[most] + deviation * tails(deltas[-1], most, _REGIMES[most])
    room = (weight + deviation * tails(deltas[-1], end, weight) <= highest).sum(axis=0) / _FINE
    heaviest = np.minimum.accumulate(np.minimum(1.0, np.maximum(room, 1 / np.sqrt(first))))
    scale = np.sqrt(variance * units)[:, None]
    levels = units[:, None] * heaviest + scale * tails(deltas[:, None], end, heaviest)
    return _Thresholds(
        units=units,
        levels=levels.max(axis=1),
        variance=variance,
        heaviest=np.concatenate(([1.0], np.repeat(heaviest, end - first + 1))),
    )


def _blocks(most: int) -> tuple[Ints, Ints]:
    """The first and last numbers of the blocks of 1, …, most in which `pooled` has one weight."""
    end = [1]
    while end[-1] < most:
        end.append(min(most, end[-1] + max(1, end[-1] // 8)))
    return np.array([1, *(n + 1 for n in end[:-1])]), np.array(end)


def _for_public(thresholds: _Thresholds, number: int) -> _Thresholds:
    """The same rounds for declared pairs: multiples of the noise, whatever one user adds."""
    chance = 1 / max(number, _FEWEST_PUBLIC)
    rounds = len(thresholds.units)
    chances = np.array([chance * _EARLY / (rounds - 1)] * (rounds - 1) + [chance * (1 - _EARLY)])
    levels = np.sqrt(thresholds.variance * thresholds.units) * _tail(chances)
    return replace(thresholds, levels=levels)


def _weighted_gaussian(variance: float, delta: float, _most: int) -> _Thresholds:
    n = np.arange(1, _MOST + 1)
    levels = 1 / np.sqrt(n) + math.sqrt(variance) * _tail(delta / n)
    even = np.concatenate(([1.0], 1 / np.sqrt(n)))
    return _Thresholds(
        units=np.ones(1), levels=levels.max(keepdims=True), variance=variance, heaviest=even
    )


_SELECTORS = {"pooled": _pooled, "weighted_gaussian": _weighted_gaussian}


def _stage(evidence: Evidence, name: str) -> SpentStage:
    found = [stage for stage in spent_on(evidence).stages if stage.name == name]
    if len(found) != 1:
        raise NotPossibleError(f"the manifest does not list exactly one stage named {name}")
    return found[0]


def _thresholds(evidence: Evidence) -> _Thresholds | None:
    """The thresholds of the release's selector; None if it is unknown here."""
    selector, most = (evidence.manifest.parameters.get(n) for n in ("selector", "selection_most"))
    make = _SELECTORS.get(str(selector))
    if make is None:
        return None
    if most not in (_REGIMES if make is _pooled else (None,)):
        raise NotPossibleError("the manifest has no usable selection_most")
    stage = _stage(evidence, "selection")
    return make(float(part(stage, "variance")), float(part(stage, "slack")), int(most or _MOST))


def selectable(evidence: Evidence) -> Finding:
    """Check that each released pair has enough users in the log to be selected."""
    thresholds = _thresholds(evidence)
    if thresholds is None:
        return True, "not checked: the thresholds of this selector are not known to verify"
    if not _look_possible(evidence):
        return False, "users contribute another number of pairs than their lengths suggest"
    delta = float(part(_stage(evidence, "selection"), "slack"))
    heaviest = thresholds.heaviest.tolist()
    weight, inclusion, released, public = evidence.compared.weights(heaviest)
    # A pair of a single user with more pairs than contribute is one of these with this chance.
    chance = thresholds.chance(weight) * inclusion
    faults = _too_many(chance[~public], released[~public], (delta, *_LEVELS), delta)
    if evidence.declared:
        lower = _for_public(thresholds, evidence.declared)
        faults += _too_many(lower.chance(weight)[public], released[public], _LEVELS, delta)
        unheld = evidence.compared.declared_unheld
        faults += unheld if unheld and at_least(unheld, 1.0) < FALSE_ALARM else 0
    if faults:
        return False, f"{faults} released pairs have too few users to be selected"
    return True, f"all {int(released.sum())} released pairs have enough users to be selected"


def _too_many(chance: Floats, released: Flags, levels: Sequence[float], delta: float) -> int:
    """How many released pairs are too many of those that are hardly ever selected."""
    faults = 0
    for level in levels:
        unlikely = chance <= level
        seen, expected = int((unlikely & released).sum()), float(chance[unlikely].sum())
        allowed = _RARE_EVENT if level == delta else FALSE_ALARM
        if seen and at_least(seen, expected) < allowed:
            faults = max(faults, seen)
    return faults


def _look_possible(evidence: Evidence) -> bool:
    """Whether noise may have chosen how many pairs a user contributes, if a look chose it."""
    most = evidence.manifest.parameters.get("selection_most")
    if most is None:
        return True
    more, users = evidence.compared.longer(min(_REGIMES)), evidence.compared.users
    # FEW is chosen if this, plus noise on both numbers of users, is 0 or less.
    exact = more - _RARELY * users
    spread = math.hypot(1 - _RARELY, _RARELY) * math.sqrt(
        part(_stage(evidence, "look"), "variance")
    )
    return exact < _DEVIATIONS * spread if most == min(_REGIMES) else exact > -_DEVIATIONS * spread


def at_least(seen: int, expected: float) -> float:
    """A bound on the chance of at least `seen` independent events (Chernoff)."""
    if seen <= expected or expected <= 0:
        return float(seen <= expected)
    # For a single event the expected number itself is the sharper bound.
    if seen == 1:
        return expected
    return math.exp(seen - expected + seen * math.log(expected / seen))


def counts_noisy(evidence: Evidence) -> Finding:
    """Check that the differences between released and true counts have the law of the noise."""
    if not _keeps_counts(evidence):
        return True, "not checked: the objective changes the counts, so their noise is not visible"
    deviation = math.sqrt(part(_stage(evidence, "counts"), "variance"))
    rows = evidence.compared.clipped(NORM, MOST_CLICKS)
    if not rows:
        return False, "no released pair is in the input log"
    released, exact, whole = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    # Counts below a half after noise are not released, so the law is conditional on the rest.
    below = ndtr((0.5 - exact) / deviation)
    # A released integer is a rounded value, from half a click less to half a click more.
    low, high = (
        _score((ndtr((released + half - exact) / deviation) - below) / np.maximum(1 - below, _TINY))
        for half in (-0.5, 0.5)
    )
    order = np.argsort(-exact)
    quarter = max(1, len(order) // 4)
    groups = {"": order, " of the largest": order[:quarter], " of the smallest": order[-quarter:]}
    faults = [
        f"{_spread(low[group], high[group]):.3f} times the claimed variance{name}"
        for name, group in groups.items()
        if not _has_law(low[group], high[group])
    ]
    equal = int(((np.abs(released - exact) < 0.5) | (released == whole)).sum())
    # There are two such integers per count; the chance of each is at most the largest density.
    density = 1 / (deviation * math.sqrt(2 * math.pi) * np.maximum(1 - below, _TINY))
    by_chance = float(np.minimum(1.0, 2 * density).sum())
    if at_least(equal, by_chance) < FALSE_ALARM:
        faults.append(f"{equal} counts equal to the log's, without noise")
    if faults:
        return False, f"the noise of {len(rows)} counts has {'; '.join(faults)}"
    return (
        True,
        f"the noise of {len(rows)} counts has {_spread(low, high):.3f} times the claimed variance, "
        "which chance explains",
    )


def _score(place: Floats) -> Floats:
    """The quantile of a standard normal."""
    return np.asarray(ndtri(np.clip(place, 1e-15, 1 - 1e-15)), dtype=np.float64)


def _spread(low: Floats, high: Floats) -> float:
    return float((((low + high) / 2) ** 2).mean())


def _has_law(low: Floats, high: Floats) -> bool:
    """Whether scores between these bounds fit a standard normal: squares, sum and distribution."""
    n = len(low)
    most = np.maximum(low**2, high**2).sum()
    least = np.where((low < 0) & (high > 0), 0.0, np.minimum(low**2, high**2)).sum()
    shifted = max(float(low.sum()), -float(high.sum()), 0.0) / math.sqrt(n)
    above = np.sort(ndtr(low)) - np.arange(n) / n
    under = np.arange(1, n + 1) / n - np.sort(ndtr(high))
    chances = (
        float(chdtr(float(n), float(most))),
        float(chdtrc(float(n), float(least))),
        float(ndtr(-shifted)),
        law_chance(n, max(float(above.max()), float(under.max()))),
    )
    return min(chances) > FALSE_ALARM


def law_chance(n: int, gap: float) -> float:
    """The chance that n numbers deviate this far from their law (Kolmogorov)."""
    return float(np.asarray(kolmogorov(math.sqrt(n) * max(gap, 0.0))))


def outputs_noisy(evidence: Evidence) -> Finding:
    """Check that the manifest's noisy figures are near the log's, and not equal to them."""
    outputs, found = evidence.manifest.outputs, evidence.compared
    if outputs is None:
        raise NotPossibleError("the manifest has no outputs")
    bins = np.array(outputs.users_by_pairs)
    deviation = math.sqrt(part(_stage(evidence, "sizes"), "variance"))
    faults = {
        "all users": _unlike(bins.sum(), found.users, deviation * math.sqrt(len(bins))),
        "users with a released pair": _beyond(
            bins[1:].sum(), found.holders, found.users, deviation * math.sqrt(len(bins) - 1)
        ),
        "users by pairs": int((bins == np.rint(bins)).sum()) > 1,
    }
    # No user holds more selected pairs than selectable ones: the bins above are pure noise.
    empty = bins[_most_held(evidence) + 1 :] / deviation
    if len(empty):
        faults["bins without users"] = not _has_law(empty, empty)
    if isinstance(outputs, Outputs):
        spread = math.sqrt(part(_stage(evidence, "coverage"), "variance"))
        released, whole = found.covered(MOST_COVERED)
        inside, outside = outputs.clicks_released, outputs.clicks_other
        faults |= {
            "all clicks": _unlike(inside + outside, whole, spread * math.sqrt(2)),
            "clicks on released pairs": _beyond(inside, released, whole, spread),
            "clicks without noise": min(abs(inside - released), abs(outside + released - whole))
            < _UNSEEN * spread,
            "the sum of the counts": _is_another_sum(evidence, outputs),
        }
    wrong = [name for name, present in faults.items() if present]
    if wrong:
        return False, f"some published figures are not this log's plus noise: {', '.join(wrong)}"
    return True, "the published figures are the log's plus noise of the stated size"


def _is_another_sum(evidence: Evidence, outputs: Outputs) -> bool:
    """Whether the published sum of the counts is not that of the released ones.

    A released count is rounded; one that is not released was below a half, with noise.
    """
    if not _keeps_counts(evidence):
        return False
    deviation = math.sqrt(part(_stage(evidence, "counts"), "variance"))
    counts = [count for count, _, _ in evidence.compared.clipped(NORM, MOST_CLICKS)]
    rounded, dropped = outputs.pairs_selected / 2, outputs.pairs_selected - len(counts)
    lost = rounded + max(dropped, 0) * _DEVIATIONS * deviation
    return dropped < 0 or not -lost <= outputs.clicks_counted - sum(counts) <= rounded


def _keeps_counts(evidence: Evidence) -> bool:
    """Whether each count is released as it was measured."""
    parameters = evidence.manifest.parameters
    kept = (*_KEPT_AS_MEASURED, None)
    return parameters.get("output_size") is None and parameters.get("objective") in kept


def _most_held(evidence: Evidence) -> int:
    """The largest number of selectable pairs that one user holds."""
    thresholds = _thresholds(evidence)
    if thresholds is None:
        return LARGEST
    weights = np.linspace(0.0, float(thresholds.levels.max()), 1001)
    too_light = thresholds.chance(weights) < _NEVER
    return evidence.compared.most_held(
        float(weights[too_light].max(initial=0.0)), thresholds.heaviest.tolist()
    )


def _unlike(measured: float, exact: float, deviation: float) -> bool:
    return not _UNSEEN < abs(measured - exact) / deviation < _DEVIATIONS


def _beyond(measured: float, least: float, most: float, deviation: float) -> bool:
    margin = _DEVIATIONS * deviation
    return not least - margin < measured < most + margin
