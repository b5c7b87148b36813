"""Noise is taken off a table: what stands out is kept, and the rest is expected."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slogan.dp.departures import denoised

CELLS, NOISE = 6_000, 9.0


def measured(departure, seed=0):
    """Expectations over four powers of ten, with these departures and with noise."""
    rng = np.random.default_rng(seed)
    expected = np.sort(10 ** rng.uniform(-1, 3, CELLS))
    true = np.maximum(expected + departure(rng, expected), 0.0)
    return true, true + rng.normal(0, NOISE, CELLS), expected


def error(found, true):
    return float(np.sqrt(((found - true) ** 2).mean()))


def none(_rng, expected):
    return 0 * expected


def few(rng, expected):
    """One cell in fifty is far beyond what is expected."""
    return np.where(rng.random(len(expected)) < 0.02, rng.uniform(50, 400, len(expected)), 0.0)


def many(rng, expected):
    """Every cell differs, by about a fifth."""
    return expected * rng.normal(0, 0.2, len(expected))


def test_noise_alone_leaves_what_is_expected():
    true, noisy, expected = measured(none)
    found = denoised(noisy, expected, NOISE)

    assert error(found.cells, true) < NOISE / 6
    assert found.slope.mean() < 0.15


@pytest.mark.parametrize(("departure", "gain"), [(few, 2.5), (many, 1.3)])
def test_departures_are_found(departure, gain):
    """Better than the noisy values, cut at 0, and than what is expected."""
    true, noisy, expected = measured(departure)
    found = denoised(noisy, expected, NOISE).cells

    assert error(found, true) * gain < error(np.maximum(noisy, 0), true)
    assert error(found, true) * gain < error(expected, true)


def test_what_stands_out_is_kept_as_measured():
    true, noisy, expected = measured(few)
    found = denoised(noisy, expected, NOISE)
    clear = true - expected > 10 * NOISE

    assert clear.sum() > 50
    assert np.abs(found.cells - noisy)[clear].max() < 2 * NOISE


def test_the_slope_is_how_an_estimate_moves():
    """The mean slope is what noise has moved estimates by, in units of the noise (Stein 1981)."""
    true, noisy, expected = measured(many)
    found = denoised(noisy, expected, NOISE)
    moved = ((noisy - true) * (found.cells - true)).mean() / NOISE**2
    moved -= ((noisy - true) * (expected - true)).mean() / NOISE**2

    assert found.slope.mean() == pytest.approx(moved, abs=0.06)


@given(
    st.lists(st.tuples(st.floats(-1e4, 1e4), st.floats(0, 1e4)), max_size=40),
    st.floats(1e-3, 1e3),
)
def test_any_table_has_estimates(cells, deviation):
    noisy, expected = np.array(cells).reshape(-1, 2).T
    found = denoised(noisy, expected, deviation)

    assert len(found.cells) == len(found.slope) == len(cells)
    assert np.isfinite(found.cells).all()
    assert (found.cells >= 0).all()
    assert (found.slope >= 0).all()


def test_units_do_not_matter():
    _, noisy, expected = measured(few)
    one, other = (denoised(k * noisy, k * expected, k * NOISE).cells / k for k in (1.0, 64.0))

    assert one == pytest.approx(other, abs=1e-6)
