"""Pairs of values that balance each other on a boundary: their costs form a Monge array.

A posterior on two values, at distances d and e on either side of a boundary, lies on the boundary when it
has masses φ/d and φ/e. Per unit of φ, its charge, its entropy is k(d, e) = ln(1 + d/e)/d + ln(1 + e/d)/e, and
∂²k/∂d∂e = 1/((d + e)de) > 0. So to pair far with near is best, prices that suit such a pairing suit all
pairs, and the best partner moves one way as d grows.
"""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.typing import Integers, Vector


@compiled
def charge_cost(d: float, e: float) -> float:
    """k(d, e): the entropy of a pair, per unit of charge."""
    return math.log1p(d / e) / d + math.log1p(e / d) / e


@compiled
def staircase(
    d: Vector, e: Vector, charge_d: Vector, charge_e: Vector
) -> tuple[Integers, Integers, Vector, Vector, Vector]:
    """Pair two sides of equal total charge, in the order given: pairs (i, j), their charges, and potentials.

    The pairs form a path that visits every i and every j, so there are len(d) + len(e) − 1 of them, some
    perhaps with charge 0. The potentials have z[i] + w[j] = k(d[i], e[j]) along it, and z[0] = 0.
    """
    pairs = len(d) + len(e) - 1
    left, right = np.empty(pairs, np.int64), np.empty(pairs, np.int64)
    charge = np.zeros(pairs)
    z, w = np.zeros(len(d)), np.zeros(len(e))
    i, j = 0, 0
    rest_i, rest_j = charge_d[0], charge_e[0]
    w[0] = charge_cost(d[0], e[0])
    for pair in range(pairs):
        left[pair], right[pair] = i, j
        charge[pair] = max(0.0, min(rest_i, rest_j))
        rest_i, rest_j = rest_i - charge[pair], rest_j - charge[pair]
        if pair == pairs - 1:
            break
        if j == len(e) - 1 or (i < len(d) - 1 and rest_i <= rest_j):
            i += 1
            rest_i = charge_d[i]
            z[i] = charge_cost(d[i], e[j]) - w[j]
        else:
            j += 1
            rest_j = charge_e[j]
            w[j] = charge_cost(d[i], e[j]) - z[i]
    return left, right, charge, z, w


@compiled
def least_over_partners(d: Vector, e: Vector, w: Vector) -> Vector:
    """The least of k(d[i], e[j]) − w[j] over j, for every i; d and e increase.

    As d grows the best e falls, so the rows in between two others look only in between their partners:
    O((m + n) log m) for m rows and n partners.
    """
    rows, last = len(d), len(e) - 1
    least = np.empty(rows)
    partner = np.empty(rows, np.int64)
    step = 1
    while 2 * step < rows + 1:
        step *= 2
    while step >= 1:
        for row in range(step - 1, rows, 2 * step):
            high = partner[row - step] if row >= step else last
            low = partner[row + step] if row + step < rows else 0
            best, at = np.inf, high
            for j in range(low, high + 1):
                value = charge_cost(d[row], e[j]) - w[j]
                if value < best:
                    best, at = value, j
            least[row], partner[row] = best, at
        step //= 2
    return least
