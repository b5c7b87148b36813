"""Budgets: the task that compares the stops of the slider, on a made-up log or on the log."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from slogan.studio.choices import LogChoice
from slogan.studio.work.drawing import frontier_svg
from slogan.studio.work.facts import Stop, Stops

if TYPE_CHECKING:
    from slogan.budget import PrivacyBudget
    from slogan.dp.accounting import Cost
    from slogan.ledger.ledger import Ledger
    from slogan.progress import Progress
    from slogan.workflows.advise import BudgetAdvice
    from slogan.workflows.frontier.points import SanitizedPoint, SynthesizedPoint

EPSILONS = ("0.1", "0.25", "0.5", "1", "2", "3")
NAMES = {"0.5": "strict", "1": "usual", "3": "loose"}
DELTAS = ("0.05", "0.1", "0.2", "0.3", "0.4", "0.5")
EXP_EPSILON = "2"
"""Of real rows, where δ decides: the paper's."""
NAMES_OF_ROWS = {"0.1": "strict", "0.2": "usual", "0.5": "loose"}
_SEEDS = 2
"""Made-up logs of one size, as far as that is quick."""
_QUICK_CLICKS = 400_000
_X_ROWS = "chance of being shown δ"
_X_USERS = "privacy budget ε (larger = weaker protection)"


