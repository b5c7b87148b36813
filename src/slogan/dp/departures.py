"""The departures of a noisy table from what is expected, with the noise taken off.

Cells of similar expectation share a law of departures. It is the mixture under which the noisy
values are likeliest (Kiefer and Wolfowitz 1956), found by expectation and maximization; a cell is
estimated by its mean under that law, given its noisy value (Robbins 1956). So a table of a few
strong departures loses the noise of all other cells, and one of many small ones is trusted evenly.
Everything here is computed from private statistics: floating point is safe.
"""

from typing import NamedTuple

import numpy as np

from slogan.arrays import Floats, Ints

BANDS, FEWEST = 8, 150
"""Bands of expectations, even in logarithms, and the least number of cells of a band."""
SMALL = 1 / 50
"""The lowest band ends at an expectation of at least this many deviations of the noise."""
CLASSES, PASSES = 2_000, 200
"""The law is fitted to this many classes of values at most, in this many passes."""
NEAR, STEP, FAR = 3.0, 0.25, 25
"""Departures that the law may have, in deviations: near 0 at even steps, and FAR beyond on each
side at even ratios."""
_AT_ONCE = 20_000


class Denoised(NamedTuple):
    """Estimates of the cells, and how much an estimate moves with its noisy value."""

    cells: Floats
    slope: Floats


def denoised(measured: Floats, expected: Floats, deviation: float) -> Denoised:
    """Estimate the true values of cells that were measured with this noise; none is negative."""
    score = (measured - expected) / deviation
    found, slope = np.zeros_like(score), np.zeros_like(score)
    for band in bands(expected, SMALL * deviation):
        law = _Law(score[band])
        for part in np.array_split(band, 1 + len(band) // _AT_ONCE):
            found[part], slope[part] = law.given(score[part])
    return Denoised(np.maximum(expected + deviation * found, 0.0), slope)


def bands(expected: Floats, least: float) -> list[Ints]:
    """The cells by their expectation, in bands; small bands are joined with the one below."""
    order = np.argsort(expected, kind="stable")
    if not len(order):
        return []
    low = max(float(expected.min()), least)
    edges = np.geomspace(low, max(low, float(expected.max())), BANDS + 1)[1:-1]
    bands: list[Ints] = []
    for part in np.split(order, np.searchsorted(expected[order], edges)):
        if bands and min(len(part), len(bands[-1])) < FEWEST:
            bands[-1] = np.concatenate([bands[-1], part])
        else:
            bands.append(part)
    return bands


class _Law:
    """A discrete law of departures, in deviations of the noise."""

    def __init__(self, score: Floats) -> None:
        far = np.geomspace(NEAR, max(float(np.abs(score).max()), NEAR + STEP), FAR + 1)[1:]
        near = np.arange(-NEAR, NEAR + STEP, STEP)
        self._departure = np.concatenate([-far[::-1], near, far])
        classes = np.array_split(np.sort(score), min(len(score), CLASSES))
        weight = np.array([len(one) for one in classes]) / len(score)
        likely = self._likelihood(np.array([one.mean() for one in classes]))
        self._share = np.full(len(self._departure), 1 / len(self._departure))
        for _ in range(PASSES):
            self._share = weight @ _normalized(likely * self._share)

    def given(self, score: Floats) -> tuple[Floats, Floats]:
        """Mean and variance of the departure; the variance is the slope of the mean (Tweedie)."""
        chance = _normalized(self._likelihood(score) * self._share)
        mean = chance @ self._departure
        return mean, np.maximum(chance @ self._departure**2 - mean**2, 0.0)

    def _likelihood(self, score: Floats) -> Floats:
        return np.exp(-((score[:, None] - self._departure) ** 2) / 2)


def _normalized(chances: Floats) -> Floats:
    """Rows that sum to 1."""
    whole = chances.sum(axis=1, keepdims=True)
    return chances / np.maximum(whole, np.finfo(np.float64).tiny)
