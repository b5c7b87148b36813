"""One pair of each user, or several: a private look at a log decides which way of counting serves.

The look is paid for first, and the rest of the budget is divided twice: once for each way. Proof:
docs/proofs/contributions.md.
"""

from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction

from slogan.budget import PrivacyBudget, exact
from slogan.dp.accounting import Approximate, Cost, spendable
from slogan.dp.noise import discrete_laplace
from slogan.dp.one_pair import ALL_BUT, OnePairSpending, divide
from slogan.dp.selection._look import length_sums
from slogan.dp.statistics import Spending, spread
from slogan.dp.sums import BITS, AnyHistogram
from slogan.randomness import Randomness

SHARE = Fraction(1, 100)
"""The look's share of ε: a public constant."""

VOICES = (-4, -1, 5)
"""What a user with one pair, with two, and with more adds to the sum that decides.

Fitted to whole releases of both kinds from 58 made-up logs; `python -m bench musts` tests them."""
_LARGEST = max(map(abs, VOICES))


@dataclass(frozen=True, slots=True, kw_only=True)
class Undecided:
    """How a budget is divided where a look decides, before the log is read."""

    look: Approximate
    one: OnePairSpending
    several: Spending

    @property
    def cost(self) -> Cost:
        """At least the total cost of either way, part by part."""
        one, several = (self.look.cost + way.cost for way in (self.one, self.several))
        mine, other = one.parts(), several.parts()
        return Cost(**{name: max(part, other[name]) for name, part in mine.items()})

    def decided(self, hist: AnyHistogram, rng: Randomness) -> OnePairSpending | Spending:
        """What the look decides: the division of the rest."""
        return self.one if holds_one(hist, self.look, rng) else self.several


def undecided(
    budget: PrivacyBudget, *, association: bool, fields: Collection[str] = ()
) -> Undecided:
    """Divide a budget for a look, and what is left of it for each way of counting."""
    look = Approximate(name="contributions", epsilon=spendable(budget)[0] * ALL_BUT * SHARE)
    return Undecided(
        look=look,
        one=divide(budget, look.cost.epsilon),
        several=spread(budget, association=association, before=look.cost, fields=fields),
    )


def holds_one(hist: AnyHistogram, stage: Approximate, rng: Randomness) -> bool:
    """Whether one pair of each user should count: its sum over users, plus noise, is below 0."""
    scale = _LARGEST / exact(stage.epsilon)
    return voices(hist) + int(discrete_laplace(1, rng, scale=scale)[0]) < 0


def voices(hist: AnyHistogram) -> int:
    """The sum over users that decides. Not private yet."""
    one, more = (length_sums(hist, 1) >> BITS).tolist()
    few, many = (length_sums(hist, 2) >> BITS).tolist()
    assert one + more == few + many  # noqa: S101  the same users, counted twice
    return sum(n * voice for n, voice in zip((one, few - one, many), VOICES, strict=True))
