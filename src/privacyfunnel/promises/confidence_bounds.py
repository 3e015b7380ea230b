"""Bounds from counts, each wrong with a probability that is stated: the statistics behind confidence sets."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from privacyfunnel.typing import Vector

OUTWARDS = 1e-9
"""Relative error granted to the inverse of the incomplete beta function; SciPy's is below 1e-12."""


def clopper_pearson(k: Vector, n: Vector, tail: float) -> tuple[Vector, Vector]:
    """Bounds l ≤ p ≤ u from k successes in n trials, each wrong with probability at most `tail`.

    >>> lower, upper = clopper_pearson(np.array([0.0, 5.0]), np.array([10.0, 10.0]), 0.025)
    >>> lower.round(4).tolist(), upper.round(4).tolist()
    ([0.0, 0.1871], [0.3085, 0.8129])
    """
    from scipy.special import betainccinv, betaincinv

    k, n = np.broadcast_arrays(k, n)
    lower = np.where(k > 0, betaincinv(np.maximum(k, 1.0), n - k + 1, tail), 0.0)
    upper = np.where(k < n, betainccinv(k + 1, np.maximum(n - k, 1.0), tail), 1.0)
    # Where SciPy finds no inverse, as for tails below 1e-150, nothing is known.
    lower, upper = np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)
    return np.asarray(lower * (1 - OUTWARDS)), np.minimum(1.0, upper * (1 + OUTWARDS))


def _ln_choices(possible: float, t: Vector) -> Vector:
    """At least ln C(K, t), for 1 ≤ t ≤ K: it is t ln(K/t) + (K − t) ln(K/(K − t)).

    Of K coins that each show heads with probability t/K, exactly t do so with probability
    C(K, t) (t/K)ᵗ (1 − t/K)ᴷ⁻ᵗ ≤ 1.
    """
    from scipy.special import xlog1py

    if math.isinf(possible):
        return np.full(np.shape(t), math.inf)
    return np.asarray(t * (math.log(possible) - np.log(t)) - xlog1py(possible - t, -t / possible))


def missing_mass(possible: float, seen: NDArray[np.int64], n: Vector, tail: float) -> Vector:
    """With probability 1 − tail, the values that n draws did not show have no more mass than this together.

    A given set of values with mass m stays unseen with probability (1 − m)ⁿ. There are C(K, t) sets whose complement
    has t of K values, and K sizes t: each size may fail with probability tail / K.
    """
    exponent = math.log(tail) - math.log(possible) - _ln_choices(possible, np.clip(seen, 1.0, possible))
    with np.errstate(divide="ignore"):
        bound = -np.expm1(exponent / n)
    return np.where(seen >= possible, 0.0, np.minimum(1.0, bound * (1 + OUTWARDS)))
