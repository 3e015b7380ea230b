"""e^ε from below, and logarithms from above: where exact fractions meet levels."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

PRECISION = 60
"""Digits of e^ε. `Decimal.exp` is correctly rounded, so its error is below one unit in the last."""
LOG_ERRORS = 4
"""Units in the last place: two logarithms, the fraction made a float and a difference err by less."""
DECIMAL_RANGE = 10**6
"""Of the exponent: e^LARGEST_EXPONENT has some 4,343 digits before the point."""
LARGEST_EXPONENT = 10_000.0
"""e^ε is not computed beyond this ε; what is smaller is a rational below e^ε all the same."""


def e_to(epsilon: float) -> Fraction:
    """A rational just below e^ε, and at least 1."""
    context = Context(prec=PRECISION, Emax=DECIMAL_RANGE, Emin=-DECIMAL_RANGE)
    value = Fraction(context.exp(Decimal(min(epsilon, LARGEST_EXPONENT))))
    return max(Fraction(1), value * (1 - Fraction(1, 10 ** (PRECISION - 1))))


def log_above(ratio: Fraction) -> float:
    """ln(ratio) for a ratio ≥ 1, rounded up."""
    excess = ratio - 1
    if excess <= 0:
        return 0.0
    if excess < 1:
        value = spare = math.log1p(float(excess))
    else:
        spare = math.log(ratio.numerator)
        value = spare - math.log(ratio.denominator)
    return value + LOG_ERRORS * math.ulp(spare)
