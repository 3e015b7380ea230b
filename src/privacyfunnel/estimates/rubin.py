"""rubin: one estimate from those of several plausible tables, with what these do not agree on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from privacyfunnel.errors import InvalidInput
from privacyfunnel.estimates.intervals import quantile, tail


@dataclass(frozen=True)
class Pooled:
    """An estimate from several replicates."""

    value: float
    """The mean of the estimates."""
    error: float
    """Standard error: √(W + (1 + 1/k)B), W the mean of the variances and B the variance of the estimates."""
    low: float
    high: float
    degrees: float
    """Of freedom, of Student's distribution that the interval goes by; infinite where replicates do not differ."""


def rubin(estimates: Sequence[float], variances: Sequence[float], confidence: float = 0.95) -> Pooled:
    """Rubin's rules (1987): an estimate and its variance of every replicate become one, with an interval.

    With r = (1 + 1/k)B/W the degrees of freedom are (k − 1)(1 + 1/r)².

    >>> found = rubin([1.0, 2.0, 3.0], [0.5, 0.5, 0.5])
    >>> found.value, round(found.error, 3), round(found.degrees, 2)
    (2.0, 1.354, 3.78)
    """
    q, u = np.asarray(estimates, dtype=np.float64), np.asarray(variances, dtype=np.float64)
    if q.ndim != 1 or q.shape != u.shape or len(q) < 2:
        raise InvalidInput(
            "Rubin's rules need as many variances as estimates, one number for each of two replicates or more"
        )
    if not (np.isfinite(q).all() and np.isfinite(u).all() and (u >= 0).all()):
        raise InvalidInput("Rubin's rules need finite estimates, and variances that are not below 0")
    within, between = float(u.mean()), (1 + 1 / len(q)) * float(q.var(ddof=1))
    value, error = float(q.mean()), math.sqrt(within + between)
    degrees = (len(q) - 1) * (1 + within / between) ** 2 if between > 0 else math.inf
    chance = tail(confidence)
    reach = error * (quantile(chance) if math.isinf(degrees) else float(stdtrit(degrees, 1 - chance)))
    return Pooled(value, error, value - reach, value + reach, degrees)
