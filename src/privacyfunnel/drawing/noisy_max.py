"""The largest of some scores, drawn by OpenDP with noise, so that which one it is tells nobody's record.

`opendp.measurements.make_noisy_max` over vectors of 64-bit integers in the L∞ distance; its map, which OpenDP proves,
takes a distance d of the scores to ε = 2d / scale, rounded up. Scores are real numbers, so they are rounded to
multiples of 1/UNIT, which adds less than ROUNDED of these to a distance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from privacyfunnel.drawing.laplace import ROUNDINGS
from privacyfunnel.errors import InvalidInput

UNIT = 1 << 30
"""Integers for a score of 1."""
ROUNDED = 2
"""Units: one for rounding two scores, and one for the float64 arithmetic that led to them."""


def noisy_largest(scores: Sequence[float], sensitivity: float, epsilon: float) -> int:
    """The place of a score that is about the largest: ε-private if one row changes each score by `sensitivity`."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    distance = math.ceil(sensitivity * UNIT) + ROUNDED
    space, scale = (vector_domain(atom_domain(T="i64")), linf_distance(T="i64")), 2 * distance / epsilon
    for _ in range(ROUNDINGS):
        mechanism = make_noisy_max(*space, max_divergence(), scale=scale)
        if mechanism.map(distance) <= epsilon:
            return int(mechanism([round(score * UNIT) for score in scores]))
        scale = math.nextafter(scale, math.inf)
    raise InvalidInput(f"OpenDP does not grant ε₀ = {epsilon!r} for noise of this scale; use another, such as 1")
