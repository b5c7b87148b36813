"""The verifier's rules for stages of time, rank and session, each next to its bounds."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from slogan.budget import PrivacyBudget
from slogan.dp.accounting import Gaussian
from slogan.dp.fields.statistics import SHARES, drowned
from slogan.dp.fields.sums import NORM as TABLE_NORM
from slogan.dp.statistics import constants, spread
from slogan.dp.sums import MOST_COVERED, NORM, Sizes
from slogan.manifest.manifest import MeasuredFields, Outputs, SpentStage
from slogan.verification import fields
from slogan.verification import private_checks as checks
from slogan.verification.accounting import delta_at_most, log_at_most
from slogan.verification.conditions import Bounds

ROOM = Fraction(1, 20)
DELTA = 2 * delta_at_most(log_at_most(Fraction(3)), ROOM)
SQUARES = {"counts": NORM**2, "sizes": 1, "coverage": MOST_COVERED**2, "association": 1}
SQUARES |= dict.fromkeys(SHARES, TABLE_NORM**2)
CELLS = {"hours": 168, "days": 92, "ranks": 36, "sessions": 10, "lengths": 15}
CELLS |= {"searches": 4, "steps": 8}
MANY, FEW = (50_000.0, 9_000.0), (2_000.0, 90.0)
PUBLISHED = constants(
    spread(PrivacyBudget(epsilon=1, delta="1e-5"), association=True, fields=tuple(SHARES))
)


def left_out(bins):
    """What the mechanism itself leaves out."""
    noise = Gaussian(name="sizes", norm_squared=1, variance=Fraction(1))
    parts = {name: share * ROOM for name, share in SHARES.items()}
    return drowned(parts, Sizes(bins=np.array(bins), stage=noise))


def release(bins=MANY, *, dropped=None, cells=None, norms=None, events=None, **parameters):
    """An honest manifest with all stages, with the changes of a test."""
    dropped = left_out(bins) if dropped is None else dropped
    published = {"association": "domains", **PUBLISHED}
    share = {
        name.removeprefix("share_"): Fraction(part)
        for name, part in published.items()
        if name.startswith("share_")
    }
    share["counts"] += sum(share[name] for name in dropped)
    squares = SQUARES | (norms or {})
    stages = [
        SpentStage(
            name=name,
            mechanism="gaussian",
            parameters={
                "norm_squared": str(squares.get(name, 1)),
                "variance": str(Fraction(squares.get(name, 1)) / (part * ROOM)),
                "slack": str(DELTA / 2 if name == "selection" else 0),
            },
            theorem="none",
            cost={},
        )
        for name, part in share.items()
        if name not in dropped
    ]
    sums = {name: (0.5,) * n for name, n in (cells or CELLS).items() if name not in dropped}
    outputs = Outputs(
        pairs_selected=1,
        coverage=0.5,
        clicks_released=1.0,
        clicks_other=1.0,
        clicks_counted=1.0,
        association="independent",
        association_kept=0.0,
        users=round(bins[1]),
        users_by_pairs=bins,
        fields=MeasuredFields(sums=sums, dropped=dropped),
    )
    asked = {"time": "QueryTime", "rank": "ItemRank", "session": None}
    asked |= {"period": "2006-03-01/2006-05-31", "filled": ()} | (events or {})
    return SimpleNamespace(
        manifest=SimpleNamespace(
            parameters=published | parameters,
            account=SimpleNamespace(stages=stages),
            outputs=outputs,
            log=SimpleNamespace(events=SimpleNamespace(**asked), url="ClickURL"),
        ),
        promised=Bounds(likelihood=Fraction(3), appearance=1 / (1 - DELTA)),
    )


@pytest.mark.parametrize("bins", [MANY, FEW])
def test_what_the_mechanism_does_is_accepted(bins):
    honest = release(bins)

    assert checks._user_constants(honest)[0]
    assert checks._user_scales(honest) == (
        True,
        "every noise scale follows from the budget alone",
    )
    assert fields.plain(honest.manifest)
    assert bool(fields.dropped(honest.manifest)) == (bins == FEW)


def test_the_rules_are_those_of_the_mechanism():
    assert dict.fromkeys(SHARES, TABLE_NORM**2) == fields.NORM_SQUARED
    assert fields.shares(release().manifest) == SHARES


@pytest.mark.parametrize("name", SHARES)
def test_a_constant_that_differs_is_counted(name):
    other = {f"share_{name}": "1/3"}

    assert not checks._user_constants(release(**other))[0]
    assert not checks._user_constants(release(norms={name: SQUARES[name] + 1}))[0]
    assert not checks._user_constants(release(session_gap=3600))[0]


def test_a_stage_may_be_left_out_only_if_noise_drowns_it():
    part = left_out(FEW)

    assert not checks._user_scales(release(MANY, dropped={"days": 0.3}))[0]
    assert not checks._user_scales(release(FEW, dropped={}))[0]
    assert not checks._user_scales(release(FEW, dropped=part | {"steps": part["steps"] * 1.1}))[0]


def test_stages_follow_from_the_columns_that_are_asked_for():
    def names(**events):
        return set(fields.shares(release(events=events).manifest))

    assert names(time=None) == {"ranks"}
    assert names(time=None, rank=None, session="s") == {"sessions", "lengths", "searches"}
    assert "searches" not in fields.shares(release(searches="all").manifest)
    nothing = release()
    nothing.manifest.log.events = None
    assert fields.shares(nothing.manifest) == {}
    assert fields.follow(nothing.manifest, ROOM)
    assert not fields.plain(nothing.manifest)


@pytest.mark.parametrize("name", CELLS)
def test_a_stage_has_the_cells_that_follow_from_public_numbers(name):
    assert not fields.plain(release(cells=CELLS | {name: CELLS[name] + 1}).manifest)
    assert not fields.plain(release(cells={n: c for n, c in CELLS.items() if n != name}).manifest)


def test_long_periods_have_fewer_cells():
    period = {"period": "2006-01-01/2006-12-31"}

    assert not fields.plain(release(events={"period": "2006-03-01/2006-05-30"}).manifest)
    assert fields.plain(release(cells=CELLS | {"days": 92}, events=period).manifest)


def test_a_column_without_its_stage_has_no_values():
    def plain(bins, *filled):
        return fields.plain(release(bins, events={"filled": filled}).manifest)

    assert plain(MANY, "time", "rank")
    assert {"ranks", "sessions"} <= left_out(FEW).keys()
    assert not plain(FEW, "rank")
    assert not plain(FEW, "session")
    assert plain(FEW)
