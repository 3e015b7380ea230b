"""Few secrets: every extreme posterior under given prices, one after the other, without storing them."""

from __future__ import annotations

import math

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.typing import Integers, Matrix, Vector


@compiled
def sweep_sets(
    first: int, G: Matrix, sets: Integers, slack: float, y: Vector, best: Matrix, supports: Integers, masses: Matrix
) -> float:
    """`sweep_points` for mixtures of k values that make one of the sets of k − 1 rows tight: the point 0 of these."""
    n, k = G.shape[1], sets.shape[1] + 1
    U, points = np.ones((n, k)), np.zeros((1, k))
    points[0, 0] = 1.0
    least = np.inf
    for rows in sets:
        for i in range(k - 1):
            U[:, i + 1] = G[rows[i]]
        least = min(least, sweep_points(first, U, points, G, slack, y, best, supports, masses))
    return least


@compiled
def sweep_points(
    first: int, U: Matrix, points: Matrix, G: Matrix, slack: float, y: Vector, best: Matrix, supports: Integers,
    masses: Matrix,
) -> float:  # fmt: skip
    """The least H(v) − y·v over v in Δ on k values, the lowest being `first`, with Σ v[x] U[x] at one of the points.

    U[x] are the k coordinates of value x. All but the last value span a hyperplane: relative to it, every
    value and every point has k − 1 coordinates within and one across, so each last value takes a few
    operations. `best`, `supports` and `masses` gather, for every value, the posteriors that use it at least cost.
    """
    n, k = U.shape
    chosen = np.arange(first, first + k - 1)
    inverse = np.empty((k, k))
    work = np.empty((k, 2 * k))
    at = np.empty((len(points), k))
    within = np.empty(k)
    support, v = np.empty(k, np.int64), np.empty(k)
    least = np.inf
    while chosen[-1] < n - 1:
        if _invert(U, chosen, work, inverse):
            for t in range(len(points)):
                for i in range(k):
                    at[t, i] = 0.0
                    for j in range(k):
                        at[t, i] += inverse[i, j] * points[t, j]
            for last in range(chosen[-1] + 1, n):
                across = 0.0
                for j in range(k):
                    across += inverse[k - 1, j] * U[last, j]
                known = False  # where the last value lies within the hyperplane
                for t in range(len(points)):
                    if not at[t, k - 1] * across > 0:
                        continue
                    if not known:
                        for i in range(k - 1):
                            within[i] = 0.0
                            for j in range(k):
                                within[i] += inverse[i, j] * U[last, j]
                        known = True
                    share = at[t, k - 1] / across
                    positive = True
                    for i in range(k - 1):
                        v[i] = at[t, i] - share * within[i]
                        if not v[i] > 0:
                            positive = False
                            break
                    if positive:
                        v[k - 1] = share
                        support[: k - 1] = chosen
                        support[k - 1] = last
                        if _meets(G, support, v, slack):
                            least = min(least, _offer(support, v, y, best, supports, masses))
        if not _advance(chosen, n - 1):
            break
    return least


@compiled
def _meets(G: Matrix, support: Integers, v: Vector, slack: float) -> bool:
    """Whether G v ≤ 0, up to rounding errors relative to the terms."""
    for g in range(len(G)):
        total, size = 0.0, 0.0
        for i in range(len(v)):
            term = G[g, support[i]] * v[i]
            total += term
            size += abs(term)
        if total > slack * size:
            return False
    return True


@compiled
def _advance(chosen: Integers, end: int) -> bool:
    """The next increasing choice of numbers below `end` with the same first one; False after the last."""
    i = len(chosen) - 1
    while i > 0 and chosen[i] == end - len(chosen) + i:
        i -= 1
    if i == 0:
        return False
    chosen[i] += 1
    for j in range(i + 1, len(chosen)):
        chosen[j] = chosen[j - 1] + 1
    return True


@compiled
def _invert(U: Matrix, chosen: Integers, work: Matrix, inverse: Matrix) -> bool:
    """The inverse of [U[chosen]ᵀ | e], e the unit vector that is most independent of them; False if they are not.

    Gauss and Jordan with the largest pivot of a column; the row that is left over is where e has its 1.
    """
    r = U.shape[1]
    for i in range(r):
        for j in range(r - 1):
            work[i, j] = U[chosen[j], i]
        for j in range(r):
            work[i, r + j] = 1.0 if i == j else 0.0
    for j in range(r - 1):
        pivot = j
        for i in range(j + 1, r):
            if abs(work[i, j]) > abs(work[pivot, j]):
                pivot = i
        if work[pivot, j] == 0.0:
            return False
        for m in range(2 * r):
            work[j, m], work[pivot, m] = work[pivot, m], work[j, m]
        scale = 1.0 / work[j, j]
        for m in range(2 * r):
            work[j, m] *= scale
        for i in range(r):
            if i != j and work[i, j] != 0.0:
                factor = work[i, j]
                for m in range(2 * r):
                    work[i, m] -= factor * work[j, m]
    for i in range(r):
        for j in range(r):
            inverse[i, j] = work[i, r + j]
    return True


@compiled
def _offer(support: Integers, v: Vector, y: Vector, best: Matrix, supports: Integers, masses: Matrix) -> float:
    """Its reduced cost; where it is among the best of one of its values, it is written down there."""
    k = len(v)
    cost = 0.0
    for i in range(k):
        cost -= v[i] * (math.log(v[i]) + y[support[i]])
    for i in range(k):
        x = support[i]
        place = best.shape[1] - 1
        if cost >= best[x, place]:
            continue
        while place > 0 and best[x, place - 1] > cost:
            best[x, place] = best[x, place - 1]
            supports[x, place] = supports[x, place - 1]
            masses[x, place] = masses[x, place - 1]
            place -= 1
        best[x, place] = cost
        supports[x, place] = 0
        masses[x, place] = 0.0
        for j in range(k):
            supports[x, place, j] = support[j]
            masses[x, place, j] = v[j]
    return cost
