"""Check that noise is as accounted for: fresh in each run, and with the claimed law.

Noise is the difference between noisy and exact sums. Two runs with the verb's own random source
are compared, and every stage is tested with sums from 0 to ten million, because noise may be
missing where sums are large. Each test has a false alarm once in 10^9 times.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from scipy.special import chdtr, chdtrc, gammainc, ndtr

from slogan.arrays import Floats, Ints
from slogan.auditor.transcript import Summed, Transcript
from slogan.budget import exact
from slogan.dp import sums
from slogan.dp.accounting import GRID, Gaussian, Stage
from slogan.randomness import Randomness
from slogan.release import job

LEVELS = (0, 3, 150, 2_500, 100_000, 10_000_000)
"""Exact sums, in units, to which noise is added."""
_DRAWS = 2_000
_LEVEL = 1e-9
_FAR = 7.0
"""Deviations from 0 that are as rare as this level, over all tests."""
_FEWEST = 16


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """Noise of one stage or round, in claimed deviations, and the pair of each value."""

    name: str
    values: Floats
    step: float
    """The grid, in deviations."""
    pairs: Ints | None


def drawn(seen: Transcript) -> list[Drawn]:
    """All Gaussian noise of a run, as it was added."""
    rounds = [
        _drawn(f"selection, round {n}", r.drawn, r.variance, r.tried)
        for n, r in enumerate(seen.rounds, start=1)
        if len(r.drawn)
    ]
    return rounds + [_of_stage(name, stage) for name, stage in seen.stages.items()]


def _of_stage(name: str, stage: Summed) -> Drawn:
    return _drawn(name, stage.noisy - stage.exact, stage.variance, stage.pairs)


def _drawn(name: str, steps: Ints, variance: Fraction, pairs: Ints | None) -> Drawn:
    # Noise is rounded down to the grid: by half a step on average.
    step = float(GRID) / math.sqrt(variance)
    return Drawn(name=name, values=(steps.astype(np.float64) + 0.5) * step, step=step, pairs=pairs)


def has_law(noise: Drawn) -> bool:
    """Whether it fits a standard normal: by its distribution, its variance, and repetitions.

    The largest distance of n values' distribution from the law exceeds d with probability 2e^−2nd²
    at most (Dvoretzky, Kiefer, Wolfowitz; Massart).
    """
    n, values = len(noise.values), np.sort(noise.values)
    if not n:
        return False
    below, total = np.asarray(ndtr(values)), float((values**2).sum())
    far = float(np.abs(below - (np.arange(n) + 0.5) / n).max()) - 0.5 / n
    # No value is likelier than 0. The number of equal values is at most Poisson.
    often = int(np.unique(values, return_counts=True)[1].max())
    hits = n * noise.step / math.sqrt(2 * math.pi)
    tie = n * float(gammainc(often - 1, hits)) if often > 1 else 1.0
    tails = (2 * math.exp(-2 * n * far**2), float(chdtr(n, total)), float(chdtrc(n, total)), tie)
    return min(tails) > _LEVEL


def repeated(draws: Sequence[Drawn]) -> set[str]:
    """The names of draws that correlate with another, by position or by pair."""
    names: set[str] = set()
    for one, other in combinations(draws, 2):
        if any(_follow(a, b) for a, b in _aligned(one, other)):
            names |= {one.name, other.name}
    return names


def _aligned(one: Drawn, other: Drawn) -> Iterable[tuple[Floats, Floats]]:
    length = min(len(one.values), len(other.values))
    yield one.values[:length], other.values[:length]
    if one.pairs is not None and other.pairs is not None:
        _, a, b = np.intersect1d(one.pairs, other.pairs, return_indices=True)
        yield one.values[a], other.values[b]


def _follow(a: Floats, b: Floats) -> bool:
    """Test the correlation by Fisher's transformation, which is normal for independent values."""
    if len(a) < _FEWEST:
        return len(a) > 0 and bool(np.allclose(a, b, rtol=1e-6, atol=1e-6))
    if not a.any() or not b.any() or a.std() == 0 or b.std() == 0:
        return True
    correlation = float(np.clip(np.corrcoef(a, b)[0, 1], -1 + 1e-15, 1 - 1e-15))
    return abs(math.atanh(correlation)) * math.sqrt(len(a) - 3) > _FAR


def at_all_sizes(name: str, stage: Summed, rng: Randomness) -> list[Drawn]:
    """Noise that the stage adds to small and to large sums."""
    draws: list[Drawn] = []
    for level in LEVELS:
        added_to = np.full(_DRAWS, level << sums.BITS, dtype=np.int64)
        noisy = sums.noisy_sums(
            added_to,
            name=name,
            norm_squared=stage.norm_squared,
            mu_squared=stage.norm_squared / stage.variance,
            rng=rng,
        )
        draws.append(_drawn(name, noisy.steps - added_to, stage.variance, None))
    return draws


def unaccounted(seen: Transcript) -> set[str]:
    """Stages of the account whose noise was drawn differently."""
    return {stage.name for stage in seen.account if not _accounted(stage, seen)}


def _accounted(stage: Stage, seen: Transcript) -> bool:
    if not isinstance(stage, Gaussian):
        cap = exact(getattr(stage, "cap", 0))
        return seen.rate is not None and seen.rate <= cap
    if stage.name in seen.stages:
        known = seen.stages[stage.name]
        return (known.norm_squared, known.variance) == (stage.norm_squared, stage.variance)
    # Rounds of norm 1 each; a selector that is not replayed has none.
    spent = sum((1 / r.variance for r in seen.rounds if r.variance), Fraction(0))
    return spent <= stage.cost.mu_squared


def same_source() -> bool:
    """Whether the source of a real run returns the same words twice, or has a seed."""
    one, other = (job.randomness(None) for _ in range(2))
    return one.seed is not None or bool((one.words(8) == other.words(8)).any())
