"""How far each user's share of a pair moved: the DiffRatio of triplets [eq. 10]."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from fractions import Fraction

import numpy as np

from slogan.arrays import Ints
from slogan.histogram import PairHistogram
from slogan.measures import Comparison, Measure, Totals
from slogan.planning.plan import Plan
from slogan.planning.sampling import sample_users
from slogan.randomness import Randomness

BINS = 10
# A ratio on the edge of two bins belongs to the upper one, whatever its rounding.
_HAIR = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffRatios:
    """How many triplets of frequent pairs have which DiffRatio, averaged over some outputs."""

    min_support: str
    samples: int
    triplets: int
    below: list[float]
    """Below 10 %, from there below 20 %, and so on; the last bin ends below 100 %."""
    not_shown: float
    """x_ijk = 0: exactly 100 %."""
    above: float
    """100 % and more, of triplets that are shown."""


def frequent_triplets(original: PairHistogram, totals: Totals, min_support: Fraction) -> Ints:
    """The triplets (q_i, u_j, s_k) of the frequent pairs of D, as rows of its histogram.

    Those of infrequent pairs are ignored [Hong12, section 6.5].
    """
    return np.flatnonzero(totals.frequent_before(min_support)[original.pair])


def diff_ratios(
    original: PairHistogram, totals: Totals, min_support: Fraction, outputs: Iterable[PairHistogram]
) -> DiffRatios:
    """The average over outputs whose users and pairs are numbered as those of D."""
    rows = frequent_triplets(original, totals, min_support)
    user, pair, count = original.user[rows], original.pair[rows], original.count[rows]
    # D has no unique pairs: their clicks count neither in |D| nor in |O|.
    ignored = (original.pair_total > 0) & (totals.before == 0)
    below = np.zeros(BINS)
    not_shown = above = samples = 0
    for output in outputs:
        # |x_ijk/|O| − c_ijk/|D|| / (c_ijk/|D|)
        clicks = released_clicks(output, user, pair)
        size = int(output.count[~ignored[output.pair]].sum())
        ratio = np.abs(clicks / (count * (max(1, size) / max(1, totals.size_before))) - 1.0)
        shown, place = clicks > 0, np.floor(ratio * BINS + _HAIR)
        inside = shown & (place < BINS)
        below += np.bincount(place[inside].astype(np.int64), minlength=BINS)
        not_shown += int(np.count_nonzero(~shown))
        above += int(np.count_nonzero(shown & ~inside))
        samples += 1
    each = max(1, samples)
    return DiffRatios(
        min_support=str(min_support),
        samples=samples,
        triplets=len(rows),
        below=(below / each).tolist(),
        not_shown=not_shown / each,
        above=above / each,
    )


def released_clicks(output: PairHistogram, user: Ints, pair: Ints) -> Ints:
    """x_ijk for given users and pairs; 0 where the output has no such triplet."""
    place = output.user * output.pairs + output.pair
    wanted = user * output.pairs + pair
    if not len(place):
        return np.zeros(len(wanted), dtype=np.int64)
    at = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
    return np.where(place[at] == wanted, output.count[at], 0)


def redrawn(
    original: PairHistogram, released: Ints, samples: int, rng: Randomness
) -> Iterable[PairHistogram]:
    """Outputs of [Hong12, Algorithm 1] with the same released clicks of each pair.

    Only the curator can draw them: users are drawn from the log.
    """
    planned = Plan(np.where(original.pair_total > 0, released, 0))
    for _ in range(samples):
        output = sample_users(original, planned, rng)
        yield replace(original, user=output.user, pair=output.pair, count=output.count)


def _take(c: Comparison) -> DiffRatios | None:
    samples = c.samples
    return None if samples is None else diff_ratios(c.log, c.totals, c.supports[0], samples)


TRIPLETS = Measure[DiffRatios | None](
    name="triplets",
    order=40,
    take=_take,
    fields=lambda r: {"diff_ratio_histogram": None if r is None else asdict(r)},
)
