"""Intervals around estimates, and the nearest distribution to estimates that are none."""

from __future__ import annotations

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