@dataclass(frozen=True, kw_only=True)
class Compare:
    """Compare budgets."""

    mode: str
    users: int
    """Declared."""
    clicks_per_user: str
    delta: str
    """For made-up users: the δ of every stop."""
    items: str
    log: LogChoice | None = None
    """The real log, if it is to be looked at."""
    ledger: Ledger | None = None
    """Where that is recorded."""

    def run(self, progress: Progress) -> Stops:
        """Measure each stop."""
        if self.mode == "sanitize":
            return self._rows(progress)
        return self._users(progress) if self.log is None else self._users_on_log(progress)

    def _users(self, progress: Progress) -> Stops:
        """Made-up users, on made-up logs."""
        from slogan.progress import Steps
        from slogan.workflows.advise import DeclaredLog, compared

        clicks = float(self.clicks_per_user)
        size = DeclaredLog(users=self.users, clicks_per_user=clicks, items=self.items)
        seeds = range(_SEEDS if self.users * clicks <= _QUICK_CLICKS else 1)
        runs: list[tuple[BudgetAdvice, ...]] = []
        measured, epsilons = 0, {f"ε = {epsilon}": epsilon for epsilon in EPSILONS}
        for seed in seeds:
            steps = Steps(progress)
            measured, found = compared(
                size, epsilons, delta=self.delta, reach=False, seed=seed, steps=steps
            )
            runs.append(found)
        stops = [
            self._stop(
                epsilon,
                [run[place].pairs for run in runs],
                at_least=runs[0][place].at_least,
                share=runs[0][place].share_of_clicks,
                survives=(
                    ("the 20 most frequent searches", f"{runs[0][place].top_searches} of 20"),
                    ("which pairs go together", runs[0][place].association),
                    ("rare searches", "no"),
                ),
            )
            for place, epsilon in enumerate(EPSILONS)
        ]
        return self._stops(stops, measured)

    def _users_on_log(self, progress: Progress) -> Stops:
        """Made-up users, by dry runs on the log."""
        from slogan.workflows.frontier import frontier

        assert self.log is not None  # noqa: S101  asked before
        grid = frontier(
            self.log.log(),
            on_log=True,
            mode="synthesize",
            epsilons=EPSILONS,
            deltas=(self.delta,),
            ledger=self.ledger,
            progress=progress,
        )
        points: dict[float, SynthesizedPoint] = {point.epsilon: point for point in grid.points}
        stops = [
            self._stop(
                epsilon,
                [point.pairs_least, round(point.value), point.pairs_most],
                at_least=False,
                share=point.coverage,
                survives=(("frequent pairs", _share(point.recall)), ("rare searches", "no")),
            )
            for epsilon, point in ((one, points[float(one)]) for one in EPSILONS)
        ]
        return self._stops(stops, grid.log.users)

    def _rows(self, progress: Progress) -> Stops:
        """Real rows, planned on a made-up log or on the log."""
        from slogan.generation.twin import MOST_CLICKS
        from slogan.workflows.frontier import frontier

        on_log = self.log is not None
        grid = frontier(
            None if self.log is None else self.log.log(),
            users=None if on_log else self.users,
            clicks_per_user=None if on_log else float(self.clicks_per_user),
            on_log=on_log,
            mode="sanitize",
            exp_epsilons=(EXP_EPSILON,),
            deltas=DELTAS,
            solver="packing",
            time_limit=2,
            ledger=self.ledger,
            progress=progress,
        )
        points: dict[float, SanitizedPoint] = {point.delta: point for point in grid.points}
        stops = [self._row_stop(delta, points[float(delta)], grid.log.clicks) for delta in DELTAS]
        most = int(MOST_CLICKS / float(self.clicks_per_user))
        return self._stops(stops, grid.log.users if on_log else min(self.users, most))

    def _row_stop(self, delta: str, point: SanitizedPoint, clicks: int) -> Stop:
        from slogan.budget import PrivacyBudget, at_most, exact

        budget = PrivacyBudget(exp_epsilon=EXP_EPSILON, delta=delta)
        named = min(Fraction(100), 1 + 100 * exact(budget.delta))  # given the counts, e^ε is 1
        return Stop(
            name=NAMES_OF_ROWS.get(delta, ""),
            epsilon=None,
            exp_epsilon=EXP_EPSILON,
            delta=delta,
            named=at_most(named, 3),
            dots=-(-named.numerator // named.denominator),
            pairs=point.pairs,
            pairs_most=point.pairs,
            at_least=False,
            share=point.clicks / clicks if clicks else 0.0,
            survives=(("frequent pairs", _share(point.recall)), ("rare searches", "no")),
            exposed=point.exposed_users_expected,
            cost=None,
        )

    def _stop(
        self,
        epsilon: str,
        pairs: list[int],
        *,
        at_least: bool,
        share: float,
        survives: tuple[tuple[str, str], ...],
    ) -> Stop:
        from slogan.budget import PrivacyBudget, exact
        from slogan.workflows.advise import people_named

        budget = PrivacyBudget(epsilon=epsilon, delta=self.delta)
        named = min(Fraction(100), budget.ratio_at_most + 100 * exact(budget.delta))
        return Stop(
            name=NAMES.get(epsilon, ""),
            epsilon=epsilon,
            exp_epsilon=None,
            delta=self.delta,
            named=people_named(budget),
            dots=-(-named.numerator // named.denominator),
            pairs=min(pairs),
            pairs_most=max(pairs),
            at_least=at_least,
            share=share,
            survives=survives,
            exposed=None,
            cost=_cost(budget),
        )

    def _stops(self, stops: list[Stop], measured: int) -> Stops:
        rows = self.mode == "sanitize"
        points = [
            (float(stop.delta if rows else stop.epsilon or 0), (stop.pairs + stop.pairs_most) / 2)
            for stop in stops
        ]
        return Stops(
            stops=tuple(stops),
            usual=next(place for place, stop in enumerate(stops) if stop.name == "usual"),
            users=self.users,
            measured_users=measured,
            chart=frontier_svg(
                points, x_title=_X_ROWS if rows else _X_USERS, y_title="released pairs, about"
            ),
            items=self.items,
            on_log=self.log is not None,
        )


def _cost(budget: PrivacyBudget) -> Cost | None:
    """What the ledger would count for made-up users."""
    from slogan.dp.grouping import Kinds
    from slogan.workflows.synthesize import divided

    return divided(budget, "several", Kinds.from_options(None, None)).cost


def _share(share: float | None) -> str:
    return "none are frequent" if share is None else f"{share:.0%}"
