"""The fewest expected exposed users for a required utility under a given budget."""

from dataclasses import dataclass

from slogan.arrays import Ints
from slogan.planning.program import Status, gap


@dataclass(frozen=True, kw_only=True, repr=False)
class LeastExposure:
    """Counts of a required value that expose few users, and what is proven about all others."""

    required: int
    counts: Ints
    """They have exactly the required value, and the budget allows them exactly."""
    exposed: float
    """Expected number of users with at least one released row."""
    lower_bound: float
    """Proven: no counts of the required value under this budget expose fewer."""
    value_bound: float
    """Proven: no counts under this budget have a larger value."""
    status: Status
    solver: str
    """Which solver found the counts to start from."""

    @property
    def gap(self) -> float:
        """The most that other counts could expose less, relative to the bound."""
        return gap(value=self.exposed, bound=self.lower_bound)
