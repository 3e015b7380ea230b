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


def misplaced(possible: float, seen: NDArray[np.int64], n: Vector, tail: float) -> Vector:
    """With probability 1 − tail, the shares p̂ of n draws have no more mass than this in other places than p has it.

    That is Σ|p̂ − p| / 2, for p given that the value is one of t of the K possible ones, all those that were drawn among
    them. It is the largest p̂(A) − p(A) over sets A of 1 to t − 1 of these. For a single A, this exceeds δ with
    probability at most exp(−2nδ²) (Hoeffding). All bounds hold at once if those for A of i values fail with
    probability tail / N each, where N is 2^K − 2 (Weissman et al. 2003) or, better where few were seen,
    (K − 1) C(K, i). As t is not known beforehand, half of `tail` goes to either.

    >>> misplaced(2.0, np.array([2]), np.array([1000.0]), 0.05).round(4).tolist()
    [0.0468]
    """
    if possible < 2:
        return np.zeros(np.broadcast(seen, n).shape)
    most = np.clip(seen - 1.0, 1.0, possible / 2)  # C(K, i) grows up to there
    any_set = possible * math.log(2) + math.log1p(-(2.0 ** (1 - possible)))
    small_set = math.log(possible) + _ln_choices(possible, most)
    exponent = math.log(2 / tail) + np.minimum(any_set, small_set)
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(1.0, np.sqrt(exponent / (2 * n)) * (1 + OUTWARDS)))
