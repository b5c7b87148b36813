"""How far the noise may have moved the published coverage: computed from the manifest alone.

The published sums A and B of clicks on released and on other pairs are the true ones plus noise of
variance σ². By Fieller's theorem, the shares κ with ((1 − κ)A − κB)² ≤ z²σ²((1 − κ)² + κ²) contain
the true one with the confidence of z. A negative sum counts as 0, which only adds shares.
"""

import math
from fractions import Fraction

from slogan.manifest.manifest import Manifest, Outputs

CONFIDENCE = "95%"
_SCORE = Fraction("1.96")
"""z, rounded up."""
_STEPS = 10_000
"""Ends are rounded outward to hundredths of a percent."""
_ROOT_BITS = 64


def coverage_interval(manifest: Manifest) -> tuple[Fraction, Fraction] | None:
    """The lowest and the highest share of clicks that fit the noisy sums; None without a noise."""
    outputs, variance = manifest.outputs, _variance(manifest)
    if not isinstance(outputs, Outputs) or variance is None:
        return None
    inside = max(Fraction(0), Fraction(outputs.clicks_released))
    outside = max(Fraction(0), Fraction(outputs.clicks_other))
    noise, total = _SCORE**2 * variance, inside + outside
    square = total**2 - 2 * noise
    if total == 0 or square <= 0:
        return Fraction(0), Fraction(1)
    middle, reach = inside * total - noise, _root(noise * (inside**2 + outside**2 - noise))
    low, high = (middle - reach) / square, (middle + reach) / square
    return (
        Fraction(max(0, math.floor(low * _STEPS)), _STEPS),
        Fraction(min(_STEPS, math.ceil(high * _STEPS)), _STEPS),
    )


def _variance(manifest: Manifest) -> Fraction | None:
    """The variance of the stage's noise; None for any other text, which a foreign manifest has."""
    stages = manifest.account.stages if manifest.account else ()
    written = [s.parameters.get("variance", "") for s in stages if s.name == "coverage"]
    # Fractions have no exponent; 1e999999999 would be written out before it is refused.
    if len(written) != 1 or "e" in written[0].lower():
        return None
    try:
        found = Fraction(written[0])
    except (ValueError, ArithmeticError):
        return None
    return found if found >= 0 else None


def _root(square: Fraction) -> Fraction:
    """A rational just above the square root."""
    scaled = square.numerator << 2 * _ROOT_BITS
    return Fraction(math.isqrt(scaled // square.denominator) + 1, 1 << _ROOT_BITS)
