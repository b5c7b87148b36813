"""How far the noise may have moved the published coverage: computed from the manifest alone.

The published clicks A on released and B on other pairs are the true ones plus independent noise of
variances v and w; A is the mean of two measurements, weighted as in `dp.sums.Coverage`. By
Fieller's theorem, the shares κ with ((1 − κ)A − κB)² ≤ z²((1 − κ)²v + κ²w) contain the true one
with the confidence of z. A negative sum counts as 0, which only adds shares.
"""

import math
from fractions import Fraction

from slogan.manifest.manifest import Manifest, Outputs

CONFIDENCE = "95%"
_SCORE = Fraction("1.96")
"""z, rounded up."""
_CLIPPED = Fraction("0.05")
"""The assumed error of the sum of private counts, as in `dp.sums`."""
_STEPS = 10_000
"""Ends are rounded outward to hundredths of a percent."""
_ROOT_BITS = 64


def coverage_interval(manifest: Manifest) -> tuple[Fraction, Fraction] | None:
    """The lowest and the highest share of clicks that fit the noisy sums; None without a noise."""
    outputs = manifest.outputs
    variance, of_count = _variance(manifest, "coverage"), _variance(manifest, "counts")
    if not isinstance(outputs, Outputs) or variance is None or of_count is None:
        return None
    first, second = Fraction(outputs.clicks_released), Fraction(outputs.clicks_counted)
    other = outputs.pairs_selected * of_count
    scaled = (_CLIPPED * max(Fraction(0), second)) ** 2
    share = variance / (variance + other + scaled) if variance else Fraction(0)
    inside = max(Fraction(0), first + share * (second - first))
    outside = max(Fraction(0), Fraction(outputs.clicks_other))
    noise = _SCORE**2 * ((1 - share) ** 2 * variance + share**2 * other)
    more, total = _SCORE**2 * variance, inside + outside
    square = total**2 - noise - more
    if total == 0 or square <= 0:
        return Fraction(0), Fraction(1)
    middle = inside * total - noise
    reach = _root(noise * outside**2 + more * inside**2 - noise * more)
    low, high = (middle - reach) / square, (middle + reach) / square
    return (
        Fraction(max(0, math.floor(low * _STEPS)), _STEPS),
        Fraction(min(_STEPS, math.ceil(high * _STEPS)), _STEPS),
    )


def _variance(manifest: Manifest, name: str) -> Fraction | None:
    """The variance of a stage's noise; None for any other text, which a foreign manifest has."""
    stages = manifest.account.stages if manifest.account else ()
    written = [s.parameters.get("variance", "") for s in stages if s.name == name]
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
