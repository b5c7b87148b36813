"""Cap: the most that all releases on a population may cost together.

The cap is a box of limits, fixed before the first release: one for μ², one for the ε and one
for the δ that stages add. A rule on the composed (ε, δ) alone would not be sound if later
releases are chosen in the light of earlier ones. Proof: docs/proofs/ledger.md.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from slogan.budget import Number, PrivacyBudget, exact, short
from slogan.dp.accounting import SET_ASIDE, TINIEST, Cost, delta_at, gaussian_epsilon, gaussian_room
from slogan.errors import BudgetError


class Room(NamedTuple):
    """The budget of the largest single release that still fits, rounded down."""

    epsilon: float
    delta: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap:
    """Releases within these limits are together (ε, δ)-DP."""

    epsilon: Fraction
    delta: Fraction
    limits: Cost

    @classmethod
    def of(
        cls,
        epsilon: Number,
        delta: Number,
        *,
        epsilon_aside: Number = 0,
        delta_aside: Number | None = None,
    ) -> "Cap":
        """The cap that leaves the most for noisy sums, beside what is set aside for the rest.

        Args:
            epsilon: ε that all releases together may reach.
            delta: δ likewise.
            epsilon_aside: The part of ε for stages other than noisy sums, such as the sampling
                of real rows.
            delta_aside: The part of δ for the probabilities that stages set aside; half of δ if
                not given.
        """
        budget = PrivacyBudget(epsilon=epsilon, delta=delta)
        slack = exact(delta) * SET_ASIDE if delta_aside is None else exact(delta_aside)
        others = Cost(epsilon=exact(epsilon_aside), delta=slack)
        sums = Cost(mu_squared=gaussian_room(budget, others))
        return cls(epsilon=exact(epsilon), delta=exact(delta), limits=sums + others)

    def __post_init__(self) -> None:
        if delta_at(self.epsilon, self.limits) > self.delta:
            raise BudgetError(
                f"limits that are not (ε, δ)-DP for ε = {short(self.epsilon)} and "
                f"δ = {short(self.delta)}",
                hint="set the cap by its ε and δ, and let the limits follow from them",
            )

    def admits(self, spent: Cost) -> bool:
        """Whether releases that cost this much together stay within every limit."""
        return self.limits.covers(spent)

    def remaining(self, spent: Cost) -> Cost:
        """What is left of every limit; 0 where nothing is."""
        gone = spent.parts()
        left = {name: limit - gone[name] for name, limit in self.limits.parts().items()}
        return Cost(**{name: max(Fraction(0), part) for name, part in left.items()})

    def exceeds(self, other: "Cap") -> bool:
        """Whether this cap allows anything that the other does not."""
        return (
            self.epsilon > other.epsilon
            or self.delta > other.delta
            or not other.admits(self.limits)
        )

    def room(self, spent: Cost) -> Room | None:
        """The one release that would use up what is left, if it shares δ out as the cap does."""
        left = self.remaining(spent)
        if not (left.delta and left.mu_squared) or not self.admits(spent):
            return None
        delta = self.delta * left.delta / self.limits.delta
        if (curved := delta - left.delta) < TINIEST:
            return None
        epsilon = gaussian_epsilon(curved, left.mu_squared)
        return Room(_rounded_down(min(epsilon, self.epsilon)), _rounded_down(delta))


def _rounded_down(number: Fraction) -> float:
    """Four digits, for a person to type; never more than the number."""
    unit = Fraction(10) ** (math.floor(math.log10(number)) - 3) if number else Fraction(1)
    return float(f"{float(math.floor(number / unit) * unit):.4g}")
