"""Bounds from counts that have noise: what the noise leaves open, then what chance leaves open.

A sum of m cells has the sum z of m independent integers as its noise, each with P(z) ∝ α^|z|, α = e^(−1/scale). By
Chernoff, P(z ≥ b) ≤ M(t)^m e^(−tb) for every t in (0, 1/scale), with M(t) = (1 − α)² / ((1 − αe^t)(1 − αe^−t)); for
one cell, P(z ≥ b) = α^b / (1 + α). Which sums are looked at must not depend on the counts: in a nested set it does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from privacyfunnel.promises.confidence_bounds import OUTWARDS, clopper_pearson
from privacyfunnel.typing import Integers, Vector

TILTS = 400
"""Values of t that are tried; every one of them gives a bound that holds."""


def largest_noise(cells: Integers, scale: float, tail: float) -> Vector:
    """Noise of sums of so many cells exceeds this with probability at most `tail`, and its negative likewise.

    >>> largest_noise(np.array([1, 100]), scale=2.0, tail=0.01).tolist()
    [8.0, 85.0]
    """
    alpha, ln_tail = math.exp(-1 / scale), math.log(tail * (1 - OUTWARDS))
    t = np.arange(1, TILTS) / TILTS / scale
    moment = 2 * math.log1p(-alpha) - np.log1p(-alpha * np.exp(t)) - np.log1p(-alpha * np.exp(-t))
    sizes, of = np.unique(cells, return_inverse=True)
    reached = ((sizes[:, None] * moment - ln_tail) / t).min(axis=1)
    alone = (ln_tail + math.log1p(alpha)) / math.log(alpha)
    reached = np.where(sizes == 1, max(1.0, alone), reached)
    return np.asarray(np.ceil(reached * (1 + OUTWARDS)) - 1)[of].reshape(np.shape(cells))


@dataclass(frozen=True, eq=False)
class Between:
    """Numbers of people, each between two ends."""

    low: Vector
    high: Vector

    @classmethod
    def of(cls, noisy: Vector, cells: Integers, scale: float, tail: float) -> Between:
        """What noisy sums of so many cells leave open, where each end may fail with probability `tail`."""
        most = largest_noise(cells, scale, tail)
        return cls(np.maximum(0.0, noisy - most), np.maximum(0.0, noisy + most))


def shares_between(k: Between, n: Between, tail: float) -> tuple[Vector, Vector]:
    """Bounds on p from k successes in n trials, both known between ends: the exact bounds of the worst of them.

    Bounds grow with k and fall with n, so the worst are at the ends.
    """
    most, least = np.maximum(k.low, n.high), np.maximum(n.low, 1.0)
    lower, _ = clopper_pearson(k.low, most, tail)
    _, upper = clopper_pearson(np.minimum(k.high, least), least, tail)
    return lower, np.where(n.low > 0, upper, 1.0)  # of nobody, nothing is known
