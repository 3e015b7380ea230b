"""Few secrets: every extreme posterior under given prices, one after the other, without storing them."""

from __future__ import annotations

import numpy as np

from privacyfunnel.numeric.compiled import compiled
from privacyfunnel.optimiser.few_secrets.judging import Boards, SweepTask, judged, reconsidered
from privacyfunnel.optimiser.program.state import VERTEX_ERROR
from privacyfunnel.optimiser.program.supports import HALF_ULP, UNCERTAIN
from privacyfunnel.optimiser.program.tolerances import ROUNDINGS
from privacyfunnel.typing import Integers, Matrix, Vector

NEARLY = 1e-8
"""What masses that are certain only to VERTEX_ERROR, and float64, may change in an entropy: far less than this."""


@compiled
def sweep_sets(first: int, sets: Integers, task: SweepTask, boards: Boards) -> None:
    """`sweep_points` for mixtures of k values that make one of the sets of k − 1 rows tight: the point 0 of these."""
    n, k = task.G.shape[1], sets.shape[1] + 1
    U, points, doubt = np.ones((n, k)), np.zeros((1, k)), np.zeros(k)
    points[0, 0] = 1.0
    for number in range(len(sets)):
        for i in range(k - 1):
            U[:, i + 1] = task.G[sets[number, i]]
            doubt[i + 1] = ROUNDINGS * task.size[sets[number, i]].max()
        sweep_points(first, U, points, doubt, sets[number : number + 1], task, boards)


@compiled
def sweep_points(
    first: int, U: Matrix, points: Matrix, doubt: Vector, tight: Integers, task: SweepTask, boards: Boards
) -> None:
    """Remember H(v) − y·v of all v in Δ on k values, the lowest being `first`, with Σ v[x] U[x] at one of the points.

    U[x] are the k coordinates of value x, and those of values and points may be wrong by `doubt`. All but the last
    value span a hyperplane: relative to it, every value and every point has k − 1 coordinates within and one across, so
    each last value takes a few operations. At point t the rows tight[t] are tight: where rounding errors could matter,
    the posterior is computed from these. None is passed over unless it is surely none, or surely outside of Δ.
    """
    n, k = U.shape
    chosen = np.arange(first, first + k - 1)
    inverse = np.empty((k, k))
    work = np.empty((k, 2 * k))
    at = np.empty((len(points), k))
    within = np.empty(k)
    support, v = np.empty(k, np.int64), np.empty(k)
    largest = np.empty(k)
    for j in range(k):
        largest[j] = np.abs(U[:, j]).max()
        for t in range(len(points)):
            largest[j] = max(largest[j], abs(points[t, j]))
    while len(points) and chosen[-1] < n - 1:
        error = np.inf
        if _invert(U, chosen, work, inverse):
            error = _error(U, chosen, inverse, largest, doubt)
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
                if at[t, k - 1] * across < 0 and min(abs(across), abs(at[t, k - 1])) > error:
                    continue
                sure = abs(across) > 100 * error
                if sure:
                    if not known:
                        for i in range(k - 1):
                            within[i] = 0.0
                            for j in range(k):
                                within[i] += inverse[i, j] * U[last, j]
                        known = True
                    share = at[t, k - 1] / across
                    off = 1.1 * error * (1 + abs(share)) / abs(across)
                    worst, possible = off, share >= -off
                    sure = share > 0
                    for i in range(k - 1):
                        v[i] = at[t, i] - share * within[i]
                        mine = error * (1 + abs(share) + off) + abs(within[i]) * off
                        if v[i] < -mine:
                            possible = False
                            break
                        sure = sure and v[i] > 0
                        worst = max(worst, mine)
                    if not possible:
                        continue
                    v[k - 1] = share
                    sure = sure and worst <= VERTEX_ERROR
                support[: k - 1] = chosen
                support[k - 1] = last
                if sure:
                    if _floor(support, v, task.y) - NEARLY < task.ceiling:
                        judged(support, v, task, boards)
                else:
                    reconsidered(support, tight[t], v, task, boards)
        if not _advance(chosen, n - 1):
            break


@compiled
def _error(U: Matrix, chosen: Integers, inverse: Matrix, largest: Vector, doubt: Vector) -> float:
    """How wrong coordinates relative to the hyperplane may be, by errors of the inverse, of the values and of sums.

    With R for the inverse and A for [U[chosen]ᵀ | e], R A = I + Z, so A⁻¹ w = (I + Z)⁻¹ R w: off by at most
    |Z| / (1 − |Z|) of its largest coordinate. In the last column, that of e, elimination makes no errors.
    """
    k = U.shape[1]
    apart, reach, shaky = 0.0, 0.0, 0.0
    for i in range(k):
        row, reached, shaken = 0.0, 0.0, 0.0
        for j in range(k - 1):
            total, size = 0.0, 0.0
            for m in range(k):
                total += inverse[i, m] * U[chosen[j], m]
                size += abs(inverse[i, m]) * (2 * k * HALF_ULP * abs(U[chosen[j], m]) + doubt[m])
            row += abs(total - (1.0 if i == j else 0.0)) + size
        for m in range(k):
            reached += abs(inverse[i, m]) * largest[m]
            shaken += abs(inverse[i, m]) * (4 * k * HALF_ULP * largest[m] + doubt[m])
        apart, reach, shaky = max(apart, row), max(reach, reached), max(shaky, shaken)
    return shaky + reach * apart / (1 - apart) if apart < UNCERTAIN else np.inf


@compiled
def _floor(support: Integers, v: Vector, y: Vector) -> float:
    """Less than H(v) − y·v, without logarithms: −ln v ≥ (1 − v) + (1 − v)²/2, the first terms of its series."""
    floor = 0.0
    for i in range(len(v)):
        rest = 1.0 - v[i]
        floor += v[i] * (rest * (1.0 + 0.5 * rest) - y[support[i]]) - 4 * VERTEX_ERROR * abs(y[support[i]])
    return floor


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
