"""Keep the supports of frequent pairs as they are in the log (the paper's F-UMP)."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from slogan.arrays import Floats, Ints
from slogan.budget import Number, exact
from slogan.errors import OptionError, OutputSizeError
from slogan.histogram import PairHistogram
from slogan.planning.constraints import PrivacyConstraints
from slogan.planning.objectives import CappedPairs, PrivatePairs, TargetedObjective
from slogan.planning.plan import Plan
from slogan.planning.program import Program, SupportTargets, empty


@dataclass(frozen=True, kw_only=True)
class FrequentPairs(TargetedObjective):
    """Minimise the sum of support distances of frequent pairs at output size |O| [Hong12, F-UMP].

    Of equally good outputs, one is preferred in which the fewest other pairs become frequent.

    Args:
        min_support: A pair is frequent if its share of the clicks on shared pairs reaches this.
        output_size: |O|, at most λ; half of λ if not given.
    """

    min_support: Number = "1/500"
    output_size: int | None = None

    name = "frequent_pairs"
    utility = "sum of support distances"

    def __post_init__(self) -> None:
        if not 0 < exact(self.min_support) <= 1:
            raise OptionError(
                f"the minimum support must lie between 0 and 1, got {self.min_support}",
                hint="1/500 calls a pair frequent if it has one click in 500",
            )
        if self.output_size is not None and self.output_size < 1:
            raise OptionError(
                f"the output size must be at least 1, got {self.output_size}",
                hint="leave --output-size out for half of the largest possible size",
            )

    @property
    def enough(self) -> float:
        return self.output_size or math.inf

    def program(self, constraints: PrivacyConstraints, largest: Plan, bound: float) -> Program:
        size = self.output_size or max(1, largest.size // 2)
        if largest.size == 0:
            raise empty(constraints)
        if size > largest.size:
            raise OutputSizeError(requested=size, largest=largest.size, bound=bound)
        hist = constraints.hist
        min_support = exact(self.min_support)
        frequent = frequent_pairs(hist, min_support)
        support = hist.pair_total[frequent] / hist.clicks
        start = _lowered_to(size, largest.counts, frequent, support)
        targets = SupportTargets(
            frequent=frequent,
            support=support,
            output_size=size,
            infrequent=fewest_frequent(size, min_support) - 1,
            start=start,
        )
        return Program(constraints=constraints, targets=targets)

    def on_private_counts(self, pairs: PrivatePairs) -> Ints:
        # The private counts keep every support, so also those of frequent pairs.
        if self.output_size is None or not pairs.counts.any():
            return pairs.counts
        return _apportioned(pairs.counts, self.output_size)

    def expected_clicks(self, pairs: CappedPairs) -> Floats:
        # Clicks in proportion to the counts keep every support. Heavy users reach the cap first,
        # which distorts supports, so the default is half of the possible size.
        size = float(self.output_size or pairs.cap * pairs.users / 2)
        return size * pairs.counts / pairs.counts.sum()


def frequent_pairs(hist: PairHistogram, min_support: Fraction) -> Ints:
    """The pairs with c_ij / |D| ≥ s, compared exactly."""
    least = fewest_frequent(hist.clicks, min_support)
    return np.flatnonzero(hist.pair_total >= least).astype(np.int64)


def fewest_frequent(clicks: int, min_support: Fraction) -> int:
    """The fewest clicks with which a pair is frequent among all `clicks`: ⌈s·|D|⌉."""
    return math.ceil(min_support * clicks)


def _lowered_to(size: int, counts: Ints, frequent: Ints, support: np.ndarray) -> Ints:
    """Lower counts to sum to `size`, first those above their ideal count."""
    ideal = np.zeros(len(counts))
    ideal[frequent] = support * size
    lowered = counts.copy()
    for floor in (np.minimum(counts, np.ceil(ideal).astype(np.int64)), np.zeros_like(counts)):
        spare = lowered - floor
        excess = int(lowered.sum()) - size
        lowered -= np.clip(excess - (np.cumsum(spare) - spare), 0, spare)
    return lowered


def _apportioned(counts: Ints, size: int) -> Ints:
    """Counts in the same proportions that sum to `size`: floors, then the largest remainders."""
    exactly = counts.astype(object) * size
    total = int(counts.sum())
    floor = (exactly // total).astype(np.int64)
    rest = (exactly % total).astype(np.int64)
    floor[np.argsort(-rest, kind="stable")[: size - int(floor.sum())]] += 1
    return floor


OBJECTIVE = FrequentPairs
