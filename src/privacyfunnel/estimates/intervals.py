"""Intervals around estimates, and the nearest distribution to estimates that are none."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtri

from privacyfunnel.errors import InvalidInput
from privacyfunnel.typing import Vector


def quantile(confidence: float, together: int = 1) -> float:
    """How many standard errors an interval reaches; for `together` intervals that all hold at once (Bonferroni).

    >>> round(quantile(0.95), 2), round(quantile(0.95, together=10), 2)
    (1.96, 2.81)
    """
    if isinstance(confidence, bool) or not 0 < confidence < 1:
        raise InvalidInput(f"the confidence lies between 0 and 1; got {confidence}")
    return float(-ndtri((1 - confidence) / 2 / max(1, together)))


def around(share: float, error: float, rows: float, reach: float) -> tuple[float, float]:
    """The interval of a share: all θ from which the estimate is at most `reach` standard errors away, if θ is true.

    The variance of an estimated share has a part from the protocol's noise, ν/n, and one from who happens to be among
    the n rows, θ(1 − θ)/n. The second is taken at the θ in question, not at the estimate:
    (share − θ)² ≤ z²(ν + θ(1 − θ))/n. Without noise this is Wilson's interval, which also holds for rare values.
    It is cut to [0, 1], at no cost in coverage.

    >>> [round(end, 4) for end in around(0.0, 0.0, 100, 1.96)]
    [0.0, 0.037]
    """
    noise = max(0.0, rows * error**2 - share * (1 - share))
    a = reach**2 / rows
    middle = share + a / 2
    half = math.sqrt(max(0.0, middle**2 - (1 + a) * (share**2 - a * noise)))
    low, high = (min(max((middle + side * half) / (1 + a), 0.0), 1.0) for side in (-1, 1))
    return low, high


def projected(values: Vector) -> Vector:
    """The distribution nearest to `values` in the sense of least squares.

    Minimises Σ(w − v)² over w ≥ 0 with Σw = 1: w = max(v − τ, 0) for the τ that makes it sum to 1.

    >>> projected(np.array([0.75, 0.5, -0.25])).tolist()
    [0.625, 0.375, 0.0]
    """
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(values) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    return np.asarray(np.maximum(values - excess[last], 0.0))
